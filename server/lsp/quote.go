package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// maxQuote limits the quotation of a document in a prompt; the model can read the rest.
const maxQuote = 60_000

// quotation is a piece of a document, as it was when the command came.
type quotation struct {
	uri   string // with #L3-L9 for lines
	place string // for people: "main.go, lines 3–9"
	text  string // empty: only the place is known
}

func (q quotation) resource() agent.Resource { return agent.Resource{URI: q.uri, Text: q.text} }

// quotes makes quotations of documents.
type quotes struct {
	editor   *editor.Editor
	sessions *sessions
}

// quote takes a range of a document, or the whole of it, as the editor shows it, else
// as it is on the disk. A file outside the workspace is only named.
func (x *quotes) quote(documentURI string, r *protocol.Range) (quotation, error) {
	u, err := uri.Parse(documentURI)
	if err != nil || documentURI == "" {
		return quotation{}, invalidParams("textDocument.uri %q is not a URI", documentURI)
	}
	q := quotation{uri: documentURI, place: x.placeName(u)}
	text, known, err := x.textOf(u)
	if err != nil {
		return quotation{}, err
	}
	if r == nil {
		if known && len(text) <= maxQuote {
			q.text = string(text)
		}
		return q, nil
	}
	first, last := uint64(r.Start.Line)+1, uint64(r.End.Line)+1
	if r.End.Character == 0 && last > first {
		last-- // a selection of whole lines ends at the start of the next
	}
	q.place, q.uri = fmt.Sprintf("%s, %s", q.place, linesName(first, last)), fmt.Sprintf("%s#L%d-L%d", documentURI, first, last)
	if known {
		q.text = quoteLines(text, *r, x.editor.Encoding)
	}
	return q, nil
}

// textOf returns the text of an open document, or of a text file of the workspace. If it is
// neither, known is false.
func (x *quotes) textOf(u uri.URI) (text []byte, known bool, err error) {
	if doc, open := x.editor.Documents.Text(u); open {
		return doc.Text, true, nil
	}
	if !u.IsFile() {
		return nil, false, nil
	}
	path := editor.Resolve(u.FsPath())
	for _, root := range x.sessions.roots() {
		if rel, err := filepath.Rel(editor.Resolve(root), path); err == nil && filepath.IsLocal(rel) {
			return x.onDisk(root, path)
		}
	}
	return nil, false, nil
}

// onDisk reads a file below root. If it is not a text file, known is false, and the model can
// read it with its tools. If it does not exist, onDisk returns an error.
func (x *quotes) onDisk(root, path string) (text []byte, known bool, err error) {
	ws, err := workspace.Open([]string{root}, nil)
	if err != nil {
		return nil, false, fmt.Errorf("opening %s: %w", root, err)
	}
	defer ws.Close()
	file, err := ws.Read(x.editor.Ctx, path)
	switch {
	case errors.Is(err, workspace.ErrNotFound):
		return nil, false, invalidParams("textDocument.uri: %s does not exist, and is not open in the editor", path)
	case err != nil || !utf8.Valid(file.Text) || bytes.IndexByte(file.Text, 0) >= 0:
		return nil, false, nil
	}
	return file.Text, true, nil
}

func linesName(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d–%d", first, last)
}

// quoteLines is the selection, or the whole line where nothing is selected.
func quoteLines(text []byte, r protocol.Range, enc textenc.Encoding) string {
	start := textenc.Offset(text, textenc.Position(r.Start), enc)
	end := textenc.Offset(text, textenc.Position(r.End), enc)
	if start >= end {
		start = textenc.Offset(text, textenc.Position{Line: r.Start.Line}, enc)
		end = max(start, textenc.Offset(text, textenc.Position{Line: r.Start.Line + 1}, enc)) // the last number of a line has no next
	}
	if end-start > maxQuote {
		end = start + maxQuote
	}
	return strings.ToValidUTF8(string(text[start:end]), "")
}

// placeName returns the name of a document for the user: its path in the workspace.
func (x *quotes) placeName(u uri.URI) string {
	if !u.IsFile() {
		return string(u)
	}
	path := editor.Resolve(u.FsPath())
	for _, root := range x.sessions.roots() {
		if rel, err := filepath.Rel(editor.Resolve(root), path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

// markdown returns the quotation in a code fence, which its text cannot close.
func (q quotation) markdown() string {
	if q.text == "" {
		return "About `" + q.place + "`:"
	}
	fence := "```"
	for strings.Contains(q.text, fence) {
		fence += "`"
	}
	ext := strings.TrimPrefix(filepath.Ext(strings.SplitN(q.uri, "#", 2)[0]), ".")
	return "About `" + q.place + "`:\n\n" + fence + ext + "\n" + strings.TrimRight(chat.EscapeHeadings(q.text), "\n") + "\n" + fence
}
