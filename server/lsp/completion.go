package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"strings"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol"
)

// completions completes references in chat documents.
type completions struct {
	chats *chats
}

// begun is the start of a reference before the cursor. A name in quotes may have spaces.
var begun = lazyregexp.New(`(?:^|[\s(])(@(?:(file|folder):)?("[^"]*|[^\s@"]*))$`)

// references are the references of prompts.
var references = []struct{ text, detail string }{
	{"@file:", "a file, or lines of it: @file:PATH:A-B"},
	{"@folder:", "the names of the files in a folder"},
	{"@diff", "the changes that are not staged"},
	{"@staged", "the staged changes"},
	{"@git:", "the last commits: @git:N"},
	{"@problems", "the problems that the editor shows"},
	{"@symbol:", "the definitions of a name"},
	{"@url:", "the text of a web page"},
}

// completionItem is LSP's, as far as it is used.
type completionItem struct {
	Label    string   `json:"label"`
	Kind     int      `json:"kind"`
	Detail   string   `json:"detail,omitempty"`
	Filter   string   `json:"filterText"`
	TextEdit textEdit `json:"textEdit"`
}

type textEdit struct {
	Range   protocol.Range `json:"range"`
	NewText string         `json:"newText"`
}

// Kinds of completion items.
const (
	kindKeyword = 14
	kindFile    = 17
	kindFolder  = 19
)

// complete lists the references for the cursor position. Outside of chats it lists none.
func (x completions) complete(ctx context.Context, p *lsp.CompletionParams) (any, error) {
	items := []completionItem{}
	if _, ok := x.chats.path(p.TextDocument.URI); ok {
		items = append(items, x.items(ctx, p)...)
	}
	body, err := json.Marshal(map[string]any{"isIncomplete": true, "items": items})
	return jsonrpc2.RawMessage(body), err
}

func (x completions) items(ctx context.Context, p *lsp.CompletionParams) (items []completionItem) {
	doc, open := x.chats.editor.Documents.Text(p.TextDocument.URI)
	if !open {
		return nil
	}
	encoding := x.chats.editor.Encoding
	at := textenc.Position{Line: p.Position.Line, Character: p.Position.Character}
	cursor := textenc.Offset(doc.Text, at, encoding)
	before := string(doc.Text[textenc.Offset(doc.Text, textenc.Position{Line: at.Line}, encoding):cursor])
	m := begun.FindStringSubmatch(before)
	if m == nil {
		return nil
	}
	start := protocol.Position(textenc.PositionAt(doc.Text, cursor-len(m[1]), encoding))
	edit := func(label string, kind int, detail, filter, text string) completionItem {
		return completionItem{label, kind, detail, filter, textEdit{protocol.Range{Start: start, End: protocol.Position(at)}, text}}
	}
	typed, isQuoted := strings.CutPrefix(m[3], `"`)
	if m[2] == "" && !isQuoted {
		for _, r := range references {
			if strings.HasPrefix(r.text, m[1]) {
				items = append(items, edit(r.text, kindKeyword, r.detail, r.text, r.text))
			}
		}
		if typed == "" {
			return items
		}
	}
	prefix := m[1][:len(m[1])-len(m[3])]
	for _, name := range x.paths(ctx, typed) {
		kind := kindFile
		if strings.HasSuffix(name, "/") {
			kind = kindFolder
		} else if m[2] == "folder" {
			continue
		}
		filter := prefix + m[3][:len(m[3])-len(typed)] + name // clients compare it with the typed text
		items = append(items, edit(name, kind, "", filter, prefix+quoted(name)))
	}
	return items
}

// plain matches names that end where their word ends.
var plain = lazyregexp.New(`^[^\s"@()]*[^\s"@().,;:!?\]}'\x60>*]$`)

// quoted returns a name as a reference has it. In a name with spaces and the like, it is in quotes,
// which stay open after a folder for the rest of the path.
func quoted(name string) string {
	if plain.MatchString(name) {
		return name
	}
	name = `"` + strings.ReplaceAll(name, `"`, `\"`)
	if strings.HasSuffix(name, "/") {
		return name
	}
	return name + `"`
}

// mostPaths limits the paths of a list.
const mostPaths = 200

// paths lists the completions of a path from its folder. It leaves out hidden entries, unless the
// path names them.
func (x completions) paths(ctx context.Context, begun string) (names []string) {
	root := x.chats.sessions.root()
	ws, err := workspace.Open([]string{root}, nil)
	if err != nil {
		return nil
	}
	defer ws.Close()
	dir, part := path.Split(begun)
	entries, err := ws.List(ctx, cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, part) || part == "" && name[0] == '.' || len(names) == mostPaths {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		names = append(names, dir+name)
	}
	return names
}
