// Package testneed states the needs of a test: programs, rights and time, beside Go, git and Python.
//
// If a program is missing, the test fails and names the package to install. In `make check`
// (-short) a test with needs is skipped. In `make test` a test with missing needs is omitted and
// noted: the run lists it at the end and fails.
package testneed

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// OmissionsVariable names a file to which omitted tests add a line. BaseVariable names a directory
// for files outside of temporary directories. `make test` sets both.
const (
	OmissionsVariable = "HERMES_LS_TEST_OMITTED"
	BaseVariable      = "HERMES_LS_TEST_BASE"
)

// Program returns the path of a program. The package of Debian has the program; if it is empty, it has
// the same name.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if debian == "" {
			debian = name
		}
		Missing(t, "the package "+debian)
	} else {
		Extra(t)
	}
	return path
}

// Root leaves the test out if it does not run as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "root")
	} else {
		Extra(t)
	}
}

// Extra skips the test in `make check`, even on a machine with all its needs: a check is quick, and
// the same everywhere.
func Extra(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make check leaves it out; make test runs it")
	}
}

// Long limits a test with many cases to runs without the race detector, with which it would take
// minutes: its cases differ only in their data, and other tests run the same code with the
// detector. `make test` runs such tests without it, too. `make check` skips the test.
func Long(t testing.TB) {
	t.Helper()
	Extra(t)
	if race {
		t.Skip("it runs without the race detector")
	}
}

// Cases returns how many random cases a test tries: few in `make check` and with the race detector, else all.
func Cases(all, few int) int {
	if race || testing.Short() {
		return few
	}
	return all
}

// Missing ends a test whose machine lacks something.
func Missing(t testing.TB, needs string) {
	t.Helper()
	Extra(t)
	name := os.Getenv(OmissionsVariable)
	if name == "" {
		t.Fatalf("this test needs %s: run `make hosts`", needs)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("noting that this test needs %s: %v", needs, err)
	}
	_, err = fmt.Fprintf(f, "%s\t%s\n", t.Name(), needs)
	if closed := f.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	t.Skipf("left out: it needs %s", needs)
}

// Base returns a directory that is not temporary for commands, or the fallback if none was
// prepared.
func Base(fallback string) string {
	if dir := os.Getenv(BaseVariable); dir != "" {
		return dir
	}
	return fallback
}
