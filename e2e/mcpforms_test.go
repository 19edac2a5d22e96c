//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestElicitationChatDocument fills in the form of a server in a language client without a plugin:
// buttons for choices, and /answer for texts. The chat document and a message show the purpose of a
// text. The last question shows all values.
func TestElicitationChatDocument(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"Send":        `{"action":"accept","content":{"color":"blue","count":2}}`,
		"Do not send": `{"action":"decline"}`,
		"Cancel":      `{"action":"cancel"}`,
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "a = 1\n"})
			answers := newShop(t, b)
			w := newWireWith(t, b, "serve", map[string]any{})
			say := func(prompt string) {
				w.request("workspace/executeCommand", map[string]any{"command": "hermes.prompt",
					"arguments": []any{map[string]any{"prompt": prompt, "sessionId": w.session}}})
			}
			chat := func() string {
				var text strings.Builder
				files, _ := filepath.Glob(filepath.Join(b.workspace, ".hermes", "chats", "*.md"))
				for _, name := range files {
					data, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					text.Write(data)
				}
				return text.String()
			}
			frames := func() string {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.frames.String()
			}
			shown := func(text string, times int) {
				t.Helper()
				waitFor(t, "the chat to show "+text, func() bool { return strings.Count(chat(), text) == times })
				waitFor(t, "a message with "+text, func() bool { return strings.Count(frames(), text) >= times })
			}
			say("Go.\n```hermes-script\n" + `[{"call":{"name":"mcp__shop__order","args":{}}}]` + "\n" + `[{"text":"Ordered."}]` + "\n```")
			shown("shop (MCP server) asks: Your order", 1)
			shown("Answer with `/answer TEXT` in the chat.", 1)
			say("/answer many")
			shown("The last answer does not fit: Enter a whole number of at least 1.", 1)
			say("/answer 2")
			w.choose("blue")
			shown("Answer - to leave it out.", 1)
			say("/answer -")
			waitFor(t, "the last question", func() bool { return strings.Contains(frames(), `Send this?\nCount: 2\ncolor: blue`) })
			w.choose(label)
			waitFor(t, "the end of the turn", func() bool { return strings.Contains(chat(), "\n\nOrdered.\n") })
			if got := answers.String(); got != want {
				t.Errorf("the server got %s, not %s", got, want)
			}
			if t.Failed() {
				t.Logf("the chat:\n%s\nthe frames:\n%s", chat(), frames())
			}
		})
	}
}
