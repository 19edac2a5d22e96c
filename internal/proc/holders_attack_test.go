//go:build linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// A command cannot change the limits of processes that start commands, which would prevent the next
// start. It can read them, and set its own.
func TestLimitsOfOthers(t *testing.T) {
	t.Parallel()
	in := hold(t)
	for _, pid := range []string{"1", "$PPID"} {
		out := shown(t, in, "prlimit --pid "+pid+" --nofile >/dev/null && echo read; prlimit --pid "+pid+" --nofile=3:3 2>&1; prlimit --pid "+pid+" --cpu=1:1 2>&1; ulimit -n 99 && ulimit -n")
		if strings.Count(out, "Operation not permitted") != 2 || !strings.HasPrefix(out, "read\n") || !strings.HasSuffix(out, "\n99") {
			t.Errorf("of %s: %s", pid, out)
		}
	}
	_, _ = background(t, in, "echo up; sleep 1000")
	if got := shown(t, in, "echo next"); got != "next" {
		t.Errorf("%q", got)
	}
}

// Keys of the kernel, such as Kerberos tickets, are out of reach.
func TestKeys(t *testing.T) {
	t.Parallel()
	const script = `python3 - <<'PY'
import ctypes, platform
calls = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
for n in calls:
    libc.syscall(n, 0, -4, 0, 0, 0)
    print(ctypes.get_errno())
PY`
	if got := shown(t, hold(t), script); got != "1\n1\n1" {
		t.Errorf("errno of add_key, request_key and keyctl: %q, want EPERM", got)
	}
}

const inFlight = "HERMES_TEST_IN_FLIGHT"

// The kernel bounds an ordinary user's descriptors in flight: sent, but not received. If a command
// uses them all, the next command fails with an error, and a later command runs again. The test
// runs in a separate process with fewer descriptors.
func TestDescriptorsInFlight(t *testing.T) {
	if os.Getenv(inFlight) == "" {
		t.Parallel()
		if os.Geteuid() == 0 {
			t.Skip("the kernel does not bound root's; TestAsUser runs this test as an ordinary user")
		}
		cmd := exec.CommandContext(t.Context(), spec.Self(), "-test.v", "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inFlight+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	in := hold(t)
	shown(t, in, "true")
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	one, other, err := spec.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	const few = 64
	for range 2 * few {
		if err := spec.Send(one, spec.Message{Kind: 'x', Files: []int{one}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: few, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	c := sh("true")
	in(&c)
	if _, err := Run(t.Context(), c); !errors.Is(err, errUnreachable) {
		t.Errorf("the command that cannot be sent: %v", err)
	}
	unix.Close(one)   // of this test
	unix.Close(other) // the messages in it are gone
	if got := shown(t, in, "echo again"); got != "again" {
		t.Errorf("%q", got)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
}

// With Landlock alone, a command cannot open the user's terminals, where passwords are typed. Its
// own terminal works.
func TestLandlockTerminals(t *testing.T) {
	t.Parallel()
	pty, path, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close() // of this test
	bound := func(c *Cmd) {
		c.Confine = &confine.Plan{Landlock: true, Reads: []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"}, Writes: []string{t.TempDir()}}
	}
	if out := shown(t, bound, "cat <"+path+"; echo x >"+path+"; head -c 3 /dev/zero | wc -c"); strings.Count(out, "ermission denied") != 2 || !strings.HasSuffix(out, "3") {
		t.Errorf("a terminal of the user can be opened: %s", out)
	}
	own := func(c *Cmd) {
		bound(c)
		c.PTY = &WindowSize{Rows: 24, Cols: 80}
	}
	if out := shown(t, own, "echo own >$(tty) && echo again >/dev/tty"); out != "own\r\nagain" {
		t.Errorf("its own terminal: %q", out)
	}
}

// openTerminal opens a terminal, like a user's shell.
func openTerminal() (*os.File, string, error) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, "", err
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, "", err
	}
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
	return f, fmt.Sprintf("/dev/pts/%d", n), err
}

// If a command kills its inner supervisor, the command's processes end, also with Landlock alone.
func TestLandlockSupervisor(t *testing.T) {
	t.Parallel()
	marker := fmt.Sprintf("MARK=landlock%d", os.Getpid())
	c := sh(`(trap "" TERM; setsid sleep 1000 >/dev/null 2>&1 &)
for p in /proc/$PPID/task/*; do kill -9 ${p##*/}; done
sleep 1000`)
	c.Confine = &confine.Plan{Landlock: true, Scoped: true, Reads: []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"}, Writes: []string{t.TempDir()}}
	c.Env = append(c.Env, marker)
	if exit, err := Run(t.Context(), c); err == nil {
		t.Errorf("%+v without an error", exit)
	}
	if left := carriers(t, marker); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
}

// Without a PID namespace, a command sees the user's processes, such as the server. It cannot keep
// them from starting programs.
func TestLimitsOfTheUser(t *testing.T) {
	t.Parallel()
	victim := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() }) // it was killed
	in := func(c *Cmd) { c.Confine = &confine.Plan{Namespaces: true, Writable: []string{"/"}} }
	out := shown(t, in, fmt.Sprintf("prlimit --pid %d --nproc=1:1", victim.Process.Pid))
	if !strings.Contains(out, "not permitted") {
		t.Errorf("%q", out)
	}
}
