//go:build unix

package codeexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
)

// aliveWith reports whether a process with mark in its arguments exists.
func aliveWith(mark string) bool {
	out, _ := exec.Command("ps", "-eo", "stat,args").Output()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, mark) && !strings.HasPrefix(line, "Z") {
			return true
		}
	}
	return false
}

// Scripts that do not end. Each starts processes with MARK in their arguments and then prints
// ready.
var clinging = map[string]string{
	"computes": `
print("ready", flush=True)
while True: pass`,
	"sleeps": `
import time
print("ready", flush=True)
time.sleep(600)`,
	"ignores TERM": `
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("ready", flush=True)
while True: time.sleep(600)`,
	"a session of its own, forked twice, holding the pipes": `
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", '''
import os, signal, time, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
if os.fork(): os._exit(0)
os.setsid()
time.sleep(600)
''', "MARK"])
time.sleep(0.3)
print("ready", flush=True)
time.sleep(600)`,
	"waits for a call": `
from hermes_tools import terminal
print("ready", flush=True)
terminal("sh -c 'sleep 600' MARK")
print("not reached")`,
	"a thread that does not stop": `
import threading, time
threading.Thread(target=lambda: time.sleep(600)).start()
print("ready", flush=True)`,
	"stops its supervisor": `
import os, signal, time
print("ready", flush=True)
if os.getppid() > 1: os.kill(os.getppid(), signal.SIGSTOP)
time.sleep(600)`,
	"stopped itself": `
import os, signal
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)`,
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	for name, code := range clinging {
		for _, persist := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, persist), func(t *testing.T) {
				t.Parallel()
				mark := t.TempDir() // unique, also among other stages of this test
				b := newBed(t, Config{Persist: persist}, nil)
				b.runner.grace = 300 * time.Millisecond
				b.timeIsUpAt("ready")
				began := time.Now()
				a := b.fail(strings.ReplaceAll(code, "MARK", mark))
				if strings.HasPrefix(name, "a thread") && persist {
					return // a kernel's script ends where its code ends
				}
				took := time.Since(began)
				want := "Script timed out after 300s and was killed."
				if a.Status != "timeout" || a.Output != "ready\n"+want || !strings.Contains(a.Errors, want) || a.ExitCode < 128 {
					t.Errorf("%+v", a)
				}
				if took > maxWait {
					t.Errorf("it took %v", took)
				}
				if aliveWith(mark) {
					t.Error("something is left running")
				}
			})
		}
	}
}

// A script's time counts from its start, however long its interpreter takes to start.
func TestTimeCountsFromTheStart(t *testing.T) {
	t.Parallel()
	python, err := NewPythons().Find(t.Context(), Search{Environ: plainEnviron()})
	if err != nil {
		t.Fatal(err)
	}
	for _, persist := range []bool{false, true} {
		b := newBed(t, Config{Persist: persist}, nil)
		slow := filepath.Join(t.TempDir(), "python3")
		// The interpreter waits until the test has checked that its start is not timed.
		text := fmt.Sprintf("#!/bin/sh\ncase $* in *script*|*kernel*) touch %s/starting; while ! test -e %s/go; do sleep 0.05; done;; esac\nexec %s \"$@\"\n", b.dir, b.dir, python.Path)
		if err := os.WriteFile(slow, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		b.runner.cfg.Python = slow
		var limits []time.Duration
		b.runner.after = func(limit time.Duration, over func()) *time.Timer {
			limits = append(limits, limit)
			return time.AfterFunc(limit, over)
		}
		go func() {
			eventually(t, "the interpreter starts", func() bool { return isFile(filepath.Join(b.dir, "starting")) })
			if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}()
		if a := b.run("print('ok')"); a.Output != "ok\n" {
			t.Errorf("persist %v: %+v", persist, a)
		}
		if want := []time.Duration{300*time.Second + startLimit, 300 * time.Second}; !slices.Equal(limits, want) {
			t.Errorf("persist %v: limits %v, want %v", persist, limits, want)
		}
	}
}

// The mark of the start is removed from the output, however the bytes come.
func TestStartMark(t *testing.T) {
	t.Parallel()
	text := "out\x00put\x00hermes-start\x00hermes-start TOKEN\x00rest\x00hermes-start TOKEN\x00"
	for size := 1; size <= len(text); size++ {
		var got bytes.Buffer
		starts := 0
		w := &startWriter{to: &got, mark: []byte("\x00hermes-start TOKEN\x00"), start: func() { starts++ }}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			w.Write(rest[:n])
			rest = rest[n:]
		}
		if got.String() != "out\x00put\x00hermes-startrest\x00hermes-start TOKEN\x00" || starts != 1 {
			t.Fatalf("in pieces of %d: output %q, %d starts", size, got.String(), starts)
		}
	}
}

// The limit of the configuration is on a real clock.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Timeout: 100 * time.Millisecond}, nil)
	if a := b.fail("while True: pass"); a.Status != "timeout" || a.Output != "Script timed out after 0.1s and was killed." {
		t.Errorf("%+v", a)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	for name, code := range clinging {
		for _, persist := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, persist), func(t *testing.T) {
				t.Parallel()
				if strings.HasPrefix(name, "a thread") && persist {
					return // a kernel's script ends where its code ends
				}
				mark := t.TempDir() // unique, also among other stages of this test
				b := newBed(t, Config{Persist: persist}, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.runner.grace = time.Hour // is not for a cancel
				var cancelled time.Time
				b.onOutput("ready", func() { cancelled = time.Now(); cancel() })
				a, _ := b.call(ctx, map[string]any{"code": strings.ReplaceAll(code, "MARK", mark)})
				if a.Status != "interrupted" || a.Output != "ready\n[execution interrupted — user sent a new message]" {
					t.Errorf("%+v", a)
				}
				if took := time.Since(cancelled); took > maxWait {
					t.Errorf("it took %v", took)
				}
				if aliveWith(mark) {
					t.Error("something is left running")
				}
			})
		}
	}
}

// The output of a script before it is killed is not lost, even half a line.
func TestHalfALineIsKept(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	b.timeIsUpAt("half")
	a := b.fail("import time\nprint('half', end='', flush=True)\ntime.sleep(600)\n")
	if !strings.HasPrefix(a.Output, "half\n") {
		t.Errorf("%q", a.Output)
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := b.set.Call(ctx, b.env, tools.Call{ID: "c1", Name: "execute_code", Args: json.RawMessage(`{"code":"open('x','w')"}`)})
	if err == nil || !result.IsError {
		t.Errorf("%s, %v", result.JSON, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "x")); err == nil {
		t.Error("it ran")
	}
}

// The background processes of a script end with the script.
func TestNothingOutlivesAScript(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	b := newBed(t, Config{}, nil)
	a := b.run(`
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "` + mark + `"], start_new_session=True)
print("done")
`)
	if a.Output != "done\n" {
		t.Errorf("%+v", a)
	}
	if aliveWith(mark) {
		t.Error("something is left running")
	}
}

// A script may make its folder hard to remove.
func TestStagingIsRemoved(t *testing.T) {
	t.Parallel()
	b := newBed(t, Config{Mode: "strict"}, nil)
	a := b.run(`
import os
os.mkdir("deep"); open("deep/f", "w").close(); os.mkdir("deep/er"); os.chmod("deep", 0)
print(os.path.dirname(os.getcwd()))
info = os.stat(os.path.dirname(os.getcwd()))
print(oct(info.st_mode & 0o777), oct(os.stat(os.environ["HERMES_RPC_SOCKET"]).st_mode & 0o777))
`)
	dir, modes, _ := strings.Cut(strings.TrimSpace(a.Output), "\n")
	if modes != "0o700 0o600" {
		t.Errorf("modes %s", modes)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// The next session removes the directories of a killed server.
func TestSweep(t *testing.T) {
	t.Parallel()
	temp, err := os.MkdirTemp("", "swept-") // short: a socket lies there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	server, out := startStandIn(t, 0, "from hermes_tools import terminal\nprint('ready', flush=True)\nterminal('sleep 1000')\n", "TMPDIR="+temp)
	out.wait(t, "ready")
	left := func() []string { found, _ := filepath.Glob(filepath.Join(temp, "*")); return found }
	eventually(t, "script and command have their folders", func() bool { return len(left()) == 2 })
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()                                    // killed; its supervisors may have taken the folders away by now
	dead := filepath.Join(temp, "hermes-ls-script-dead") // of a dead server: no process holds the lock
	if err := errors.Join(os.Mkdir(dead, 0o700), os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if a := runStandIn(t, 0, "print('next')", "TMPDIR="+temp); a.Status != "success" {
		t.Errorf("%+v", a)
	}
	if left := left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestServerDeath(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for name, code := range clinging {
		if strings.HasPrefix(name, "a thread") {
			continue
		}
		for _, boxed := range []string{"", "1"} {
			t.Run(name+boxed, func(t *testing.T) {
				t.Parallel()
				mark := t.TempDir() // unique, also among other stages of this test
				code := "import os\nprint(os.environ['HERMES_RPC_SOCKET'])\n" + strings.ReplaceAll(code, "MARK", mark)
				server, out := startStandIn(t, 0, code, sandboxWord+"="+boxed)
				socket := out.wait(t, "/s\n")
				out.wait(t, "ready")
				if err := server.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				server.Wait() // killed
				staging := filepath.Dir(strings.TrimSpace(socket))
				if around := filepath.Dir(staging); around != filepath.Clean(os.TempDir()) {
					staging = around
				}
				eventually(t, "all was gone", func() bool {
					_, err := os.Stat(staging)
					return os.IsNotExist(err) && !aliveWith(mark) && !aliveWith(staging)
				})
			})
		}
	}
}
