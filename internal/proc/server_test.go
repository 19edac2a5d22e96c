//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// serveStandIn is a server for the tests: it may be killed.
func serveStandIn(script string) int {
	if err := Harden(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	env, _ := Environ(nil)
	var plan *confine.Plan
	var h *Holders
	if os.Getenv("APART")+os.Getenv("HELD") != "" {
		plan = &confine.Plan{Namespaces: true, Processes: true, Writable: []string{"/"}}
	}
	if os.Getenv("HELD") != "" {
		h = &Holders{}
	}
	if prefix := os.Getenv("PREFIX"); prefix != "" {
		plan = &confine.Plan{Prefix: []string{"/bin/sh", "-c", prefix}}
	}
	_, err := Run(context.Background(), Cmd{
		Args: []string{"sh", "-c", script}, Dir: "/", Env: append(env, fmt.Sprintf("SERVER=%d", os.Getpid())),
		Stdout: os.Stdout, Stderr: os.Stdout, Scratch: os.Getenv("SCRATCH"), Confine: plan, Holders: h, Together: h != nil,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startServer starts a stand-in server running script.
func startServer(t *testing.T, script string, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, standIn, script)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func TestNothingSurvivesTheServer(t *testing.T) {
	t.Parallel()
	for name, script := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := "MARK=" + strings.ReplaceAll(t.Name(), " ", "_") + fmt.Sprint(os.Getpid())
			scratch := filepath.Join(t.TempDir(), "scratch")
			if err := os.Mkdir(scratch, 0o700); err != nil {
				t.Fatal(err)
			}
			server, out := startServer(t, script, marker, "SCRATCH="+scratch)
			comeUp(t, script, out)
			if err := server.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			server.Wait() // killed
			var left []string
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				_, err := os.Stat(scratch)
				if left = carriers(t, marker); len(left) == 0 && os.IsNotExist(err) {
					return
				}
			}
			t.Errorf("still alive, or its folder is there: %v", left)
		})
	}
}

// A child gains nothing by killing its supervisor.
func TestSupervisorKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the parent-death signal is Linux's")
	}
	t.Parallel()
	marker := fmt.Sprintf("MARK=%s%d", t.Name(), os.Getpid())
	c := sh("read go; kill -9 $PPID; sleep 1000") // the supervisor has reported the start
	c.Env, c.Stdin = append(c.Env, marker), strings.NewReader("go\n")
	got, err := Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "supervisor") || got.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", got, err)
	}
	if left := carriers(t, marker); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
}

// A child can read no secret of the server and the supervisor.
func TestServerIsUnreadable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is /proc on Linux alone")
	}
	t.Parallel()
	script := `
		echo "own: $(tr '\0' '\n' </proc/self/environ | grep -c -e XYZZY -e LD_HERMES)"
		for f in environ mem maps fd/0 auxv; do
			if { dd if=/proc/$SERVER/$f of=/dev/null bs=1 count=1; } 2>/dev/null; then echo "server $f: readable"; fi
		done
		echo "supervisor: $({ cat /proc/$PPID/environ; } 2>/dev/null)"
		for i in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do [ -e /proc/$$/fd/$i ] && echo "descriptor $i is open"; done
		echo "core: $(ulimit -c)"
		ls /proc/$SERVER/task >/dev/null && echo done`
	server, out := startServer(t, script, "INNOCENT_KEY=XYZZY", "LD_HERMES=1")
	var text bytes.Buffer
	if _, err := text.ReadFrom(out); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	want := "own: 0\nsupervisor: \ncore: 0\ndone\n"
	if text.String() != want {
		t.Errorf("a child sees\n%swant\n%s", text.String(), want)
	}
}

// carriers returns the processes with marker in their environment.
func carriers(t *testing.T, marker string) (found []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		out, err := exec.Command("ps", "-axEo", "pid,state,command").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, marker) {
				found = append(found, line)
			}
		}
		return found
	}
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(append(env, 0), []byte(marker+"\x00")) {
			status, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, path+": "+strings.ReplaceAll(string(status), "\x00", " "))
		}
	}
	return found
}
