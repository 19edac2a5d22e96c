package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// claimAndStart is a process that claims a session and starts a child. Until the child runs its
// program, it holds the claim's lock through the inherited descriptor.
func claimAndStart(seconds string) error {
	s := store.New(os.Getenv("STORE_TEST_PATH"), store.Options{})
	if _, err := s.Claim("busy"); err != nil {
		return err
	}
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, l := range links {
		var fd uintptr
		path, _ := os.Readlink(filepath.Join("/proc/self/fd", l.Name()))
		if _, err := fmt.Sscan(l.Name(), &fd); err != nil || !strings.HasSuffix(path, "busy.lock") {
			continue
		}
		cmd := exec.Command("sleep", seconds)
		cmd.ExtraFiles = []*os.File{os.NewFile(fd, path)}
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	fmt.Println("started")
	for { // the test kills it; select {} without another goroutine would be a deadlock
		time.Sleep(time.Hour)
	}
}

// TestClaimOfKilledProcess kills a process while it starts another process. Its claim ends with
// the start, however long the start takes, and the next server gets it. A living process keeps
// its claim.
func TestClaimOfKilledProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	next := at(t, path)
	cmd, out := start(t, "claim:2", path)
	defer cmd.Wait() // it is killed
	awaitLine(t, out, "started")
	if _, err := next.Claim("busy"); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("the claim of a living process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	release, err := next.Claim("busy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at(t, path).Claim("busy"); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("the claim of the next process: %v", err)
	}
	release()
}

func awaitLine(t *testing.T, out *bufio.Scanner, want string) {
	t.Helper()
	if !out.Scan() || out.Text() != want {
		t.Fatalf("got %q, want %q: %v", out.Text(), want, out.Err())
	}
}
