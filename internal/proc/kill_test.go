//go:build linux

package proc

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"
	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

var (
	kills   = flag.Int("kills", 100, "how many servers TestKilledAnywhere kills")
	killers = flag.Int("killers", 4, "how many of them run side by side")
)

// First arguments of the test binary: killer starts servers and kills them, victim is
// such a server.
const (
	killer = "killer"
	victim = "victim"
)

// asKiller starts count victims, one after the other, and kills each within 80 ms. Their orphans
// become its children, so it knows when nothing is left. It prints processes left too long,
// otherwise the slowest end.
func asKiller(count string) int {
	n, _ := strconv.Atoi(count)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	slowest, code := time.Duration(0), 0
	for i := range n {
		took, left := killOne(fmt.Sprint(i % 7))
		slowest = max(slowest, took)
		if left != "" {
			fmt.Printf("kill %d: left after %v: %s\n", i, took, left)
			code = 1
		}
		if i%50 == 0 || i == n-1 {
			code = max(code, sweptClean())
		}
	}
	fmt.Println("slowest", slowest)
	return code
}

// killOne starts a victim, kills it, and waits until nothing of it is left.
func killOne(kind string) (took time.Duration, left string) {
	pid, err := syscall.ForkExec(spec.Self(), []string{"victim", victim, kind}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, err.Error()
	}
	time.Sleep(time.Duration(rand.IntN(80_000)) * time.Microsecond)
	unix.Kill(pid, unix.SIGKILL) // it waits for that
	return awaitChildless()
}

// awaitChildless waits until this process has no children. If it waits longer than a supervisor
// keeps trying, it kills and returns the rest.
func awaitChildless() (took time.Duration, left string) {
	began := time.Now()
	var mu sync.Mutex
	stuck := time.AfterFunc(spec.LastTries, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range processes.Below(os.Getpid()) {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
			left += strings.ReplaceAll(string(args), "\x00", " ") + "; "
			unix.Kill(p.PID, unix.SIGKILL) // it may be gone
		}
	})
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	stuck.Stop()
	mu.Lock()
	defer mu.Unlock()
	return time.Since(began), left
}

// sweptClean sweeps like the next server, and reports the remaining folders.
func sweptClean() (code int) {
	scratch.Sweep()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	for _, path := range left {
		inside, _ := filepath.Glob(filepath.Join(path, "*"))
		fmt.Println("left:", path, inside)
		code = 1
	}
	return code
}

// asVictim is a server that keeps starting and ending commands.
func asVictim(kind string) int {
	if err := Harden(); err != nil {
		fmt.Println(err)
		return 1
	}
	var h Holders
	for _, script := range []string{":", "sleep 1000"} {
		go func() {
			for {
				victimsCommand(&h, kind, script)
			}
		}()
	}
	select {}
}

func victimsCommand(h *Holders, kind, script string) {
	dir, err := scratch.Make("shell")
	if err != nil {
		return
	}
	defer dir.Remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(30))*time.Millisecond)
	defer cancel()
	c := Cmd{
		Args: []string{"/bin/sh", "-c", script}, Dir: "/", Scratch: dir.Path(),
		Env: []string{"PATH=" + os.Getenv("PATH"), "BIG=" + strings.Repeat("x", 100_000)}, // more than a pipe holds
	}
	switch kind {
	case "0":
	case "5", "6":
		c.Scratch, c.Holders, c.Together = "", h, true
		c.Confine = &confine.Plan{Namespaces: true, Processes: true, Writable: []string{"/"}}
		if kind == "6" { // a separate plan for each
			c.Confine.Visible = []string{dir.Path()}
		}
	case "4":
		c.Confine = &confine.Plan{Processes: true, Prefix: []string{
			"/usr/bin/bwrap", "--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent", "--bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--",
		}}
	default:
		c.Confine = &confine.Plan{Namespaces: true, Processes: kind != "1", Writable: []string{"/"}}
	}
	if kind != "3" {
		if _, err := Run(ctx, c); err != nil && ctx.Err() == nil {
			fmt.Printf("failed: kind %s: %v\n", kind, err)
		}
		return
	}
	guest, err := ForEditorTerminal(c, "")
	if err != nil {
		return
	}
	defer guest.Close()
	defer context.AfterFunc(ctx, func() { guest.Stop(time.Millisecond) })()
	exec.Command(guest.Args[0], guest.Args[1:]...).Run() // as above
}

// A server can be killed at any moment: before its command runs, while it starts, while
// it ends. Nothing outlives it, and the next server removes its folders.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "/usr/bin/bwrap", "bubblewrap")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n := range *killers {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, killer, fmt.Sprint(*kills / *killers))
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "failed:") {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// The first supervisor does not wait for a second supervisor if it never reports the child's start.
func TestKilledBeforeTheChildRuns(t *testing.T) {
	t.Parallel()
	up := filepath.Join(t.TempDir(), "up")
	marker := fmt.Sprintf("MARK=unheard%d", os.Getpid())
	server, _ := startServer(t, "true", "PREFIX=: >"+up+"; "+marker+" sleep 1000; true")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(up); err == nil && len(carriers(t, marker)) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not come up")
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.Wait() // killed
	for began := time.Now(); len(carriers(t, marker)) > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > spec.LastTries {
			t.Fatal("still alive:", carriers(t, marker))
		}
	}
}
