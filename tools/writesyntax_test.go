package tools

import (
	"os/exec"
	"strings"
	"testing"
)

func TestSyntaxAfterWrite(t *testing.T) {
	t.Parallel()
	// Python and JavaScript have the user's own parsers; these tests need them.
	for _, program := range []string{"python3", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	strips := exec.Command("node", "--no-warnings", "-e", `process.exit(require("node:module").stripTypeScriptTypes ? 0 : 1)`).Run() == nil
	for _, c := range []struct{ name, good, bad, want string }{
		{"a.json", `{"a": 1}`, "{\n\"a\": 1,\n}", "a.json, line 3: invalid character '}'"},
		{"a.yaml", "a: 1\nb: [1, 2]\n", "a: 1\nb: [1, 2\n", "a.yaml, line "},
		{"a.yml", "- a\n- b: 1\n", "a: b: c\n", "a.yml, line 1: "},
		{"a.toml", "[a]\nb = 1\n", "[a]\nb = \n", "a.toml, line 2: "},
		{"a.go", "package a\n\nfunc f() {}\n", "package a\n\nfunc f() {\n", "a.go, line 3: expected"},
		{"a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n", "a.py, line 2: IndentationError: expected an indented block"},
		{"a.js", "const a = require('b')\nreturn\n", "const a = ;\n", "a.js, line 1: SyntaxError: Unexpected token ';'"},
		{"b.js", "import a from 'b'\nawait a\n", "import a from 'b'\nlet let\n", "b.js, line 2: SyntaxError"},
		{"c.js", "#!/usr/bin/env node\nlet a = 1\n", "#!/usr/bin/env node\nlet a = = 1\n", "c.js, line 2: SyntaxError"},
		{"d.mjs", "export const a = 1\n", "export const\n", "d.mjs, line "},
		{"a.ts", "let a: number = 1\n", "let a: number = ;\n", "a.ts, line 1: "},
		{"tsconfig.json", "{}", "{ // a comment\n}", ""},
		{"chart.yaml", "a: 1\n", "{{ if .X }}\na: 1\n{{ end }}\n", ""},
		{"a.txt", "x", "{", ""},
		{"empty.json", "{}", "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := c.want
			if c.name == "a.ts" && !strips {
				want = "" // a Node.js that cannot parse it says nothing
			}
			said := func(old, new string) string {
				var before []byte
				if old != "" {
					before = []byte(old)
				}
				return strings.Join(newSyntaxErrors(t.Context(), c.name, before, []byte(new)), "; ")
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
	if got := newSyntaxErrors(t.Context(), "a.go", []byte("package a\nfunc f( {}\n"), []byte("package a\nfunc f( {}\nvar x = = 1\n")); len(got) != 1 || !strings.Contains(got[0], "line 3") {
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
