//go:build unix

package codeexec

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// The same script in the session's sandbox and without it.
func TestSandboxedScript(t *testing.T) {
	t.Parallel()
	enforced := sandbox.Detect(t.Context()).Kind
	all := "secret 12\noutside 1\ninside 1\nhook 1\ntool 2 1\n"
	for mode, want := range map[sandbox.Mode]string{
		sandbox.WorkspaceWrite: "secret no\noutside no\ninside 1\nhook 1\ntool 2 1\n",
		sandbox.ReadOnly:       "secret no\noutside no\ninside no\nhook no\ntool 2 1\n",
		sandbox.Off:            all,
	} {
		if enforced == sandbox.None {
			want = all // then the same layers apply as for the other tools
		}
		for _, persist := range []bool{false, true} {
			home, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{".ssh", "elsewhere"} {
				if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(home+"/.ssh/id_ed25519", []byte(canary), 0o600); err != nil {
				t.Fatal(err)
			}
			b := newBed(t, Config{Persist: persist}, scriptFiles)
			b.env.Gate = gate.New(gate.Config{Mode: "ask", Asker: deniesHooks{}})
			box := b.sandboxed(sandbox.Config{
				Mode: mode, Network: true, Home: home, HermesHome: home + "/.hermes", Environ: b.runner.cfg.Environ,
			})
			a := b.run("HOME = \"" + home + "\"\n" + `
from hermes_tools import read_file, write_file
def attempt(what, do):
    try: print(what, do())
    except OSError: print(what, "no")
attempt("secret", lambda: len(open(HOME + "/.ssh/id_ed25519").read()))
attempt("outside", lambda: open(HOME + "/elsewhere/x", "w").write("x"))
attempt("inside", lambda: open("made.txt", "w").write("x"))
hooks = ".git/" + "skooh"[::-1]
def plant():
    import os
    os.makedirs(hooks)
    return open(hooks + "/pre-commit", "w").write("x")
attempt("hook", plant)
print("tool", read_file("a.txt")["total_lines"], write_file("by-tool.txt", "x").get("bytes_written"))
`[1:])
			box.Close()
			if a.Output != want {
				t.Errorf("%s, %s, persist %v: got %q, want %q", enforced, mode, persist, a.Output, want)
			}
			_, err = os.Stat(filepath.Join(b.dir, ".git", "hooks", "pre-commit"))
			if there := err == nil; there != (mode == sandbox.Off) || mode == sandbox.WorkspaceWrite && !strings.Contains(a.Note, "removed") {
				t.Errorf("%s, %s, persist %v: the hook is there: %v; %s", enforced, mode, persist, there, a.Note)
			}
		}
	}
}

// deniesHooks approves scripts, but denies keeping the git hooks they write.
type deniesHooks struct{}

func (deniesHooks) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if strings.HasPrefix(q.Title, "keep ") {
		return tools.DecisionDeny, nil
	}
	return tools.DecisionOnce, nil
}

// An interpreter in the workspace is untrusted, so it is also tried in the sandbox.
func TestProbeIsSandboxed(t *testing.T) {
	t.Parallel()
	if sandbox.Detect(t.Context()).Kind == sandbox.None {
		t.Skip("nothing enforces a sandbox here")
	}
	home := t.TempDir()
	b := newBed(t, Config{}, map[string]string{
		".venv/pyvenv.cfg": "home = /usr/bin\n",
		".venv/bin/python": "#!/bin/sh\necho x > " + home + "/stolen\nexec /usr/bin/python3 \"$@\"\n",
	})
	if err := os.Chmod(filepath.Join(b.dir, ".venv/bin/python"), 0o755); err != nil {
		t.Fatal(err)
	}
	box := b.sandboxed(sandbox.Config{
		Mode: sandbox.WorkspaceWrite, Network: true, Home: home, HermesHome: home + "/.hermes", Environ: b.runner.cfg.Environ,
	})
	defer box.Close()
	if a := b.run("import sys\nprint(sys.version_info >= (3, 8))"); a.Output != "True\n" {
		t.Errorf("%+v", a)
	}
	if _, err := os.Stat(home + "/stolen"); err == nil {
		t.Error("it wrote outside the workspace")
	}
}

// Scripts that run in sequence share a sandbox, made once, and leave nothing behind for each other.
// A script that runs beside another gets a separate sandbox.
func TestScriptsAreSeparate(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	box := b.sandboxed(sandbox.Config{
		Mode: sandbox.WorkspaceWrite, Network: true, Home: t.TempDir(), Environ: b.runner.cfg.Environ,
	})
	defer box.Close()
	if !box.Holds(t.Context()) {
		t.Skip("each script has a sandbox of its own here")
	}
	const helpers = `
import os, signal, time
stage = os.path.dirname(os.environ["HERMES_RPC_SOCKET"])
def attempt(what, do):
    try: do()
    except OSError: return
    print(what)
def wait(name):
    end = time.time() + 60
    while not os.path.exists(name) and time.time() < end: time.sleep(0.01)
def attack(pid, stage):
    attempt("environment", lambda: open("/proc/%s/environ" % pid).read())
    attempt("memory", lambda: open("/proc/%s/mem" % pid, "rb"))
    attempt("signal", lambda: os.kill(int(pid), signal.SIGKILL))
    write(stage)
def write(stage):
    for name in ("script.py", "boot/start.py", "lib/hermes_tools.py"):
        attempt(name, lambda: open(stage + "/" + name, "a"))
    attempt("new file", lambda: open(stage + "/lib/json.py", "w"))
    attempt("socket", lambda: os.unlink(stage + "/s"))
    attempt("folder", lambda: os.rename(stage, stage + "0"))
`
	other := make(chan answer)
	go func() {
		a, _ := b.call(t.Context(), map[string]any{"code": helpers + `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("pid", "w") as f: f.write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
wait("pid")
write(stage)
attempt("new folder", lambda: os.mkdir(os.path.dirname(stage) + "/9"))
with open("ready.new", "w") as f: f.write("%d %s" % (os.getpid(), stage))
os.rename("ready.new", "ready")
wait("over")
print("alive")
`})
		other <- a
	}()
	eventually(t, "the first script was ready", func() bool {
		_, err := os.Stat(filepath.Join(b.dir, "ready"))
		return err == nil
	})
	beside := b.fail(helpers + `
attack(*open("ready").read().split())
open("over", "w").close()
`)
	if beside.Output != "" || beside.Status != "success" {
		t.Errorf("beside it: %+v", beside)
	}
	if first := <-other; first.Output != "alive\n" {
		t.Errorf("the first script: %+v", first)
	}
	next := b.fail(helpers + `
print(os.path.dirname(stage) == os.path.dirname(open("ready").read().split()[1]))
print(os.path.exists("/proc/" + open("pid").read()), sorted(os.listdir(os.path.dirname(stage))) == [os.path.basename(stage), "lock"])
`)
	if next.Output != "True\nFalse True\n" {
		t.Errorf("the next script: %+v", next)
	}
}
