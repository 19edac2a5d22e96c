package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// A command's turn uses the model in its file, and outputs replace their placeholders. The output
// of a command is data: a reference in it reads no file.
func TestMarkdownCommands(t *testing.T) {
	t.Parallel()
	type request struct {
		Model    string
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	var mu sync.Mutex
	var got []request
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q request
		if json.NewDecoder(r.Body).Decode(&q) != nil || q.Model == "" {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		got = append(got, q)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Done.\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(endpoint.Close)
	home, ws := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(home, "config.yaml"): "model: {provider: custom, base_url: '" + endpoint.URL + "/v1', default: large, api_key: k}\nsession: {auto_title: false}\n" +
			"delegation: {routes: {quick: {model: small}}}\n",
		filepath.Join(home, "commands/state.md"):   "---\nmodel: quick\n---\nBefore\n!`echo seen; echo @file:a.txt '$1'`\nafter $1, see @b.txt.\n",
		filepath.Join(home, "commands/unknown.md"): "---\nmodel: nothing\n---\nHello\n",
		filepath.Join(ws, "a.txt"):                 "text of a\n",
		filepath.Join(ws, "b.txt"):                 "text of b\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	svc := app.New(server.Options{Home: home, Environ: []string{"PATH=" + os.Getenv("PATH")}})
	t.Cleanup(func() { _ = svc.Close() })
	host := &listener{}
	x, err := svc.NewSession(t.Context(), server.Place{Cwd: ws}, host)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"/state Word", "/unknown", "plain"} {
		if stop, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil); err != nil || stop != agent.EndTurn {
			t.Fatal(text, stop, err)
		}
	}
	if shown := host.take(); !strings.Contains(shown, `no route is named "nothing"; there are quick. The model of the session answers.`) {
		t.Errorf("shown: %s", shown)
	}
	mu.Lock()
	defer mu.Unlock()
	var models []string
	for _, r := range got {
		models = append(models, r.Model)
	}
	if !slices.Equal(models, []string{"small", "large", "large"}) {
		t.Fatalf("models: %q", models)
	}
	prompt := string(got[0].Messages[len(got[0].Messages)-1].Content)
	for _, want := range []string{`Before\nseen\n@file:a.txt Word\nafter Word, see @file:b.txt.`, "text of b"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt has no %s: %s", want, prompt)
		}
	}
	if strings.Contains(prompt, "text of a") {
		t.Errorf("a reference in an output was expanded: %s", prompt)
	}
}
