//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// editor starts a guest like an editor: with the editor's environment and folder.
func editor(t *testing.T, c Cmd) (*EditorChild, *exec.Cmd) {
	t.Helper()
	g, err := ForEditorTerminal(c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), g.Args[0], g.Args[1:]...)
	cmd.Env = []string{"EDITORS_KEY=hush"}
	cmd.Dir = "/"
	return g, cmd
}

func TestOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		cmd  Cmd
		out  string
		code int
	}{
		{"environment and folder", Cmd{Args: []string{"/bin/sh", "-c", "pwd; env | grep -c EDITORS; echo $A; exit 3"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "A=1"}}, dir + "\n0\n1\n", 3},
		{"no way to the editor's environment", sh("tr '\\0' '\\n' </proc/$PPID/environ | grep -c hush"), "0\n", 1},
		{"signal", sh("kill -9 $$"), "", 137},
		{"leftovers", sh("sleep 1000 >/dev/null 2>&1 & echo out"), "out\n", 0},
		{"leftovers that hold the terminal", sh("sleep 1000 & echo out; exit 4"), "out\n", 4},
		{"big environment", Cmd{Args: []string{"/bin/sh", "-c", "echo ${#A}"}, Env: []string{"A=" + strings.Repeat("x", 100_000), "B=" + strings.Repeat("x", 100_000)}}, "100000\n", 0},
		{"not there", Cmd{Args: []string{"/no/such/program"}}, "", 127},
		{"not executable", Cmd{Args: []string{"/etc/passwd"}}, "", 126},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, cmd := editor(t, tt.cmd)
			defer g.Close()
			out, err := cmd.Output()
			if string(out) != tt.out || cmd.ProcessState.ExitCode() != tt.code {
				t.Errorf("%q, %v; want %q and %d", out, err, tt.out, tt.code)
			}
		})
	}
	if _, err := ForEditorTerminal(Cmd{Args: []string{"no-such-program"}, Env: []string{"PATH=/bin"}}, ""); err == nil {
		t.Error("a program that is not there")
	}
}

func TestOutsideIsEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*EditorChild, *exec.Cmd){
		"stop":                     func(g *EditorChild, _ *exec.Cmd) { g.Stop(10 * time.Millisecond) },
		"close":                    func(g *EditorChild, _ *exec.Cmd) { g.Close() },
		"the editor terminates it": func(_ *EditorChild, c *exec.Cmd) { c.Process.Signal(syscall.SIGTERM) }, // it runs
		"the terminal is closed":   func(_ *EditorChild, c *exec.Cmd) { c.Process.Signal(syscall.SIGHUP) },  // it runs
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marker := fmt.Sprintf("MARK=%s%d", strings.ReplaceAll(t.Name(), " ", "_"), os.Getpid())
			c := sh(`trap '' TERM; (setsid sleep 1000 &); echo up; while :; do sleep 1; done`)
			c.Env = append(c.Env, marker)
			g, cmd := editor(t, c)
			defer g.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			end(g, cmd)
			cmd.Wait() // it was ended
			if left := carriers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
		})
	}
}

// An editor starts it too late, or never.
func TestOutsideTooLate(t *testing.T) {
	t.Parallel()
	c := sh("echo ran")
	c.Env = append(c.Env, "BIG="+strings.Repeat("x", 200_000)) // more than the pipe takes
	g, cmd := editor(t, c)
	g.Close()
	var exit *exec.ExitError
	if out, err := cmd.Output(); !errors.As(err, &exit) || len(out) > 0 {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Dir(g.Args[2])); err == nil {
		t.Error("its folder is left")
	}
}

// A command with access to the folder could write another program into the pipe, and the editor
// would start it without a sandbox.
func TestOutsideIsOutOfReach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := sh("true")
	c.Confine = &confine.Plan{Landlock: true, Writes: []string{filepath.Dir(dir)}}
	if _, err := ForEditorTerminal(c, dir); err == nil {
		t.Error("a folder that the command can write")
	}
	g, cmd := editor(t, sh("echo ran"))
	defer g.Close()
	path := g.Args[len(g.Args)-1]
	if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("forged"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "too late") {
		t.Errorf("%v, %q", err, out)
	}
}
