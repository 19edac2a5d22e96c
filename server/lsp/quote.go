package lsp

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol"
)

// maxQuote bounds what a prompt quotes of a document; the model can read the rest.
const maxQuote = 60_000

// quotation is a piece of a document, as it was when the command came.
type quotation struct {
	uri   string // with #L3-L9 for lines
	place string // for people: "main.go, lines 3–9"
	text  string // empty: only the place is known
}

func (q quotation) resource() agent.Resource { return agent.Resource{URI: q.uri, Text: q.text} }

// quote takes a range of a document, or the whole of it. A file that is not open
// is only named: the model reads it with its tools, inside their bounds.
func (s *server) quote(documentURI string, r *protocol.Range) (quotation, error) {
	u, err := uri.Parse(documentURI)
	if err != nil || documentURI == "" {
		return quotation{}, invalidParams("textDocument.uri %q is not a URI", documentURI)
	}
	q := quotation{uri: documentURI, place: s.placeName(u)}
	doc, open := s.documents.text(u)
	if r == nil {
		if open && len(doc.Text) <= maxQuote {
			q.text = string(doc.Text)
		}
		return q, nil
	}
	first, last := r.Start.Line+1, r.End.Line+1
	if r.End.Character == 0 && last > first {
		last-- // a selection of whole lines ends at the start of the next
	}
	q.place, q.uri = fmt.Sprintf("%s, %s", q.place, linesName(first, last)), fmt.Sprintf("%s#L%d-L%d", documentURI, first, last)
	if open {
		q.text = quoteLines(doc.Text, *r, s.encoding)
	}
	return q, nil
}

func linesName(first, last uint32) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d–%d", first, last)
}

// quoteLines is the selection, or the whole line where nothing is selected.
func quoteLines(text []byte, r protocol.Range, enc workspace.Encoding) string {
	start := workspace.Offset(text, workspace.Position(r.Start), enc)
	end := workspace.Offset(text, workspace.Position(r.End), enc)
	if start >= end {
		start = workspace.Offset(text, workspace.Position{Line: r.Start.Line}, enc)
		end = workspace.Offset(text, workspace.Position{Line: r.Start.Line + 1}, enc)
	}
	if end-start > maxQuote {
		end = start + maxQuote
	}
	return strings.ToValidUTF8(string(text[start:end]), "")
}

// placeName is what people call a document: its path in the workspace.
func (s *server) placeName(u uri.URI) string {
	if !u.IsFile() {
		return string(u)
	}
	path := resolve(u.FsPath())
	for _, root := range s.sessions.roots() {
		if rel, err := filepath.Rel(resolve(root), path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}
