//go:build unix

// Package proctest runs tests of the calling test binary again in another kind of process: as an
// ordinary user, since root has more rights than users, and on more restricted hosts.
//
//	func TestAsUser(t *testing.T) { proctest.AsUser(t, ".") }
package proctest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// again is set in processes started by this package: they start no others.
const again = "HERMES_LS_TEST_AGAIN"

// Again reports whether this process was started by this package, or by e2e/setup/as-user.sh for root.
func Again() bool { return os.Getenv(again) != "" }

// User is an ordinary user. Bin and Home lie in a folder accessible to all users.
type User struct {
	UID, GID uint32
	Name     string
	Home     string
	Bin      string // a copy of the running test binary
	base     string
}

// NewUser finds the ordinary user "daemon", whom every Unix has, and gives it a home and a copy of
// the test binary. Only root can call it. If the test binary is killed, the next NewUser removes
// the folder.
func NewUser(t testing.TB) *User {
	t.Helper()
	found, err := user.Lookup("daemon")
	if err != nil {
		t.Fatalf("finding an ordinary user: %v", err)
	}
	u := &User{UID: number(t, found.Uid), GID: number(t, found.Gid), Name: found.Username}
	// Not t.TempDir, which only root can enter, and not in a folder for temporary files,
	// which commands may write.
	if u.base, err = testdir.Make(testneed.Base("/var/lib"), "hu-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(u.base) }) // of this test alone
	if err := os.Chmod(u.base, 0o755); err != nil {
		t.Fatal(err)
	}
	u.Home = u.Folder(t, "home")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u.Bin = u.Program(t, binary)
	return u
}

// Folder makes a folder owned by the user.
func (u *User) Folder(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(u.base, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(u.UID), int(u.GID)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Program copies a program to a place where the user can run it.
func (u *User) Program(t testing.TB, path string) string {
	t.Helper()
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close() // only read
	// A process started meanwhile by another test would hold the file open for writing, and it
	// could not be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	name := filepath.Join(u.base, filepath.Base(path))
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if closed := to.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return name
}

// Environ is the user's environment. From root's environment, it keeps only PATH, the variables of
// package testneed and the options of the race detector.
func (u *User) Environ() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + u.Home,
		"USER=" + u.Name, "LOGNAME=" + u.Name, again + "=1", "GORACE=" + os.Getenv("GORACE"),
	}
	for _, name := range []string{testneed.OmissionsVariable, testneed.BaseVariable} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Command returns a command run by the user, in the folder of the running test.
func (u *User) Command(t testing.TB, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = u.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.UID, Gid: u.GID}}
	return cmd
}

// AsUser runs this test binary's tests matching pattern again as an ordinary user, and fails if a
// test fails or none matches. If this process is not root's, uses the race detector, or was started
// by this package, AsUser does nothing.
func AsUser(t *testing.T, pattern string) {
	t.Helper()
	if os.Geteuid() != 0 || spec.Race || Again() {
		return
	}
	u := NewUser(t)
	Tests(t, u.Command(t, u.Bin), pattern)
}

// Tests adds arguments to cmd, which starts a test binary, to run the tests matching pattern. It
// fails if a test fails or none matches.
func Tests(t *testing.T, cmd *exec.Cmd, pattern string) {
	t.Helper()
	cmd.Args = append(cmd.Args, "-test.run="+pattern, "-test.v", "-test.count=1", "-test.timeout=15m") // less than make test gives this process
	cmd.WaitDelay = time.Minute                                                                        // a process left by a test could hold the output open
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, failures(out))
	}
	if !bytes.Contains(out, []byte("--- PASS")) {
		t.Fatalf("no test matched %q:\n%s", pattern, out)
	}
}

// failures leaves out the lines of passed tests.
func failures(out []byte) string {
	var kept strings.Builder
	for line := range strings.Lines(string(out)) {
		word := strings.Fields(line)
		if len(word) > 1 && (word[0] == "===" || word[0] == "---" && word[1] != "FAIL:") {
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

func number(t testing.TB, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}
