package learnings

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
			Emit:   func(e extension.Event) { b.t.Error(e.Title) },
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

// trust changes the confidence of all learnings.
func (b *bed) trust(confidence float64) {
	b.t.Helper()
	f, err := b.store.open(b.t.Context(), false)
	if err != nil {
		b.t.Fatal(err)
	}
	err = f.Write(b.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE learnings SET confidence = ?, used = ?`, confidence, b.now.UnixMicro())
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// stored returns the number of rows in the file, including unlisted rows.
func (b *bed) stored() (n int) {
	b.t.Helper()
	f, err := b.store.open(b.t.Context(), false)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := f.Reader.QueryRowContext(b.t.Context(), `SELECT COUNT(*) FROM learnings`).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// TestConfidence checks the effect of outcomes on the confidence, and which learnings are reported
// and kept.
func TestConfidence(t *testing.T) {
	t.Parallel()
	const bad, good, other = "eslint --fix-all src", "eslint --fix src", "eslint --all src"
	for name, c := range map[string]struct {
		start float64 // 0: as it was recorded
		days  int     // without use
		told  bool
		next  string // the next call, after the error came again
		works bool
		want  float64 // 0: the row is deleted
		call  string  // known afterwards
	}{
		"recorded":                      {told: true, next: "ls", works: true, want: 0.5, call: good},
		"the advice worked":             {told: true, next: good, works: true, want: 0.65, call: good},
		"the advice did not work":       {told: true, next: good, want: 0.25, call: good},
		"it is at most 1":               {start: 0.9, told: true, next: good, works: true, want: 1, call: good},
		"half a life":                   {days: 30, told: true, next: "ls", works: true, want: 0.354, call: good},
		"after decay, the advice works": {days: 30, told: true, next: good, works: true, want: 0.504, call: good},
		"after decay, it does not":      {start: 0.9, days: 60, told: true, next: good, want: 0.2, call: good},
		"a life":                        {days: 60, next: "ls", works: true, want: 0.25, call: good},
		"two lives":                     {days: 120, next: "ls", works: true, want: 0.125, call: good},
		"three lives":                   {days: 180, next: "ls", works: true},
		"at the limit of showing":       {start: 0.351, told: true, next: "ls", works: true, want: 0.351, call: good},
		"below it":                      {start: 0.349, next: "ls", works: true, want: 0.349, call: good},
		"not told, and it works again":  {days: 60, next: good, works: true, want: 0.5, call: good},
		"forgotten, and it works again": {days: 365, next: good, works: true, want: 0.5, call: good},
		"trusted, and another works":    {told: true, next: other, works: true, want: 0.5, call: good},
		"not told, and another works":   {days: 60, next: other, works: true, want: 0.5, call: other},
		"forgotten, and another works":  {days: 365, next: other, works: true, want: 0.5, call: other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.runs(bad, unknownFlag, 2)
			b.runs(good, "", 0)
			if c.start > 0 {
				b.trust(c.start)
			}
			b.now = b.now.AddDate(0, 0, c.days)
			b.open("/project")
			if got := b.runs(bad, unknownFlag, 2); (got != "") != c.told {
				t.Errorf("told %q", got)
			}
			output, exit := "error: unknown option '--fix'", 2
			if c.works {
				output, exit = "", 0
			}
			b.runs(c.next, output, exit)
			all := b.all()
			if c.want == 0 {
				if len(all) > 0 {
					t.Errorf("kept %+v", all)
				}
				return
			}
			if len(all) != 1 || math.Abs(all[0].Confidence-c.want) > 0.001 || all[0].Worked != c.call {
				t.Errorf("%+v", all)
			}
		})
	}
}

// TestForgotten checks that each write deletes the rows with decayed confidence.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(b *bed){
		"another learning": func(b *bed) {
			b.runs("tsc --fix-all src", unknownFlag, 2)
			b.runs("tsc --fix src", "", 0)
		},
		"an outcome of advice": func(b *bed) {
			if b.runs("eslint --fix-all lib", unknownFlag, 2) == "" {
				b.t.Error("no advice")
			}
			b.runs("eslint --fix lib", "", 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.runs("prettier --fix-all src", unknownFlag, 2)
			b.runs("prettier --fix src", "", 0)
			b.now = b.now.AddDate(1, 0, 0)
			if all := b.all(); len(all) != 0 {
				t.Errorf("after a year: %v", all)
			}
			b.now = b.now.AddDate(-1, 0, 0)
			b.runs("eslint --fix-all src", unknownFlag, 2)
			b.runs("eslint --fix src", "", 0)
			b.now = b.now.AddDate(0, 0, 20) // eslint is at 0.40
			f, err := b.store.open(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			err = f.Write(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.Exec(`UPDATE learnings SET confidence = 0.12 WHERE program = 'prettier'`) // 0.095 now
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := b.stored(); n != 2 {
				t.Fatalf("%d rows", n)
			}
			b.open("/project")
			write(b)
			b.now = b.now.AddDate(-1, 0, 0)
			for _, l := range b.all() {
				if l.Program == "prettier" {
					t.Errorf("the write has kept %+v", l)
				}
			}
		})
	}
}

// TestBounds checks lengths, the number of rows, and that rows can be deleted.
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

// TestFingerprints runs failing commands in two folders: a command's fingerprint is the same in
// both, and differs from other commands'.
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

// TestErrors checks which lines count as errors about the command itself.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, line := range strings.Split(strings.TrimSpace(`
bash: line 1: ruff: command not found
zsh: command not found: ruff
sh: 1: ruff: not found
exec: "ruff": executable file not found in $PATH
bash: line 1: ./run.sh: No such file or directory
bash: ./run.sh: Permission denied
python3: can't open file '/w/scripts/run.py': [Errno 2] No such file or directory
'ruff' is not recognized as an internal or external command,
error: unknown option '--fix-all'
error TS5023: Unknown compiler option '--fix-all'.
ruff: error: unrecognized arguments: --fix-all
error: unexpected argument '--fix-all' found
Error: unknown flag: --fix-all
git: 'comit' is not a git command. See 'git --help'.
error: no such command: 'biuld'
make: *** No rule to make target 'biuld'.  Stop.
npm error Missing script: "biuld"
ModuleNotFoundError: No module named 'yamll'
Error: Cannot find module 'yamll'
ERROR: No matching distribution found for yamll
E: Unable to locate package yamll
npm error 404  'yamll@*' is not in this registry.
mkdir: cannot create directory '/x': Operation not permitted
EACCES: permission denied, mkdir '/usr/lib/node_modules'
error: externally-managed-environment
curl: (7) Failed to connect to localhost port 1: Connection refused
Error: connect ECONNREFUSED 127.0.0.1:5432
curl: (60) SSL certificate problem: self-signed certificate
go: go.mod requires go >= 1.99 (running go 1.26.8)
ERROR: Package 'x' requires a different Python: 3.11.7 not in '>=3.12'
The engine "node" is incompatible with this module. Expected version ">=22". Got "18.0.0"
./x: /lib/libc.so.6: version 'GLIBC_2.99' not found (required by ./x)
pytest: error: argument -n: expected one argument
error: the following arguments are required: name
error: the following required arguments were not provided:
error: invalid value 'x' for '--jobs <N>'
argument --format: invalid choice: 'x' (choose from 'a', 'b')
Error: accepts 1 arg(s), received 2
flag needs an argument: --jobs
grep: option requires an argument -- 'e'
cp: missing file operand
too many arguments
`), "\n") {
		data, err := json.Marshal(map[string]any{"output": "Trying …\n" + line + "\n", "exit_code": 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := failureOf(tools.Result{JSON: data}); got != line {
			t.Errorf("%q is no error about the command: %q", line, got)
		}
	}
	for _, line := range []string{
		"E   assert 1 == 2", "FAIL: TestOne (0.00s)", "main.go:3:2: undefined: x", "error TS2322: Type 'string' is not assignable to type 'number'.",
		"cat: notes.txt: No such file or directory", "SyntaxError: invalid syntax", "panic: runtime error: index out of range [3] with length 2",
		"KeyError: 'name'", "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'", "1 failed, 3 passed in 0.02s", "CONFLICT (content): Merge conflict in a.go",
	} {
		data, err := json.Marshal(map[string]any{"output": line + "\n", "exit_code": 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := failureOf(tools.Result{JSON: data}); got != "" {
			t.Errorf("%q is an error about the command", line)
		}
	}
}

// TestEqualErrors checks which errors share a fingerprint.
func TestEqualErrors(t *testing.T) {
	t.Parallel()
	print := func(program, output string) string {
		data, err := json.Marshal(map[string]any{"output": output, "exit_code": 1})
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint(program, failureOf(tools.Result{JSON: data}))
	}
	first := print("pip install", "unknown option --x for a.py at 1.2.3.4:80")
	for name, c := range map[string]struct {
		program, one, other string
		equal               bool
	}{
		"escapes":             {"p", "\x1b[31munknown option --x\x1b[0m", "unknown option --x", true},
		"times":               {"p", "2026-01-02T03:04:05Z unknown option", "2027-11-12 13:14:15.999+02:00 unknown option", true},
		"ids":                 {"p", "unknown option 01a215d1-8478-74f1-b631-ec0d11e6b180 0xdeadbeef", "unknown option 99a215d1-8478-74f1-b631-ec0d11e6b1ff 0x1234", true},
		"addresses":           {"p", "connection refused 127.0.0.1:80 [::1]:80", "connection refused 10.0.0.255:8080 [fe80::2]:81", true},
		"numbers":             {"p", "line 3: unknown option", "line 417: unknown option", true},
		"paths":               {"p", "/a/b/c.py: unknown option", "/home/u/x/y/long-name.py: unknown option", true},
		"extensions stay":     {"p", "/a/b/c.py: unknown option", "/a/b/c.go: unknown option", false},
		"other words":         {"p", "unknown option --x", "unknown option --y", false},
		"other lines do not":  {"p", "Trying a\nunknown option --x\nDone", "Hello\nunknown option --x", true},
		"the last three only": {"p", "unknown option --a\nunknown option --b\nunknown option --c\nunknown option --d", "unknown option --z\nunknown option --b\nunknown option --c\nunknown option --d", true},
	} {
		if equal := print(c.program, c.one) == print(c.program, c.other); equal != c.equal {
			t.Errorf("%s: equal is %v", name, equal)
		}
	}
	if first == print("pip download", "unknown option --x for a.py at 1.2.3.4:80") {
		t.Error("another subcommand has the same fingerprint")
	}
}
