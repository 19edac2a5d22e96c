//go:build unix

package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// desk is an environment with background processes, and the user's notices.
type desk struct {
	*callEnv
	t   *testing.T
	dir string

	mu   sync.Mutex
	told []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t}
	d.callEnv, d.dir = newTerminal(t)
	d.Processes = NewProcesses(func(text string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told = append(d.told, text)
	})
	t.Cleanup(func() {
		if err := d.Processes.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// call calls a tool, and reads its answer.
func (d *desk) call(tool tools.Tool, args string) map[string]any {
	d.t.Helper()
	result, err := tool.Run(d.t.Context(), d.Env, tools.Call{ID: "1", Name: tool.Name, Args: json.RawMessage(args)})
	if err != nil {
		result = tools.Fail("%v", err)
	}
	var out map[string]any
	if err := json.Unmarshal(result.JSON, &out); err != nil {
		d.t.Fatalf("%s: %v", result.JSON, err)
	}
	return out
}

// start starts a command in the background.
func (d *desk) start(command, more string) (id string) {
	d.t.Helper()
	args, _ := json.Marshal(command)
	out := d.call(terminalTool(d.Config), fmt.Sprintf(`{"command":%s,"background":true%s}`, args, more))
	id, _ = out["session_id"].(string)
	if pid, _ := out["pid"].(float64); id == "" || pid <= 1 {
		d.t.Fatalf("%s: %v", command, out)
	}
	return id
}

func (d *desk) process(format string, args ...any) map[string]any {
	d.t.Helper()
	return d.call(processTool(d.Config), fmt.Sprintf(format, args...))
}

// output waits for text in the log.
func (d *desk) output(id, want string) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, _ := d.process(`{"action":"log","session_id":"%s"}`, id)["output"].(string); strings.Contains(text, want) {
			return
		}
	}
	d.t.Fatalf("%q did not come", want)
}

func wantState(t *testing.T, got map[string]any, status string, code any) {
	t.Helper()
	if got["status"] != status || got["exit_code"] != code {
		t.Errorf("%v, want %s and %v", got, status, code)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.start("echo one; echo two >&2; pwd; cd sub; sleep 1000", `,"workdir":"sub"`)
	d.output(id, d.dir+"/sub\n")
	wantState(t, d.process(`{"action":"poll","session_id":"%s"}`, id), "running", nil)
	wantState(t, d.process(`{"action":"wait","session_id":"%s","timeout":0.05}`, id), "running", nil)
	list, _ := json.Marshal(d.process(`{"action":"list"}`))
	for _, want := range []string{`"session_id":"proc_1"`, `"status":"running"`, `"command":"echo one;`, `"started_at":"2`, `"pid":`} {
		if !strings.Contains(string(list), want) {
			t.Errorf("%s is missing in %s", want, list)
		}
	}
	kill := d.process(`{"action":"kill","session_id":"%s"}`, id)
	wantState(t, kill, "killed", 143.0)
	if kill["note"] != "ended, because you killed it" {
		t.Errorf("%v", kill)
	}
	wantState(t, d.process(`{"action":"kill","session_id":"%s"}`, id), "killed", 143.0)
	if out, _ := runTerminal(t.Context(), t, d.callEnv, `{"command":"pwd"}`); out.Output != d.dir+"\n" {
		t.Errorf("the background changed the session: %+v", out)
	}

	id = d.start("echo bye; exit 3", "")
	wantState(t, d.process(`{"action":"wait","session_id":"%s"}`, id), "exited", 3.0)
	if news := d.Processes.Notices(); len(news) != 0 {
		t.Errorf("told again of what the model knows: %q", news)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.told) != 2 || !strings.Contains(d.told[1], "proc_2 (echo bye; exit 3) has ended with exit code 3") {
		t.Errorf("told %q", d.told)
	}
}

func TestProcessLog(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.start(`i=1; while [ $i -le 300 ]; do printf '\033[1mline %d\033[0m\n' $i; i=$((i+1)); done; printf 'ask? '; sleep 1000`, "")
	d.output(id, "ask? ")
	for _, tt := range []struct {
		args, begins, ends string
		next               float64
	}{
		{``, "line 101\n", "line 300\nask? ", 300},
		{`,"limit":2`, "line 299\n", "line 300\nask? ", 300},
		{`,"offset":0,"limit":3`, "line 1\nline 2\nline 3\n", "", 3},
		{`,"offset":3,"limit":1`, "line 4\n", "line 4\n", 4},
		{`,"offset":300`, "ask? ", "ask? ", 300},
		{`,"offset":5000`, "ask? ", "ask? ", 300},
		{`,"offset":-1,"limit":1`, "line 1\n", "line 1\n", 1},
	} {
		out := d.process(`{"action":"log","session_id":"%s"%s}`, id, tt.args)
		text, _ := out["output"].(string)
		if !strings.HasPrefix(text, tt.begins) || !strings.HasSuffix(text, tt.ends) || out["next_offset"] != tt.next {
			t.Errorf("%s: %v", tt.args, out)
		}
	}
}

// If a log exceeds its limit, the newest part stays, and its lines keep their numbers.
func TestProcessLogIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := newProcessLog(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	const lines = 300_000
	for i := range lines {
		fmt.Fprintf(l, "%050d\n", i)
	}
	l.end()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files in sight: %v", left)
	}
	p, err := l.read(-1, 1)
	if err != nil || p.text != fmt.Sprintf("%050d\n", lines-1) || p.next != lines {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = l.read(0, 1)
	if err != nil || p.from == 0 || p.text != fmt.Sprintf("%050d\n", p.from) {
		t.Errorf("%+v, %v", p, err)
	}
	if kept := (lines - p.from) * 51; kept < segmentLimit || kept > 2*segmentLimit+100 {
		t.Errorf("%d bytes are kept", kept)
	}
	if p, _ := l.read(p.from, 100_000); len(p.text) > modelLimit || p.next-p.from != modelTokens/tools.Tokens(p.text[:51]) {
		t.Errorf("a page of %d bytes, %d lines", len(p.text), p.next-p.from)
	}
}

func TestProcessInput(t *testing.T) {
	t.Parallel()
	for _, pty := range []string{"", `,"pty":true`} {
		d := newDesk(t)
		id := d.start(`printf 'name? '; read n; echo "hello $n"; cat; echo end`, pty)
		d.output(id, "name? ")
		wantState(t, d.process(`{"action":"write","session_id":"%s","data":"Wor"}`, id), "running", nil)
		wantState(t, d.process(`{"action":"submit","session_id":"%s","data":"ld"}`, id), "running", nil)
		d.output(id, "hello World\n")
		d.process(`{"action":"submit","session_id":"%s","data":"more"}`, id)
		d.output(id, "more\n")
		d.process(`{"action":"write","session_id":"%s","data":"\u0004"}`, id)
		wantState(t, d.process(`{"action":"wait","session_id":"%s"}`, id), "exited", 0.0)
		if out := d.process(`{"action":"submit","session_id":"%s","data":"x"}`, id); !strings.Contains(fmt.Sprint(out["error"]), "takes no input any more") {
			t.Errorf("%v", out)
		}
	}
}

// Text typed into a shell is judged like a command.
func TestProcessInputIsJudged(t *testing.T) {
	t.Parallel()
	place := policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}, Home: "/home/u"}
	for _, tt := range []struct {
		command, typed string
		want           policy.Level
	}{
		{"bash", "ls\n", policy.Runs},
		{"bash", "rm -rf build\n", policy.Asks},
		{"bash -i", "rm -rf /\n", policy.Blocked},
		{"bash", "for f in *; do\n", policy.Asks},
		{"ssh host", "sudo rm -rf x\n", policy.Asks},
		{"python3 -i", "import shutil; shutil.rmtree('x')\n", policy.Asks},
		{"python3", "print(1)\n", policy.Runs},
		{"node", "require('child_process').execSync('rm -rf x')\n", policy.Asks},
		{"psql db", "DROP TABLE a;\n", policy.Asks},
		{"npm init", "y\n", policy.Runs},
		{"npm init", "it's mine\n", policy.Runs},
		{"./ask.sh", "rm -rf x\n", policy.Asks},
		{"env bash", "rm -rf victim; echo '\n", policy.Asks},
		{"bash | cat", "rm -rf victim; echo '\n", policy.Asks},
		{"cat | bash", "rm -rf victim; echo '\n", policy.Asks},
		{"nice bash", "rm -rf victim; echo '\n", policy.Asks},
		{"(bash)", "rm -rf victim; echo '\n", policy.Asks},
		{"{ bash; }", "rm -rf victim; echo '\n", policy.Asks},
		{"bash; true", "rm -rf victim; echo '\n", policy.Asks},
		{"bash || true", "for f in *; do\n", policy.Asks},
		{"while true; do bash; done", "rm -rf victim; echo '\n", policy.Asks},
		{"if true; then sh; fi", "rm -rf \"\n", policy.Asks},
		{"f() { sh; }; f", "echo $(\n", policy.Asks},
		{"timeout 100 nohup sh -i", "rm -rf '\n", policy.Asks},
		{"$SHELL", "rm -rf '\n", policy.Asks},
		{"./ask.sh", "rm -rf victim; echo '\n", policy.Asks},
		{"./ask.sh", "true && rm -rf 'victim\n", policy.Asks},
		{"npm init", "X=1 rm -rf '\n", policy.Asks},
		{"sudo -s", "ls '\n", policy.Asks},
		{"docker exec -i c sh", "rm -rf /x\n", policy.Asks},
		{"kubectl exec -i p -- sh", "rm -rf /x\n", policy.Asks},
		{"env python3 -i", "import os; os.remove('x')\n", policy.Asks},
		{"python3 -i | cat", "import os; os.remove('x')\n", policy.Asks},
		{"ipython", "import os; os.remove('x')\n", policy.Asks},
		{"python3 -i -q", "__import__('os').remove('x')\n", policy.Asks},
		{"uv run python", "import os; os.remove('x')\n", policy.Asks},
		{"node -i", "fs.rmSync('x')\n", policy.Asks},
		{"env node", "fs.rmSync('x')\n", policy.Asks},
		{"deno", "Deno.removeSync('x')\n", policy.Asks},
		{"irb", "File.delete('x')\n", policy.Asks},
		{"perl", "unlink 'x';\n", policy.Asks},
		{"php -a", "unlink('x');\n", policy.Asks},
		{"lua", "os.remove('x')\n", policy.Asks},
		{"julia", "rm(\"x\")\n", policy.Asks},
		{"R", "unlink(\"x\")\n", policy.Asks},
		{"ghci", "System.Directory.removeFile \"x\"\n", policy.Asks},
		{"iex", "File.rm!(\"x\")\n", policy.Asks},
		{"jshell", "new java.io.File(\"x\").delete()\n", policy.Asks},
		{"clojure", "(.delete (java.io.File. \"x\"))\n", policy.Asks},
		{"sbcl", "(delete-file \"x\")\n", policy.Asks},
		{"guile", "(delete-file \"x\")\n", policy.Asks},
		{"octave", "delete('x')\n", policy.Asks},
		{"tclsh", "file delete x\n", policy.Asks},
		{"psql db", "\\! rm -rf x\n", policy.Asks},
		{"sqlite3 db", ".shell rm -rf x\n", policy.Asks},
		{"mysql", "system rm -rf x\n", policy.Asks},
		{"redis-cli", "FLUSHALL\n", policy.Asks},
		{"mongosh", "db.dropDatabase()\n", policy.Asks},
		{"gdb ./x", "shell rm -rf x\n", policy.Asks},
		{"gdb ./x", "!rm -rf x\n", policy.Asks},
		{"gdb ./x", "python import os; os.remove('x')\n", policy.Asks},
		{"gdb ./x", "call (int)system(\"rm x\")\n", policy.Asks},
		{"gdb ./x", "break main\n", policy.Runs},
		{"gdb ./x", "bt\n", policy.Runs},
		{"lldb x", "platform shell rm -rf x\n", policy.Asks},
		{"ed f", "!rm -rf x\n", policy.Asks},
		{"ed f", "r !rm -rf x\n", policy.Asks},
		{"ed f", "w /etc/x\n", policy.Asks},
		{"vim -es f", "!rm -rf x\n", policy.Asks},
		{"vim -es f", "call delete('x')\n", policy.Asks},
		{"vim -es f", ":%s/a/b/\n", policy.Runs},
		{"nvim f", ":lua os.remove('x')\n", policy.Asks},
		{"less f", "!rm -rf x\n", policy.Asks},
		{"less f", "| $rm -rf x\n", policy.Asks},
		{"less f", "/word\n", policy.Runs},
		{"man ls", "!rm -rf x\n", policy.Asks},
		{"git log", "!rm -rf x\n", policy.Asks},
		{"git add -p", "y\n", policy.Runs},
		{"gnuplot", "system 'rm -rf x'\n", policy.Asks},
		{"dc", "!rm -rf x\n", policy.Asks},
		{"ftp h", "!rm -rf x\n", policy.Asks},
		{"ssh host", "rm -rf 'x\n", policy.Asks},
		{"tmux", "rm -rf x\n", policy.Asks},
		{"script -q", "rm -rf x '\n", policy.Asks},
		{"xargs -n1 echo", "it's\n", policy.Asks},
		{"bash", "!rm\n", policy.Asks},
		{"bash -i", "^ls^rm -rf\n", policy.Asks},
		{"bash -i", "-rf x\x01rm \n", policy.Asks},
		{"python3 -i", "move('x')\x01os.re\n", policy.Asks},
		{"bash", "! true && echo a != b\n", policy.Runs},
		{"nice bash", "go test ./...\n", policy.Runs},
		{"env python3 -i", "x = 'rm'; print(x)\n", policy.Runs},
		{"npm create vite", "my-app\n", policy.Runs},
		{"./configure.sh", "Let's go, it's fine\n", policy.Runs},
		{"cat", "a line (with brackets\n", policy.Runs},
	} {
		b := &background{command: tt.command, place: place}
		if v := b.judge(tt.typed); v.Level != tt.want {
			t.Errorf("%q into %q: %v (%s), want %v", tt.typed, tt.command, v.Level, v.Reason, tt.want)
		}
	}
	d := newDesk(t)
	id := d.start("cat", "")
	d.process(`{"action":"write","session_id":"%s","data":"rm "}`, id)
	if out := d.process(`{"action":"submit","session_id":"%s","data":"-rf x"}`, id); !strings.Contains(fmt.Sprint(out["error"]), "no user can approve it") {
		t.Errorf("in two pieces: %v", out)
	}
}

// A command may arrive in lines that are not commands themselves.
func TestTypedLinesAreJudgedTogether(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{"rm \\\n", "-rf victim\n"},
		{"rm \\\n", "\\\n", "-rf victim\n"},
		{"echo a; r\\\n", "m -rf victim\n"},
		{"X='\n", "'; rm -rf victim\n"},
		{"cat <<E\n", "E\n", "rm -rf victim\n"},
		{"rm", " -rf", " victim\n"},
	} {
		for _, command := range []string{"bash", "./ask.sh"} {
			b := &background{command: command, place: policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}, Home: "/home/u"}}
			worst, typed := policy.Runs, ""
			for _, line := range lines {
				worst = max(worst, b.judge(typed+line).Level)
				typed = pending(typed + line)
			}
			if worst == policy.Runs {
				t.Errorf("%q into %s runs", lines, command)
			}
		}
	}
}

func TestProcessMistakes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for args, want := range map[string]string{
		`{"action":"poll"}`:                               "poll needs a session_id. There are none: start one by terminal with background=true",
		`{"action":"poll","session_id":"proc_9"}`:         `There is no background process "proc_9"`,
		`{"action":"wait","session_id":"nonsense\u0007"}`: "There is no background process",
	} {
		if out := d.process("%s", args); !strings.Contains(fmt.Sprint(out["error"]), want) {
			t.Errorf("%s: %v", args, out)
		}
	}
	id := d.start("sleep 1000", "")
	for args, want := range map[string]string{
		`{"action":"poll"}`: "There are proc_1.",
		`{"action":"wait","session_id":"` + id + `","timeout":-1}`: "above 0",
		`{"action":"write","session_id":"` + id + `"}`:             "data is empty",
	} {
		if out := d.process("%s", args); !strings.Contains(fmt.Sprint(out["error"]), want) {
			t.Errorf("%s: %v", args, out)
		}
	}
	d.Processes, d.Env.OutputDir = nil, ""
	if out := d.process(`{"action":"list"}`); out["error"] == nil {
		t.Errorf("%v", out)
	}
}

func TestProcessLongTimeoutGoesApart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	out := d.call(terminalTool(d.Config), `{"command":"echo there","timeout":5000}`)
	if out["session_id"] != "proc_1" || !strings.Contains(fmt.Sprint(out["note"]), "above 600 seconds") {
		t.Errorf("%v", out)
	}
	wantState(t, d.process(`{"action":"wait","session_id":"proc_1"}`), "exited", 0.0)
	inScript := *d.callEnv
	inScript.Processes = nil
	if out, _ := runTerminal(t.Context(), t, &inScript, `{"command":"echo there","timeout":5000}`); out.Output != "there\n" {
		t.Errorf("in a script: %+v", out)
	}
	if _, result := runTerminal(t.Context(), t, &inScript, `{"command":"true","background":true}`); !result.IsError {
		t.Errorf("in a script: %s", result.JSON)
	}
}

func TestProcessesEndWithTheSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.start(`trap '' TERM; (setsid sleep 1000 & echo $!); while :; do sleep 1; done`, "")
	d.output(id, "\n")
	text, _ := d.process(`{"action":"log","session_id":"%s"}`, id)["output"].(string)
	var pid int
	fmt.Sscan(text, &pid) // 0 fails below
	if err := d.Processes.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); pid < 2 || err != syscall.ESRCH {
		t.Errorf("process %d is still there: %v", pid, err)
	}
	if out := d.call(terminalTool(d.Config), `{"command":"true","background":true}`); !strings.Contains(fmt.Sprint(out["error"]), "closed") {
		t.Errorf("%v", out)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.told) != 0 {
		t.Errorf("a closed session was told %q", d.told)
	}
}

func TestProcessNews(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.start("echo building; echo 'listening on 80'; echo 'listening on 81'; exit 4", `,"watch_patterns":["listening"]`)
	<-d.Processes.find(id).done
	news := strings.Join(d.Processes.Notices(), "\n--\n")
	for _, want := range []string{"wrote 1 line that you watch for:\nlistening on 80", "has ended with exit code 4", "Its last lines:\nbuilding\nlistening on 80\nlistening on 81\n"} {
		if !strings.Contains(news, want) {
			t.Errorf("%q is missing in %q", want, news)
		}
	}
	if again := d.Processes.Notices(); len(again) != 0 {
		t.Errorf("told twice: %q", again)
	}
}

// There is at most one notice in 15 seconds, with all lines of this time. Ended processes are
// forgotten later.
func TestProcessNoticesAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		p := NewProcesses(func(text string) { told = append(told, text) })
		b := &background{id: "proc_1", command: "serve", watch: []string{"error"}, done: make(chan struct{})}
		for i := range 40 {
			b.matchLine(p, fmt.Sprintf("error %d", i))
			b.matchLine(p, "fine")
			time.Sleep(1100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		news := p.Notices()
		if len(news) != 4 || len(told) != 4 {
			t.Fatalf("told %d times: %q", len(news), news)
		}
		if !strings.Contains(news[1], "13 lines") || !strings.Contains(news[1], "error 13\n(the last 10 of them)") || strings.Contains(news[1], "error 3\n") {
			t.Errorf("%q", news[1])
		}
		if told[0] != "Background process proc_1 (serve) wrote: error 0" {
			t.Errorf("%q", told[0])
		}

		b.log, _ = newProcessLog(filepath.Join(os.TempDir()), nil, nil)
		b.ended = time.Now()
		p.all = []*background{b}
		close(b.done)
		time.Sleep(keptAfter)
		if p.find("proc_1") == nil {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Second)
		if p.find("proc_1") != nil {
			t.Error("never forgotten")
		}
	})
}

func TestProcessesAreFew(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.Processes
	for i := range mostBackground {
		b := &background{id: fmt.Sprint(i), done: make(chan struct{})}
		b.log, _ = newProcessLog("", nil, nil)
		p.all = append(p.all, b)
	}
	if out := d.call(terminalTool(d.Config), `{"command":"true","background":true}`); !strings.Contains(fmt.Sprint(out["error"]), "64 background processes run already") {
		t.Errorf("%v", out)
	}
	p.all[7].ended = time.Now()
	close(p.all[7].done)
	if out := d.call(terminalTool(d.Config), `{"command":"true","background":true}`); out["error"] != nil {
		t.Errorf("%v", out)
	}
	if p.find("7") != nil || p.find("6") == nil {
		t.Error("another was dropped than the one that has ended")
	}
}
