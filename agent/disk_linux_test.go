//go:build amd64 || arm64

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/agent/store/storetest"
	"github.com/hermes-ls/hermes-ls/tools"
)

// TestBrokenDisk fails each write of a turn with an error of the disk. The turn must end with
// an error, and the events of the editor must be stored. After the disk works again, the
// session must continue with a history accepted by every endpoint.
func TestBrokenDisk(t *testing.T) {
	t.Parallel()
	for name, errno := range map[string]syscall.Errno{"full": syscall.ENOSPC, "broken": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), store.FileName)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprint("AGENT_TEST_DISK=", int(errno)), "AGENT_TEST_STORE="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			id := strings.TrimSpace(string(out))
			m := answers()
			s := load(t, agent.Config{Head: store.Session{ID: id}, Model: m, Store: at(t, path)})
			if _, err := s.Turn(t.Context(), agent.Input{Text: "and now?"}, &recorder{}); err != nil {
				t.Fatal(err)
			}
			checkLog(t, m.Requests()[0].Messages)
		})
	}
}

func at(t *testing.T, path string) *store.Store {
	t.Helper()
	st := store.New(path, store.Options{})
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// breakTurns is the main function of the child process. It runs turns on a disk whose first
// write fails, then the second, and so on. After each, it runs a turn on a working disk.
func breakTurns(path string, errno syscall.Errno) error {
	disk, err := storetest.Take()
	if err != nil {
		return err
	}
	set, err := tools.NewSet(quick("quick", true))
	if err != nil {
		return err
	}
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		if last := x.Request.Messages[len(x.Request.Messages)-1]; last.Role == model.User {
			x.Text("I look.")
			x.Call("", "quick", "{}")
			x.Call("", "quick", "{}")
			return
		}
		x.Text("Done.")
	})
	st := store.New(path, store.Options{})
	ctx := context.Background()
	s, err := agent.New(ctx, agent.Config{Model: m, Store: st, Tools: set})
	if err != nil {
		return err
	}
	failures := 0
	for after := range 40 {
		disk.Break(errno, false, after)
		told := &recorder{}
		_, failure := s.Turn(ctx, agent.Input{Text: fmt.Sprint("turn ", after)}, told)
		if failed := disk.Repair(); failed > 0 && failure != nil {
			failures++
			if text := failure.Error(); !strings.Contains(text, path) || !strings.Contains(text, "the disk") {
				return fmt.Errorf("the error says too little: %w", failure)
			}
		}
		if err := wasKept(ctx, st, s.ID(), told); err != nil {
			return fmt.Errorf("after a failure at write %d (%w): %w", after, failure, err)
		}
		told = &recorder{}
		if stop, err := s.Turn(ctx, agent.Input{Text: "again"}, told); err != nil || stop != agent.EndTurn {
			return fmt.Errorf("the disk is sound again: %s, %w", stop, err)
		}
		if err := wasKept(ctx, st, s.ID(), told); err != nil {
			return err
		}
	}
	if failures < 5 {
		return fmt.Errorf("only %d failures: the test breaks nothing", failures)
	}
	fmt.Println(s.ID())
	return st.Close()
}

// wasKept returns an error unless the history contains the prompts and calls of the events.
func wasKept(ctx context.Context, st *store.Store, id string, told *recorder) error {
	log, err := st.Messages(ctx, id, 0, 0)
	if errors.Is(err, store.ErrNotFound) {
		log, err = nil, nil
	}
	if err != nil {
		return err
	}
	for _, e := range told.events {
		switch e := e.(type) {
		case agent.UserMessage:
			if !slices.ContainsFunc(log, func(m store.Message) bool { return m.ID == e.MessageID && m.Text() == e.Text }) {
				return fmt.Errorf("the prompt %q was shown and not kept", e.Text)
			}
		case agent.CallEnded:
			if !slices.ContainsFunc(log, func(m store.Message) bool { return m.CallID() == e.Call.ID && m.Text() == string(e.Result.JSON) }) {
				return fmt.Errorf("the result of %s was shown and not kept", e.Call.ID)
			}
		}
	}
	return nil
}
