//go:build unix

package codeexec

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

func TestVariablesStay(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Persist: true, MaxCalls: 2}, scriptFiles)
	b.run("from hermes_tools import read_file\nx = 41\ndef f():\n    return x + 1\nimport os; pid = os.getpid()\n")
	if a := b.run("print(f(), pid == os.getpid(), read_file('a.txt')['total_lines'])"); a.Output != "42 True 2\n" || a.ToolCalls != 1 {
		t.Errorf("%+v", a)
	}
	// Each script has a separate budget, traceback and exit code.
	a := b.fail("read_file('a.txt'); read_file('a.txt')\nprint(read_file('a.txt')['error'])\n\nraise ValueError(f())")
	if a.Status != "error" || a.ExitCode != 1 || a.ToolCalls != 2 || !strings.Contains(a.Output, "limit reached (2)") ||
		!strings.HasPrefix(a.Errors, "Traceback (most recent call last):\n  File \"script3.py\", line 4, in <module>\n    raise ValueError(f())") {
		t.Errorf("%+v", a)
	}
	if a := b.fail("import sys; sys.exit('enough')"); a.ExitCode != 1 || a.Errors != "enough\n" {
		t.Errorf("%+v", a)
	}
	if a := b.run("import sys; print(x, sys.stdin.read() == '', __name__); sys.exit()"); a.Output != "41 True __main__\n" || a.Note != "" {
		t.Errorf("%+v", a)
	}
	reset, _ := b.call(t.Context(), map[string]any{"code": "print('x' in globals())", "reset": true})
	if reset.Output != "False\n" || reset.Note != "" {
		t.Errorf("%+v", reset)
	}
}

// The file of the next script is not written through a link of an earlier script.
func TestNextScriptIsNotWrittenThroughLinks(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Persist: true}, scriptFiles)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run(fmt.Sprintf("import os, sys\nd = os.path.dirname(sys.argv[0])\nos.symlink(%q, d + '/script2.py')\nos.mkfifo(d + '/script3.py')\nos.mkdir(d + '/script4.py')", victim))
	for range 3 {
		if a := b.run("print(6 * 7)"); a.Output != "42\n" {
			t.Errorf("%+v", a)
		}
	}
	if text, err := os.ReadFile(victim); string(text) != "mine" {
		t.Errorf("the file that a link led to holds %q, %v", text, err)
	}
}

func TestKernelThatEndsIsToldOf(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"leaves":             "import os; print('bye', flush=True); os._exit(3)",
		"crashes":            "import os; print('bye', flush=True); os.kill(os.getpid(), 11)",
		"closes its output":  "import os; print('bye', flush=True); os.close(1)",
		"runs out of time":   "print('bye', flush=True)\nwhile True: pass",
		"replaces its input": "import os; print('bye', flush=True); os.closerange(3, 100)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Config{Persist: true}, nil)
			b.runner.grace = 200 * time.Millisecond
			if name == "runs out of time" {
				b.timeIsUpAt("bye")
			}
			b.run("x = 1\nprint(x)")
			began := time.Now()
			if a := b.fail(code); !strings.HasPrefix(a.Output, "bye\n") || time.Since(began) > maxWait {
				t.Errorf("%+v", a)
			}
			a := b.fail("print('x' in globals())")
			if a.Status == "error" { // it has ended only when it wanted its next script
				a = b.fail("print('x' in globals())")
			}
			if a.Output != "False\n" {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestIdleKernelIsReaped(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Persist: true}, nil)
	b.runner.kernel.idle = 200 * time.Millisecond
	a := b.run("import os\nprint(os.path.dirname(os.environ['HERMES_RPC_SOCKET']))")
	staging := strings.TrimSpace(a.Output)
	eventually(t, "the kernel was gone", func() bool {
		_, err := os.Stat(staging)
		return os.IsNotExist(err) && !aliveWith(staging)
	})
	if a := b.run("print('again')"); a.Output != "again\n" {
		t.Errorf("%+v", a)
	}
}

func TestKernelEndsWithTheSession(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Persist: true}, nil)
	staging := strings.TrimSpace(b.run("import os\nprint(os.path.dirname(os.environ['HERMES_RPC_SOCKET']))").Output)
	b.runner.Close()
	if _, err := os.Stat(staging); !os.IsNotExist(err) || aliveWith(staging) {
		t.Errorf("something is left: %v", err)
	}
	if a := b.fail("print(1)"); !strings.Contains(a.Error, "closed") {
		t.Errorf("%+v", a)
	}
}

func TestKernelIsOfferedOnlyWherePersistent(t *testing.T) {
	t.Parallel()
	for persist, want := range map[bool]bool{true: true, false: false} {
		r := New(Config{Persist: persist, Environ: plainEnviron()})
		tool := r.Tool()
		r.Close()
		if got := bytes.Contains(tool.Schema, []byte(`"reset"`)); got != want {
			t.Errorf("persist %v: schema %s", persist, tool.Schema)
		}
		if got := strings.Contains(tool.Describe(nil), "stay for the next script"); got != want {
			t.Errorf("persist %v: %s", persist, tool.Describe(nil))
		}
	}
}

// Output after the end of a script is not lost. It goes to the next script.
func TestStrayOutput(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Persist: true}, nil)
	b.run(`
import os, threading, time
def say_late():
    while not os.path.exists("ended"): time.sleep(0.01)
    print("late", flush=True)
    os.rename("ended", "said")
threading.Thread(target=say_late, daemon=True).start()
print("first")`)
	if err := os.WriteFile(filepath.Join(b.dir, "ended"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late word was said", func() bool {
		_, err := os.Stat(filepath.Join(b.dir, "said"))
		return err == nil
	})
	if a := b.run("print('second')"); a.Output != "late\nsecond\n" {
		t.Errorf("%q", a.Output)
	}
}

// The mark is found however the bytes come.
func TestSplitter(t *testing.T) {
	t.Parallel()
	text := "out\x00put\x00hermes-end\x00hermes-end TOKEN 42\x00rest"
	for size := 1; size <= len(text); size++ {
		var got bytes.Buffer
		s := &splitter{}
		ended := s.begin(&got, "TOKEN")
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		if code := <-ended; code != 42 || got.String() != "out\x00put\x00hermes-end" {
			t.Fatalf("in pieces of %d: code %d, output %q", size, code, got.String())
		}
		var next bytes.Buffer
		s.begin(&next, "OTHER")
		if next.String() != "rest" {
			t.Fatalf("in pieces of %d: kept %q", size, next.String())
		}
	}
}

func TestSeveralKernelsLeaveNothing(t *testing.T) {
	t.Parallel()
	var stagings []string
	for i := range 3 {
		b := newBed(t, Config{Persist: true}, nil)
		stagings = append(stagings, strings.TrimSpace(b.run(fmt.Sprintf("i = %d\nimport os\nprint(os.path.dirname(os.environ['HERMES_RPC_SOCKET']))", i)).Output))
		b.runner.Close()
	}
	for _, dir := range stagings {
		if left, _ := filepath.Glob(dir); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
}

// A thread goes on after its script. Its changes are reviewed with the next script, and with the
// end of the kernel.
func TestKernelIsReviewedBetweenScripts(t *testing.T) {
	t.Parallel()
	for _, atEnd := range []bool{false, true} {
		b := newBed(t, Config{Persist: true}, scriptFiles)
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		b.env.Gate = gate.New(gate.Config{Mode: "ask", Asker: deniesHooks{}})
		box := b.sandboxed(sandbox.Config{
			Mode: sandbox.WorkspaceWrite, Network: true, Home: home, HermesHome: home + "/.hermes", Environ: b.runner.cfg.Environ,
		})
		b.run(`
import os, threading, time
def later():
    while not os.path.exists("go"): time.sleep(0.01)
    hooks = ".git/" + "skooh"[::-1]
    os.makedirs(hooks)
    open(hooks + "/pre-commit", "w").write("x")
    open("planted", "w").write("x")
threading.Thread(target=later, daemon=True).start()
`[1:])
		if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the hook was planted", func() bool {
			_, err := os.Stat(filepath.Join(b.dir, "planted"))
			return err == nil
		})
		if atEnd {
			b.runner.Close()
			box.Close() // waits for the review, which may take longer than the end of the runner
		} else if a := b.run("print(1)"); !strings.Contains(a.Note, "removed") {
			t.Errorf("%+v", a)
		}
		if _, err := os.Stat(filepath.Join(b.dir, ".git/hooks/pre-commit")); err == nil {
			t.Errorf("the hook is there, at the end: %v", atEnd)
		}
		b.runner.Close()
		box.Close()
	}
}
