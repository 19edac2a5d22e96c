//go:build linux

package contain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	settle = 2 * time.Second
	os.Exit(Tests(m))
}

// helper is a variable with a folder for the results and, after a colon, the behavior of
// TestHelper.
const helper = "HERMES_LS_TEST_CONTAIN"

// TestHelper runs in the child of another test: it starts a process in a new session, makes a
// temporary folder, and records both.
func TestHelper(t *testing.T) {
	notes, how, given := strings.Cut(os.Getenv(helper), ":")
	if !given {
		t.Skip("other tests run it")
	}
	switch how {
	case "passes":
		fmt.Fprintln(os.Stderr, "text on stderr")
		return
	case "fails":
		t.Fatal("as it should")
	}
	cmd := exec.CommandContext(context.Background(), "sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "left")
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(notes, "note")
	if err := os.WriteFile(note+".new", []byte(fmt.Sprintf("%d %s", cmd.Process.Pid, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(note+".new", note); err != nil {
		t.Fatal(err)
	}
	if how == "waits" {
		time.Sleep(time.Hour)
	}
}

// contained is a test binary running TestHelper.
type contained struct {
	*exec.Cmd
	out         bytes.Buffer
	notes, temp string
}

func newContained(t *testing.T, how string) *contained {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &contained{Cmd: exec.CommandContext(t.Context(), binary, "-test.run=^TestHelper$", "-test.v"), notes: t.TempDir(), temp: t.TempDir()}
	c.Env = append(os.Environ(), "TMPDIR="+c.temp, helper+"="+c.notes+":"+how)
	c.Stdout, c.Stderr = &c.out, &c.out
	return c
}

// started waits until TestHelper has noted its process and its folder.
func (c *contained) started(t *testing.T) (pid int, dir string) {
	t.Helper()
	var text []byte
	within(t, "the note", func() (err error) {
		text, err = os.ReadFile(filepath.Join(c.notes, "note"))
		return err
	})
	number, dir, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return pid, dir
}

// nothingLeft waits until the process has ended and the folder for temporary files is empty.
func (c *contained) nothingLeft(t *testing.T, pid int) {
	t.Helper()
	within(t, "the end of the process", func() error {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			return fmt.Errorf("process %d is there: %v", pid, err)
		}
		return nil
	})
	within(t, "the removal of the folder", func() error {
		entries, err := os.ReadDir(c.temp)
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("left: %v", entries)
		}
		return err
	})
}

// within repeats a check until it returns nil. If the check still fails after a supervisor's
// longest time, the test fails.
func within(t *testing.T, what string, check func() error) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waiting for %s: %v", what, err)
		}
	}
}

func TestKilled(t *testing.T) {
	t.Parallel()
	c := newContained(t, "waits")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid, dir := c.started(t)
	if filepath.Dir(filepath.Dir(dir)) != c.temp {
		t.Errorf("the tests have temporary files in %s, which is not in a folder in %s", dir, c.temp)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait() // it was killed
	c.nothingLeft(t, pid)
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := newContained(t, "waits")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			pid, _ := c.started(t)
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err == nil {
				t.Errorf("canceled tests have passed:\n%s", &c.out)
			}
			c.nothingLeft(t, pid)
		})
	}
}

// TestLeftovers expects passing tests to fail if they leave a process and a folder, with their
// names.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	c := newContained(t, "leaves")
	err := c.Run()
	pid, dir := c.started(t)
	if err == nil || c.ProcessState.ExitCode() != 1 {
		t.Errorf("%v, want exit status 1", err)
	}
	for _, want := range []string{"--- PASS: TestHelper", fmt.Sprintf("process %d: sleep 1000\n", pid), "the file " + dir + "\n"} {
		if !strings.Contains(c.out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &c.out)
		}
	}
	c.nothingLeft(t, pid)
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	passes := newContained(t, "passes")
	if err := passes.Run(); err != nil || !strings.Contains(passes.out.String(), "text on stderr\n--- PASS: TestHelper") {
		t.Errorf("%v:\n%s", err, &passes.out)
	}
	fails := newContained(t, "fails")
	if err := fails.Run(); fails.ProcessState.ExitCode() != 1 || !strings.Contains(fails.out.String(), "--- FAIL: TestHelper") {
		t.Errorf("%v:\n%s", err, &fails.out)
	}
}
