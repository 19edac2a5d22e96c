//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A real Neovim shows two subagents and cancels one of them by its bar.
func TestNeovimSubagents(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": "one\n"})
			b.run(t, host(t, "nvim-"+version), "--headless", "-u", "NONE", "-i", "NONE", "-n",
				"-c", "luafile "+filepath.Join(root(t), "e2e", "neovim", "delegate.lua"))
			checkSubagents(t, b)
		})
	}
}

type shownBar struct {
	Title       string
	Cancellable bool
	Messages    []string
	Ended       bool
}

func checkSubagents(t *testing.T, b bed) {
	t.Helper()
	var r struct {
		Answer      struct{ StopReason, Text string }
		Order       []string // kinds and titles of the shown events
		Long, Quick shownBar
		List        []struct {
			Goal, Status string
			Calls        int
		}
	}
	b.read(t, &r)
	if r.Answer.StopReason != "end_turn" || r.Answer.Text != "One is done, one was cancelled." {
		t.Errorf("answer = %+v", r.Answer)
	}
	if end := r.Long.Messages[len(r.Long.Messages)-1]; !r.Long.Cancellable || end != "interrupted · 1 call" {
		t.Errorf("the cancelled bar: %+v", r.Long)
	}
	if end := r.Quick.Messages[len(r.Quick.Messages)-1]; !r.Quick.Cancellable || end != "done" {
		t.Errorf("the other bar: %+v", r.Quick)
	}
	begun := 0
	for _, shown := range r.Order {
		if strings.HasPrefix(shown, "end Hermes ›") && begun < 2 {
			t.Errorf("they were not at work together: %q", r.Order)
		}
		if strings.HasPrefix(shown, "begin Hermes ›") {
			begun++
		}
	}
	if len(r.List) != 2 || r.List[0].Status != "interrupted" || r.List[0].Calls != 1 || r.List[1].Status != "completed" {
		t.Errorf("list = %+v", r.List)
	}
}
