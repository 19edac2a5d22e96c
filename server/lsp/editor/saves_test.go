package editor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Neovim reports the changes of the last moments, and those of a formatter, after it has written the file. They are the user's.
// If a program writes a file, the editor reads it, and the user saves it without a change, nothing is the user's.
func TestSavesBeforeTheirChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opened string // "first" is on disk
		steps  func(write, change func(text string))
		base   string
		text   string
	}{
		"one change":                {"first", func(write, change func(string)) { write("mine"); change("mine") }, "first", "mine"},
		"the rest of a change":      {"first", func(write, change func(string)) { change("m"); write("mine"); change("mine") }, "first", "mine"},
		"after a reload":            {"first", func(write, change func(string)) { write("a"); change("a"); write("mine"); change("mine") }, "a", "mine"},
		"a reload":                  {"first", func(write, change func(string)) { write("a"); change("a"); write("a") }, "a", "a"},
		"opened with unsaved text":  {"other", func(write, change func(string)) { write("mine"); change("mine") }, "mine", "mine"},
		"a change of the same text": {"first", func(write, change func(string)) { change("mine"); write("mine"); change("mine") }, "first", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := Resolve(filepath.Join(t.TempDir(), "a.txt"))
			written := time.Unix(1_000_000_000, 0)
			write := func(text string) {
				written = written.Add(time.Second)
				if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, written, written)); err != nil {
					t.Fatal(err)
				}
			}
			d := newDocuments(&Editor{})
			var saved []workspace.Save
			d.OnSave(func(_ string, s workspace.Save) { saved = append(saved, s) })
			u := uri.File(path)
			version := int32(0)
			write("first")
			if err := d.DidOpen(&lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{URI: u, Text: tt.opened}}); err != nil {
				t.Fatal(err)
			}
			tt.steps(write, func(text string) {
				version++
				if err := d.DidChange(&lsp.DidChangeTextDocumentParams{
					TextDocument:   lsp.VersionedTextDocumentIdentifier{TextDocumentIdentifier: lsp.TextDocumentIdentifier{URI: u}, Version: version},
					ContentChanges: []lsp.TextDocumentContentChangeEvent{&lsp.TextDocumentContentChangeWholeDocument{Text: text}},
				}); err != nil {
					t.Fatal(err)
				}
			})
			if err := d.DidSave(&lsp.DidSaveTextDocumentParams{TextDocument: lsp.TextDocumentIdentifier{URI: u}}); err != nil {
				t.Fatal(err)
			}
			if len(saved) != 1 || string(saved[0].Base) != tt.base || string(saved[0].Text) != tt.text {
				t.Errorf("saved %q", saved)
			}
		})
	}
}

// A program changes a file again and again while the editor reads it. The user's change is the one since the last text that the
// editor has read.
func TestSavesAfterReloads(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reloads    [][2]string // of the document, and the file at this time
		base, text string
	}{
		"none":                            {nil, "first", "first, mine"},
		"one":                             {[][2]string{{"a", "a"}}, "a", "a, mine"},
		"one that is outrun":              {[][2]string{{"a", "b"}, {"b", "b"}}, "b", "b, mine"},
		"several that are outrun":         {[][2]string{{"a", "b"}, {"b", "cc"}, {"cc", "ddd"}, {"ddd", "ddd"}}, "ddd", "ddd, mine"},
		"a change that was typed earlier": {[][2]string{{"first, m", "first"}}, "first", "first, mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := Resolve(filepath.Join(t.TempDir(), ".envrc"))
			write := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d := newDocuments(&Editor{})
			var saved []workspace.Save
			d.OnSave(func(_ string, s workspace.Save) { saved = append(saved, s) })
			u := uri.File(path)
			version := int32(0)
			change := func(text string) {
				version++
				err := d.DidChange(&lsp.DidChangeTextDocumentParams{
					TextDocument:   lsp.VersionedTextDocumentIdentifier{TextDocumentIdentifier: lsp.TextDocumentIdentifier{URI: u}, Version: version},
					ContentChanges: []lsp.TextDocumentContentChangeEvent{&lsp.TextDocumentContentChangeWholeDocument{Text: text}},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			write("first")
			if err := d.DidOpen(&lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{URI: u, Text: "first"}}); err != nil {
				t.Fatal(err)
			}
			for _, r := range tt.reloads {
				write(r[1])
				change(r[0])
			}
			change(tt.text)
			write(tt.text)
			if err := d.DidSave(&lsp.DidSaveTextDocumentParams{TextDocument: lsp.TextDocumentIdentifier{URI: u}}); err != nil {
				t.Fatal(err)
			}
			if len(saved) != 1 || string(saved[0].Base) != tt.base || string(saved[0].Text) != tt.text {
				t.Errorf("saved %q", saved)
			}
		})
	}
}
