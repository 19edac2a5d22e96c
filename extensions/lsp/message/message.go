// Package message defines the part of the Language Server Protocol used by the tool lsp, with
// readers for the different forms of its results. Servers and editors differ in details, so unknown
// fields are ignored, and unreadable members are left out. Positions are in UTF-16.
package message

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Position is a position in a document. Both numbers begin at 0.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range ends before End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Location is a range of a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Diagnostic is a problem in a document.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity,omitempty"` // 1 error, 2 warning, 3 information, 4 hint; 0: unknown
	Code     json.RawMessage `json:"code,omitempty"`
	Source   string          `json:"source,omitempty"`
	Message  Text            `json:"message"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// CodeText returns the code as text. If there is none, it returns "".
func (d Diagnostic) CodeText() string {
	var text string
	if json.Unmarshal(d.Code, &text) == nil {
		return text
	}
	var object struct {
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(d.Code, &object) == nil && len(object.Value) > 0 {
		return Diagnostic{Code: object.Value}.CodeText()
	}
	return strings.TrimSpace(strings.TrimPrefix(string(d.Code), "null"))
}

// Text is a string, a MarkupContent, a MarkedString, or a list of these.
type Text string

// UnmarshalJSON reads each form.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text(textOf(data))
	return nil
}

func textOf(data json.RawMessage) string {
	var plain string
	if json.Unmarshal(data, &plain) == nil {
		return plain
	}
	var object struct{ Kind, Language, Value string }
	if json.Unmarshal(data, &object) == nil {
		if object.Language != "" {
			return "```" + object.Language + "\n" + object.Value + "\n```"
		}
		return object.Value
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return ""
	}
	var parts []string
	for _, one := range list {
		if text := textOf(one); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Hover returns the text of a Hover. If there is none, it returns "".
func Hover(result json.RawMessage) string {
	var h struct {
		Contents Text `json:"contents"`
	}
	_ = json.Unmarshal(result, &h) // it is empty then
	return strings.TrimSpace(string(h.Contents))
}

// Locations reads a Location, or a list of Location or LocationLink.
func Locations(result json.RawMessage) (all []Location) {
	for _, one := range list(result) {
		var l struct {
			Location
			TargetURI            string `json:"targetUri"`
			TargetSelectionRange Range  `json:"targetSelectionRange"`
		}
		if json.Unmarshal(one, &l) != nil {
			continue
		}
		if l.TargetURI != "" {
			l.Location = Location{l.TargetURI, l.TargetSelectionRange}
		}
		if l.URI != "" {
			all = append(all, l.Location)
		}
	}
	return all
}

// Symbol is a symbol of a document or of the workspace.
type Symbol struct {
	Name      string
	Kind      string // such as "function"
	Container string
	URI       string // empty: of the requested document
	Line      int    // of its name, from 1
	End       int    // last line, from 1; 0: unknown
}

// deepest bounds the levels of nested symbols, which a server could make endless.
const deepest = 50

// Symbols reads a list of DocumentSymbol, SymbolInformation or WorkspaceSymbol. Nested symbols
// follow their parent.
func Symbols(result json.RawMessage) (all []Symbol) { return symbols(list(result), "", 0) }

func symbols(members []json.RawMessage, container string, depth int) (all []Symbol) {
	if depth > deepest {
		return nil
	}
	for _, one := range members {
		var s struct {
			Name           string            `json:"name"`
			Kind           int               `json:"kind"`
			ContainerName  string            `json:"containerName"`
			Location       *Location         `json:"location"`
			Range          Range             `json:"range"`
			SelectionRange Range             `json:"selectionRange"`
			Children       []json.RawMessage `json:"children"`
		}
		if json.Unmarshal(one, &s) != nil || s.Name == "" {
			continue
		}
		found := Symbol{Name: s.Name, Kind: kindOf(s.Kind), Container: container}
		if s.Location != nil {
			found.Container = s.ContainerName
			found.URI, found.Line = s.Location.URI, int(s.Location.Range.Start.Line)+1
			found.End = lastLine(s.Location.Range)
		} else {
			found.Line, found.End = int(s.SelectionRange.Start.Line)+1, lastLine(s.Range)
		}
		if found.End <= found.Line {
			found.End = 0
		}
		all = append(all, found)
		all = append(all, symbols(s.Children, s.Name, depth+1)...)
	}
	return all
}

// lastLine returns the last line of a range, from 1. A range that ends at the start of a line ends
// with the line before.
func lastLine(r Range) int {
	if r.End.Character == 0 && r.End.Line > r.Start.Line {
		return int(r.End.Line)
	}
	return int(r.End.Line) + 1
}

var kinds = [...]string{
	"symbol", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
	"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct",
	"event", "operator", "type parameter",
}

func kindOf(n int) string {
	if n < 0 || n >= len(kinds) {
		n = 0
	}
	return kinds[n]
}

// Action is a code action.
type Action struct {
	Title    string          `json:"title"`
	Kind     string          `json:"kind"`
	Edit     json.RawMessage `json:"edit"`
	Disabled json.RawMessage `json:"disabled"`
	// Command is a string if the member is a Command, and no code action.
	Command json.RawMessage `json:"command"`

	Raw json.RawMessage `json:"-"` // for codeAction/resolve
}

// HasEdit reports whether the action already contains its edit.
func (a Action) HasEdit() bool { return present(a.Edit) }

// Actions reads a list of CodeAction. Disabled actions and commands are left out.
func Actions(result json.RawMessage) (all []Action) {
	for _, one := range list(result) {
		a := Action{Raw: one}
		if json.Unmarshal(one, &a) == nil && a.Title != "" && !present(a.Disabled) && !bytes.HasPrefix(bytes.TrimSpace(a.Command), []byte{'"'}) {
			all = append(all, a)
		}
	}
	return all
}

// Diagnostics reads a list of diagnostics, or a DocumentDiagnosticReport.
func Diagnostics(result json.RawMessage) (all []Diagnostic) {
	var report struct {
		Items json.RawMessage `json:"items"`
	}
	if json.Unmarshal(result, &report) == nil && present(report.Items) {
		result = report.Items
	}
	for _, one := range list(result) {
		var d Diagnostic
		if json.Unmarshal(one, &d) == nil && d.Message != "" {
			all = append(all, d)
		}
	}
	return all
}

func present(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && !bytes.Equal(data, []byte("null"))
}

// list returns the members of a list. Any other value is its only member, and null has none.
func list(data json.RawMessage) (members []json.RawMessage) {
	if !present(data) {
		return nil
	}
	if json.Unmarshal(data, &members) != nil {
		members = []json.RawMessage{data}
	}
	return members
}
