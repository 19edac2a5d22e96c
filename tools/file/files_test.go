package file

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/shell"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// place is a workspace in a temporary folder with the built-in tools.
type place struct {
	dir string
	env *callEnv
}

func newPlace(t *testing.T, files map[string]string) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files_, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files_.Close() })
	env := &callEnv{&tools.Env{Reader: tools.Reader{Script: true}}, Config{Bounds: tools.Bounds{Files: files_, HermesHome: filepath.Join(dir, ".home")}}}
	return &place{dir, env}
}

// tools returns the tools with their current state.
func (p *place) tools(t *testing.T) *tools.Set {
	t.Helper()
	return toolstest.Set(t, append(Tools(p.env.Config), shell.Tools(shell.Config{})...)...)
}

// builtin returns the tools for files and commands, as sessions list them.
func builtin() []tools.Tool {
	return slices.Concat(Tools(Config{}), shell.Tools(shell.Config{}))
}

// call runs a tool; args is JSON, or a value to marshal.
func (p *place) call(t *testing.T, tool string, args any) tools.Result {
	t.Helper()
	text, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	got, err := p.tools(t).Call(t.Context(), p.env.Env, tools.Call{ID: "1", Name: tool, Args: json.RawMessage(text)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// text returns the current text of a file.
func (p *place) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func as[T any](t *testing.T, r tools.Result) (v T) {
	t.Helper()
	if r.IsError {
		t.Fatalf("failed: %s", r.JSON)
	}
	if err := json.Unmarshal(r.JSON, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"three.txt":  "one\ntwo\nthree\n",
		"noend":      "one\ntwo",
		"empty":      "",
		"crlf.txt":   "\ufeffone\r\ntwo\r\n",
		"latin":      "caf\xe9\n",
		"wide":       "\xff\xfen\x00\xe9\x00\n\x00",
		"broken":     "世界 \xff\n",
		"escapes":    "a\x1b[31mb\x00"[:7] + "\n",
		"long":       strings.Repeat("é", 3000) + "\nshort\n",
		"big":        strings.Repeat(strings.Repeat("x", 99)+"\n", 3000),
		"pic.png":    "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + strings.Repeat("\x00", 1200),
		"data.bin":   strings.Repeat("\x00\x01", 500),
		"sub/a.go":   "",
		"sub/b\n.go": "",
	})
	for _, c := range []struct {
		args string
		want readOut
	}{
		{`{"path":"three.txt"}`, readOut{Content: "1|one\n2|two\n3|three", TotalLines: 3, FileSize: 14}},
		{`{"path":"./three.txt","offset":"2","limit":1}`, readOut{Content: "2|two", TotalLines: 3, FileSize: 14, Truncated: true, NextOffset: 3}},
		{`{"path":"three.txt","offset":-4,"limit":0}`, readOut{Content: "1|one\n2|two\n3|three", TotalLines: 3, FileSize: 14}},
		{`{"path":"three.txt","offset":9}`, readOut{TotalLines: 3, FileSize: 14, Note: "the file ends at line 3"}},
		{`{"path":"noend"}`, readOut{Content: "1|one\n2|two", TotalLines: 2, FileSize: 7}},
		{`{"path":"empty"}`, readOut{Note: "the file is empty"}},
		{`{"path":"crlf.txt"}`, readOut{Content: "1|one\n2|two", TotalLines: 2, FileSize: 13}},
		{`{"path":"latin"}`, readOut{Content: "1|café", TotalLines: 1, FileSize: 5, Note: "the file is written in Latin-1 (windows-1252); edits keep that"}},
		{`{"path":"wide"}`, readOut{Content: "1|né", TotalLines: 1, FileSize: 8, Note: "the file is written in UTF-16 LE; edits keep that"}},
		{`{"path":"broken"}`, readOut{Content: "1|世界 \ufffd", TotalLines: 1, FileSize: 9, Note: "bytes that are not UTF-8 are shown as \ufffd"}},
		{`{"path":"escapes"}`, readOut{Content: "1|a\x1b[31mb", TotalLines: 1, FileSize: 8}},
		{`{"path":"long"}`, readOut{Content: "1|" + strings.Repeat("é", 2000) + "…\n2|short", TotalLines: 2, FileSize: 6007, Note: "lines that end in … are cut at 2000 characters"}},
		{`{"path":"pic.png"}`, readOut{Content: "binary file, 1.2 kB, PNG image", FileSize: 1216}},
		{`{"path":"data.bin"}`, readOut{Content: "binary file, 1.0 kB", FileSize: 1000}},
		{`{"path":"sub"}`, readOut{Content: "a.go\nb\\x0a.go", TotalLines: 2, Note: "a folder: its entries, one a line"}},
		{`{"path":"sub","offset":2}`, readOut{Content: "b\\x0a.go", TotalLines: 2, Note: "a folder: its entries, one a line"}},
		{`{"path":"sub","limit":1}`, readOut{Content: "a.go", TotalLines: 2, Truncated: true, NextOffset: 2, Note: "a folder: its entries, one a line"}},
	} {
		got := as[readOut](t, p.call(t, "read_file", c.args))
		if c.args == `{"path":"data.bin"}` && strings.HasPrefix(got.Content, c.want.Content) {
			got.Content = c.want.Content // the type of .bin differs between systems
		}
		if got != c.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", c.args, got, c.want)
		}
	}

	got := as[readOut](t, p.call(t, "read_file", `{"path":"big","limit":3000}`))
	lines := strings.Count(got.Content, "\n") + 1
	if !got.Truncated || got.NextOffset != lines+1 || len(got.Content) > readChars || len(got.Content) < readChars-200 || got.TotalLines != 3000 {
		t.Errorf("a big file: %d lines, %d bytes, next %d of %d", lines, len(got.Content), got.NextOffset, got.TotalLines)
	}
	if got = as[readOut](t, p.call(t, "read_file", `{"path":"big","offset":2998}`)); got.Truncated || !strings.HasPrefix(got.Content, "2998|x") {
		t.Errorf("the end of a big file: %+v", got)
	}
	shown := p.call(t, "read_file", `{"path":"three.txt","offset":2}`).Shown
	if want := filepath.Join(p.dir, "three.txt"); len(shown) != 1 || shown[0].Location == nil || *shown[0].Location != (tools.Location{Path: want, Line: 2}) {
		t.Errorf("shown: %+v", shown)
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"main.go": "x"})
	for path, want := range map[string]string{
		"../secret":   "outside",
		"/etc/passwd": "outside",
		"mian.go":     "did you mean main.go?",
		"":            "path",
	} {
		got := p.call(t, "read_file", map[string]string{"path": path})
		if text := failureOf(t, got); !strings.Contains(text, want) {
			t.Errorf("%q: %s; want %q", path, text, want)
		}
	}
	if text := failureOf(t, p.call(t, "read_file", `{"path":"main.go","ofset":1}`)); !strings.Contains(text, `did you mean "offset"?`) {
		t.Error(text)
	}
	if text := failureOf(t, p.call(t, "read_file", `{"command":"ls"}`)); !strings.Contains(text, `"command" belongs to terminal: call that tool instead`) {
		t.Error(text)
	}
}

// editor holds one open document. A test can type in it.
type editor struct {
	doc     workspace.Document
	onWrite func(*editor) // before a change of ours arrives
}

func (e *editor) Get(_ context.Context, path string) (workspace.Document, bool, error) {
	return e.doc, path == e.doc.Path, nil
}

func (e *editor) Replace(_ context.Context, doc workspace.Document, text []byte) error {
	if e.onWrite != nil {
		e.onWrite(e)
	}
	if doc.Version != e.doc.Version {
		return workspace.ErrStale
	}
	e.doc.Version, e.doc.Text = e.doc.Version+1, text
	return nil
}

func (e *editor) Paths() []string { return []string{e.doc.Path} }

func (e *editor) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }

func TestUnsavedBuffer(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) (*place, *editor) {
		p := newPlace(t, map[string]string{"a.go": "saved\n"})
		e := &editor{doc: workspace.Document{Path: filepath.Join(p.dir, "a.go"), Version: 1, Text: []byte("unsaved\none\n")}}
		files, err := workspace.Open([]string{p.dir}, e)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { files.Close() })
		p.env.Files = files
		return p, e
	}
	typed := func(e *editor) {
		e.onWrite = nil
		e.doc.Version, e.doc.Text = e.doc.Version+1, []byte("typed\none\n")
	}

	p, e := open(t)
	if got := as[readOut](t, p.call(t, "read_file", `{"path":"a.go"}`)); got.Content != "1|unsaved\n2|one" {
		t.Errorf("read %q", got.Content)
	}
	if got := as[searchOut](t, p.call(t, "search_files", `{"pattern":"saved"}`)); (*got.Matches)[0].Content != "unsaved" {
		t.Errorf("found %+v", got.Matches)
	}
	p.call(t, "patch", `{"path":"a.go","old_string":"one","new_string":"two"}`)
	if got, disk := string(e.doc.Text), p.text(t, "a.go"); got != "unsaved\ntwo\n" || disk != "saved\n" {
		t.Errorf("the buffer holds %q, the disk %q", got, disk)
	}

	p, e = open(t)
	e.onWrite = typed
	if got := p.call(t, "patch", `{"path":"a.go","old_string":"one","new_string":"two"}`); string(e.doc.Text) != "typed\ntwo\n" {
		t.Errorf("an edit was not made on what was typed: %q, %s", e.doc.Text, got.JSON)
	}

	p, e = open(t)
	e.onWrite = typed
	got := failureOf(t, p.call(t, "write_file", `{"path":"a.go","content":"mine\n"}`))
	if string(e.doc.Text) != "typed\none\n" || !strings.Contains(got, "ead it again") {
		t.Errorf("what was typed is lost: %q, %s", e.doc.Text, got)
	}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"crlf":  "a\r\nb\r\n",
		"mixed": "a\r\nb\n",
		"bom":   "\ufeffa\n",
		"lf":    "a\nb\n",
	})
	for _, c := range []struct {
		path, content, want string
		out                 writeOut
	}{
		{"new/deep/x.txt", "hi\n", "hi\n", writeOut{BytesWritten: 3, Created: true}},
		{"empty", "", "", writeOut{Created: true}},
		{"crlf", "a\nc\n", "a\r\nc\r\n", writeOut{BytesWritten: 6, Diff: "@@", Note: "kept the file's CRLF line ends"}},
		{"mixed", "a\nc\n", "a\nc\n", writeOut{BytesWritten: 4, Diff: "@@"}},
		{"bom", "b\n", "\ufeffb\n", writeOut{BytesWritten: 5, Diff: "@@"}},
		{"lf", "a\r\nb\r\n", "a\r\nb\r\n", writeOut{BytesWritten: 6, Diff: "@@"}},
		{"lf", "a\r\nb\r\n", "a\r\nb\r\n", writeOut{Note: "the file already holds exactly this; nothing was written"}},
		{"lf", "", "", writeOut{Diff: "@@"}},
		{"rows.csv", "1|a\n2|b\n", "1|a\n2|b\n", writeOut{BytesWritten: 8, Created: true}},
		{"one.txt", "7 apples | 3 pears\n", "7 apples | 3 pears\n", writeOut{BytesWritten: 19, Created: true}},
	} {
		got := as[writeOut](t, p.call(t, "write_file", map[string]string{"path": c.path, "content": c.content}))
		if strings.Contains(got.Diff, "@@") {
			got.Diff = "@@"
		}
		if !reflect.DeepEqual(got, c.out) {
			t.Errorf("%s: %+v; want %+v", c.path, got, c.out)
		}
		if text := p.text(t, c.path); text != c.want {
			t.Errorf("%s holds %q; want %q", c.path, text, c.want)
		}
	}
	for content, want := range map[string]string{
		"1|package main\n2|\n3|func x() {}": "without the numbers",
		"   41|a\n   42|b\n":                "without the numbers",
	} {
		got := p.call(t, "write_file", map[string]string{"path": "numbered.go", "content": content})
		if text := failureOf(t, got); !strings.Contains(text, want) {
			t.Errorf("%q: %s", content, text)
		}
		if _, err := os.Stat(filepath.Join(p.dir, "numbered.go")); err == nil {
			t.Errorf("%q was written", content)
		}
	}
}

// Editors follow the agent to a place, which is inside of the file.
func TestShownPlacesAreInTheFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "one\ntwo\n", "b": "one\ntwo\n", "c": "one\r\ntwo\r\n", "d": "one\n", "e": "one\ntwo\n"})
	for _, test := range []struct {
		tool string
		args map[string]any
		line int
	}{
		{"write_file", map[string]any{"path": "a", "content": "one\n"}, 1},
		{"write_file", map[string]any{"path": "b", "content": ""}, 1},
		{"write_file", map[string]any{"path": "c", "content": "one\r\n"}, 1},
		{"write_file", map[string]any{"path": "d", "content": "one\ntwo\n"}, 2},
		{"read_file", map[string]any{"path": "e", "offset": 900}, 2},
	} {
		r := p.call(t, test.tool, test.args)
		if len(r.Shown) != 1 || r.Shown[0].Location == nil || r.Shown[0].Location.Line != test.line {
			t.Errorf("%s %v shows %+v, want line %d", test.tool, test.args, r.Shown, test.line)
		}
	}
}

func TestWriteFileShows(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a": "one\ntwo\n"})
	shown := p.call(t, "write_file", map[string]string{"path": "a", "content": "one\n2\n"}).Shown
	if len(shown) != 1 || shown[0].Diff == nil || shown[0].Diff.Old == nil || *shown[0].Diff.Old != "one\ntwo\n" || shown[0].Diff.New != "one\n2\n" || shown[0].Location.Line != 2 {
		t.Errorf("a changed file: %+v", shown)
	}
	shown = p.call(t, "write_file", map[string]string{"path": "b", "content": "x"}).Shown
	if len(shown) != 1 || shown[0].Diff == nil || shown[0].Diff.Old != nil || shown[0].Diff.Path != filepath.Join(p.dir, "b") {
		t.Errorf("a new file: %+v", shown)
	}
}

// TestChangedSinceRead changes a file after a read. An edit of its current text is made and reports
// the changed lines. An edit beyond the lines seen by the model is rejected.
func TestChangedSinceRead(t *testing.T) {
	t.Parallel()
	v4a := func(body string) map[string]string {
		return map[string]string{"mode": "patch", "patch": "*** Begin Patch\n" + body + "\n*** End Patch\n"}
	}
	replace := func(old, text string) map[string]any {
		return map[string]any{"path": "a", "old_string": old, "new_string": text}
	}
	all := replace("one", "1")
	all["replace_all"] = true
	for name, x := range map[string]struct {
		read, now, want string // want is empty: rejected, and the file is as it was
		tool            string
		args            any
		note            string
	}{
		"patch":            {"one\ntwo\n", "one\nTWO\nthree\n", "1\nTWO\nthree\n", "patch", replace("one", "1"), "lines 2-3 had changed"},
		"one line":         {"one\ntwo\n", "one\nTWO\n", "1\nTWO\n", "patch", replace("one", "1"), "line 2 had changed"},
		"in that line":     {"one two\n", "one TWO\n", "1 TWO\n", "patch", replace("one", "1"), "line 1 had changed"},
		"CRLF now":         {"one\ntwo\n", "one\r\ntwo\r\n", "1\r\ntwo\r\n", "patch", replace("one", "1"), ""},
		"twice now":        {"one\ntwo\n", "one\none\n", "", "patch", replace("one", "1"), "2 times"},
		"gone now":         {"one\ntwo\n", "two\n", "", "patch", replace("one", "1"), "has changed since it was read"},
		"all, as many":     {"one\none\ntwo\n", "one\none\nTWO\n", "1\n1\nTWO\n", "patch", all, "line 3 had changed"},
		"all, one more":    {"one\none\ntwo\n", "one\none\none\n", "", "patch", all, "other places"},
		"write_file":       {"one\ntwo\n", "one\nTWO\n", "", "write_file", map[string]string{"path": "a", "content": "x"}, "read it again"},
		"V4A":              {"one\ntwo\n", "one\nTWO\n", "1\nTWO\n", "patch", v4a("*** Update File: a\n@@\n-one\n+1"), "a: line 2 had changed"},
		"V4A, other lines": {"one\ntwo\n", "one\nTWO\n", "", "patch", v4a("*** Update File: a\n@@\n one\n-two\n+2"), "has changed since it was read"},
		"V4A delete":       {"one\ntwo\n", "one\nTWO\n", "", "patch", v4a("*** Delete File: a"), "read it again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"a": x.read})
			p.call(t, "read_file", `{"path":"a"}`)
			if err := os.WriteFile(filepath.Join(p.dir, "a"), []byte(x.now), 0o644); err != nil {
				t.Fatal(err)
			}
			got := p.call(t, x.tool, x.args)
			if got.IsError != (x.want == "") || !strings.Contains(string(got.JSON), x.note) || x.note == "" && strings.Contains(string(got.JSON), "changed since") {
				t.Errorf("%s", got.JSON)
			}
			if text := p.text(t, "a"); text != cmp.Or(x.want, x.now) {
				t.Errorf("the file has %q", text)
			}
			p.call(t, "read_file", `{"path":"a"}`)
			if got := p.call(t, "write_file", map[string]string{"path": "a", "content": "x"}); got.IsError {
				t.Errorf("after reading again: %s", got.JSON)
			}
		})
	}
}

func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{".git/hooks/pre-commit": "x\n", ".vscode/settings.json": "{}\n", "cfg/settings.json": "{}\n", "main.go": "x\n"})
	if err := os.Symlink(filepath.Join(p.dir, "cfg"), filepath.Join(p.dir, ".idea")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".git/hooks/pre-commit", ".git/hooks/new", ".vscode/settings.json", ".VSCode/tasks.json", ".idea/settings.json", "AGENTS.md", ".home/config.yaml", ".home/.env"} {
		for tool, args := range map[string]map[string]string{
			"write_file": {"path": path, "content": "evil"},
			"patch":      {"path": path, "old_string": "x", "new_string": "evil"},
		} {
			if got := p.call(t, tool, args); !got.IsError {
				t.Errorf("%s of %s went through with nobody to ask: %s", tool, path, got.JSON)
			}
		}
	}
	if got := p.text(t, "cfg/settings.json") + p.text(t, ".vscode/settings.json") + p.text(t, ".git/hooks/pre-commit"); strings.Contains(got, "evil") {
		t.Errorf("written all the same: %q", got)
	}
}

// checkEdit patches a file and compares the result with after. If after begins with "error:", it is
// part of the failure, and the file stays.
func checkEdit(t *testing.T, name, before, args, after string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, map[string]string{"f": before})
		got := p.call(t, "patch", `{"path":"f",`+args+`}`)
		text := p.text(t, "f")
		if want, fails := strings.CutPrefix(after, "error:"); fails {
			if said := failureOf(t, got); !strings.Contains(said, want) {
				t.Errorf("said %s\nwant %s", said, want)
			}
			if text != before {
				t.Errorf("the file was changed: %q", text)
			}
			return
		}
		out := as[patchOut](t, got)
		if text != after {
			t.Errorf("got  %q\nwant %q", text, after)
		}
		if before != after && utf8.ValidString(before) {
			checkDiff(t, out.Diff, before, after)
		} else if before == after && (out.Diff != "" || len(out.FilesModified) != 0 || out.Note == "") {
			t.Errorf("nothing changed, but %s", got.JSON)
		}
	})
}

// checkDiff applies diff with git to before and compares the result with after.
func checkDiff(t *testing.T, diff, before, after string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git apply: %v\n%s\n%s", err, out, diff)
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != after {
		t.Errorf("git apply makes %q, %v of the diff; want %q", got, err, after)
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	check := func(name, before, args, after string) { checkEdit(t, name, before, args, after) }

	check("a word", "a b c\n", `"old_string":"b","new_string":"x"`, "a x c\n")
	check("lines", "a\nb\nc\n", `"old_string":"a\nb\n","new_string":"x\n"`, "x\nc\n")
	check("deletion", "a\nb\nc\n", `"old_string":"b\n","new_string":""`, "a\nc\n")
	check("no final newline", "a\nb", `"old_string":"b","new_string":"c"`, "a\nc")
	check("a final newline more", "a\nb", `"old_string":"b","new_string":"b\n"`, "a\nb\n")
	check("the whole file", "a", `"old_string":"a","new_string":"b"`, "b")
	check("to nothing", "a", `"old_string":"a","new_string":""`, "")
	check("all", "aaaa", `"old_string":"aa","new_string":"b","replace_all":true`, "bb")
	check("all, as a word", "x x x\n", `"old_string":"x","new_string":"xx","replace_all":"true"`, "xx xx xx\n")
	check("grows round itself", "f(a)\n", `"old_string":"f(a)","new_string":"g(f(a))"`, "g(f(a))\n")
	check("Unicode stays", "a — b\r\nc “d”\xff\n", `"old_string":"c","new_string":"e"`, "a — b\r\ne “d”\xff\n")
	check("dollars are no patterns", "a.b\naxb\n", `"old_string":"a.b","new_string":"$1\\0"`, "$1\\0\naxb\n")
	check("mode replace is what it does", "a\n", `"mode":"replace","old_string":"a","new_string":"b"`, "b\n")

	check("CRLF, one line", "a\r\nb\r\n", `"old_string":"b","new_string":"c"`, "a\r\nc\r\n")
	check("CRLF, lines written with LF", "a\r\nb\r\nc\r\n", `"old_string":"a\nb","new_string":"x\ny\nz"`, "x\r\ny\r\nz\r\nc\r\n")
	check("CRLF, line into lines", "a\r\nb\r\n", `"old_string":"b","new_string":"b\nc"`, "a\r\nb\r\nc\r\n")
	check("CRLF, ends with a line end", "a\r\nb\r\nc\r\n", `"old_string":"b\n","new_string":"x\n"`, "a\r\nx\r\nc\r\n")
	check("CRLF, begins with a line end", "a\r\nb\r\nc\r\n", `"old_string":"\nb","new_string":""`, "a\r\nc\r\n")
	check("CRLF, written with CRLF", "a\r\nb\r\nc\r\n", `"old_string":"a\r\nb","new_string":"x\r\ny"`, "x\r\ny\r\nc\r\n")
	check("CRLF, all", "a\r\nb\r\na\r\nb\r\n", `"old_string":"a\nb","new_string":"c\nd","replace_all":true`, "c\r\nd\r\nc\r\nd\r\n")
	check("LF, written with CRLF", "a\nb\nc\n", `"old_string":"a\r\nb","new_string":"x\r\ny"`, "x\ny\nc\n")
	check("LF stays LF", "a\nb\n", `"old_string":"b","new_string":"x\r\ny"`, "a\nx\ny\n")
	check("mixed ends, each as it was", "a\r\nb\nc\r\nd\n", `"old_string":"a\nb\nc\nd","new_string":"a\nb\nX\nd"`, "a\r\nb\nX\r\nd\n")
	check("mixed ends, untouched lines of the region", "a\r\nb\nc\r\n", `"old_string":"a\nb\nc\n","new_string":"a\nnew\nb\nc\n"`, "a\r\nnew\r\nb\nc\r\n")
	check("mixed ends, ambiguous to the eye", "a\nb\nx\na\r\nb\r\n", `"old_string":"a\nb","new_string":"c"`, "error:2 times (at lines 1, 4)")
	check("lone CR", "a\rb\rc", `"old_string":"b","new_string":"x"`, "a\rx\rc")
	check("two byte order marks", "\ufeff\ufeffa\n", `"old_string":"a","new_string":"b"`, "\ufeff\ufeffb\n")
	check("a byte that is no text", "é ü\ncaf\xff\n", `"old_string":"caf\ufffd","new_string":"b"`, "error:stands for a byte that is not UTF-8")
	check("byte order mark", "\ufeffa\n", `"old_string":"a","new_string":"b"`, "\ufeffb\n")
	check("a CR at the end of old", "a\r\nb\r\n", `"old_string":"a\r","new_string":"x\r"`, "x\r\nb\r\n")

	check("empty", "a\n", `"old_string":"","new_string":"b"`, "error:old_string is empty")
	check("spaces", "a  b\n", `"old_string":"  ","new_string":"b"`, "error:only white space")
	check("line ends only", "a\n\n\nb\n", `"old_string":"\n\n","new_string":"\n"`, "error:only white space")
	check("the same", "a\n", `"old_string":"a","new_string":"a"`, "error:are the same")
	const noNew = `error:new_string is missing. Nothing was changed. Send new_string; "" deletes old_string`
	check("no new text", "a\nb\n", `"old_string":"b\n"`, noNew)
	check("no new text, in all places", "a\nb\n", `"old_string":"b\n","replace_all":true,"mode":"replace"`, noNew)
	check("null for the new text", "a\nb\n", `"old_string":"b\n","new_string":null`, noNew)
	check("null for the new text, under another name", "a\nb\n", `"old_string":"b\n","new_str":null`, noNew)
	check("no new text, and no such place", "a\nb\n", `"old_string":"c"`, noNew)
	check("ambiguous", "x\ny\nx\n\nx\nx\nx\nx\n", `"old_string":"x","new_string":"y"`, "error:6 times (at lines 1, 3, 5, 6, 7, …)")
	check("as many as all would be", "aaaa\n", `"old_string":"aa","new_string":"b"`, "error:occurs 2 times (at lines 1, 1); nothing")
	check("as many lines as all would be", "}\n}\n}\n}\n}\n", `"old_string":"}\n}\n","new_string":"b\n"`, "error:occurs 2 times (at lines 1, 3); nothing")
	check("overlapping is ambiguous", "aaa\n", `"old_string":"aa","new_string":"b"`, "error:2 times (at lines 1, 1)")
	check("not there", "alpha\nbeta\n", `"old_string":"gamma","new_string":"x"`, "error:nor anything like it")
	check("nearly there", "func add(a, b int) int {\n\treturn a + b\n}\n", `"old_string":"func add(a, c int) int {","new_string":"x"`, "error:From line 1, the nearest lines are:\nfunc add(a, b int) int {")
	check("other spacing", "if x {\n\treturn 1\n}\n", `"old_string":"if x{\n    return 1\n}","new_string":"y"`, "error:From line 1, it differs only in white space from:\nif x {\n\treturn 1\n}")
	check("with line numbers", "a\nb\n", `"old_string":"1|a\n2|b","new_string":"c"`, "error:holds the line numbers")
	check("binary", "a\x00b", `"old_string":"c","new_string":"d"`, "error:binary")
	check("a patch", "a\n", `"mode":"patch","patch":"*** Begin Patch","old_string":"a","new_string":"b"`, "error:the patch does not end with")

	check("already applied", "hello there, world\n", `"old_string":"hello world","new_string":"hello there, world"`, "hello there, world\n")
	check("already applied, with CRLF", "one line\r\ntwo lines\r\n", `"old_string":"one\ntwo","new_string":"one line\ntwo lines"`, "one line\r\ntwo lines\r\n")
	check("too short to tell", "b b\n", `"old_string":"a","new_string":"b b"`, "error:not in the file")
}

func TestPatchWithoutItsParameters(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.go": "a\n"})
	for args, want := range map[string]string{
		`{}`:                          "path, old_string and new_string are missing",
		`{"path":"a.go"}`:             "old_string and new_string are missing",
		`{"mode":"patch"}`:            "patch is empty. A patch reads:\n*** Begin Patch",
		`{"mode":"patch","path":"a"}`: "patch is empty",
		`{"mode":"diff","path":"a"}`:  `must be one of "replace" or "patch"`,
		`{"path":"a.go","old_string":"a","new_string":"b","patch":"*** Begin Patch\n*** End Patch"}`: "not both",
		`{"path":"nope.go","old_string":"a","new_string":"b"}`:                                       "nope.go does not exist",
	} {
		if got := failureOf(t, p.call(t, "patch", args)); !strings.Contains(got, want) {
			t.Errorf("%s\nsaid %s\nwant %s", args, got, want)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(strings.Repeat("\tsome line of code\n", 400)), 0o644); err != nil {
		b.Fatal(err)
	}
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer files.Close()
	s, err := tools.NewSet(Tools(Config{Bounds: tools.Bounds{Files: files}})...)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, _ := s.Call(b.Context(), &tools.Env{}, tools.Call{Name: "read_file", Args: json.RawMessage(`{"path":"a.go"}`)}); r.IsError {
			b.Fatal(string(r.JSON))
		}
	}
}

// answers gives the same answer to every request, and records the requests.
type answers struct {
	say   tools.Decision
	asked []tools.ApprovalRequest
}

func (a *answers) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	a.asked = append(a.asked, q)
	return a.say, nil
}

func TestProtectedPathsAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, tool string
		say        tools.Decision
		asks, done bool
	}{
		{"main.go", "write_file", tools.DecisionDeny, false, true},
		{".envrc", "write_file", tools.DecisionDeny, true, false},
		{".envrc", "write_file", tools.DecisionOnce, true, true},
		{".vscode/settings.json", "patch", tools.DecisionOnce, true, true},
		{".vscode/settings.json", "patch", tools.DecisionDeny, true, false},
		{".git/hooks/pre-push", "write_file", tools.DecisionOnce, false, false},
	} {
		p := newPlace(t, map[string]string{".vscode/settings.json": "old"})
		person := &answers{say: c.say}
		p.env.Gate = gate.New(gate.Config{Asker: person})
		args := map[string]string{"path": c.path, "content": "new"}
		if c.tool == "patch" {
			args = map[string]string{"path": c.path, "old_string": "old", "new_string": "new"}
		}
		got := p.call(t, c.tool, args)
		if got.IsError == c.done || (len(person.asked) == 1) != c.asks {
			t.Errorf("%s of %s, answered %s: asked %d times: %s", c.tool, c.path, c.say, len(person.asked), got.JSON)
		}
		data, err := os.ReadFile(filepath.Join(p.dir, c.path))
		if written := err == nil && string(data) == "new"; written != c.done {
			t.Errorf("%s of %s, answered %s: holds %q, %v", c.tool, c.path, c.say, data, err)
		}
		if c.asks && !strings.Contains(person.asked[0].Title, c.path) {
			t.Errorf("the question does not name %s: %q", c.path, person.asked[0].Title)
		}
	}
}

// A call that was cut anywhere deletes nothing.
func TestPatchThatLostItsEnd(t *testing.T) {
	t.Parallel()
	const whole = `{"path":"f","old_string":"b\n","new_string":"c\n"}`
	for end := range len(whole) {
		p := newPlace(t, map[string]string{"f": "a\nb\n"})
		got := p.call(t, "patch", whole[:end])
		want := "a\nb\n"
		if end == len(whole)-1 { // only the bracket is missing
			want = "a\nc\n"
		}
		if now := p.text(t, "f"); now != want {
			t.Errorf("%s: %q, want %q: %s", whole[:end], now, want, got.JSON)
		}
	}
}

// failureOf returns the error text of a failed result.
func failureOf(t *testing.T, r tools.Result) string {
	t.Helper()
	var failed struct{ Error string }
	if err := json.Unmarshal(r.JSON, &failed); err != nil || !r.IsError || failed.Error == "" {
		t.Fatalf("not a failure: %s", r.JSON)
	}
	return failed.Error
}
