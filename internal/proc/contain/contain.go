// Package contain runs the tests of a package in a child process. No test leaves a process or a
// temporary file, also if the test binary is killed.
//
//	func TestMain(m *testing.M) { os.Exit(contain.Tests(m)) }
package contain

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/proc/supervisor"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
)

// inside marks the child with the tests.
const inside = "HERMES_LS_TEST_CONTAINED"

// grace is the time for canceled tests to end.
const grace = 10 * time.Second

// settle is the time for processes of the tests to end after the last test.
var settle = 10 * time.Second

// Tests starts this test binary again under a supervisor of package proc, with the same arguments,
// and returns its exit status. The child runs the tests. Its folder for temporary files, TMPDIR, is
// its own.
//
// If the child ends, or if this process is killed, the supervisor ends the child's descendants and
// the folder is removed. If passing tests leave a process (on Linux) or a file in the folder, Tests
// lists it and returns 1. Before it looks for files, it calls the functions in sweep, which remove
// permitted files: for example folders of killed servers, which the next server removes. SIGINT and
// SIGTERM end the child.
//
// It must be the first call of TestMain. Standard input of the tests is empty. Fuzzing is not
// supported: the child lacks its descriptors.
func Tests(m *testing.M, sweep ...func()) int {
	supervisor.Main()
	if os.Getenv(inside) != "" {
		os.Unsetenv(inside) // processes of the tests are not marked
		return run(m, sweep)
	}
	code, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "running the tests in a child process:", err)
		return 1
	}
	return code
}

// start starts the child, waits for its end, and returns its exit status.
func start() (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	temp, err := testdir.Make(os.TempDir(), "he-") // short: a path of a socket has at most 108 bytes
	if err != nil {
		return 0, err
	}
	defer func() {
		if removed := testdir.Remove(temp); err == nil {
			err = removed
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := proc.Cmd{
		Args: append([]string{self}, os.Args[1:]...), Dir: dir, Env: environ(temp), Stdout: os.Stdout, Stderr: os.Stderr,
		Scratch: temp, Trusted: true, Grace: grace,
	}
	if sameFile(os.Stdout, os.Stderr) { // keeps the order of both
		c.Stderr = os.Stdout
	}
	exit, err := proc.Run(ctx, c)
	if ctx.Err() != nil {
		return max(exit.Code, 1), nil
	}
	return exit.Code, err
}

// environ returns the environment of the child. Each name is in it once.
func environ(temp string) (env []string) {
	set := []string{"TMPDIR=" + temp, inside + "=1"}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); name != "TMPDIR" {
			env = append(env, variable)
		}
	}
	return append(env, set...)
}

func sameFile(a, b *os.File) bool {
	one, err := a.Stat()
	if err != nil {
		return false
	}
	other, err := b.Stat()
	return err == nil && os.SameFile(one, other)
}

// run runs the tests and returns the exit status. If they passed and have left something, it is 1.
func run(m *testing.M, sweep []func()) int {
	code := m.Run()
	left := processesLeft()
	for _, f := range sweep {
		f()
	}
	entries, _ := os.ReadDir(os.TempDir()) // it may be missing: then nothing is left in it
	for _, e := range entries {
		left = append(left, "the file "+filepath.Join(os.TempDir(), e.Name()))
	}
	if len(left) == 0 {
		return code
	}
	fmt.Println("The tests have left, and it is removed now:")
	for _, text := range left {
		fmt.Println("\t" + text)
	}
	return max(code, 1)
}
