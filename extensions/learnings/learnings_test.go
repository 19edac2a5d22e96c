package learnings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

var (
	terminal = tools.Tool{Name: "terminal", Kind: tools.KindExecute, RunsCommands: true}
	patch    = tools.Tool{Name: "patch", Kind: tools.KindEdit}
	server   = tools.Tool{Name: "mcp_db_query", Kind: tools.KindOther, Owner: servers}
	reader   = tools.Tool{Name: "read_file", Kind: tools.KindRead, ReadOnly: true}
)

// bed is a session with the extension.
type bed struct {
	t     *testing.T
	store *Store
	now   time.Time
	set   *extension.Set
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, store: NewStore(t.TempDir()), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.store.now = func() time.Time { return b.now }
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.open("/project")
	return b
}

// open begins a session in a folder.
func (b *bed) open(folder string) {
	b.t.Helper()
	set, err := extension.Open(b.t.Context(), []extension.Extension{New(b.store)}, func(name string) *extension.Session {
		return &extension.Session{
			ID: "s", Name: name, Cwd: folder, Config: extension.Decode(Section().Defaults),
			Redact: func(text string) string { return strings.ReplaceAll(text, "sk-secret-1234", "[redacted]") },
			Notify: func(text string) { b.t.Error(text) },
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.set = set
}

// call sends the result of a call through the extension, and returns the field learned.
func (b *bed) call(t tools.Tool, args any, result string) (learned string) {
	b.t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	var failure struct{ Error string }
	_ = json.Unmarshal([]byte(result), &failure)
	r := b.set.Events().AfterCall(context.Background(), &tools.Env{SessionID: "s"}, t, tools.Call{Name: t.Name, Args: data}, tools.Result{JSON: json.RawMessage(result), IsError: failure.Error != ""})
	var out struct{ Learned string }
	if err := json.Unmarshal(r.JSON, &out); err != nil {
		b.t.Fatalf("%s: %v", r.JSON, err)
	}
	return out.Learned
}

func (b *bed) runs(command, output string, exit int) (learned string) {
	b.t.Helper()
	text, err := json.Marshal(map[string]any{"output": output, "exit_code": exit})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.call(terminal, map[string]string{"command": command}, string(text))
}

func (b *bed) all() []Learning {
	b.t.Helper()
	all, err := b.store.List(b.t.Context(), 60)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

const unknownFlag = "error: unknown option '--fix-all'"

// TestRecorded checks which outcomes become learnings.
func TestRecorded(t *testing.T) {
	t.Parallel()
	fails := func(b *bed) { b.runs("eslint --fix-all src", unknownFlag, 2) }
	for name, c := range map[string]struct {
		after func(b *bed)
		want  int
	}{
		"the next call works":   {func(b *bed) { b.runs("eslint --fix src", "", 0) }, 1},
		"the eighth call works": {func(b *bed) { times(7, func() { b.runs("ls", "", 0) }); b.runs("eslint --fix src", "", 0) }, 1},
		"the ninth call works":  {func(b *bed) { times(8, func() { b.runs("ls", "", 0) }); b.runs("eslint --fix src", "", 0) }, 0},
		"calls of other tools count": {func(b *bed) {
			times(8, func() { b.call(reader, 1, `{"content":""}`) })
			b.runs("eslint --fix src", "", 0)
		}, 0},
		"another program works":             {func(b *bed) { b.runs("prettier src", "", 0) }, 0},
		"the same call works":               {func(b *bed) { b.runs("eslint --fix-all src", "", 0) }, 0},
		"it works after a file was written": {func(b *bed) { b.call(patch, 1, `{"success":true}`); b.runs("eslint --fix src", "", 0) }, 0},
		"a failed edit writes nothing":      {func(b *bed) { b.call(patch, 1, `{"error":"no"}`); b.runs("eslint --fix src", "", 0) }, 1},
		"a background command": {func(b *bed) {
			b.call(terminal, map[string]string{"command": "eslint --fix src"}, `{"output":"","exit_code":0,"background":true}`)
		}, 0},
	} {
		b := newBed(t)
		fails(b)
		c.after(b)
		if got := b.all(); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	b := newBed(t)
	b.runs("pytest -x", "E  assert 1 == 2\n1 failed", 1) // an error of the project
	b.runs("pytest -q", "", 0)
	b.call(server, map[string]string{"sql": "select"}, `{"error":"missing required argument: table, key sk-secret-1234"}`)
	b.call(server, map[string]string{"sql": "select", "table": "t"}, `{"rows":[]}`)
	if got := b.all(); len(got) != 1 || got[0].Program != server.Name || strings.Contains(fmt.Sprint(got), "sk-secret") {
		t.Errorf("%+v", got)
	}
}

func times(n int, do func()) {
	for range n {
		do()
	}
}

// TestTold checks when a result gets the field learned.
func TestTold(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.runs("eslint --fix-all src", unknownFlag, 2)
	b.runs("eslint --fix src", "", 0)
	if got := b.runs("eslint --fix-all lib", unknownFlag, 2); got != "Seen once here. What worked: eslint --fix src" {
		t.Errorf("told %q", got)
	}
	if got := b.runs("eslint --fix-all lib", unknownFlag, 2); got != "" {
		t.Errorf("told again: %q", got)
	}
	b.runs("eslint --fix lib", "", 0)
	if l := b.all()[0]; l.Seen != 2 || l.Confidence < 0.64 {
		t.Errorf("after the advice worked: %+v", l)
	}
	b.open("/other")
	if got := b.runs("eslint --fix-all lib", unknownFlag, 2); got != "" {
		t.Errorf("told in another project: %q", got)
	}
	for _, folder := range []string{"/third", "/fourth"} {
		b.open(folder)
		b.runs("eslint --fix-all a", unknownFlag, 2)
		b.runs("eslint --fix a", "", 0)
	}
	b.open("/fifth")
	if got := b.runs("eslint --fix-all lib", unknownFlag, 2); !strings.Contains(got, "eslint --fix") {
		t.Errorf("after two other projects confirmed it: %q", got)
	}
	for range 3 { // the advice fails
		b.open("/project")
		b.runs("eslint --fix-all lib", unknownFlag, 2)
		b.runs("eslint --fix lib", "error: unknown option '--fix'", 2)
	}
	b.open("/project")
	if got := b.runs("eslint --fix-all lib", unknownFlag, 2); got != "" {
		t.Errorf("told after it failed: %q", got)
	}
}

// TestDecay checks that a learning is not told when it is old.
func TestDecay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.runs("eslint --fix-all src", unknownFlag, 2)
	b.runs("eslint --fix src", "", 0)
	for days, told := range map[int]bool{20: true, 40: false} {
		b.now = time.Date(2026, 1, 1+days, 0, 0, 0, 0, time.UTC)
		b.open("/project")
		if got := b.runs("eslint --fix-all src", unknownFlag, 2); (got != "") != told {
			t.Errorf("after %d days: %q", days, got)
		}
	}
}

// TestForgotten checks that a learning whose confidence has decayed is deleted.
func TestForgotten(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.runs("eslint --fix-all src", unknownFlag, 2)
	b.runs("eslint --fix src", "", 0)
	b.now = b.now.AddDate(1, 0, 0)
	if all := b.all(); len(all) != 0 {
		t.Errorf("after a year: %v", all)
	}
	b.runs("tsc --fix-all src", unknownFlag, 2)
	b.runs("tsc --fix src", "", 0)
	b.now = b.now.AddDate(-1, 0, 0)
	if all := b.all(); len(all) != 1 || all[0].Program != "tsc" {
		t.Errorf("the next write has kept it: %v", all)
	}
}

// TestBounds checks lengths, the number of rows, and that they can be forgotten.
func TestBounds(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	long := strings.Repeat("ä", 900)
	b.runs("tool --bad "+long, "unknown option "+long, 1)
	b.runs("tool --good "+long, "", 0)
	if l := b.all()[0]; max(len(l.Error), len(l.Failed), len(l.Worked)) > maxKept {
		t.Errorf("%d, %d and %d bytes", len(l.Error), len(l.Failed), len(l.Worked))
	}
	if got := b.runs("tool --bad "+long, "unknown option "+long, 1); got == "" || len(got) > maxAdvice {
		t.Errorf("%d bytes of advice", len(got))
	}
	for i := range 8 {
		b.now = b.now.Add(time.Second)
		if err := b.store.record(t.Context(), Learning{Fingerprint: fmt.Sprint(i), Program: "p", Folder: "/f"}, 5, 60); err != nil {
			t.Fatal(err)
		}
	}
	all := b.all()
	if len(all) != 5 || all[0].Fingerprint != "7" {
		t.Errorf("%+v", all)
	}
	if n, err := b.store.Forget(t.Context(), all[0].ID); n != 1 || err != nil || len(b.all()) != 4 {
		t.Errorf("forgot %d, %v", n, err)
	}
	if n, err := b.store.Forget(t.Context(), 0); n != 4 || err != nil || len(b.all()) != 0 {
		t.Errorf("forgot %d, %v", n, err)
	}
}

// TestFingerprints runs commands that fail in two folders: their fingerprints are equal there,
// and differ between commands.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	commands := []string{
		"git comit -m x", "git log --no-such-flag", "git --nope", "go buidl ./...", "go build --nope", "go vet -nope .",
		"nosuchprogram --x", "python3 -m nosuchmodule", "python3 --nope", "python3 -c 'import nosuchthing'", "python3 -c 'import yamll'",
		"ls --nope", "cp --nope a b", "grep --nope x", "sort --nope", "tar --nope", "find . -nope", "tail --nope", "sed --nope x",
		"mkdir --nope", "date --nope", "head --nope", "bash --nope",
	}
	seen := map[string]string{}
	for _, command := range commands {
		var prints []string
		for range 2 {
			cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("%s: %v", command, err)
			}
			data, err := json.Marshal(map[string]any{"output": string(out), "exit_code": exit.ExitCode()})
			if err != nil {
				t.Fatal(err)
			}
			text := failureOf(tools.Result{JSON: data})
			if text == "" {
				t.Errorf("%s is not an error about the command:\n%s", command, out)
			}
			prints = append(prints, fingerprint(programOf(command), text))
		}
		if prints[0] != prints[1] {
			t.Errorf("%s has two fingerprints", command)
		}
		if other := seen[prints[0]]; other != "" {
			t.Errorf("%s and %s have the same fingerprint", command, other)
		}
		seen[prints[0]] = command
	}
}

// TestPrograms checks which program a command line runs.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cd a && npm run build": "npm run", "FOO=1 go test ./...": "go test", "sudo apt-get install x": "apt-get install", "/usr/bin/python3 x.py": "python3",
		"npm --version": "npm", "eslint . | head": "eslint", "if true; then": "", "cd x": "", "$PROGRAM x": "",
	} {
		if got := programOf(command); got != want {
			t.Errorf("%s runs %q", command, got)
		}
	}
}

// FuzzFailure checks that no output makes a fingerprint fail.
func FuzzFailure(f *testing.F) {
	for _, seed := range []string{"x: command not found", "unknown option \x1b[31m--a", strings.Repeat("/a", 999)} {
		f.Add("go test", seed)
	}
	f.Fuzz(func(t *testing.T, command, output string) {
		data, err := json.Marshal(map[string]any{"output": output, "exit_code": 1})
		if err != nil {
			t.Skip()
		}
		text := failureOf(tools.Result{JSON: data})
		if a := fingerprint(programOf(command), text); len(a) != 64 || slices.Contains([]string{text}, "\n\n") {
			t.Errorf("%q", a)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	x := &instance{store: NewStore(b.TempDir()), session: &extension.Session{Cwd: "/p", Config: extension.Decode(Section().Defaults), Redact: func(s string) string { return s }}, reported: map[string]bool{}, sessions: map[string]*recent{}}
	args := json.RawMessage(`{"command":"go test ./..."}`)
	for name, result := range map[string]string{"successful": `{"output":"ok","exit_code":0}`, "failed": `{"output":"flag provided but not defined: -x","exit_code":2}`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = x.called(b.Context(), extension.ToolCall{Call: tools.Call{Args: args}, Tool: terminal, SessionID: "s"}, tools.Result{JSON: json.RawMessage(result)})
			}
		})
	}
}
