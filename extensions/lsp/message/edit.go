package message

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// FileEdit is a change of a file by a WorkspaceEdit. The nonempty field among Edits, Create, Delete
// and NewURI is its kind.
type FileEdit struct {
	URI     string
	Version *int32 // of the document for Edits; nil: the file on disk, or unknown
	Edits   []TextEdit
	Create  bool
	Delete  bool
	NewURI  string // the file is renamed

	// Overwrite and Skip apply if a created or renamed file exists already. Without
	// them, the edit fails.
	Overwrite, Skip bool
}

// TextEdit replaces a range of a document.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
	// Snippet is set if the text contains places for a cursor, which only an editor can fill in.
	Snippet json.RawMessage `json:"snippet,omitempty"`
}

// Limits of an edit. Each file takes milliseconds to be judged and written.
const (
	mostFiles = 1000
	mostEdits = 50_000
)

// WorkspaceEdit reads a WorkspaceEdit. Unlike results, an edit is read whole or not at all. If it
// changes too many files or places, it returns an error.
func WorkspaceEdit(result json.RawMessage) (all []FileEdit, err error) {
	if !present(result) {
		return nil, nil
	}
	var e struct {
		Changes         map[string][]TextEdit `json:"changes"`
		DocumentChanges []json.RawMessage     `json:"documentChanges"`
	}
	if err := json.Unmarshal(result, &e); err != nil {
		return nil, fmt.Errorf("the edit of the server cannot be read: %w", err)
	}
	for _, one := range e.DocumentChanges {
		f, err := documentChange(one)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(e.DocumentChanges) == 0 {
		for uri, edits := range e.Changes {
			all = append(all, FileEdit{URI: uri, Edits: edits})
		}
		slices.SortFunc(all, func(a, b FileEdit) int { return cmp.Compare(a.URI, b.URI) })
	}
	if n := len(all); n > mostFiles {
		return nil, fmt.Errorf("the edit of the server changes %d files; the limit is %d", n, mostFiles)
	}
	places := 0
	for _, f := range all {
		if places += len(f.Edits); places > mostEdits {
			return nil, fmt.Errorf("the edit of the server changes more than %d places", mostEdits)
		}
		for _, t := range f.Edits {
			if present(t.Snippet) {
				return nil, errors.New("the edit of the server is a snippet, which only an editor can apply")
			}
		}
	}
	return all, nil
}

func documentChange(data json.RawMessage) (f FileEdit, err error) {
	var c struct {
		Kind         string `json:"kind"`
		TextDocument struct {
			URI     string `json:"uri"`
			Version *int32 `json:"version"`
		} `json:"textDocument"`
		Edits   []TextEdit `json:"edits"`
		URI     string     `json:"uri"`
		OldURI  string     `json:"oldUri"`
		NewURI  string     `json:"newUri"`
		Options struct {
			Overwrite         bool `json:"overwrite"`
			IgnoreIfExists    bool `json:"ignoreIfExists"`
			IgnoreIfNotExists bool `json:"ignoreIfNotExists"`
		} `json:"options"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return f, fmt.Errorf("a change in the edit of the server cannot be read: %w", err)
	}
	f = FileEdit{Overwrite: c.Options.Overwrite, Skip: c.Options.IgnoreIfExists || c.Options.IgnoreIfNotExists}
	switch c.Kind {
	case "":
		f.URI, f.Version, f.Edits = c.TextDocument.URI, c.TextDocument.Version, c.Edits
	case "create":
		f.URI, f.Create = c.URI, true
	case "rename":
		f.URI, f.NewURI = c.OldURI, c.NewURI
	case "delete":
		f.URI, f.Delete = c.URI, true
	default:
		return f, fmt.Errorf("the edit of the server has a change of the unknown kind %q", c.Kind)
	}
	if f.URI == "" || c.Kind == "rename" && f.NewURI == "" {
		return f, errors.New("the edit of the server has a change without a file")
	}
	return f, nil
}

// Apply makes edits of a text. All ranges refer to the original text. If two of them overlap, or
// one begins behind the text, it returns an error.
func Apply(text string, edits []TextEdit) (string, error) {
	type piece struct {
		from, to int
		text     string
	}
	pieces := make([]piece, 0, len(edits))
	lines := textenc.NewIndex([]byte(text))
	for _, e := range edits {
		if int64(e.Range.Start.Line) > int64(lines.Lines()) {
			return "", fmt.Errorf("an edit of the server is in line %d, and the text has %d lines", e.Range.Start.Line+1, lines.Lines())
		}
		from := lines.Offset(textenc.Position(e.Range.Start), textenc.UTF16)
		to := lines.Offset(textenc.Position(e.Range.End), textenc.UTF16)
		if to < from {
			return "", errors.New("an edit of the server ends before it begins")
		}
		pieces = append(pieces, piece{from, to, e.NewText})
	}
	// Insertions at the same place keep their order.
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	out, at := make([]byte, 0, len(text)), 0
	for _, p := range pieces {
		if p.from < at {
			return "", errors.New("two edits of the server overlap")
		}
		out = append(append(out, text[at:p.from]...), p.text...)
		at = p.to
	}
	return string(append(out, text[at:]...)), nil
}
