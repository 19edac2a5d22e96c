package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"
)

func TestLeftoversFailAStage(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{})
	mark := filepath.Join(dir, "pid")
	out, err := runIn(t, dir,
		stage{name: "process", steps: []step{command("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $! >"+mark)}},
		stage{name: "file", steps: []step{command("sh", "-c", `touch "$TMPDIR/forgotten"`)}},
		stage{name: "clean", steps: []step{command("sh", "-c", `f=$(mktemp) && rm "$f"`)}})
	if err == nil || !strings.Contains(out, "process ") || !strings.Contains(out, "sleep 1000") || !strings.Contains(out, "/forgotten") || !strings.Contains(out, "clean      ok") {
		t.Errorf("%v\n%s", err, out)
	}
	if pid, err := os.ReadFile(mark); err != nil || runs(strings.TrimSpace(string(pid))) {
		t.Errorf("process %s still runs, %v", pid, err)
	}
}

func TestAKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), asRunner+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) // it is killed before
	var pid string
	until(t, "the stage to start", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		temp, _ := os.ReadFile(filepath.Join(dir, "temp"))
		pid = strings.TrimSpace(string(text))
		return pid != "" && len(temp) > 0
	})
	before := boxes(t)
	if len(before) == 0 {
		t.Fatal("the stage has no folder")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "its processes and files to be gone", func() bool {
		return !runs(pid) && !slices.ContainsFunc(before, func(path string) bool { _, err := os.Stat(path); return err == nil })
	})
}

// boxes lists the folders of boxes whose stage has made its file.
func boxes(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/var/lib/ht-*")
	if os.Geteuid() != 0 {
		all, err = filepath.Glob(filepath.Join(os.TempDir(), "ht-*"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		_, err := os.Stat(filepath.Join(path, tempName, "file"))
		return err != nil
	})
}

// runs reports whether a process runs. Zombies do not.
func runs(pid string) bool {
	return slices.ContainsFunc(processes.All(), func(p processes.Process) bool { return strings.TrimSpace(pid) == strconv.Itoa(p.PID) })
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
