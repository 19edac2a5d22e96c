//go:build unix

package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// newTerminal is an environment with a shell in a temp workspace, and its folder.
func newTerminal(t *testing.T) (*callEnv, string) {
	t.Helper()
	shell, dir := newTestShell(t, "")
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() }) // only read
	return &callEnv{&tools.Env{OutputDir: filepath.Join(t.TempDir(), "outputs")}, Config{Bounds: tools.Bounds{Files: files}, Shell: shell}}, dir
}

// runTerminal calls the tool as the dispatch would; args may name DIR.
func runTerminal(ctx context.Context, t *testing.T, env *callEnv, args string) (terminalOut, tools.Result) {
	t.Helper()
	args = strings.ReplaceAll(args, "DIR", env.Files.Folders()[0])
	result, err := terminalTool(env.Config).Run(ctx, env.Env, tools.Call{ID: "1", Name: "terminal", Args: json.RawMessage(args)})
	if err != nil {
		result = tools.Fail("%v", err)
	}
	var out terminalOut
	if err := json.Unmarshal(result.JSON, &out); err != nil {
		t.Fatalf("%s: %v", result.JSON, err)
	}
	return out, result
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, want string }{
		{"output and order", `{"command":"echo a; echo b >&2; echo c"}`, `{"output":"a\nb\nc\n","exit_code":0,"cwd":"DIR"}`},
		{"cd", `{"command":"cd sub"}`, `{"output":"","exit_code":0,"cwd":"DIR/sub"}`},
		{"workdir", `{"command":"pwd; cd ..","workdir":"sub"}`, `{"output":"DIR/sub\n","exit_code":0,"cwd":"DIR"}`},
		{"workdir outside", `{"command":"pwd","workdir":"/etc"}`, `{"error":`},
		{"workdir above", `{"command":"pwd","workdir":"../.."}`, `{"error":`},
		{"workdir is a file", `{"command":"pwd","workdir":"file"}`, `{"error":"workdir file is not a folder. Nothing was run. Send a folder of the workspace, or leave workdir out"}`},
		{"failure", `{"command":"exit 3"}`, `{"output":"","exit_code":3,"cwd":"DIR"}`},
		{"not found", `{"command":"nosuchcommand 2>/dev/null"}`, `{"output":"","exit_code":127,"cwd":"DIR","note":"exit code 127: command not found; check its name, or whether it is installed. PATH is that of the editor or shell that started hermes-ls, with the usual folders of tools in the home"}`},
		{"not executable", `{"command":"./file 2>/dev/null"}`, `{"output":"","exit_code":126,"cwd":"DIR","note":"exit code 126: found, but it may not be executed (no x permission, or a folder)"}`},
		{"grep", `{"command":"cat file | grep nothing"}`, `{"output":"","exit_code":1,"cwd":"DIR","note":"exit code 1 of grep means that nothing matched; it is no failure"}`},
		{"diff", `{"command":"cd sub && diff -q ../file /dev/null >/dev/null"}`, `{"output":"","exit_code":1,"cwd":"DIR/sub","note":"exit code 1 of diff means that the files differ; it is no failure"}`},
		{"killed", `{"command":"kill -9 $$"}`, `{"output":"","exit_code":137,"cwd":"DIR","note":"exit code 137: killed (SIGKILL), often for lack of memory"}`},
		{"a job waited for", `{"command":"(sleep 0.01; echo b) & wait"}`, `{"output":"b\n","exit_code":0,"cwd":"DIR"}`},
		{"crashed", `{"command":"kill -SEGV $$"}`, `{"output":"","exit_code":139,"cwd":"DIR","note":"exit code 139: it crashed on invalid memory (SIGSEGV)"}`},
		{"outside", `{"command":"cd /"}`, `{"output":"","exit_code":0,"cwd":"/","note":"the folder is outside the workspace now; the file tools do not reach it"}`},
		{"escape sequences", `{"command":"printf '\\033[31mred\\033[0m \\033]52;c;eA==\\007x'"}`, `{"output":"red x","exit_code":0,"cwd":"DIR"}`},
		{"no input", `{"command":"read x; echo $?"}`, `{"output":"1\n","exit_code":0,"cwd":"DIR"}`},
		{"timeout too long", `{"command":"true","timeout":5000}`, `{"output":"","exit_code":0,"cwd":"DIR","note":"timeout was lowered to the most there is, 600 seconds"}`},
		{"timeout beyond measure", `{"command":"true","timeout":1e300}`, `{"output":"","exit_code":0,"cwd":"DIR","note":"timeout was lowered to the most there is, 600 seconds"}`},
		{"timeout below zero", `{"command":"true","timeout":-1}`, `{"error":"timeout is -1, but must be a number of seconds above 0. Nothing was run. Leave it out for 180 seconds."}`},
		{"empty", `{"command":" "}`, `{"error":"command is empty: give a shell command, such as \"ls\"."}`},
		{"background", `{"command":"true","background":true}`, `{"error":"background=true is not offered here: run the command in the foreground, with a timeout if it does not end by itself."}`},
		{"pty", `{"command":"test -t 0 && test -t 1 && printf '\\033[31m%s\\033[0m\\n' $TERM; cd sub; export A=1","pty":true}`, `{"output":"xterm-256color\n","exit_code":0,"cwd":"DIR/sub"}`},
		{"pty, nothing to read", `{"command":"read x; echo $?","pty":true}`, `{"output":"1\n","exit_code":0,"cwd":"DIR"}`},
		{"a job left behind", `{"command":"sleep 1000 & echo done"}`, `{"output":"done\n","exit_code":0,"cwd":"DIR","note":"what & had started was ended with the command"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, dir := newTerminal(t)
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, result := runTerminal(t.Context(), t, env, tt.args)
			got := strings.ReplaceAll(string(result.JSON), dir, "DIR")
			if got != tt.want && (!strings.HasSuffix(tt.want, ":") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.HasPrefix(tt.want, `{"error"`) != result.IsError {
				t.Errorf("IsError = %v", result.IsError)
			}
		})
	}
}

func TestTerminalWithoutShell(t *testing.T) {
	t.Parallel()
	env, _ := newTerminal(t)
	env.Shell = nil
	if _, result := runTerminal(t.Context(), t, env, `{"command":"true"}`); !result.IsError {
		t.Errorf("%s", result.JSON)
	}
}

func TestTerminalTimeout(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	out, _ := runTerminal(t.Context(), t, env, fmt.Sprintf(`{"command":"echo early; cd sub; sleep 1000","timeout":%v}`, busy.Seconds()))
	want := terminalOut{Output: "early\n", ExitCode: 143, Cwd: dir, TimedOut: true,
		Note: "ended after 10 seconds, its time limit; the folder and variables it set are lost. If it needs longer, run it again with a larger timeout (at most 600)"}
	if out != want {
		t.Errorf("%+v", out)
	}
}

// The result names who stopped a command, and whether to run it again.
func TestTerminalInterrupted(t *testing.T) {
	t.Parallel()
	for want, cause := range map[string]error{
		"the user canceled this. Do not run it again unless the user asks for it": &tools.Stopped{Who: "the user canceled this", Again: "Do not run it again unless the user asks for it"},
		"it was canceled before its end. Run it again only if it is still needed": nil,
	} {
		env, dir := newTerminal(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		env.Progress = func(p tools.Progress) {
			if strings.Contains(p.Shown[0].Text, "early") {
				cancel(cause)
			}
		}
		out, result := runTerminal(ctx, t, env, `{"command":"echo early; cd sub; sleep 1000"}`)
		if want := (terminalOut{Output: "early\n", ExitCode: 143, Cwd: dir, Interrupted: true, Note: want}); out != want || result.IsError {
			t.Errorf("%+v", out)
		}
	}
}

func TestTerminalShowsProgress(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	var shown []tools.Progress // from a single goroutine, which ends with the call
	env.Progress = func(p tools.Progress) {
		shown = append(shown, p)
		if strings.HasSuffix(p.Shown[0].Text, "half a") {
			if err := os.WriteFile(filepath.Join(dir, "shown"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	out, result := runTerminal(t.Context(), t, env, `{"command":"i=0; while test $i -lt 40; do i=$((i+1)); echo line $i; sleep 0.01; done; printf 'half a'; while ! test -e shown; do sleep 0.05; done; echo ' line'"}`)
	if out.ExitCode != 0 || len(shown) < 2 {
		t.Fatalf("%s, progress %+v", result.JSON, shown)
	}
	if !slices.ContainsFunc(shown, func(p tools.Progress) bool {
		return p.CallID == "1" && p.Message == "40 lines" && strings.HasSuffix(p.Shown[0].Text, "line 40\nhalf a")
	}) {
		t.Errorf("the unfinished line was never shown: %+v", shown)
	}
	if len(result.Shown) != 1 || result.Shown[0].Text != out.Output {
		t.Errorf("in the end the editor shows %+v", result.Shown)
	}
}

func TestTerminalLongOutput(t *testing.T) {
	t.Parallel()
	env, _ := newTerminal(t)
	env.Reader.Script = true // a model gets less, see TestModelOutput
	out, _ := runTerminal(t.Context(), t, env, `{"command":"for i in $(seq 100000); do echo $i; done"}`)
	const total = 588_895 // of seq 100000
	want := fmt.Sprintf("\n[output truncated: %d characters left out]\n", total-outputLimit)
	head, tail, found := strings.Cut(out.Output, want)
	if !found || !strings.HasPrefix(head, "1\n2\n") || !strings.HasSuffix(tail, "99999\n100000\n") || len(head) != 20_000 || len(tail) != 30_000 {
		t.Errorf("%d bytes around %v: %.20q … %q", len(out.Output), found, head, tail[max(0, len(tail)-20):])
	}
	whole, err := os.ReadFile(out.FullOutput)
	if err != nil || len(whole) != total {
		t.Errorf("the whole output: %d bytes, %v", len(whole), err)
	}
	if info, err := os.Stat(out.FullOutput); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	env.OutputDir = filepath.Join(out.FullOutput, "no folder")
	if out, _ := runTerminal(t.Context(), t, env, `{"command":"seq 100000"}`); out.FullOutput != "" || !strings.Contains(out.Output, want) {
		t.Errorf("with no place for it: %q", out.FullOutput)
	}
	env.OutputDir = ""
	if out, _ := runTerminal(t.Context(), t, env, `{"command":"seq 100000"}`); out.FullOutput != "" || !strings.Contains(out.Output, want) {
		t.Errorf("unwanted: %q", out.FullOutput)
	}
}

func TestTerminalHugeOutput(t *testing.T) {
	t.Parallel()
	env, _ := newTerminal(t)
	c := newCapture(env.OutputDir, outputLimit, nil)
	o, err := env.Shell.Run(t.Context(), Command{Text: "yes 'a line of many' | head -c 50000000; head -c 5000000 /dev/zero", Output: c})
	if err != nil || o.Code != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if held := cap(c.head) + cap(c.tail) + cap(c.plain.Pending()); held > 1<<20 {
		t.Errorf("%d bytes are held", held)
	}
	text, full := c.finish()
	if n := utf8.RuneCountInString(text); n > outputLimit+100 {
		t.Errorf("%d characters", n)
	}
	if info, err := os.Stat(full); err != nil || info.Size() != fullLimit {
		t.Errorf("%v, %v", info, err)
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, outputLimit * 2 / 5, outputLimit - 1, outputLimit, outputLimit + 1, outputLimit + 5000, 3 * outputLimit, 10 * outputLimit} {
		for _, char := range []string{"x", "世"} {
			var written strings.Builder
			for i := 0; written.Len() < n*len(char); i++ {
				if i%80 == 79 && char == "x" {
					written.WriteByte('\n')
				} else {
					written.WriteString(char)
				}
			}
			all := []rune(written.String())
			want := string(all)
			if n > outputLimit {
				want = fmt.Sprintf("%s\n[output truncated: %d characters left out]\n%s", string(all[:outputLimit*2/5]), n-outputLimit, string(all[n-outputLimit*3/5:]))
			}
			for _, piece := range []int{1000, 70_000} {
				c := newCapture("", outputLimit, nil)
				for rest := string(all); rest != ""; {
					k := min(piece, len(rest))
					c.Write([]byte(rest[:k])) // it never fails
					rest = rest[k:]
				}
				if got, full := c.finish(); got != want || full != "" {
					t.Errorf("%d × %s, %d at a time: %d bytes, want %d", n, char, piece, len(got), len(want))
				}
			}
		}
	}
}

// Each of ten threads calling terminal gets its own answer.
func TestTerminalAtOnce(t *testing.T) {
	t.Parallel()
	env, _ := newTerminal(t)
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			out, _ := runTerminal(t.Context(), t, env, fmt.Sprintf(`{"command":"sleep 0.0%d; echo %d"}`, i, i))
			if out.Output != fmt.Sprintln(i) {
				t.Errorf("call %d: %+v", i, out)
			}
		})
	}
	calls.Wait()
}

func TestTerminalWords(t *testing.T) {
	t.Parallel()
	tool := terminalTool(Config{})
	if len(tool.Description) > 900 {
		t.Errorf("the description has %d bytes", len(tool.Description))
	}
	if order := `"command":.*"timeout":.*"workdir":.*"background":.*"pty":`; !regexp.MustCompile(order).Match(tool.Schema) {
		t.Errorf("scripts give parameters in the order %s: %s", order, tool.Schema)
	}
	if got := tool.Title(json.RawMessage(`{"command":"go test ./…"}`)); got != "$ go test ./…" {
		t.Errorf("title %q", got)
	}
}

func TestTerminalLimit(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]time.Duration{
		0: 180 * time.Second, 1.5: 1500 * time.Millisecond, 600: 600 * time.Second, 601: 600 * time.Second, 1e300: 600 * time.Second, 1e-12: time.Millisecond,
	} {
		if got := (terminalIn{Timeout: seconds}).limit(terminalTimeout); got != want {
			t.Errorf("%v seconds: %v, want %v", seconds, got, want)
		}
	}
}

func TestLastProgram(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"grep x": "grep", "a | b": "b", "a && b || c": "c", "a; b\nrg x # y": "rg", "x=1": "", "(a)": "", "$x": "", "if": "", "": "",
	} {
		if got := lastProgram(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTerminalEndsItsTreeOnCancel(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	env.Progress = func(tools.Progress) { cancel() } // it has started
	beat := filepath.Join(dir, "beat")               // no other test's command has it in its arguments
	runTerminal(ctx, t, env, fmt.Sprintf(`{"command":"trap '' TERM; (while :; do echo x >>'%[1]s'; sleep 0.02; done) & while ! test -e '%[1]s'; do sleep 0.01; done; echo up; while :; do sleep 1; done"}`, beat))
	if _, err := os.Stat(beat); err != nil {
		t.Error(err)
	}
	if running, err := exec.Command("ps", "-eww", "-o", "args").Output(); err != nil || strings.Contains(string(running), beat) {
		t.Errorf("something still runs: %v\n%s", err, running)
	}
}

// asked is a user who runs a function before answering an approval request.
type asked struct {
	t        *testing.T
	question tools.ApprovalRequest
	answer   tools.Decision
	meantime func()
}

func (a *asked) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	a.question = q
	if a.meantime != nil {
		a.meantime()
	}
	return a.answer, nil
}

func TestTerminalAsks(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	person := &asked{t: t, answer: tools.DecisionDeny}
	env.Gate = gate.New(gate.Config{Asker: person})
	if _, result := runTerminal(t.Context(), t, env, `{"command":"rm -rf sub"}`); !result.IsError || person.question.Title == "" {
		t.Errorf("asked %+v, then %s", person.question, result.JSON)
	}
	if _, err := os.Stat(filepath.Join(dir, "sub")); err != nil {
		t.Errorf("it ran: %v", err)
	}
	if _, result := runTerminal(t.Context(), t, env, `{"command":"reboot"}`); !result.IsError {
		t.Errorf("%s", result.JSON)
	}

	// Other commands during the request change neither directory nor variables.
	person.answer = tools.DecisionOnce
	person.meantime = func() { do(t, env.Shell, "cd /; export WHERE=/") }
	if out, _ := runTerminal(t.Context(), t, env, `{"command":"pwd; echo [$WHERE]; rm -rf sub"}`); out.Output != dir+"\n[]\n" {
		t.Errorf("it ran elsewhere: %+v", out)
	}

	// The folder is replaced by another.
	do(t, env.Shell, "cd "+dir)
	person.meantime = func() {
		if err := os.Rename(filepath.Join(dir, "it's"), filepath.Join(dir, "gone")); err != nil {
			t.Error(err)
		}
		if err := os.Symlink("/", filepath.Join(dir, "it's")); err != nil {
			t.Error(err)
		}
	}
	if _, result := runTerminal(t.Context(), t, env, `{"command":"rm -rf x; touch ran","workdir":"it's"}`); !result.IsError || !strings.Contains(string(result.JSON), "not the one") {
		t.Errorf("%s", result.JSON)
	}
}

// editorTerminals starts commands as an editor does: in its own environment, its output kept
// for later.
type editorTerminals struct {
	t     *testing.T
	limit int
}

func (e editorTerminals) Run(ctx context.Context, args []string, dir string, env []string, limit int, shown func(string)) (string, bool, int, error) {
	var out bytes.Buffer
	shown("term-1")
	env = append([]string{"EDITORS_KEY=hush", "PATH=/nowhere"}, env...)
	exit, err := proc.Run(ctx, proc.Cmd{Args: args, Dir: dir, Env: env, Stdout: &out, Stderr: &out}) // also ends the shell's processes
	if e.limit > 0 && out.Len() > e.limit {
		return out.String()[out.Len()-e.limit:], true, exit.Code, nil
	}
	return out.String(), false, exit.Code, err
}

func TestTerminalOfTheEditor(t *testing.T) {
	t.Parallel()
	env, dir := newTerminal(t)
	env.Terminals = editorTerminals{t: t}
	var shown []tools.Progress
	var shownMu sync.Mutex
	env.Progress = func(p tools.Progress) { shownMu.Lock(); defer shownMu.Unlock(); shown = append(shown, p) }

	out, result := runTerminal(t.Context(), t, env, `{"command":"cd sub; export A=1; echo $EDITORS_KEY; printf '\\033[31mred\\033[0m'; exit 3"}`)
	if out.Output != "\nred" || out.ExitCode != 3 || out.Cwd != filepath.Join(dir, "sub") {
		t.Errorf("%s", result.JSON)
	}
	if len(result.Shown) != 1 || result.Shown[0].Terminal != "term-1" || len(shown) == 0 || shown[0].Shown[0].Terminal != "term-1" {
		t.Errorf("shown: %+v, %+v", result.Shown, shown)
	}
	if out, _ := runTerminal(t.Context(), t, env, `{"command":"pwd; echo $A"}`); out.Output != filepath.Join(dir, "sub")+"\n1\n" {
		t.Errorf("its state is lost: %+v", out)
	}
	if out, _ := runTerminal(t.Context(), t, env, fmt.Sprintf(`{"command":"echo early; sleep 1000","timeout":%v}`, busy.Seconds())); !out.TimedOut || out.Output != "early\n" || out.ExitCode != 143 {
		t.Errorf("at its limit: %+v", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(dir, "begun")
	go func() {
		defer cancel()
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(begun); err == nil {
				return
			}
		}
	}()
	if out, _ := runTerminal(ctx, t, env, fmt.Sprintf(`{"command":"echo early; touch '%s'; sleep 1000"}`, begun)); !out.Interrupted || out.Output != "early\n" {
		t.Errorf("interrupted: %+v", out)
	}
	env.Terminals = editorTerminals{t: t, limit: 4}
	if out, _ := runTerminal(t.Context(), t, env, `{"command":"echo a long line"}`); out.Output != "ine\n" || !strings.Contains(out.Note, "kept only") {
		t.Errorf("cut by the editor: %+v", out)
	}
}
