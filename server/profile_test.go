package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/tools"
)

// requestSize returns the bytes of a request and an estimate of its tokens.
func requestSize(t *testing.T, r *model.Request) (size, count int) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"system": r.System, "tools": r.Tools, "messages": r.Messages})
	if err != nil {
		t.Fatal(err)
	}
	return len(data), tools.Tokens(string(data))
}

func toolsIn(r *model.Request) string {
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// TestSmallProfile checks the requests to a model with a small window: few tools with short
// descriptions, short instructions, no list of files, and short results. A loaded session keeps its
// profile, and a larger window changes it at a compaction.
func TestSmallProfile(t *testing.T) {
	t.Parallel()
	const five = "read_file write_file patch search_files terminal"
	rules := strings.Repeat("Follow this rule of the project, always.\n", 500)
	home, cwd := instructed(t, ".", map[string]string{"AGENTS.md": rules, "long.txt": strings.Repeat("a line of the file\n", 5000), "other.go": "package a\n"})
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		if last := x.Request.Messages[len(x.Request.Messages)-1]; last.Role == model.User && strings.Contains(last.Text(), "read it") {
			x.Call("", "read_file", `{"path":"long.txt"}`)
		} else {
			x.Text("done")
		}
		x.End()
	})
	m.WindowSize = 8192
	svc := open(t, Options{Home: home, Model: m})
	x, _ := session(t, svc, cwd)
	if status, err := statusText(t.Context(), x, ""); err != nil || !strings.Contains(status, "Profile: chosen with the first prompt") {
		t.Errorf("/status before the first prompt: %s, %v", status, err)
	}
	prompt1(t, x, "read it")
	first := m.Requests()[0]
	if got := toolsIn(first); got != five {
		t.Errorf("tools %s", got)
	}
	if size, count := requestSize(t, first); size > 8000 || count > 1900 {
		t.Errorf("the first request has %d bytes, about %d tokens", size, count)
	}
	if at := strings.Index(first.System, "# Project instructions"); at < 0 || tools.Tokens(first.System[at:]) > 8192/10+80 {
		t.Errorf("the instructions:\n%s", first.System)
	}
	if text := first.Messages[0].Text(); strings.Contains(text, "other.go") {
		t.Errorf("the environment has the files:\n%s", text)
	}
	for _, result := range resultsOf(m) {
		if n := tools.Tokens(result); n > 8192/7 || n < 300 {
			t.Errorf("a result has %d tokens", n)
		}
	}
	status, err := statusText(t.Context(), x, "")
	if err != nil || !strings.Contains(status, "Profile: small") || !strings.Contains(status, "8,192") {
		t.Errorf("/status: %s, %v", status, err)
	}

	if err := svc.CloseSession(t.Context(), x.ID()); err != nil {
		t.Fatal(err)
	}
	m.WindowSize = 100_000
	loaded, err := svc.LoadSession(t.Context(), x.ID(), Place{Cwd: cwd}, x.host)
	if err != nil {
		t.Fatal(err)
	}
	prompt1(t, loaded, "go on")
	if got := toolsIn(m.Requests()[len(m.Requests())-1]); got != five || !loaded.settings.small.Load() {
		t.Errorf("the loaded session has %s", got)
	}
	if _, err := loaded.StartCompaction("", nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	prompt1(t, loaded, "go on")
	if got := toolsIn(m.Requests()[len(m.Requests())-1]); got == five || loaded.settings.small.Load() {
		t.Errorf("after the compaction, the session has %s", got)
	}
}

// TestProfileSetting checks model.profile. A prompt to a model with too small a window fails.
func TestProfileSetting(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		profile string
		window  int
		small   bool
	}{{"auto", 23_000, true}, {"auto", 24_000, false}, {"full", 23_000, false}, {"small", 200_000, true}} {
		home, cwd := instructed(t, ".", map[string]string{"home/config.yaml": "model: {profile: " + tc.profile + "}\n"})
		m := fakemodel.Func(func(x *fakemodel.Exchange) { x.Text("done"); x.End() })
		m.WindowSize = tc.window
		x, _ := session(t, open(t, Options{Home: home, Model: m}), cwd)
		prompt1(t, x, "go")
		if got := len(m.Requests()[0].Tools) == 5; got != tc.small {
			t.Errorf("%+v: tools %s", tc, toolsIn(m.Requests()[0]))
		}
	}
	m := fakemodel.Func(func(x *fakemodel.Exchange) { x.Text("done") })
	m.WindowSize = 2048
	x, _ := session(t, open(t, Options{Home: t.TempDir(), Model: m}), t.TempDir())
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Hello"}, nil); err == nil || !strings.Contains(err.Error(), "2,048") || len(m.Requests()) > 0 {
		t.Errorf("%v after %d requests", err, len(m.Requests()))
	}
}

// TestWindowInUse checks that /status and the model option show the window in use and its source.
// If the window becomes known or changes, the editor gets the option again.
func TestWindowInUse(t *testing.T) {
	t.Parallel()
	var slot atomic.Int64
	slot.Store(8192)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":%d,"n_ctx_train":131072}}]}`, slot.Load())
		case r.URL.Path == "/props":
			fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":%d}}`, slot.Load())
		case r.Method == http.MethodPost:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	home := t.TempDir()
	write(t, filepath.Join(home, "config.yaml"), "model: {provider: custom, default: m, base_url: '"+srv.URL+"/v1'}\n")
	svc := open(t, Options{Home: home})
	g := &shownOptions{}
	x, err := svc.NewSession(t.Context(), Place{Cwd: t.TempDir()}, g)
	if err != nil {
		t.Fatal(err)
	}
	says := func(window string) {
		t.Helper()
		window += " tokens (llama.cpp: n_ctx of a slot)"
		if status, err := statusText(t.Context(), x, ""); err != nil || !strings.Contains(status, "context window "+window) {
			t.Errorf("/status: %s, %v", status, err)
		}
		if got := describedModel(x); got != window {
			t.Errorf("the option says %q, want %q", got, window)
		}
	}
	if all, failed := x.Models(t.Context()); len(failed) > 0 || len(all) == 0 || all[0].Description != "8,192 tokens (llama.cpp: n_ctx of a slot)" {
		t.Errorf("the list of models is %+v, %v", all, failed)
	}
	if !slices.Contains(g.shown, "8,192 tokens (llama.cpp: n_ctx of a slot)") {
		t.Errorf("the editor got %q", g.shown)
	}
	says("8,192") // /status asks, too
	prompt1(t, x, "hi")
	says("8,192")
	slot.Store(16384)
	prompt1(t, x, "hi") // the server was started with another window
	says("16,384")
	if !slices.Contains(g.shown, "16,384 tokens (llama.cpp: n_ctx of a slot)") {
		t.Errorf("the editor got %q", g.shown)
	}
}

// shownOptions is a host with a view of the model option.
type shownOptions struct {
	guest
	shown []string
}

func (g *shownOptions) SettingsChanged(x *Session) { g.shown = append(g.shown, describedModel(x)) }

func describedModel(x *Session) string {
	for _, o := range x.Options() {
		for _, c := range o.Choices {
			if o.ID == optionModel && c.ID == o.Value {
				return c.Description
			}
		}
	}
	return ""
}
