//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// TestLiteLLM plays a tool loop through LiteLLM's proxy. It offers a model of Chat Completions with
// the other APIs. Its Responses API does not work for such a model.
func TestLiteLLM(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := func(delta, finish string) {
			fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
		}
		if strings.Contains(string(body), "found") {
			chunk(`{"role":"assistant","content":"All good."}`, "null")
			chunk(`{}`, `"stop"`)
		} else {
			chunk(`{"role":"assistant","content":"I look."}`, "null")
			chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":"}}]}`, "null")
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"a.go\"}"}}]}`, "null")
			chunk(`{}`, `"tool_calls"`)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer upstream.Close()
	url := litellm(t, upstream.URL)
	for _, e := range []client.Endpoint{
		{API: openai.API{}, BaseURL: url + "/v1"},
		{API: messages.API{}, BaseURL: url},
		{API: gemini.API{}, BaseURL: url + "/v1beta"},
	} {
		e.Model, e.Provider = "m", "mine"
		playToolLoop(t, e, ` I look. {"path":"a.go"}`, " All good.")
	}
}

// litellm starts the proxy for a model m at upstream and returns its URL.
func litellm(t *testing.T, upstream string) string {
	t.Helper()
	installed(t, "LiteLLM's proxy", "litellm", "installed")
	program := installed(t, "LiteLLM's proxy", "litellm", "bin", "litellm")
	bin := filepath.Dir(program)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String()) // it has a port
	free.Close()
	home := t.TempDir()
	config := filepath.Join(home, "config.yaml")
	write(t, config, "model_list: [{model_name: m, litellm_params: {model: hosted_vllm/m, api_base: \""+upstream+"\", api_key: k}}]\n")
	// The program names its interpreter by the path at which it was installed, which another
	// user may not see.
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), program, "--config", config, "--host", "127.0.0.1", "--port", port)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true"}
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	url := "http://127.0.0.1:" + port
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health/liveliness", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			return url
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name()) // of a failure
	t.Fatalf("LiteLLM did not start:\n%s", text)
	return ""
}
