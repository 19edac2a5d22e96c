package modelcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// execute runs a command. Its error is appended to errOut.
func execute(t *testing.T, cmd *cobra.Command, in string, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	cmd.SetArgs(append([]string{}, args...)) // nil would be the arguments of the test program
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		exit := &cli.Exit{Code: cli.Failed, Err: err}
		errors.As(err, &exit)
		code = exit.Code
		if exit.Err != nil {
			fmt.Fprintln(&e, exit.Err)
		}
	}
	return o.String(), e.String(), code
}

func load() *config.Loaded {
	return app.Config().Load(config.Home(os.Environ()), config.Options{Environ: os.Environ()})
}

// TestModelCommands lists, tests and chooses models of two providers, one of them without a server.
func TestModelCommands(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HERMES_HOME", home)
	t.Chdir(t.TempDir())
	for _, name := range []string{"OPENAI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(name, "")
	}
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer k1":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"wrong key"}}`)
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"small","context_length":32000},{"id":"big"}]}`)
		case calls == 0:
			calls++
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ping","arguments":"{\"text\":\"hello\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":40}}}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	defer srv.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	if err := os.WriteFile(config.Path(home), []byte(fmt.Sprintf(`model: {provider: mine, default: big} # keep
providers:
  mine: {base_url: '%s/v1', api_key: k1, models: {big: {context_window: 64000, images: false, cost: {input: 1, output: 2}}}}
  gone: {base_url: '%s/v1', api_key: k2}
`, srv.URL, gone.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(code int, args ...string) (string, string) {
		t.Helper()
		out, errOut, got := execute(t, New(load), "", args...)
		if got != code {
			t.Errorf("model %q: exit %d, want %d:\n%s%s", args, got, code, out, errOut)
		}
		return out, errOut
	}

	out, errOut := run(0, "list")
	if !strings.Contains(out, "mine/small  32,000 tokens  no price known\n") || !strings.Contains(out, "mine/big    64,000 tokens  $1 in, $2 out\n") || !strings.HasPrefix(errOut, "gone: ") {
		t.Errorf("%s%s", out, errOut)
	}
	var list struct{ Models, Errors []map[string]any }
	out, _ = run(0, "list", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Models) != 2 || len(list.Errors) != 1 || list.Errors[0]["provider"] != "gone" {
		t.Fatalf("%s, %v", out, err)
	}
	if want := `{"provider":"mine","id":"big","api":"chat","context_window":64000,"max_output":0,"images":false,"cost":{"input":1,"output":2,"cache_read":0,"cache_write":0}}`; !strings.Contains(out, want) {
		t.Errorf("%s\nhas no %s", out, want)
	}
	run(1, "list", "--provider", "gone")
	t.Setenv("HERMES_API_KEY", "k1")
	if out, _ = run(0, "list", "--provider", "custom", "--base-url", srv.URL+"/v1"); !strings.Contains(out, "custom/small") {
		t.Error(out)
	}
	run(2, "list", "--base-url", srv.URL)
	run(2, "test", "--base-url", srv.URL)
	if _, errOut := run(2, "list", "--provider", "nobody"); !strings.Contains(errOut, `"nobody" is no provider; there are openai, anthropic, `) || !strings.Contains(errOut, "mine, custom, embedded") {
		t.Error(errOut)
	}

	out, _ = run(0, "test", "--json")
	var result tested
	if err := json.Unmarshal([]byte(out), &result); err != nil || !result.OK || result.Provider != "mine" || result.Model != "big" || result.API != "chat" ||
		!result.Checks.ToolCall || result.Checks.Thinking || result.Checks.CacheRead != 40 || result.Checks.FirstToken < 1 || result.Checks.Host != strings.TrimPrefix(srv.URL, "http://") {
		t.Errorf("%s, %v", out, err)
	}
	if _, errOut := run(1, "test", "mine/small"); !strings.Contains(errOut, "did not call the tool") {
		t.Error(errOut)
	}
	t.Setenv("WRONG_KEY", "k3")
	if err := config.SetEnv(home, "WRONG_KEY", "k3"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(config.Path(home))
	if err != nil || os.WriteFile(config.Path(home), []byte(strings.Replace(string(data), "api_key: k1", "key_env: WRONG_KEY", 1)), 0o600) != nil {
		t.Fatal(err)
	}
	if _, errOut := run(1, "test", "mine/small"); !strings.Contains(errOut, "WRONG_KEY (providers.mine.key_env)") || strings.Contains(errOut, "k3") {
		t.Error(errOut)
	}

	run(0, "set", "openrouter/openai/gpt-5")
	data, err = os.ReadFile(config.Path(home))
	if err != nil || !strings.HasPrefix(string(data), "model: {provider: openrouter, default: openai/gpt-5} # keep\nproviders:\n") {
		t.Errorf("%s, %v", data, err)
	}
	if _, errOut := run(2, "set", "nobody/gpt-5"); !strings.Contains(errOut, "there are openai, anthropic, gemini, ") {
		t.Error(errOut)
	}
	run(2, "set", "openai")
	run(2, "set")
}
