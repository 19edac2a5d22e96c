//go:build linux

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// hog as first argument makes the test binary allocate the megabytes in its second argument, hold
// them for a while, and report it.
const hog = "hog"

func takeMemory(megabytes string) int {
	n, _ := strconv.Atoi(megabytes)
	all := make([]byte, n<<20)
	for i := 0; i < len(all); i += 4096 {
		all[i] = 1
	}
	fmt.Println("taken")
	time.Sleep(time.Minute)
	return int(all[0])
}

// tracer as first argument makes it stop the process of its second argument by
// tracing it.
const tracer = "tracer"

func trace(pid string) int {
	n, _ := strconv.Atoi(pid)
	if err := syscall.PtraceAttach(n); err != nil {
		fmt.Println("refused")
		return 1
	}
	fmt.Println("stopped")
	return 0
}

// helper runs the helper named in the arguments, if any.
func helper(args []string) (code int, is bool) {
	if len(args) != 3 {
		return 0, false
	}
	switch args[1] {
	case hog:
		return takeMemory(args[2]), true
	case tracer:
		return trace(args[2]), true
	case killer:
		return asKiller(args[2]), true
	case victim:
		return asVictim(args[2]), true
	}
	return 0, false
}

// apart returns a plan with namespaces and no other bounds.
func apart(t *testing.T) *confine.Plan {
	t.Helper()
	return &confine.Plan{Namespaces: true, Processes: true, Writable: []string{"/"}}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	// 2^9 processes, a finite number even without limits. If the kernel denies a shell a fork, the
	// shell stays, so its process is counted.
	const bomb = `f() { trap 'exec sleep 20' EXIT; if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; exec sleep 20; }; f 8`
	checkLimits(t, []limitTest{
		{name: "fork bomb", script: bomb, limits: Limits{Processes: 40}, limit: LimitProcesses},
		{name: "as many as may be", script: "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2 & done; wait; echo all", limits: Limits{Processes: 12}, out: "all\n"},
		{name: "open files", script: "ulimit -n; ulimit -Hn; ulimit -n 64 2>/dev/null || echo final", limits: Limits{OpenFiles: 32}, out: "32\n32\nfinal\n"},
	})
}

// Between two counts the kernel keeps the limit, where it can: a user's in a namespace.
func TestLimitBetweenCounts(t *testing.T) {
	t.Parallel()
	const limit = 20
	var ran bytes.Buffer
	c := sh(`f() { trap 'exec sleep 20' EXIT; echo; if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; exec sleep 20; }; f 7 2>/dev/null`) // see bomb
	c.Stdout, c.Limits, c.Confine = &ran, Limits{Processes: limit}, apart(t)
	got, err := Run(t.Context(), c)
	if err != nil || got.Limit != LimitProcesses {
		t.Errorf("%+v, %v", got, err)
	}
	t.Logf("%d ran with a limit of %d", ran.Len(), limit)
	if most := limit + spec.Threads() + supervisorThreads; ran.Len() == 0 || os.Geteuid() != 0 && ran.Len() > most {
		t.Errorf("%d ran with a limit of %d, and %d with what is left to threads", ran.Len(), limit, most)
	}
}

type limitTest struct {
	name, script string
	limits       Limits
	limit, out   string // Exit.Limit; a part of the output
}

func checkLimits(t *testing.T, tests []limitTest) {
	t.Helper()
	for _, tt := range tests {
		for name, where := range map[string]func(*Cmd){"": func(*Cmd) {}, " apart": func(c *Cmd) { c.Confine = apart(t) }, " held": hold(t)} {
			t.Run(tt.name+name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				var out bytes.Buffer
				c := sh(tt.script)
				c.Stdout, c.Stderr, c.Limits = &out, &out, tt.limits
				where(&c)
				got, err := Run(ctx, c)
				if err != nil || got.Limit != tt.limit || !strings.Contains(out.String(), tt.out) {
					t.Errorf("%+v, %v: %.500q", got, err, out.String())
				}
			})
		}
	}
}

// Our own limits are as before, whatever a child's are.
func TestLimitsAreTheChilds(t *testing.T) {
	t.Parallel()
	var before, after unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	c := sh("true")
	c.Limits = Limits{MemoryMB: 500, OpenFiles: 20}
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &after); err != nil || before != after {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
}

// An unconfined child can stop its supervisor. Its call ends all the same.
func TestSupervisorStopped(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"while it runs": "kill -STOP $PPID; echo stopped; sleep 1000",
		"at the end":    "(sleep 0.05; kill -STOP $PPID) & kill -STOP $PPID; echo stopped; exit 3",
		"again":         "trap '' TERM; kill -STOP $PPID; echo stopped; while :; do kill -STOP $PPID; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := sh(script)
			c.Env, c.Stdout = append(c.Env, marker), &whenWritten{then: cancel}
			exit, err := Run(ctx, c)
			ended := err == nil && exit.Code == 3 // woken before it was waited for
			if !ended && !errors.Is(err, context.Canceled) {
				t.Error(exit, err)
			}
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
		})
	}
}

// If a child stops its supervisor and ends, its call takes no longer than others. This holds even
// if the supervisor's copies of the child's outputs are still open.
func TestSupervisorStoppedAndNobodyAsks(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"at once":       "kill -STOP $PPID; echo said; exit 3",
		"while it runs": "read go; kill -STOP $PPID; echo said; exit 3",
	} {
		for i := range 5 {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				c := sh(script)
				c.Stdin, c.Stdout, c.Stderr = strings.NewReader("go\n"), &out, &out
				if exit, err := Run(t.Context(), c); err != nil || exit.Code != 3 || out.String() != "said\n" {
					t.Errorf("%+v, %v, %q", exit, err, out.String())
				}
			})
		}
	}
}

func TestSupervisorTraced(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := sh(self + " tracer $PPID")
	c.Stdout = &out
	if _, err := Run(t.Context(), c); err != nil || out.String() != "refused\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestGroupFiles(t *testing.T) {
	t.Parallel()
	got := groupFiles(Limits{MemoryMB: 2, Processes: 3})
	want := map[string]string{"memory.max": "2097152", "memory.swap.max": "0", "pids.max": strconv.Itoa(27 + spec.Threads())}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if g := newGroup(Limits{}); g != nil {
		t.Error("a group without limits")
	}
	// If this host lends a group, remove deletes it. A host without groups is no error.
	g := newGroup(Limits{MemoryMB: 64, Processes: 8})
	if g == nil {
		_, err := ownGroup()
		t.Logf("this host lends no group: %v", err)
		return
	}
	g.remove()
	if _, err := os.Stat(g.dir); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}

// The rules for every child apply to a child in namespaces.
func TestApart(t *testing.T) {
	t.Parallel()
	t.Run("exit code", func(t *testing.T) {
		t.Parallel()
		c := sh("exit 7")
		c.Confine = apart(t)
		if got, err := Run(t.Context(), c); err != nil || got.Code != 7 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		c := sh("kill -9 $$")
		c.Confine = apart(t)
		if got, err := Run(t.Context(), c); err != nil || got.Code != 137 || got.Signal != "SIGKILL" {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("not there", func(t *testing.T) {
		t.Parallel()
		c := Cmd{Args: []string{"/etc/passwd"}, Dir: "/", Confine: apart(t)}
		var start *StartError
		if _, err := Run(t.Context(), c); !errors.As(err, &start) {
			t.Error(err)
		}
	})
	t.Run("what it leaves", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		c := sh("(echo late) & (setsid sleep 1000 >/dev/null 2>&1 &) ; echo early")
		c.Stdout, c.Confine = &out, apart(t)
		if got, err := Run(t.Context(), c); err != nil || got.Code != 0 || out.String() != "early\nlate\n" && out.String() != "late\nearly\n" {
			t.Errorf("%+v, %v, %q", got, err, out.String())
		}
	})
	t.Run("pid 1", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		c := sh("cat /proc/1/cmdline | tr '\\0' ' '; ls -d /proc/[0-9]* | wc -l")
		c.Stdout, c.Confine = &out, apart(t)
		if _, err := Run(t.Context(), c); err != nil || !strings.HasPrefix(out.String(), "hermes-ls __inside") {
			t.Errorf("%v, %q", err, out.String())
		}
	})
	t.Run("cannot be made", func(t *testing.T) {
		t.Parallel()
		c := sh("echo ran")
		var out bytes.Buffer
		c.Stdout, c.Confine = &out, &confine.Plan{Namespaces: true, Processes: true, Temp: "/no/such/folder", TempAt: []string{"/tmp"}}
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "sandbox") || out.Len() > 0 {
			t.Errorf("%v, %q", err, out.String())
		}
	})
	for name, script := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w := io.Pipe()
			c := sh(script)
			c.Env, c.Stdout, c.Confine = append(c.Env, marker), w, apart(t)
			p, err := Start(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			comeUp(t, script, r)
			cancel()
			exit, err := p.Wait()
			w.Close()                                // a pipe's never fails
			ended := err == nil && name == "hopping" // its first process ends at once
			if !ended && !errors.Is(err, context.Canceled) {
				t.Error(exit, err)
			}
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
		})
	}
	t.Run("the server is killed", func(t *testing.T) {
		t.Parallel()
		marker := fmt.Sprintf("MARK=apart%d", os.Getpid())
		server, out := startServer(t, "trap '' TERM; (setsid sleep 1000 &); echo up; sleep 1000", marker, "APART=1")
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := server.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		server.Wait() // killed
		for deadline := time.Now().Add(time.Minute); len(carriers(t, marker)) > 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("still alive:", carriers(t, marker))
			}
		}
	})
}

// In an editor's terminal, too.
func TestOutsideApart(t *testing.T) {
	t.Parallel()
	c := sh("echo $$; exit 4")
	c.Confine = apart(t)
	g, cmd := editor(t, c)
	defer g.Close()
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 4 || len(strings.TrimSpace(string(out))) > 2 {
		t.Errorf("%q, %v", out, err)
	}
}

// And with its own terminal.
func TestPTYApart(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := sh("test -t 0 && test -t 1 && echo terminal; echo x > /dev/tty")
	c.Stdout, c.PTY, c.Confine = &out, &WindowSize{24, 80}, apart(t)
	if _, err := Run(t.Context(), c); err != nil || !strings.Contains(out.String(), "terminal") || !strings.Contains(out.String(), "x") {
		t.Errorf("%v, %q", err, out.String())
	}
}
