//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// listingEndpoint is an endpoint that lists models. It rejects the first prompt, and answers later
// prompts with the name of the model that was asked.
func listingEndpoint(t *testing.T, models ...string) string {
	t.Helper()
	var prompts atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(models, ","))
			return
		}
		var body struct{ Model string }
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&body) != nil || body.Model == "" {
			http.NotFound(w, r)
			return
		}
		if prompts.Add(1) == 1 {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":{"message":"the house is closed"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		text, _ := json.Marshal("Answered by " + body.Model + ".")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// TestNeovimModels chooses among the models that the configured provider lists: a long list is
// searched, and a prompt that failed is sent again.
func TestNeovimModels(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			models := []string{`{"id":"house-model"}`, `{"id":"maker/eye","context_length":64000,"pricing":{"prompt":"0.000002","completion":"0.00001"},"architecture":{"input_modalities":["text","image"]}}`}
			for i := range 100 {
				models = append(models, fmt.Sprintf(`{"id":"maker/kind-%03d"}`, i))
			}
			b := newBed(t, shopFiles)
			write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: custom, base_url: %q, default: house-model, api_key: k}\n", listingEndpoint(t, models...)))
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")

			p.line(":Hermes ask Who answers?")
			p.until("the failure", func() bool { return strings.Contains(p.chatText(), "the house is closed") })
			p.until("the way to repeat it", func() bool { return strings.Contains(p.chatText(), "then :Hermes retry.") })
			p.line(":Hermes retry")
			p.until("the answer", func() bool { return strings.Contains(p.chatText(), "Answered by house-model.") })
			if text := p.chatText(); strings.Count(text, "Who answers?") != 2 || !strings.HasSuffix(strings.TrimSpace(text), "## You") {
				t.Errorf("after the prompt was sent again, the chat has\n%s", text)
			}
			p.line(":Hermes retry")
			p.wait("no prompt has failed")

			p.line(":Hermes model")
			p.wait("Search 102 models")
			p.line("maker eye")
			p.wait("1:   custom/maker/eye  64,000 tokens, $2 in and $10 out for a million, pictures")
			p.keep(p.name("models"))
			p.line("1")
			p.wait("Model: custom/maker/eye", "idle · custom/maker/eye")
			p.line(":Hermes ask And now?")
			p.until("the other answer", func() bool { return strings.Contains(p.chatText(), "Answered by maker/eye.") })
			p.line(":Hermes model")
			p.wait("Search 102 models")
			p.keys("Enter")
			p.wait("1:   custom/house-model", "2: ● custom/maker/eye")
			p.line("1")
			p.wait("Model: custom/house-model")
			p.line(":Hermes model kind-042")
			p.wait("Model: custom/maker/kind-042")
			if got := p.eval(`join(getcompletion('Hermes model custom/maker/kind-04', 'cmdline'), ' ')`); strings.Count(got, "kind-04") != 10 {
				t.Errorf("models to complete: %q", got)
			}
		})
	}
}

// TestNeovimPrompts changes an earlier prompt and sends it again, with its files and without, and
// restores the files to before a prompt.
func TestNeovimPrompts(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			has := func(text string) func() bool {
				return func() bool {
					data, err := os.ReadFile(filepath.Join(b.workspace, "shop.py"))
					return err == nil && strings.Contains(string(data), text)
				}
			}
			p.send("Mend total",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
				`[{"text":"It is mended."}]`)
			answered := func(text string) { // the prompt has the text, too
				t.Helper()
				p.until("the answer "+text, func() bool { return strings.Contains(p.chatText(), "\n"+text) })
				p.wait("● idle")
			}
			answered("It is mended.")
			p.send("Talk to me", `[{"text":"We talked."}]`)
			answered("We talked.")

			p.line(":Hermes resend")
			p.wait("1: Talk to me", "2: Mend total")
			p.line("1")
			p.wait("1: Keep the files as they are", "2: Restore the files")
			p.keep(p.name("resend"))
			p.line("1")
			p.until("the session to be rewound", func() bool {
				text := p.chatText()
				return strings.Contains(text, "\nIt is mended.") && !strings.Contains(text, "\nWe talked.") && strings.Contains(text[strings.LastIndex(text, "## You"):], "Talk to me")
			})
			p.until("the files to stay", has("return a + b"))
			p.keys("Enter") // the draft is sent
			answered("We talked.")

			p.line("1G") // above all prompts but the first
			p.line(":Hermes resend")
			p.wait("1: Keep the files as they are", "2: Restore the files")
			p.line("2")
			p.until("the first prompt to be the draft", func() bool {
				text := p.chatText()
				return !strings.Contains(text, "\nIt is mended.") && strings.Count(text, "## You") == 1 && strings.Contains(text, "Mend total")
			})
			p.until("the file to be restored", has("return a - b"))
			p.keys("Enter")
			answered("It is mended.")
			p.until("the file to be changed again", has("return a + b"))

			p.line(":Hermes restore")
			p.wait("1: Mend total")
			p.line("1")
			p.wait("Restored: shop.py.")
			p.until("the file to be restored", has("return a - b"))
			p.keep(p.name("restored"))
			if text := p.chatText(); strings.Contains(text, "\nIt is mended.") {
				t.Errorf("the chat has\n%s", text)
			}
		})
	}
}
