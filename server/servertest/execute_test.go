package servertest_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// A script gets a separate line of progress. Its calls are in the transcript, but not in the result
// for the model.
func TestScript(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no scripts")
	}
	code := "from hermes_tools import read_file\nprint('lines:', read_file('a.txt')['total_lines'])\nimport time; time.sleep(0.6)"
	m := fakemodel.Script(calls("execute_code", map[string]any{"code": code}), says("Two."))
	// In real time: a script takes some.
	e := servertest.New(t, servertest.Options{Files: map[string]string{"a.txt": "x\ny\n"}, Model: m})
	e.Ask("count")
	var lines []string
	for _, p := range e.Progress() {
		lines = append(lines, p.Message)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "execute_code · ") || !strings.Contains(strings.Join(lines, "\n"), "/50 calls · ") {
		t.Errorf("progress %q", lines)
	}
	if !slices.ContainsFunc(e.Progress(), func(p servertest.Progress) bool {
		return p.Kind == "begin" && p.Title == "Hermes › execute_code" && p.Cancellable
	}) {
		t.Errorf("no progress of the script's own among %+v", e.Progress())
	}
	requests := m.Requests()
	last := requests[len(requests)-1].Messages
	result := last[len(last)-1].Text()
	if !strings.Contains(result, `"output":"lines: 2\n"`) || strings.Contains(result, "a.txt") {
		t.Errorf("the model was told %s", result)
	}
	var transcript protocol.TranscriptResult
	if err := e.Command(protocol.CommandTranscript, map[string]any{}, &transcript); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(uri.URI(transcript.URI).FsPath())
	if err != nil {
		t.Fatal(err)
	}
	if want := "- sandbox_tool_call `read_file` `{\"path\":\"a.txt\"}` · "; !strings.Contains(string(text), want) || !strings.Contains(string(text), "completed") {
		t.Errorf("the transcript lacks %s:\n%s", want, text)
	}
}

// Who cancels the progress of a script ends the script, not the turn.
func TestCancelOneScript(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no scripts")
	}
	m := fakemodel.Script(calls("execute_code", map[string]any{"code": "import time; time.sleep(600)"}), says("On."))
	e := servertest.New(t, servertest.Options{Model: m})
	_, wait := e.Go("workspace/executeCommand", prompt("wait", true))
	began := time.Now()
	for token := ""; token == ""; time.Sleep(20 * time.Millisecond) {
		for _, p := range e.Progress() {
			if p.Kind == "begin" && strings.Contains(p.Title, "execute_code") {
				token = p.Token
				e.Notify("window/workDoneProgress/cancel", map[string]any{"token": token})
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the script shows no progress: %+v", e.Progress())
		}
	}
	raw, err := wait()
	if err != nil || !strings.Contains(string(raw), `"stopReason":"end_turn","text":"On."`) {
		t.Errorf("the turn ended with %s, %v", raw, err)
	}
	requests := m.Requests()
	last := requests[len(requests)-1].Messages
	if result := last[len(last)-1].Text(); !strings.Contains(result, `"status":"interrupted"`) {
		t.Errorf("the model was told %s", result)
	}
}
