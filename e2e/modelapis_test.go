//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
)

// TestModelAPIs connects the program to the strict stand-ins for Responses and Gemini, in two
// processes: reasoning, parallel calls, an image and a refused prompt. The stand-ins check that the
// stored state is sent back.
func TestModelAPIs(t *testing.T) {
	t.Parallel()
	openai := responsestest.New(
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Hm."), responsestest.Phase("commentary", "I look."), responsestest.Call("read_file", `{"path":"a.txt"}`), responsestest.Call("Read", `{"file_path":"b.txt"}`)}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("So."), responsestest.Phase("final_answer", "Both are read.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Text("The end.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Refusal("The reason of the provider.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Text("Something else.")}},
	)
	google := geminitest.New(
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Thought("Hm."), geminitest.Text("I look."), geminitest.Call("read_file", `{"path":"a.txt"}`), geminitest.Call("Read", `{"file_path":"b.txt"}`)}},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Thought("So."), geminitest.Text("Both are read.")}},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("The end.")}},
		geminitest.Reply{Block: "SAFETY"},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Something else.")}},
	)
	for api, c := range map[string]struct {
		server      http.Handler
		path, model string
		refusal     string
		bodies      func() []string
	}{
		"responses": {openai, "/v1", "gpt-5", "The reason of the provider.", func() (all []string) {
			for _, r := range openai.Requests() {
				all = append(all, r.Error+string(r.Body))
			}
			return all
		}},
		"gemini": {google, "/v1beta", "gemini-3-flash-preview", "HARM_CATEGORY_DANGEROUS_CONTENT", func() (all []string) {
			for _, r := range google.Requests() {
				all = append(all, r.Error+string(r.Body))
			}
			return all
		}},
	} {
		server := httptest.NewServer(unprobed(c.server))
		defer server.Close()
		b := newBed(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
		write(t, filepath.Join(b.home, "config.yaml"), "approvals: {mode: off}\nmodel: {provider: custom, api: "+api+", base_url: \""+server.URL+c.path+"\", default: "+c.model+", api_key: k}\n")
		image := map[string]any{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"}
		l := b.line(t)
		session := l.newSession(b.workspace)
		prompt := func(want, text string, more ...any) {
			t.Helper()
			var said strings.Builder
			var done struct{ StopReason string }
			p := map[string]any{"sessionId": session, "prompt": append([]any{map[string]any{"type": "text", "text": text}}, more...)}
			l.call("session/prompt", p, &done, func(f frame) {
				if strings.HasPrefix(f.Params.Update.SessionUpdate, "agent_") {
					said.WriteString(f.text())
				}
			})
			if got := done.StopReason + ": " + said.String(); !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", api, got, want)
			}
		}
		prompt("end_turn: Hm.I look.So.Both are read.", "Read both.", image)
		l.end()
		l = b.line(t)
		l.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}}, nil, nil)
		prompt("end_turn: The end.", "Go on.")
		prompt(c.refusal, "Forbidden.")
		prompt("end_turn: Something else.", "Allowed.")
		l.end()
		all := c.bodies()
		for i, body := range all {
			if !strings.HasPrefix(body, "{") {
				t.Errorf("%s: request %d: %s", api, i, body)
			}
		}
		if last := all[len(all)-1]; strings.Contains(last, "Forbidden.") || !strings.Contains(last, "two") {
			t.Errorf("%s: the refused prompt was sent again: %s", api, last)
		}
	}
}

// unprobed answers the four requests for facts about a local model with an error, because the
// strict servers would refuse them. All other requests are for h.
func unprobed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, path := range []string{"/v1/models", "/props", "/api/ps", "/api/v0/models"} {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path) {
				http.NotFound(w, r)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}
