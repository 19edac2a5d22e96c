package file

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

func TestSyntaxAfterWrite(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil { // Python is checked by the user's own
		t.Fatal(err)
	}
	checkSyntaxErrors(t, []syntaxCase{
		{"a.json", `{"a": 1}`, "{\n\"a\": 1,\n}", "a.json, line 3: invalid character '}'"},
		{"a.yaml", "a: 1\nb: [1, 2]\n", "a: 1\nb: [1, 2\n", "a.yaml, line "},
		{"a.yml", "- a\n- b: 1\n", "a: b: c\n", "a.yml, line 1: "},
		{"a.toml", "[a]\nb = 1\n", "[a]\nb = \n", "a.toml, line 2: "},
		{"a.go", "package a\n\nfunc f() {}\n", "package a\n\nfunc f() {\n", "a.go, line 3: expected"},
		{"a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n", "a.py, line 2: IndentationError: expected an indented block"},
		{"a.ts", "let a: number = 1\n", "let a: number = ;\n", ""}, // a language server knows
		{"tsconfig.json", "{}", "{ // a comment\n}", ""},
		{"chart.yaml", "a: 1\n", "{{ if .X }}\na: 1\n{{ end }}\n", ""},
		{"a.txt", "x", "{", ""},
		{"empty.json", "{}", "\n", ""},
	})
	env := newPlace(t, nil).env
	if got := newSyntaxErrors(t.Context(), env, "a.go", []byte("package a\nfunc f( {}\n"), []byte("package a\nfunc f( {}\nvar x = = 1\n")); len(got) != 1 || !strings.Contains(got[0], "line 3") {
		t.Errorf("one that is new beside one that was there: %q", got)
	}
}

// JavaScript is checked by the user's node.
func TestSyntaxOfJavaScriptAfterWrite(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "node", "nodejs")
	checkSyntaxErrors(t, []syntaxCase{
		{"a.js", "const a = require('b')\nreturn\n", "const a = ;\n", "a.js, line 1: Unexpected token ';'"},
		{"b.js", "import a from 'b'\nawait a\n", "import a from 'b'\nlet let\n", "b.js, line 2: "},
		{"await.js", "const a = 1\nawait a\n", "const a = 1\nawait a\nconst = 1\n", "await.js, line 3: "},
		{"c.js", "#!/usr/bin/env node\nlet a = 1\n", "#!/usr/bin/env node\nlet a = = 1\n", "c.js, line 2: Unexpected token '='"},
		{"d.mjs", "export const a = 1\n", "export const\n", "d.mjs, line 2: Unexpected end of input"},
		{"e.cjs", "module.exports = 1\n", "module.exports = = 1\n", "e.cjs, line 1: "},
		{"jsx.js", "const a = <b/>\n", "const a = <b\n", ""},
		{"inner.js", "export default () => cond && (\n  <a b=\"c\">it's</a>\n)\n", "export default () => (\n<a>it's\n", ""},
		{"a.jsx", "const a = <b/>\n", "const a = <b\n", ""},
		{"flow.js", "// @flow\nfunction f(a: ?number) {}\n", "// @flow\nfunction (\n", ""},
		{"dec.js", "@dec\nexport class A {}\n", "@dec\nexport class {\n", ""},
	})
}

type syntaxCase struct{ name, good, bad, want string }

func checkSyntaxErrors(t *testing.T, cases []syntaxCase) {
	t.Helper()
	env := newPlace(t, nil).env
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := c.want
			said := func(old, new string) string {
				var before []byte
				if old != "" {
					before = []byte(old)
				}
				return strings.Join(newSyntaxErrors(t.Context(), env, c.name, before, []byte(new)), "; ")
			}
			if got := said("", c.good) + said(c.good, c.good); got != "" {
				t.Errorf("what is right is said to be wrong: %s", got)
			}
			if got := said(c.good, c.bad); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("said %q, want %q", got, want)
			}
			if got := said("", c.bad); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("of a new file %q, want %q", got, want)
			}
			if got := said(c.bad, c.bad+"\n"); got != "" {
				t.Errorf("what was wrong before is said again: %s", got)
			}
		})
	}
}

func TestSyntaxInResults(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.json": "{}", "b.json": "{}"})
	if got := as[writeOut](t, p.call(t, "write_file", `{"path":"a.json","content":"{\n"}`)); len(got.SyntaxErrors) != 1 {
		t.Errorf("write_file: %+v", got)
	}
	if got := as[patchOut](t, p.call(t, "patch", `{"path":"b.json","old_string":"}","new_string":"]"}`)); len(got.SyntaxErrors) != 1 || !strings.HasPrefix(got.SyntaxErrors[0], "b.json, line 1:") {
		t.Errorf("patch: %+v", got)
	}
	many := map[string]string{"mode": "patch", "patch": "*** Begin Patch\n*** Add File: c.json\n+[\n*** Delete File: a.json\n*** End Patch"}
	if got := as[patchOut](t, p.call(t, "patch", many)); len(got.SyntaxErrors) != 1 || !strings.HasPrefix(got.SyntaxErrors[0], "c.json") {
		t.Errorf("a patch of many: %+v", got)
	}
}
