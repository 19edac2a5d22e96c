//go:build unix

package shell

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// meddler agrees, after it has done something.
type meddler struct{ do func() }

func (m meddler) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	m.do()
	return tools.DecisionOnce, nil
}

// Only the shown content runs: if a script is rewritten or a directory replaced while the
// request is open, the command is rejected.
func TestWhatRunsIsWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   string
		meddle func(dir string) error
		want   string // in the error; empty: it runs
	}{
		"nothing happens":   {`{"command":"sudo ./x.sh; rm -rf y"}`, func(string) error { return nil }, ""},
		"another file":      {`{"command":"sudo ./x.sh; rm -rf y"}`, func(dir string) error { return os.WriteFile(dir+"/y", nil, 0o644) }, ""},
		"script, by itself": {`{"command":"./x.sh; rm -rf y"}`, func(dir string) error { return os.WriteFile(dir+"/x.sh", []byte("echo evil"), 0o755) }, "x.sh was changed while"},
		"script of a shell": {`{"command":"rm -rf y && sh -e x.sh"}`, func(dir string) error { return os.WriteFile(dir+"/x.sh", []byte("echo evil"), 0o755) }, "x.sh was changed while"},
		"script, gone":      {`{"command":"rm -rf y; bash 'x.sh'"}`, func(dir string) error { return os.Remove(dir + "/x.sh") }, "x.sh was changed while"},
		"the folder": {`{"command":"rm -rf y","workdir":"sub"}`, func(dir string) error {
			if err := os.Rename(dir+"/sub", dir+"/sub2"); err != nil {
				return err
			}
			return os.Mkdir(dir+"/sub", 0o755)
		}, "not the one that it was judged in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir := newTerminal(t)
			if err := os.WriteFile(filepath.Join(dir, "x.sh"), []byte("#!/bin/sh\necho good"), 0o755); err != nil {
				t.Fatal(err)
			}
			env.Gate = gate.New(gate.Config{Asker: meddler{func() {
				if err := tt.meddle(dir); err != nil {
					t.Error(err)
				}
			}}})
			_, result := runTerminal(t.Context(), t, env, tt.args)
			if result.IsError != (tt.want != "") || !strings.Contains(string(result.JSON), tt.want) {
				t.Errorf("%s", result.JSON)
			}
		})
	}
}

// Each way to run a file binds the content of the file, also beside a command that requires
// approval.
func TestSwappedFilesDoNotRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ command, file string }{
		"option with a value":   {"bash -o errexit x.sh", "x.sh"},
		"options in a cluster":  {"bash -eo pipefail x.sh", "x.sh"},
		"a space in the name":   {"sh 'my script.sh'", "my script.sh"},
		"standard input":        {"sh < x.sh", "x.sh"},
		"standard input, -s":    {"bash -s a b < x.sh", "x.sh"},
		"a pipe":                {"cat x.sh | sh", "x.sh"},
		"a pipe, changed":       {"sed s/a/b/ x.sh | grep -v c | sh", "x.sh"},
		"a pipe, redirected":    {"cat < x.sh | bash", "x.sh"},
		"another folder":        {"cd sub && sh x.sh", "sub/x.sh"},
		"another folder, split": {"cd sub; ./x.sh", "sub/x.sh"},
		"a subshell":            {"(cd sub && sh x.sh)", "sub/x.sh"},
		"source":                {". ./x.sh", "x.sh"},
		"source by name":        {"source x.sh a", "x.sh"},
		"by itself":             {"./x.sh", "x.sh"},
		"by a variable":         {"X=x.sh; sh $X", "x.sh"},
		"by a pattern":          {"sh x.s?", "x.sh"},
		"code in a shell":       {"bash -c '. ./x.sh'", "x.sh"},
		"substituted code":      {`sh -c "$(cat x.sh)"`, "x.sh"},
		"evaluated":             {`eval "$(cat x.sh)"`, "x.sh"},
		"process substitution":  {"bash <(cat x.sh)", "x.sh"},
		"behind a wrapper":      {"timeout 5 nice -n 3 sh x.sh", "x.sh"},
		"behind xargs":          {"echo a | xargs -n 1 sh x.sh", "x.sh"},
		"with find":             {"find . -name a -exec sh x.sh {} +", "x.sh"},
		"an rc file":            {"bash --rcfile x.sh -i", "x.sh"},
		"Python":                {"python3 -B x.py", "x.py"},
		"Python, standard in":   {"python3 < x.py", "x.py"},
		"Python, a module":      {"python3 -m mod", "mod.py"},
		"Python, a package":     {"python3 -m pkg.mod", "pkg/mod.py"},
		"Python, a package's":   {"python3 -m pkg", "pkg/__main__.py"},
		"Perl":                  {"perl -I lib x.pl", "x.pl"},
		"Node":                  {"node --trace-warnings x.js", "x.js"},
		"Node, without suffix":  {"node x", "x.js"},
		"Deno":                  {"deno run -A x.ts", "x.ts"},
		"Ruby":                  {"ruby -w x.rb", "x.rb"},
		"awk":                   {"awk -f x.awk a", "x.awk"},
		"sed":                   {"sed -f x.sed a", "x.sed"},
		"make":                  {"make", "Makefile"},
		"make, a target":        {"make -j 4 all", "Makefile"},
		"make, another file":    {"make -f x.mk", "x.mk"},
		"make, another folder":  {"make -C sub", "sub/Makefile"},
		"npm":                   {"npm run x", "package.json"},
		"npm test":              {"npm test", "package.json"},
		"yarn":                  {"yarn x", "package.json"},
		"the end of 5 MB":       {"sh big.sh", "big.sh"},
		"sourced by a script":   {"sh with.sh", "lib.sh"},
		"run by a script":       {"./with.sh", "tool.py"},
		"a copy":                {"cp x.sh g; sh g", "x.sh"},
		"a copy of a copy":      {"cat x.sh > g; cp g h; ./h", "x.sh"},
		"a folder that moves":   {"mv sub d; sh d/x.sh", "sub/x.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir := newTerminal(t)
			file := filepath.Join(dir, tt.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "with.sh"), []byte("#!/bin/sh\n. ./lib.sh\npython3 tool.py\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			content := "#!/bin/sh\n#"
			if tt.file == "big.sh" {
				content += strings.Repeat("x", 5<<20) + "\n"
			}
			if filepath.Base(tt.file) == "Makefile" || tt.file == "package.json" {
				content = "{}\n"
			}
			if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
				t.Fatal(err)
			}
			asked := false
			env.Gate = gate.New(gate.Config{Asker: meddler{func() {
				asked = true
				if err := os.WriteFile(file, []byte(content+"touch evil\n"), 0o755); err != nil {
					t.Error(err)
				}
			}}})
			args, err := json.Marshal(map[string]string{"command": "rm -rf y; " + tt.command})
			if err != nil {
				t.Fatal(err)
			}
			_, result := runTerminal(t.Context(), t, env, string(args))
			if !asked || !result.IsError || !strings.Contains(string(result.JSON), "was changed while") {
				t.Errorf("%s: asked %v: %s", tt.command, asked, result.JSON)
			}
			if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
				t.Errorf("%s: it ran", tt.command)
			}
		})
	}
}

func TestTerminalTellsOfUnsavedText(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	e := &openDocument{doc: workspace.Document{Path: filepath.Join(dir, "a.py"), Version: 1, Text: []byte("new\n")}}
	files, err := workspace.Open([]string{dir}, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() }) // only read
	env.Files = files
	if err := os.WriteFile(e.doc.Path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := runTerminal(t.Context(), t, env, `{"command":"cat a.py"}`)
	if out.Output != "old\n" || out.Note != "not saved in the editor: a.py; commands see the versions on the disk" {
		t.Errorf("%+v", out)
	}
	if err := os.WriteFile(e.doc.Path, []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ = runTerminal(t.Context(), t, env, `{"command":"cat a.py"}`); out.Note != "" {
		t.Errorf("%+v", out)
	}
	if got := explainUnsaved([]string{"1", "2", "3", "4", "5", "6", "7"}); got != "not saved in the editor: 1, 2, 3, 4, 5, and 2 more; commands see the versions on the disk" {
		t.Error(got)
	}
}

// A remembered approval holds for the shown content. If a script changes, the same command requires
// approval again. If its scripts are unknown, it always does.
func TestRememberedApprovalsCoverTheContent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command, file string
		again         bool // it asks also if nothing has changed
	}{
		"script":              {"PAGER=./p sh x.sh", "x.sh", false},
		"program":             {"PAGER=./p true", "p", false},
		"standard input":      {"PAGER=./p sh < x.sh", "x.sh", false},
		"sourced by a script": {"PAGER=./p sh with.sh", "x.sh", false},
		"made later":          {"PAGER=./p python3 x.py", "new.py", false},
		"make":                {"PAGER=./p make -f x.mk", "x.mk", false},
		"another file":        {"PAGER=./p true", "x.sh", false},
		"what is found":       {"find . -name 'x.sh' -exec sh {} ';'", "x.sh", true},
		"what is piped":       {"ls x.sh | xargs sh", "x.sh", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir := newTerminal(t)
			for file, text := range map[string]string{"x.sh": "true\n", "x.py": "import new\n", "p": "#!/bin/sh\n", "with.sh": ". ./x.sh\n", "x.mk": "all:\n\t@true\n"} {
				putText(t, filepath.Join(dir, file), text)
			}
			user := toolstest.UserAnswering(tools.DecisionAlways, tools.DecisionSession, tools.DecisionAlways, tools.DecisionDeny)
			env.Gate = gate.New(gate.Config{Asker: user})
			run := func(want int, when string) {
				t.Helper()
				runTerminal(t.Context(), t, env, quotedArgs(t, tt.command))
				if len(user.Asked) != want {
					t.Errorf("%s: asked %d times, want %d", when, len(user.Asked), want)
				}
			}
			run(1, "at first")
			if remember := user.Asked[0].Remember; (remember == "") != tt.again {
				t.Errorf("it would remember %q", remember)
			}
			if tt.again {
				run(2, "again")
				return
			}
			run(1, "again")
			old, _ := os.ReadFile(filepath.Join(dir, tt.file)) // it may not be there
			putText(t, filepath.Join(dir, tt.file), string(old)+"\n# more\n")
			want := 2
			if name == "another file" {
				want = 1
			}
			run(want, "after a change")
			run(want, "after that")
		})
	}
}

func quotedArgs(t *testing.T, command string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return string(args)
}

func putText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// openDocument is an editor with one open document.
type openDocument struct{ doc workspace.Document }

func (e *openDocument) Get(_ context.Context, path string) (workspace.Document, bool, error) {
	return e.doc, path == e.doc.Path, nil
}

func (e *openDocument) Replace(context.Context, workspace.Document, []byte) error {
	return workspace.ErrStale
}

func (e *openDocument) Paths() []string { return []string{e.doc.Path} }

func (e *openDocument) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }
