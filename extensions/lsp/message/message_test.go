package message

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestLocations(t *testing.T) {
	t.Parallel()
	const at = `"range":{"start":{"line":3,"character":1},"end":{"line":3,"character":4}}`
	for name, tt := range map[string]struct{ result, want string }{
		"null":         {`null`, ``},
		"one":          {`{"uri":"file:///a",` + at + `}`, `file:///a:3`},
		"list":         {`[{"uri":"file:///a",` + at + `},{"uri":"file:///b",` + at + `}]`, `file:///a:3 file:///b:3`},
		"links":        {`[{"targetUri":"file:///c","targetRange":{},"targetSelectionRange":{"start":{"line":7,"character":0},"end":{"line":7,"character":2}}}]`, `file:///c:7`},
		"no locations": {`[1,"x",{"range":{}},null,{"uri":"file:///a",` + at + `}]`, `file:///a:3`},
		"no list":      {`"text"`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range Locations(json.RawMessage(tt.result)) {
				got = append(got, fmt.Sprintf("%s:%d", l.URI, l.Range.Start.Line))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestHover(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`null`:                 "",
		`{"contents":"plain"}`: "plain",
		`{"contents":{"kind":"markdown","value":"**x**"}}`:                "**x**",
		`{"contents":{"language":"go","value":"func f()"}}`:               "```go\nfunc f()\n```",
		`{"contents":["a",{"language":"c","value":"int a;"},"",{"b":1}]}`: "a\n\n```c\nint a;\n```",
	} {
		if got := Hover(json.RawMessage(result)); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}

func TestSymbols(t *testing.T) {
	t.Parallel()
	nested := `[{"name":"T","kind":23,"range":{"start":{"line":0},"end":{"line":4,"character":0}},"selectionRange":{"start":{"line":1},"end":{"line":1}},
		"children":[{"name":"f","kind":8,"range":{"start":{"line":2},"end":{"line":2}},"selectionRange":{"start":{"line":2},"end":{"line":2}}}]}]`
	flat := `[{"name":"g","kind":12,"containerName":"pkg","location":{"uri":"file:///a","range":{"start":{"line":5},"end":{"line":9,"character":1}}}},{"kind":3},{"name":"odd","kind":99,"location":{"uri":"x"}}]`
	for result, want := range map[string]string{
		nested: "struct T 2-4  ; field f 3-0 T ",
		flat:   "function g 6-10 pkg file:///a; symbol odd 1-0  x",
		`{}`:   "",
	} {
		var got []string
		for _, s := range Symbols(json.RawMessage(result)) {
			got = append(got, fmt.Sprintf("%s %s %d-%d %s %s", s.Kind, s.Name, s.Line, s.End, s.Container, s.URI))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	result := `[{"title":"a","edit":{"changes":{}}},{"title":"b","disabled":{"reason":"no"}},{"title":"c","command":"run"},{"title":"d","command":{"command":"run"},"edit":null},{"command":{}}]`
	var got []string
	for _, a := range Actions(json.RawMessage(result)) {
		got = append(got, fmt.Sprint(a.Title, a.HasEdit()))
	}
	if strings.Join(got, " ") != "atrue dfalse" {
		t.Errorf("%q", got)
	}
}

func TestWorkspaceEdit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ edit, want string }{
		"none":    {`null`, ``},
		"changes": {`{"changes":{"file:///b":[{"range":{},"newText":"x"}],"file:///a":[]}}`, `file:///a 0; file:///b 1`},
		"documents": {`{"documentChanges":[{"textDocument":{"uri":"file:///a","version":4},"edits":[{"range":{},"newText":"x"}]},{"kind":"rename","oldUri":"file:///a","newUri":"file:///b"},
			{"kind":"create","uri":"file:///c","options":{"ignoreIfExists":true}},{"kind":"delete","uri":"file:///d"}]}`, `file:///a 1 v4; file:///a 0 to file:///b; file:///c 0 create skip; file:///d 0 delete`},
		"unknown kind": {`{"documentChanges":[{"kind":"run","uri":"file:///a"}]}`, `error: the edit of the server has a change of the unknown kind "run"`},
		"no file":      {`{"documentChanges":[{"edits":[]}]}`, `error: the edit of the server has a change without a file`},
		"snippet":      {`{"changes":{"file:///a":[{"range":{},"newText":"x","snippet":{"kind":"snippet"}}]}}`, `error: the edit of the server is a snippet, which only an editor can apply`},
		"many files":   {`{"documentChanges":[` + strings.Repeat(`{"kind":"create","uri":"file:///a"},`, mostFiles) + `{"kind":"create","uri":"file:///a"}]}`, `error: the edit of the server changes 1001 files; the limit is 1000`},
		"many edits":   {`{"changes":{"file:///a":[` + strings.Repeat(`{"newText":"x"},`, mostEdits) + `{"newText":"x"}]}}`, `error: the edit of the server changes more than 50000 places`},
		"wrong":        {`{"changes":7}`, `error: the edit of the server cannot be read: json: cannot unmarshal number into Go struct field .changes of type map[string][]message.TextEdit`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parts []string
			all, err := WorkspaceEdit(json.RawMessage(tt.edit))
			for _, f := range all {
				text := fmt.Sprint(f.URI, " ", len(f.Edits))
				if f.Version != nil {
					text += fmt.Sprint(" v", *f.Version)
				}
				for word, set := range map[string]bool{" create": f.Create, " delete": f.Delete, " to " + f.NewURI: f.NewURI != ""} {
					if set {
						text += word
					}
				}
				if f.Skip {
					text += " skip"
				}
				parts = append(parts, text)
			}
			got := strings.Join(parts, "; ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

func edit(fromLine, from, toLine, to uint32, text string) TextEdit {
	return TextEdit{Range: Range{Position{fromLine, from}, Position{toLine, to}}, NewText: text}
}

func TestApply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text  string
		edits []TextEdit
		want  string
	}{
		"replace":           {"one two\nthree\n", []TextEdit{edit(0, 4, 0, 7, "2"), edit(1, 0, 1, 5, "3")}, "one 2\n3\n"},
		"any order":         {"ab", []TextEdit{edit(0, 1, 0, 2, "B"), edit(0, 0, 0, 1, "A")}, "AB"},
		"insert in order":   {"x", []TextEdit{edit(0, 0, 0, 0, "1"), edit(0, 0, 0, 0, "2")}, "12x"},
		"insert, replace":   {"x", []TextEdit{edit(0, 0, 0, 1, "y"), edit(0, 0, 0, 0, "1")}, "1y"},
		"utf-16":            {"a😀b\n", []TextEdit{edit(0, 3, 0, 4, "c")}, "a😀c\n"},
		"crlf":              {"a\r\nb\r\n", []TextEdit{edit(0, 1, 1, 0, " ")}, "a b\r\n"},
		"end of line":       {"ab\ncd", []TextEdit{edit(0, 99, 0, 99, "!")}, "ab!\ncd"},
		"whole text":        {"ab\ncd", []TextEdit{edit(0, 0, 9, 0, "new")}, "new"},
		"end of text":       {"ab\n", []TextEdit{edit(1, 0, 1, 0, "cd\n")}, "ab\ncd\n"},
		"behind the text":   {"ab\n", []TextEdit{edit(5, 0, 5, 0, "x")}, "error: an edit of the server is in line 6, and the text has 2 lines"},
		"overlap":           {"abc", []TextEdit{edit(0, 0, 0, 2, "x"), edit(0, 1, 0, 3, "y")}, "error: two edits of the server overlap"},
		"turned round":      {"abc", []TextEdit{edit(0, 2, 0, 1, "x")}, "error: an edit of the server ends before it begins"},
		"nothing":           {"abc", nil, "abc"},
		"empty text, empty": {"", []TextEdit{edit(0, 0, 0, 0, "x")}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Apply(tt.text, tt.edits)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// No answer of a server makes a reader panic, and an applied edit keeps the rest of the text.
func FuzzAnswers(f *testing.F) {
	f.Add(`[{"uri":"file:///a","range":{"start":{"line":1}}}]`, "text\n")
	f.Add(`{"documentChanges":[{"textDocument":{"uri":"file:///a"},"edits":[{"range":{"end":{"character":1}},"newText":"x"}]}]}`, "a\r\nb")
	f.Add(`{"contents":[{"language":"go","value":"x"}]}`, "")
	f.Fuzz(func(t *testing.T, answer, text string) {
		result := json.RawMessage(answer)
		Locations(result)
		Hover(result)
		Symbols(result)
		Actions(result)
		Diagnostics(result)
		edits, err := WorkspaceEdit(result)
		if err != nil {
			return
		}
		for _, e := range edits {
			if got, err := Apply(text, e.Edits); err == nil && len(e.Edits) == 0 && got != text {
				t.Errorf("no edit changed %q to %q", text, got)
			}
		}
	})
}
