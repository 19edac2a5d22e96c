package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
)

// planned is a session in plan mode. No call may change its workspace.
type planned struct {
	t     *testing.T
	home  string
	ws    string
	port  int
	heard atomic.Int32 // connections and packets
	host  *approving
	x     *server.Session
	model *fakemodel.Model
}

// approving is a host that approves everything for the session, and counts.
type approving struct {
	guest
	count    atomic.Int32
	decision tools.Decision
}

func (a *approving) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if len(q.Choices) > 0 { // of a plan
		return "", nil
	}
	a.count.Add(1)
	return a.decision, nil
}

// attack is a call in plan mode.
type attack struct {
	tool string
	args any
	want string // part of the result; empty: any
}

// newPlanned makes a repository with automatically executed code: an alias, a filter, a monitor, a
// makefile, a script. model answers the requests of subagents.
func newPlanned(t *testing.T, config string, model *fakemodel.Model) *planned {
	t.Helper()
	if m := sandbox.Detect(t.Context()); m.Kind != sandbox.Namespaces && m.Kind != sandbox.Bubblewrap {
		t.Skip("no sandbox here bounds plan mode:", m.Kind)
	}
	p := &planned{t: t, home: t.TempDir(), ws: t.TempDir(), host: &approving{decision: tools.DecisionSession}, model: model}
	p.listen()
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\n", "run.sh": "touch pwned\n", "Makefile": "all:\n\ttouch pwned\n", ".envrc": "touch pwned\n",
		"pwn.py": "open('pwned', 'w')\n", ".gitattributes": "*.txt filter=evil diff=evil\n", "build/x": "x", "conftest.py": "open('pwned', 'w')\n",
	} {
		path := filepath.Join(p.ws, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	touch := "touch " + filepath.Join(p.ws, "pwned")
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "a.txt"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"},
		{"config", "alias.evil", "!" + touch}, {"config", "core.fsmonitor", touch}, {"config", "core.pager", touch},
		{"config", "filter.evil.clean", touch + "; cat"}, {"config", "diff.evil.textconv", touch + ";"}, {"config", "core.sshCommand", touch},
	} {
		git := exec.Command("git", append([]string{"-C", p.ws}, args...)...)
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(p.home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := app.New(server.Options{Home: p.home, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Model: model})
	t.Cleanup(func() { _ = s.Close() })
	var err error
	if p.x, err = s.NewSession(t.Context(), server.Place{Cwd: p.ws}, p.host); err != nil {
		t.Fatal(err)
	}
	return p
}

// listen counts arrivals at a port of this machine, by TCP and UDP.
func (p *planned) listen() {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.port = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = tcp.Close(); _ = udp.Close() })
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			p.heard.Add(1)
			_ = c.Close()
		}
	}()
	go func() {
		for b := make([]byte, 100); ; {
			if _, _, err := udp.ReadFrom(b); err != nil {
				return
			}
			p.heard.Add(1)
		}
	}()
}

// state is a hash of names, modes, times and contents of the workspace.
func (p *planned) state() string {
	p.t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(p.ws, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum.Write(text)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (p *planned) mode(id string) {
	p.t.Helper()
	if err := p.x.SetMode(p.t.Context(), id); err != nil {
		p.t.Fatal(err)
	}
}

func (p *planned) prompt(text string) {
	p.t.Helper()
	if stop, err := p.x.Prompt(p.t.Context(), agent.Input{Text: text}, nil); stop != agent.EndTurn || err != nil {
		p.t.Fatalf("%q: %s, %v", text, stop, err)
	}
}

// results returns the results of the session's calls so far, by call id.
func (p *planned) results() map[string]string {
	all := map[string]string{}
	for _, r := range p.model.Requests() {
		for _, m := range r.Messages {
			if id := m.CallID(); id != "" {
				all[id] = m.Text()
			}
		}
	}
	return all
}

func sh(command string) map[string]any { return map[string]any{"command": command} }

func py(code string) map[string]any { return map[string]any{"code": code} }

// In plan mode, no call of the model changes the workspace or reaches the network, even after
// earlier approvals.
func TestPlanModeAttacks(t *testing.T) {
	t.Parallel()
	var attacks []attack
	step := -1 // the attack made last
	var p *planned
	var before string
	model := fakemodel.Func(func(x *fakemodel.Exchange) {
		first := x.Request.Messages[0].Text()
		switch {
		case strings.Contains(first, "write in my name"): // a subagent
			if len(x.Request.Messages) == 1 {
				x.Call("s1", "write_file", `{"path":"pwned","content":"x"}`)
				x.Call("s2", "terminal", `{"command":"touch pwned"}`)
				x.Call("s3", "patch", `{"path":"a.txt","old_string":"one","new_string":"pwned"}`)
				return
			}
			for _, m := range x.Request.Messages[len(x.Request.Messages)-3:] {
				if !strings.Contains(m.Text(), "plan mode") && !strings.Contains(m.Text(), "Read-only file system") {
					t.Errorf("a subagent's call: %s", m.Text())
				}
			}
			x.Text("I could not.")
		case strings.Contains(x.Request.Messages[len(x.Request.Messages)-1].Text(), "prepare"):
			x.Call("p1", "terminal", encoded(sh("rm -rf build/gone")))                             // is approved for the session
			x.Call("p2", "terminal", encoded(map[string]any{"command": "sh", "background": true})) // waits for input
			x.Call("p3", "execute_code", encoded(py("import os\ndef evil(): open('pwned', 'w').close()")))
			x.Call("p4", "checkpoint", `{"action":"create","name":"mine"}`)
			x.Call("p5", "write_file", `{"path":"later.txt","content":"x"}`) // is undone by a restore
			x.Call("p6", "terminal", encoded(sh("alias ls='touch pwned;'; touch() { command touch pwned; }; export -f touch; export GIT_EXTERNAL_DIFF='touch pwned' BASH_ENV=$PWD/run.sh ENV=$PWD/run.sh")))
		case strings.Contains(x.Request.Messages[len(x.Request.Messages)-1].Text(), "ready"):
			x.Text("I am.")
		case step < 0 && x.Request.Messages[len(x.Request.Messages)-1].CallID() == "p6":
			x.Text("Prepared.")
		default:
			if step >= 0 {
				if now := p.state(); now != before {
					t.Errorf("the workspace was changed by %+v: %s", attacks[step], x.Request.Messages[len(x.Request.Messages)-1].Text())
					before = now
				}
			}
			if step++; step < len(attacks) {
				a := attacks[step]
				x.Call(fmt.Sprint("a", step), a.tool, encoded(a.args))
				return
			}
			x.Text("I give up.")
		}
	})
	p = newPlanned(t, "code_execution: {persist: true}\ndelegation: {max_spawn_depth: 2}\nweb: {allow_private: true}\n", model)
	p.prompt("prepare")
	checkpoint := ""
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(p.results()["p4"]), &made); err != nil || made.ID == "" {
		t.Fatalf("the checkpoint: %s", p.results()["p4"])
	}
	checkpoint = made.ID
	asked := p.host.count.Load()
	if asked == 0 {
		t.Error("nothing was approved before")
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/", p.port)
	connect := fmt.Sprintf("import socket\ntry:\n  socket.create_connection(('127.0.0.1', %d), 2)\nexcept OSError as e: print('no:', e)\ns=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ntry:\n  s.sendto(b'x', ('127.0.0.1', %d))\nexcept OSError as e: print('no:', e)", p.port, p.port)
	outside := filepath.Join(p.home, "pwned")
	attacks = []attack{
		// Writing tools.
		{"write_file", map[string]any{"path": "pwned", "content": "x"}, "plan mode"},
		{"patch", map[string]any{"path": "a.txt", "old_string": "one", "new_string": "1"}, "plan mode"},
		{"patch", map[string]any{"mode": "patch", "patch": "*** Begin Patch\n*** Add File: pwned\n+x\n*** End Patch"}, "plan mode"},
		{"Write", map[string]any{"file_path": "pwned", "content": "x"}, ""},
		{"str_replace", map[string]any{"path": "a.txt", "old_str": "one", "new_str": "1"}, ""},
		{"bash", sh("touch pwned"), ""},
		{"web_extract", map[string]any{"urls": []string{url}}, "plan mode"},
		{"checkpoint", map[string]any{"action": "restore", "id": checkpoint}, "plan mode"},
		// Commands.
		{"terminal", sh("touch pwned"), "Read-only file system"},
		{"terminal", sh("echo x > a.txt; echo x >> run.sh; : > pwned"), ""},
		{"terminal", sh("sh run.sh; . ./run.sh; bash ./run.sh; ./run.sh"), ""},
		{"terminal", sh("rm -rf build/gone"), "plan mode"}, // approved for the session
		{"terminal", sh("rm -rf build"), "plan mode"},
		{"terminal", sh("rm a.txt; mv a.txt b.txt; ln -s a.txt l; mkdir d; chmod 777 a.txt; touch -d 2001-01-01 a.txt; truncate -s 0 a.txt"), ""},
		{"terminal", sh("make; python3 pwn.py; python3 -c \"open('pwned','w')\""), ""},
		{"terminal", sh("git evil"), "Read-only file system"},
		{"terminal", sh("git -c alias.z='!touch pwned' z"), "plan mode"},
		{"terminal", sh("git diff --textconv; git add a.txt; git log"), "Read-only file system"},
		{"terminal", sh("git status; git diff; git --paginate log; git add .; git commit -m x --allow-empty; git stash; git fetch ssh://127.0.0.1/x; git gc; git update-index --refresh; git config user.name y; git worktree add ../w; git checkout -b z"), ""},
		{"terminal", sh("ls; touch; cat a.txt"), ""},
		{"terminal", sh("mount -o remount,rw " + p.ws + "; umount " + p.ws + "; unshare -rm sh -c 'mount -o remount,rw " + p.ws + "; touch pwned'"), ""},
		{"terminal", sh("touch " + outside + "; touch ~/pwned; mkdir -p ~/.cache/x"), ""},
		{"terminal", map[string]any{"command": "touch pwned", "workdir": "build"}, ""},
		{"terminal", map[string]any{"command": "touch pwned", "pty": true}, ""},
		{"terminal", map[string]any{"command": "touch pwned; sleep 0.1; touch build/pwned", "background": true}, ""},
		{"terminal", sh("(touch pwned &) ; setsid touch pwned; nohup touch pwned & wait"), ""},
		{"terminal", sh("git commit --allow-empty -m x"), ""}, // opens places of git in other modes
		{"terminal", sh("cp run.sh .vscode/tasks.json; mkdir -p .vscode && cp run.sh .vscode/tasks.json"), ""},
		// The network.
		{"terminal", sh("python3 - <<'E'\n" + connect + "\nE"), ""},
		{"terminal", sh(fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; echo x >/dev/udp/127.0.0.1/%d; curl -m 2 %s; wget -T 2 -O- %s", p.port, p.port, url, url)), ""},
		// Processes started before.
		{"process", map[string]any{"action": "submit", "session_id": "proc_1", "data": "touch pwned"}, "plan mode"},
		{"process", map[string]any{"action": "write", "session_id": "proc_1", "data": "touch pwned\n"}, "plan mode"},
		{"process", map[string]any{"action": "kill", "session_id": "proc_1"}, "plan mode"},
		{"process", map[string]any{"action": "poll", "session_id": "proc_1"}, "running"},
		{"terminal", sh("for p in /proc/[0-9]*; do echo 'touch pwned' > $p/fd/0; done"), ""},
		// Processes of plan mode.
		{"terminal", map[string]any{"command": "sh", "background": true}, "proc_"},
		{"process", map[string]any{"action": "submit", "session_id": "proc_3", "data": "touch pwned; touch build/pwned; exit"}, ""},
		{"process", map[string]any{"action": "wait", "session_id": "proc_3", "timeout": 20}, ""},
		// Scripts.
		{"execute_code", py("evil()"), "NameError"}, // the interpreter of before is gone
		{"execute_code", py("open('pwned', 'w')"), "Read-only file system"},
		{"execute_code", py("import subprocess, os\nprint(subprocess.run('touch pwned', shell=True))\nos.system('sh run.sh')"), ""},
		{"execute_code", py("import subprocess\nfor c in (['mount', '-o', 'remount,rw', '" + p.ws + "'], ['umount', '-l', '" + p.ws + "'], ['unshare', '-rm', 'sh', '-c', 'mount -o remount,rw " + p.ws + "; touch pwned']): print(subprocess.run(c))"), ""},
		{"execute_code", py("from hermes_tools import write_file, patch\nprint(write_file('pwned', 'x'))\nprint(patch('a.txt', 'one', '1'))"), "plan mode"},
		{"execute_code", py("from hermes_tools import terminal\nprint(terminal('touch pwned'))"), "Read-only file system"},
		{"execute_code", py("from hermes_tools import web_extract\nprint(web_extract(['" + url + "']))"), "plan mode"},
		{"execute_code", py(connect), "no:"},
		{"execute_code", py("import shutil\nshutil.rmtree('build')"), "plan mode"},
		// Subagents.
		{"delegate_task", map[string]any{"goal": "write in my name"}, "I could not."},
		{"delegate_task", map[string]any{"goal": "write in my name", "isolation": "worktree"}, "plan mode"},
		{"delegate_task", map[string]any{"goal": "write in my name", "background": true}, ""},
		{"delegate_task", map[string]any{"action": "wait"}, ""},
		// Reading works.
		{"read_file", map[string]any{"path": "a.txt"}, "two"},
		{"search_files", map[string]any{"pattern": "two"}, "a.txt"},
		{"terminal", sh("cat a.txt; git --no-pager log --oneline; echo scratch > /tmp/x && cat /tmp/x"), "scratch"},
		{"execute_code", py("from hermes_tools import read_file\nprint(read_file('a.txt')['total_lines'])"), "2"},
		{"todo", map[string]any{"todos": []map[string]any{{"id": "1", "content": "Plan", "status": "pending"}}}, "Plan"},
		{"checkpoint", map[string]any{"action": "list"}, "mine"},
	}
	p.mode(server.ModePlan)
	before = p.state()
	p.prompt("go")
	if now := p.state(); now != before {
		t.Error("the workspace was changed")
	}
	if n := p.heard.Load(); n != 0 {
		t.Errorf("%d packets or connections arrived", n)
	}
	if n := p.host.count.Load(); n != asked {
		t.Errorf("the user was asked %d times in plan mode", n-asked)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file was written outside of the workspace")
	}
	results := p.results()
	for i, a := range attacks {
		if r := results[fmt.Sprint("a", i)]; !strings.Contains(r, a.want) {
			t.Errorf("%+v\ngot  %s\nwant %s", a, r, a.want)
		}
	}
	if step != len(attacks) {
		t.Errorf("%d of %d attacks were made", step, len(attacks))
	}
}
