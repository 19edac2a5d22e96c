package servertest_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// References are completed in the chat document, and nowhere else.
func TestCompletion(t *testing.T) {
	t.Parallel()
	files := map[string]string{"src/main.go": "x", "src/more/y.go": "y", "top.txt": "t", ".hidden": "h", "docs/a note [1].md": "n", "my docs/ü.md": "u"}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
		var opened protocol.ChatOpenResult
		if err := e.Command(protocol.CommandChatOpen, nil, &opened); err != nil {
			t.Fatal(err)
		}
		e.Open(opened.URI)
		e.Open("top.txt")
		complete := func(doc, text string) (texts []string) {
			t.Helper()
			e.Edit(doc, "", "é "+text)
			lines := strings.Split(e.Text(doc), "\n")
			last := len(lines) - 1
			for !strings.Contains(lines[last], text) {
				last--
			}
			answer, err := e.Call("textDocument/completion", map[string]any{
				"textDocument": map[string]any{"uri": e.URI(doc)}, "position": protocol.Position{Line: uint32(last), Character: uint32(len("é " + text))},
			})
			if err != nil {
				t.Fatal(err)
			}
			var list struct {
				Items []struct {
					TextEdit struct {
						Range   protocol.Range
						NewText string
					}
				}
			}
			if err := json.Unmarshal(answer, &list); err != nil {
				t.Fatal(err)
			}
			for _, i := range list.Items {
				if at := i.TextEdit.Range; at.Start.Character != uint32(len("é ")) || at.End.Character != uint32(len("é "+text)) {
					t.Errorf("range %+v", at)
				}
				texts = append(texts, i.TextEdit.NewText)
			}
			e.Edit(doc, "é "+text, "")
			return texts
		}
		for text, want := range map[string]string{
			"@sta": "@staged", "@f": "@file: @folder:", "@file:": `@file:docs/ @file:"my docs/ @file:src/ @file:top.txt`, "@file:src/m": "@file:src/main.go @file:src/more/",
			"@folder:src/": "@folder:src/more/", "word": "", "a@file:": "", "@file:../": "", "@top": "@top.txt", "@docs/a": `@"docs/a note [1].md"`, `@file:"docs/a no`: `@file:"docs/a note [1].md"`,
			`@"my docs/`: `@"my docs/ü.md"`, `@"my docs/ü.md"`: "",
		} {
			if got := strings.Join(complete(opened.URI, text), " "); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
		if got := complete(filepath.ToSlash("top.txt"), "@f"); got != nil {
			t.Errorf("in a file: %q", got)
		}
	})
}
