package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// hostile hides the text after it in a terminal, writes to the clipboard, and moves the
// cursor back.
const hostile = "a\x1b[8m\x1b]52;c;ZXZpbA==\x07\u009b2Jb\rc\x08\x7f"

// controls returns the control characters of a text.
func controls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return r
		}
		return -1
	}, text)
}

// The events of run --json keep the special characters of a shell.
func TestEventsAreReadable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	newTerminalHost(cmd, runFlags{json: true}).emit(map[string]string{"text": "a && b <c>"})
	if got := out.String(); got != `{"text":"a && b <c>"}`+"\n" {
		t.Errorf("%q", got)
	}
}

// TestTerminalIsNotSteered checks that text of a model cannot control the terminal of hermes-ls
// run.
func TestTerminalIsNotSteered(t *testing.T) {
	t.Parallel()
	var out, progress bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	h := newTerminalHost(cmd, runFlags{})
	call := tools.Call{Name: hostile}
	for _, e := range []agent.Event{
		agent.Text{Text: hostile}, agent.CallStarted{Call: call, Title: hostile}, agent.Notice{Text: hostile},
		agent.CallEnded{Call: call, Result: tools.Result{IsError: true, JSON: json.RawMessage(`"\u009b` + "\u009b" + `"`)}},
		agent.ChildStarted{Child: agent.Child{Goal: hostile}}, agent.ChildEnded{Child: agent.Child{Goal: hostile}, Status: hostile},
		agent.ChildEvent{Event: agent.CallStarted{Title: hostile}},
	} {
		h.Event(e)
	}
	if _, err := h.AskPermission(t.Context(), tools.ApprovalRequest{Title: hostile, Reason: hostile, For: hostile}); err == nil {
		t.Error("a question without a user was answered")
	}
	for name, text := range map[string]string{"answer": out.String(), "progress": progress.String()} {
		if !strings.Contains(text, "52;c;") {
			t.Errorf("%s: %q lacks the text", name, text)
		}
		if c := controls(text); c != "" {
			t.Errorf("%s: control characters %q in %q", name, c, text)
		}
	}
}

// TestCheckpointsDoNotSteerTheTerminal checks the same for the names of files and the
// titles of sessions in the list of checkpoints.
func TestCheckpointsDoNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	head := store.Session{Title: hostile}
	dir := t.TempDir()
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // it has no changes
	missed := []checkpoint.Missed{{Why: hostile, Files: []string{filepath.Join(dir, hostile+"\nx")}, Commands: true}}
	for _, all := range [][]checkpoint.Info{nil, {{ID: "0123456789", Title: hostile, Files: []string{"/ws/" + hostile + "\nx"}}}} {
		out.Reset()
		if err := printCheckpoints(cmd, files, head, all, missed); err != nil {
			t.Fatal(err)
		}
		if c := controls(out.String()); c != "" {
			t.Errorf("control characters %q in %q", c, out.String())
		}
	}
	if n := strings.Count(strings.TrimSpace(out.String()), "\n"); n != 4 {
		t.Errorf("%d line ends in %q", n, out.String())
	}
}
