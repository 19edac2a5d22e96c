//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// recordingEndpoint answers each request and passes its last message on. Half of each request
// came from the cache.
func recordingEndpoint(t *testing.T) (url string, prompts <-chan string) {
	t.Helper()
	all := make(chan string, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var request struct{ Messages []struct{ Content any } }
		if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
			t.Errorf("a request: %v: %s", err, body)
			return
		}
		all <- fmt.Sprint(request.Messages[len(request.Messages)-1].Content)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, delta(`{"content":"I see."}`), `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "\n\n",
			`data: {"choices":[],"usage":{"prompt_tokens":6000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3000}}}`, "\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", all
}

// The first prompt from a real Neovim contains the active file, the cursor, the selection and the
// unsaved files. A later prompt contains the changes. The statusline shows the cached share of the
// last request.
func TestNeovimEnvironment(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"notes.txt": "one\ntwo\n", "shop.py": "a = 1\nb = 2\nc = 3\nd = 4\n"})
			url, prompts := recordingEndpoint(t)
			write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: custom, default: gpt-5, base_url: %q, api_key: x}\n", url))
			p := newPlugin(t, version, b)
			p.start(t, "notes.txt")
			p.line(":set hidden")
			p.keys("o")
			p.write("three")
			p.keys("Escape")
			p.line(":edit shop.py")
			p.wait("d = 4")
			p.line(":call cursor(2, 3)")
			p.keys("V", "j")
			p.until("the visual mode", func() bool { return p.eval("mode()") == "V" })
			p.eval("execute('Hermes What is this?')")
			first := <-prompts
			for _, want := range []string{
				"What is this?", "active: shop.py:3:3, selected lines 2-3, visible 1-4\n", "open: notes.txt (unsaved), shop.py\n",
				"limits: approval mode ask", "files: ", "notes.txt, shop.py",
			} {
				if !strings.Contains(first, want) {
					t.Errorf("the first prompt lacks %q:\n%s", want, first)
				}
			}
			p.until("the cached share in the statusline", func() bool { return strings.Contains(p.statusline(), "50% cached") })
			p.keep(p.name("environment"))
			p.line(":wall")
			p.until("all buffers to be written", func() bool { return p.eval("len(getbufinfo({'bufmodified': 1}))") == "0" })
			p.eval("execute('Hermes And now?')")
			second := <-prompts
			if !strings.Contains(second, "open: ") || strings.Contains(second, "unsaved") || strings.Contains(second, "limits:") {
				t.Errorf("the second prompt:\n%s", second)
			}
		})
	}
}
