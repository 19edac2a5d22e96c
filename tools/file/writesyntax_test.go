package file

import (
	"os/exec"
	"strings"
	"testing"
)

func TestSyntaxAfterWrite(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil { // Python is checked by the user's own
		t.Fatal(err)
	}
	env := newPlace(t, nil).env
	for _, c := range []struct{ name, good, bad, want string }{
		{"a.json", `{"a": 1}`, "{\n\"a\": 1,\n}", "a.json, line 3: invalid character '}'"},
		{"a.yaml", "a: 1\nb: [1, 2]\n", "a: 1\nb: [1, 2\n", "a.yaml, line "},
		{"a.yml", "- a\n- b: 1\n", "a: b: c\n", "a.yml, line 1: "},
		{"a.toml", "[a]\nb = 1\n", "[a]\nb = \n", "a.toml, line 2: "},
		{"a.go", "package a\n\nfunc f() {}\n", "package a\n\nfunc f() {\n", "a.go, line 3: expected"},
		{"a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n", "a.py, line 2: IndentationError: expected an indented block"},
		{"a.js", "const a = require('b')\nreturn\n", "const a = ;\n", `a.js, line 1: Unexpected ";"`},
		{"b.js", "import a from 'b'\nawait a\n", "import a from 'b'\nlet let\n", "b.js, line 2: "},
		{"c.js", "#!/usr/bin/env node\nlet a = 1\n", "#!/usr/bin/env node\nlet a = = 1\n", "c.js, line 2: "},
		{"d.mjs", "export const a = 1\n", "export const\n", "d.mjs, line "},
		{"e.cjs", "module.exports = 1\n", "module.exports = = 1\n", "e.cjs, line 1: "},
		{"a.ts", "let a: number = 1\n", "let a: number = ;\n", "a.ts, line 1: "},
		{"b.ts", "const a = <string>b\nenum E { A }\nabstract class C<T extends object> { constructor(private x?: T) {} @dec m(): asserts this is D {} }\n", "const a = <string>\n", "b.ts, line "},
		{"a.tsx", "export const A = <T,>(p: { x: T }) => <div {...p}>{p.x}<></></div>\n", "export const A = (p: P) => <div>\n", "a.tsx, line 2: Unexpected end of file"},
		{"a.jsx", "export default () => <a b=\"c\">d</a>\n", "export default () => <a>d</b>\n", "a.jsx, line 1: "},
		{"jsx.js", "const a = <b/>\n", "const a = <b\n", "jsx.js, line 2: "},
		{"flow.js", "// @flow\nfunction f(a: ?number) {}\n", "// @flow\nfunction (\n", ""},
		{"tsconfig.json", "{}", "{ // a comment\n}", ""},
		{"chart.yaml", "a: 1\n", "{{ if .X }}\na: 1\n{{ end }}\n", ""},
		{"a.txt", "x", "{", ""},
		{"empty.json", "{}", "\n", ""},
	} {
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
	if got := newSyntaxErrors(t.Context(), env, "a.go", []byte("package a\nfunc f( {}\n"), []byte("package a\nfunc f( {}\nvar x = = 1\n")); len(got) != 1 || !strings.Contains(got[0], "line 3") {
		t.Errorf("one that is new beside one that was there: %q", got)
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
