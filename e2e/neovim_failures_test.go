//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// lockedEndpoint is a model endpoint for a single key. If a test of the model offers ping, it calls
// it. It answers other prompts with a text.
func lockedEndpoint(t *testing.T, key, text string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"wrong key"}}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"data":[{"id":"house-model"}]}`)
			return
		}
		var body struct {
			Messages []struct{ Role string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		choice := fmt.Sprintf(`"delta":{"role":"assistant","content":%q},"finish_reason":"stop"`, text)
		if len(body.Tools) == 1 && body.Tools[0].Function.Name == "ping" && body.Messages[len(body.Messages)-1].Role != "tool" {
			choice = `"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"ping","arguments":"{\"text\":\"hello\"}"}}]},"finish_reason":"tool_calls"`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,%s}]}\n\ndata: [DONE]\n\n", choice)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// A refused key, and a missing key: the chat names the key's provider and a command of the plugin,
// and the prompt is back in its place. The setup ends with the next step in Neovim.
func TestNeovimKeyFailures(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			address := lockedEndpoint(t, "hk-1", "The house answers.")
			b := newBed(t, shopFiles)
			write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: custom, base_url: %q, default: house-model}\n", address))
			write(t, filepath.Join(b.home, ".env"), "HERMES_API_KEY=wrong\n")
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.line(":Hermes")
			p.keys("i")
			p.line("Who answers?")
			p.keys("Escape", "Enter")
			host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/v1")
			p.until("the failure", func() bool {
				return strings.Contains(p.chatText(), "The key for your endpoint "+host+" was refused (401: wrong key). Enter another one with :Hermes setup, then :Hermes retry.")
			})
			p.until("the prompt to be back", func() bool { return strings.HasSuffix(strings.TrimSpace(p.chatText()), "## You\n\nWho answers?") })
			if text := p.chatText(); strings.Contains(text, "HERMES_API_KEY") || strings.Contains(text, "hermes-ls") {
				t.Errorf("the chat names a variable, or a command of a shell:\n%s", text)
			}
			p.keep(p.name("key-refused"))
			p.line(":Hermes setup")
			p.wait("Provider (arrow keys", "> openai")
			p.line("custom")
			p.wait("Address of the endpoint")
			p.line(address)
			p.wait("it is not shown")
			p.line("hk-1")
			p.wait("Model (arrow keys", "> house-model")
			p.line("")
			p.wait("It works.", "Neovim:", ":Hermes what does this project do?")
			if text := p.text(); strings.Contains(text, "Vim:") || strings.Contains(text, "Terminal:") {
				t.Errorf("the setup ends with advice for other editors:\n%s", text)
			}
			p.keep(p.name("setup-ends"))
		})
	}
}

// chatText returns the text of the chat.
func (p *plugin) chatText() string {
	p.t.Helper()
	return p.lua(`(function() for _, b in ipairs(vim.api.nvim_list_bufs()) do if vim.bo[b].filetype == 'hermes' then return table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, false), string.char(10)) end end return '' end)()`)
}
