package shell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
)

// floods are commands that exhaust, stop or end shared resources. After each of them, the next
// command of the session runs.
var floods = map[string]string{
	"daemons":       `for i in $(seq 200); do (setsid sh -c 'trap "" TERM; sleep 1000' >/dev/null 2>&1 &); done`,
	"dead children": `python3 -c 'import os; [os.fork() or os._exit(0) for _ in range(500)]'`,
	"stopped":       `for i in $(seq 50); do (setsid sh -c 'kill -STOP $$; sleep 1000' >/dev/null 2>&1 &); done`,
	"all killed":    `kill -9 -1`,
	"worker killed": `kill -9 $PPID; sleep 1`,
	"worker halted": `kill -STOP $PPID; true`,
	"signals":       `for s in $(seq 1 31) $(seq 34 64); do kill -$s 1; done 2>/dev/null; true`,
	"open files":    `python3 -c 'import os; [os.open("/dev/null", 0) for _ in range(10**7)]'`,
	"limits":        `for p in 1 $PPID; do for l in nofile data as nproc core stack; do prlimit --pid $p --$l=3:3; done; done 2>/dev/null; true`,
	"priority":      `renice -n 19 -p 1 $PPID; chrt -i -p 0 $PPID; taskset -p 1 $PPID; true`,
	"files":         `cd /tmp && mkdir f && cd f && seq 3000 | xargs touch; mkdir $(printf 'd%s/' $(seq 300)) -p`,
	"shared memory": `head -c 20000000 /dev/zero > /dev/shm/x; ipcmk -M 1000000; ipcmk -S 10; ipcmk -Q; true`,
	"in flight": `python3 -c '
import array, os, socket
f, kept = os.open("/dev/null", 0), []
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f] * 253))]
try:
    for _ in range(2000):
        a, b = socket.socketpair()
        a.setblocking(False)
        kept.append((a, b))
        try:
            while True: a.sendmsg([b"x"], rights)
        except BlockingIOError: pass
except OSError: pass'`,
}

func TestFloods(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	own := sandbox.Detect(t.Context()).Processes // commands have a process namespace
	for name, script := range floods {
		if !own && (strings.Contains(script, " -1") || strings.Contains(script, " 1")) {
			continue // it would be meant for all processes of this machine, or for its first
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir, _ := newSandboxed(t)
			writeFile(t, filepath.Join(dir, "flood.sh"), script)
			writeFile(t, filepath.Join(dir, "Makefile"), "all:\n\t@sh flood.sh\n")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			runTerminal(ctx, t, env, `{"command":"make -s","timeout":20}`)
			if ctx.Err() != nil {
				t.Fatal("the command did not end")
			}
			for range 3 {
				if out, _ := runTerminal(ctx, t, env, `{"command":"echo $((6*7)); cat /dev/null; ls /proc/self/fd >/dev/null"}`); !strings.HasPrefix(out.Output, "42\n") {
					t.Errorf("the next command: %+v", out)
				}
			}
		})
	}
}

// The changes of a command are reviewed although the user has canceled it. No user can be
// asked, so they are removed.
func TestCanceledIsReviewed(t *testing.T) {
	t.Parallel()
	env, dir, who := newSandboxed(t, tools.DecisionOnce)
	writeFile(t, filepath.Join(dir, "made.sh"), "echo x > .envrc; git init -q n; echo x > n/.git/hooks/pre-commit; echo x > CLAUDE.md; touch made; sleep 100")
	writeFile(t, filepath.Join(dir, "Makefile"), "all:\n\t@sh made.sh\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	out, _ := runTerminal(ctx, t, env, `{"command":"make -s"}`)
	for _, name := range []string{".envrc", "n/.git/hooks/pre-commit", "CLAUDE.md"} {
		// On a busy machine the review continues after the call has ended.
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				break
			}
			if time.Since(began) > time.Minute {
				t.Errorf("%s stays: %+v", name, out)
				break
			}
		}
	}
	if !out.Interrupted || len(who.Asked) > 0 {
		t.Errorf("asked %d times: %+v", len(who.Asked), out)
	}
}
