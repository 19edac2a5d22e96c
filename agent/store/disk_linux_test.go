//go:build amd64 || arm64

package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/agent/store/storetest"
)

// TestBrokenDisk fails a write or a read at any call, because the disk is full or broken. The
// error contains advice for the user, acknowledged data survives, and the same store works once
// the disk does. The test runs in a child process.
func TestBrokenDisk(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"full", "broken", "unreadable"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_CHILD=disk:"+kind, "STORE_TEST_PATH="+filepath.Join(t.TempDir(), store.FileName))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// children are functions for child processes of these tests, besides a [worker].
var children = map[string]func(arg string) error{"disk": breakDisk, "claim": claimAndStart}

// calls is the last call of an operation to fail.
const calls = 20

// breakDisk is the main function of the child process. The disk fails at the first, the second,
// the third call and so on of an operation.
func breakDisk(kind string) error {
	errno, reads := map[string]syscall.Errno{"full": syscall.ENOSPC, "broken": syscall.EIO, "unreadable": syscall.EIO}[kind], kind == "unreadable"
	disk, err := storetest.Take()
	if err != nil {
		return err
	}
	path := os.Getenv("STORE_TEST_PATH")
	ctx := context.Background()
	s := store.New(path, store.Options{})
	x := store.Session{ID: store.NewID()}
	if err := s.Create(ctx, x); err != nil {
		return err
	}
	var kept []string
	failures := 0
	for after := range 60 {
		if reads { // cached data is not read again
			if err := s.Close(); err != nil {
				return err
			}
			s = store.New(path, store.Options{})
		}
		disk.Break(errno, reads, after%calls)
		m := &store.Message{ID: store.NewID(), Message: model.ResponseMessage("", prose(after%7*10_000))}
		err := s.Append(ctx, x.ID, m)
		if failed := disk.Repair(); failed > 0 && err != nil {
			failures++
			if err := isSentence(err, kind, path); err != nil {
				return err
			}
		}
		if err == nil {
			kept = append(kept, m.ID)
		}
		if err := sound(ctx, s, x.ID, kept); err != nil {
			return fmt.Errorf("after a failure at call %d: %w", after%calls, err)
		}
		more := &store.Message{ID: store.NewID(), Message: model.NewMessage(model.User, "again")}
		if err := s.Append(ctx, x.ID, more); err != nil {
			return fmt.Errorf("the disk is sound again: %w", err)
		}
		kept = append(kept, more.ID)
	}
	if failures < 20 {
		return fmt.Errorf("only %d failures: the test breaks nothing", failures)
	}
	if err := s.Close(); err != nil {
		return err
	}
	again := store.New(path, store.Options{})
	if err := sound(ctx, again, x.ID, kept); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	if problems, err := again.Check(ctx); err != nil || len(problems) > 0 {
		return fmt.Errorf("the file is not whole: %q, %w", problems, err)
	}
	fmt.Printf("%d failures, %d messages kept\n", failures, len(kept))
	return again.Close()
}

func isSentence(err error, kind, path string) error {
	want := map[string][]string{
		"full": {"the disk is full, so this was not stored. Make room on the disk of "}, "broken": {"the disk refused"},
		"unreadable": {"the disk refused", "cannot be read from its disk"},
	}[kind]
	says := slices.ContainsFunc(want, func(w string) bool { return strings.Contains(err.Error(), w) })
	if !says || !strings.Contains(err.Error(), path) {
		return fmt.Errorf("the error says too little: %w", err)
	}
	return nil
}

// sound compares a log with the acknowledged messages.
func sound(ctx context.Context, s *store.Store, id string, kept []string) error {
	log, err := s.Messages(ctx, id, 0, 0)
	if err != nil {
		return err
	}
	var got []string
	for _, m := range log {
		got = append(got, m.ID)
	}
	if !slices.Equal(got, kept) {
		return fmt.Errorf("%d messages, %d were acknowledged", len(got), len(kept))
	}
	return nil
}
