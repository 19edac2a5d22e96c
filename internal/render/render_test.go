package render

import (
	"strings"
	"testing"
	"text/template"
)

type inner struct{ Name, Advice string }

type data struct {
	inner
	On, Off bool
	Text    string
	N       int
	List    []string
	None    []string
	Items   []inner
}

// TestTextIsThatOfTheStandardLibrary renders each text with text/template, too.
func TestTextIsThatOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	d := data{inner: inner{"n", ""}, On: true, Text: "t", N: 2, List: []string{"a", "b", "c"}, Items: []inner{{"x", "do"}, {"y", ""}, {"z", "go"}}}
	for _, text := range []string{
		"", "plain", "{{.Text}} {{.N}} {{.On}} {{.Name}}", "a {{- .Text -}} b", "{{/* note */}}x",
		"{{if .On}}1{{else}}2{{end}}{{if .Off}}1{{else}}2{{end}}{{if .None}}1{{end}}{{if .List}}1{{end}}",
		`{{if eq .Text "s"}}1{{else if eq .Text "t"}}2{{else}}3{{end}}{{if ne .Text "t"}}4{{end}}`,
		"{{$a := .Text}}{{$b := and .On .Text}}{{$a}}{{$b}}{{if $b}}{{$a := 5}}{{$a}}{{end}}{{$a}}",
		`{{or .Advice "other"}} {{or .Text "other"}} {{or .Off .None .N}} {{and .On .Off .Text}} {{not .Off}} {{not (and .On .Off)}}`,
		"{{range .List}}<{{.}}>{{end}}{{range .None}}x{{else}}none{{end}}{{range $i, $f := .List}}{{if $i}}, {{end}}{{$i}}={{$f}}{{$.Text}}{{end}}{{range $f := .List}}{{$f}}{{end}}",
		"{{range .Items}}{{with .Advice}}- {{.}}\n{{end}}{{end}}{{with .Advice}}x{{else}}y{{end}}",
		"{{if gt (len .List) 1}}many{{end}}{{if gt (len .None) 1}}many{{end}}{{len .Text}}{{if and .On (ne .Text \"x\") (not .Off)}}!{{end}}",
		`{{if offered "a"}}a{{end}}{{if offered "b"}}b{{end}}{{upper .Text}}{{range .List}}{{upper .}}{{end}}`,
	} {
		funcs := Funcs{"offered": func(v any) any { return v == "a" }, "upper": func(v any) any { return strings.ToUpper(v.(string)) }}
		theirs := template.FuncMap{}
		for name, f := range funcs {
			theirs[name] = f
		}
		var want strings.Builder
		if err := template.Must(template.New("").Funcs(theirs).Parse(text)).Execute(&want, d); err != nil {
			t.Fatal(err)
		}
		if got, err := Text(text, funcs, d); err != nil || got != want.String() {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want.String())
		}
	}
}

func TestInvalidTextsAreErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{{if}}", "{{.Missing}}", "{{.Text.More}}", "{{$x}}", "{{other .Text}}", "{{.Text | len}}", "{{range .Text}}{{end}}", `{{template "a"}}`, "{{not}}", "{{eq .N}}", "{{and}}", "{{.Text 1}}", "{{$a := 1}}{{$a = 2}}", "{{",
	} {
		if got, err := Text(text, nil, data{Text: "t"}); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}
