//go:build linux

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// holders returns Holders closed with the test.
func holders(t *testing.T) *Holders {
	t.Helper()
	h := &Holders{}
	t.Cleanup(h.Close)
	return h
}

// hold puts commands into the same holder.
func hold(t *testing.T) func(*Cmd) {
	t.Helper()
	h := holders(t)
	return func(c *Cmd) { c.Confine, c.Holders, c.Together = apart(t), h, true }
}

// shown runs a script to its end and returns its output.
func shown(t *testing.T, where func(*Cmd), script string) string {
	t.Helper()
	var out bytes.Buffer
	c := sh(script)
	c.Stdout, c.Stderr = &out, &out
	where(&c)
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(out.String())
}

// background starts a script and waits for its first line, which it returns.
func background(t *testing.T, where func(*Cmd), script string) (p *Process, line string) {
	t.Helper()
	r, w := io.Pipe()
	c := sh(script)
	c.Stdout = w
	where(&c)
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0); r.Close(); p.Wait() }) // of this test alone
	buf := make([]byte, 100)
	n, err := r.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r) // ends with the pipe
	return p, strings.TrimSpace(string(buf[:n]))
}

// The rules for every child also apply in a holder, and the next child has the same worker.
func TestHeld(t *testing.T) {
	t.Parallel()
	in := hold(t)
	worker := shown(t, in, "echo $PPID")
	for _, tt := range []struct {
		script, out string
		want        Exit
	}{
		{"exit 7", "", Exit{Code: 7}},
		{"kill -9 $$", "", Exit{Code: 137, Signal: "SIGKILL"}},
		{"cat; echo err >&2; pwd", "from stdin\nerr\n/\n", Exit{}},
		{"(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo late) & (setsid sleep 1000 >/dev/null 2>&1 &) ; echo early", "early\nlate\n", Exit{}},
		{"cat /proc/1/cmdline | tr '\\0' ' '", "hermes-ls __inside  ", Exit{}},
		{"cat /proc/1/environ /proc/$PPID/environ /proc/$PPID/mem", "cat: /proc/1/environ: Permission denied\ncat: /proc/" + worker + "/environ: Permission denied\ncat: /proc/" + worker + "/mem: Permission denied\n", Exit{Code: 1}},
		{"ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ", Exit{}},
		{"kill -TERM $PPID; kill -HUP $PPID; kill -USR1 $PPID; sleep 0.1; trap", "", Exit{}},
		{"trap - TERM; kill -TERM $$; sleep 10", "", Exit{Code: 143, Signal: "SIGTERM"}}, // not ignored
		{"echo $PPID", worker + "\n", Exit{}},
	} {
		var out bytes.Buffer
		c := sh(tt.script)
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader("from stdin\n"), &out, &out
		in(&c)
		got, err := Run(t.Context(), c)
		if err != nil || got != tt.want || out.String() != tt.out {
			t.Errorf("%s: %+v, %v, %q", tt.script, got, err, out.String())
		}
	}
	c := Cmd{Args: []string{"/etc/passwd"}, Dir: "/"}
	in(&c)
	var start *StartError
	if _, err := Run(t.Context(), c); !errors.As(err, &start) {
		t.Error(err)
	}
	if again := shown(t, in, "echo $PPID"); again != worker {
		t.Errorf("worker %s, then %s", worker, again)
	}
}

func TestHeldCannotBeMade(t *testing.T) {
	t.Parallel()
	c := sh("echo ran")
	var out bytes.Buffer
	c.Stdout, c.Holders, c.Together = &out, holders(t), true
	c.Confine = &confine.Plan{Namespaces: true, Processes: true, Temp: "/no/such/folder", TempAt: []string{"/tmp"}}
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "sandbox could not be made") || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestHeldWithATerminal(t *testing.T) {
	t.Parallel()
	in := hold(t)
	for range 2 {
		var out bytes.Buffer
		c := sh("test -t 0 && test -t 1 && echo terminal; echo x > /dev/tty")
		c.Stdout, c.PTY = &out, &WindowSize{24, 80}
		in(&c)
		if _, err := Run(t.Context(), c); err != nil || !strings.Contains(out.String(), "terminal") || !strings.Contains(out.String(), "x") {
			t.Errorf("%v, %q", err, out.String())
		}
	}
}

// The file of a child is read when it has ended.
func TestHeldLeaves(t *testing.T) {
	t.Parallel()
	in := hold(t)
	for _, script := range []string{"echo state >|/proc/self/fd/57", "exec 57>&-", "echo state >&57"} {
		f, err := MemoryFile("test")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() // only read
		c := Cmd{Args: []string{"bash", "-c", script}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}, Left: f}
		in(&c)
		if exit, err := Run(t.Context(), c); err != nil || exit.Code != 0 {
			t.Fatal(exit, err)
		}
		text := make([]byte, 100)
		n, _ := f.ReadAt(text, 0)
		if want := "state\n"; strings.Contains(script, "state") && string(text[:n]) != want {
			t.Errorf("%s: %q", script, text[:n])
		}
	}
}

// Commands of a plan see each other, and can end each other.
func TestHeldTogether(t *testing.T) {
	t.Parallel()
	in := hold(t)
	p, _ := background(t, in, "echo up; sleep 1000")
	if got := shown(t, in, fmt.Sprintf("tr '\\0' ' ' </proc/%d/cmdline; kill -TERM %[1]d", p.Pid())); !strings.Contains(got, "sleep 1000") {
		t.Errorf("%q", got)
	}
	if exit, err := p.Wait(); err != nil || exit.Signal != "SIGTERM" {
		t.Errorf("%+v, %v", exit, err)
	}
}

// Not even root's commands read or trace one another's supervisors.
func TestHeldApart(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in := hold(t)
	_, worker := background(t, in, "echo $PPID; sleep 1000")
	for _, pid := range []string{"1", "$PPID", worker} {
		if got := shown(t, in, self+" tracer "+pid); got != "refused" {
			t.Errorf("tracing %s: %s", pid, got)
		}
	}
}

func TestNothingSurvivesACancelInAHolder(t *testing.T) {
	t.Parallel()
	in := hold(t)
	for name, script := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := sh(script)
			r, w := io.Pipe()
			c.Env, c.Stdout = append(c.Env, marker), w
			in(&c)
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
}

func TestNothingInAHolderSurvivesTheServer(t *testing.T) {
	t.Parallel()
	for name, script := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			server, out := startServer(t, script, marker, "HELD=1")
			comeUp(t, script, out)
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
}

// A child gains nothing by killing its worker, or every process within reach: none of its processes
// is left, and the next command runs.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		// The input arrives after the worker has reported the start.
		"the worker":  "read go; (setsid sh -c 'trap \"\" TERM HUP; (sleep 1000 &); sleep 1000' &); sleep 0.3; kill -9 $PPID; sleep 1000",
		"all":         "read go; (setsid sleep 1000 &); sleep 0.3; kill -9 -1; sleep 1000",
		"a fork bomb": "read go; f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep 1000; }; f 5 & sleep 0.3; kill -9 $PPID; sleep 1000",
		"a segfault":  "read go; kill -SEGV $PPID; kill -ABRT $PPID; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := hold(t)
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			c := sh(script)
			c.Env, c.Stdin = append(c.Env, marker), strings.NewReader("go\n")
			in(&c)
			exit, err := Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), "supervisor") || exit.Signal != "SIGKILL" {
				t.Errorf("%+v, %v", exit, err)
			}
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
			if got := shown(t, in, "echo next"); got != "next" {
				t.Errorf("%q", got)
			}
		})
	}
}

// Nor does it gain by killing or stopping waiting workers, or the holder itself.
func TestHolderStandsFirm(t *testing.T) {
	t.Parallel()
	in := hold(t)
	_, background := background(t, in, "echo $$; sleep 1000")
	holder := shown(t, in, "stat -L -c %i /proc/self/ns/pid")
	shown(t, in, "i=1; while [ $i -lt 65 ]; do kill -$i 1; i=$((i+1)); done 2>/dev/null; true")
	const arrived = "grep -q '^ShdPnd:[[:space:]]*0*$' /proc/1/status" // all signals sent
	if got := shown(t, in, "i=0; until "+arrived+" || [ $i -gt 6000 ]; do i=$((i+1)); sleep 0.01; done; "+arrived+" && echo arrived"); got != "arrived" {
		t.Error("signals to the holder stay")
	}
	for range 20 { // while another worker starts, too
		shown(t, in, "for i in 17 18 20 21 22 23 24 25 26 27 28 29 30 31 32 34 64; do kill -$i 1; done 2>/dev/null; true")
	}
	if got := shown(t, in, "sed -nE 's/^Sig(Ign|Blk):\\s*0*//p' /proc/self/status"); got != "" {
		t.Errorf("a command inherits %s", got)
	}
	shown(t, in, "true & for p in /proc/[0-9]*; do grep -q ^hermes-ls.__work $p/cmdline && [ ${p#/proc/} != $PPID ] && kill -STOP ${p#/proc/}; done; true")
	if got := shown(t, in, "stat -L -c %i /proc/self/ns/pid; kill -0 "+background+" && echo runs"); got != holder+"\nruns" {
		t.Errorf("%q, the holder was %s", got, holder)
	}
}

// A child can stop its worker. Its call ends all the same.
func TestWorkerStopped(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"while it runs": "kill -STOP $PPID; echo stopped; sleep 1000",
		"at the end":    "(sleep 0.05; kill -STOP $PPID) & kill -STOP $PPID; echo stopped; exit 3",
		"again":         "trap '' TERM; kill -STOP $PPID; echo stopped; while :; do kill -STOP $PPID; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := hold(t)
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := sh(script)
			c.Env, c.Stdout = append(c.Env, marker), &whenWritten{then: cancel}
			in(&c)
			exit, err := Run(ctx, c)
			ended := err == nil && exit.Code == 3
			if !ended && !errors.Is(err, context.Canceled) {
				t.Error(exit, err)
			}
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
			if got := shown(t, in, "echo next"); got != "next" {
				t.Errorf("%q", got)
			}
		})
	}
}

// If a command changes its worker, the next command does not see the change.
func TestWorkerChanged(t *testing.T) {
	t.Parallel()
	in := hold(t)
	const show = "ulimit -f; ulimit -n; nice; chrt -p $$ | sed 's/.*: //'; taskset -p $$ | sed 's/.*: //'"
	before := shown(t, in, show)
	for _, change := range []string{"renice -n 5 -p $PPID", "chrt -i -p 0 $PPID", "taskset -p 1 $PPID"} {
		shown(t, in, change)
		if after := shown(t, in, show); after != before {
			t.Errorf("%s: %q, then %q", change, before, after)
		}
	}
	shown(t, in, "renice -n 5 -p 1; kill -9 $(grep -l ^hermes-ls.__work /proc/[0-9]*/cmdline | grep -v /$PPID/ | cut -d/ -f3) 2>/dev/null; true")
	_, _ = background(t, in, "echo up; sleep 1000")
	if after := shown(t, in, show); after != before {
		t.Errorf("%q, then %q", before, after)
	}
}

// A thousand commands leave nothing: no process, no descriptor, no folder.
func TestThousandCommands(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	marker := fmt.Sprintf("MARK=thousand%d", os.Getpid())
	h := &Holders{}
	defer h.Close()
	run := func(n int) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range n / 4 {
					c := sh("(true &)")
					c.Env, c.Confine, c.Holders, c.Together = append(c.Env, marker), apart(t), h, true
					if exit, err := Run(t.Context(), c); err != nil || exit.Code != 0 {
						t.Error(exit, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	in := func(c *Cmd) { c.Confine, c.Holders, c.Together = apart(t), h, true }
	const files = "ls /proc/$PPID/fd 2>/dev/null | wc -l; ls /proc/self/fd | wc -l"
	run(40)
	before := shown(t, in, files)
	run(1000)
	if left := carriers(t, marker); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
	if n, _ := strconv.Atoi(shown(t, in, "ls -d /proc/[0-9]* | wc -l")); n > 8 { // the holder, workers, this process
		t.Errorf("%d processes: %s", n, shown(t, in, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
	}
	after := shown(t, in, files)
	var was, is, one, other int
	fmt.Sscan(before, &was, &one)                // a zero shows
	fmt.Sscan(after, &is, &other)                // a zero shows
	if is > was+10 || one != other || one == 0 { // some may still be about to be closed
		t.Errorf("descriptors: %q, then %q", before, after)
	}
}

// Two plans have two holders, and each command is bound by its plan.
func TestTwoPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := holders(t)
	write := func(c *Cmd) { c.Confine, c.Holders, c.Together = apart(t), h, true; c.Confine.Writable = []string{dir} }
	read := func(c *Cmd) { write(c); c.Confine.ReadOnly = []string{dir} }
	const script = "echo x >$1/f && echo written || echo refused"
	put := "exec 2>/dev/null; set -- " + dir + "; " + script
	p, _ := background(t, write, "echo up; sleep 1000")
	for range 3 {
		if got := shown(t, read, put); got != "refused" {
			t.Error(got)
		}
		if got := shown(t, write, put); got != "written" {
			t.Error(got)
		}
	}
	if got := shown(t, read, fmt.Sprintf("kill -0 %d 2>/dev/null && cat /proc/%[1]d/cmdline || echo none", p.Pid())); strings.Contains(got, "sleep") {
		t.Errorf("a command of another plan is seen: %q", got)
	}
	if got := shown(t, write, fmt.Sprintf("kill -0 %d && echo runs", p.Pid())); got != "runs" {
		t.Error(got)
	}
}

// If a file or folder is replaced from outside, the new one is protected, too.
func TestReplacedOutside(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(dir string) error{
		"removed": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o777)) },
		"renamed": func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o777)) },
		"around": func(dir string) error {
			return errors.Join(os.Rename(filepath.Dir(dir), filepath.Dir(dir)+".old"), os.MkdirAll(dir, 0o777))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := holders(t)
			dir := filepath.Join(t.TempDir(), "repository", "protected")
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			root := filepath.Dir(filepath.Dir(dir))
			in := func(c *Cmd) {
				c.Confine, c.Holders, c.Together = apart(t), h, true
				c.Confine.Writable, c.Confine.ReadOnly = []string{root}, []string{dir}
			}
			for range 3 {
				if got := shown(t, in, "exec 2>/dev/null; touch "+root+"/f "+dir+"/f && echo written; [ -e "+root+"/f ] && echo beside"); got != "beside" {
					t.Error(got)
				}
				os.RemoveAll(dir + ".old")               // of this test alone
				os.RemoveAll(filepath.Dir(dir) + ".old") // of this test alone
				if err := replace(dir); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A path protected later is protected from running commands.
func TestProtect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"made", "pinned"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	h := holders(t)
	in := func(c *Cmd) { c.Confine, c.Holders, c.Together = apart(t), h, true; c.Confine.Writable = []string{dir} }
	r, w := io.Pipe()
	defer w.Close() // ends the child's reading
	var out bytes.Buffer
	c := sh("exec 2>/dev/null; cd " + dir + "; echo x >made/before; read go; echo x >made/after && echo written; mv pinned other && echo moved; echo x >pinned/f && echo in it")
	c.Stdin, c.Stdout = r, &out
	in(&c)
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	there(t, filepath.Join(dir, "made/before"))
	if err := h.Protect(t.Context(), []string{filepath.Join(dir, "made"), "/no/such/file"}, []string{filepath.Join(dir, "pinned")}); err != nil {
		t.Fatal(err)
	}
	if changed, err := h.all[0].protect(t.Context(), []string{filepath.Join(dir, "made")}, []string{filepath.Join(dir, "pinned")}); changed || err != nil {
		t.Errorf("protected again: %v, %v", changed, err)
	}
	fmt.Fprintln(w, "go") // it waits for that
	if _, err := p.Wait(); err != nil || out.String() != "in it\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// While a command runs, a file is replaced from outside, as the user's own git replaces its
// settings. The new file is also protected from the command.
func TestReplacedWhileRunning(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"renamed over": func(path string) error {
			return errors.Join(os.WriteFile(path+".lock", nil, 0o666), os.Rename(path+".lock", path))
		},
		"removed": func(path string) error {
			err := os.Remove(path)
			time.Sleep(2 * 20 * time.Millisecond) // mostly the holder sees the file missing; if not, the test passes, too
			return errors.Join(err, os.WriteFile(path, nil, 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "settings")
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			h := holders(t)
			in := func(c *Cmd) {
				c.Confine, c.Holders, c.Together = apart(t), h, true
				c.Confine.Writable, c.Confine.ReadOnly = []string{dir}, []string{path}
			}
			r, w := io.Pipe()
			defer w.Close() // ends the child's reading
			var out bytes.Buffer
			c := sh("exec 2>/dev/null; cd " + dir + "; echo x >started; while read go; do " +
				"until grep -q settings /proc/self/mountinfo; do sleep 0.01; done; echo x >settings && echo written; echo x >seen; done")
			c.Stdin, c.Stdout = r, &out
			in(&c)
			p, err := Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for mark := range 3 {
				there(t, filepath.Join(dir, []string{"started", "seen", "seen"}[mark]))
				os.Remove(filepath.Join(dir, "seen")) // not there at first
				if err := replace(path); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(w, "go") // it waits for that
			}
			there(t, filepath.Join(dir, "seen"))
			w.Close() // ends the child's reading
			if _, err := p.Wait(); err != nil || out.String() != "" {
				t.Errorf("%v, %q", err, out.String())
			}
		})
	}
}

// there waits for a file.
func there(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s does not come", path)
			return
		}
	}
}

func TestPortions(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 1000 {
		paths = append(paths, "/"+strings.Repeat("x", 100)+strconv.Itoa(i))
	}
	n := 0
	for _, some := range portions(paths) {
		if n += len(some); len(strings.Join(some, "\x00")) > spec.LongestMessage {
			t.Error("too long")
		}
	}
	if n != len(paths) || len(portions(nil)) != 0 {
		t.Error(n)
	}
}

// Unused holders end, and Close ends the rest.
func TestHoldersEnd(t *testing.T) {
	t.Parallel()
	h := holders(t)
	dirs := t.TempDir()
	for i := range 6 {
		dir := filepath.Join(dirs, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		shown(t, func(c *Cmd) { c.Confine, c.Holders, c.Together = apart(t), h, true; c.Confine.ReadOnly = []string{dir} }, "true")
	}
	h.mu.Lock()
	n := len(h.all)
	h.mu.Unlock()
	if n > mostIdle {
		t.Errorf("%d holders are kept", n)
	}
	marker := fmt.Sprintf("MARK=close%d", os.Getpid())
	c := sh("trap '' TERM; sleep 1000")
	c.Env, c.Confine, c.Holders, c.Together = append(c.Env, marker), apart(t), h, true
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	if left := carriers(t, marker); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
	if _, err := p.Wait(); err == nil {
		t.Error("a command whose holder was closed ended by itself")
	}
	if _, err := Run(t.Context(), c); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// A command canceled before its holder is up does not wait for it.
func TestHeldCanceledEarly(t *testing.T) {
	t.Parallel()
	h := holders(t)
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		c := sh("sleep 1000")
		c.Confine, c.Holders, c.Together = apart(t), h, true
		c.Confine.ShmMB = i + 1 // a separate holder
		if _, err := Run(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
}

func BenchmarkHeld(b *testing.B) {
	h := &Holders{}
	defer h.Close()
	for b.Loop() {
		var out bytes.Buffer
		c := Cmd{Args: []string{"/bin/sh", "-c", ":"}, Dir: "/", Stdout: &out, Stderr: &out, Holders: h, Together: true,
			Confine: &confine.Plan{Namespaces: true, Processes: true, Writable: []string{"/"}}}
		if _, err := Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
