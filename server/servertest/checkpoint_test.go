package servertest_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// tree is every file below a folder with its mode and content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, path+" "+info.Mode().String()+" "+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// checkpoints lists the current session's checkpoints.
func checkpoints(t *testing.T, e *servertest.Editor) []protocol.CheckpointInfo {
	t.Helper()
	var list protocol.CheckpointListResult
	if err := e.Command(protocol.CommandCheckpoints, map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	return list.Checkpoints
}

// A script changes files through the tools and through commands while a background command
// runs: a restore reverts all of it. The model gets a notice. The checkpoints are deleted
// with their session.
func TestScriptIsTakenBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no scripts")
	}
	code := `
import os
from hermes_tools import write_file, terminal, patch
os.remove("gone.txt")
os.rename("moved.txt", "there.txt")
os.chmod("mode.txt", 0o755)
os.makedirs("made/deep")
open("made/deep/file", "w").write("x")
open("both.txt", "a").write("by the script\n")
write_file("both.txt", "by the tool\n")
patch("tool.txt", "old", "new")
terminal("echo more >> command.txt; ln -s both.txt link")
`
	const background = "i=0; while [ $i -lt 100 ]; do echo $i > background.txt; i=$((i+1)); sleep 0.01; done; echo done > ended.txt"
	m := fakemodel.Script(
		calls("terminal", map[string]any{"command": background, "background": true}),
		calls("execute_code", map[string]any{"code": code}),
		calls("terminal", map[string]any{"command": "while ! test -f ended.txt; do sleep 0.05; done"}),
		says("Changed."), says("I see."))
	home, root := t.TempDir(), t.TempDir()
	files := map[string]string{"gone.txt": "gone\n", "moved.txt": "moved\n", "mode.txt": "mode\n", "both.txt": "both\n", "tool.txt": "old\n", "command.txt": "command\n", "background.txt": "b\n"}
	e := servertest.New(t, servertest.Options{Files: files, Model: m, Home: home, Root: root})
	e.Choose(func(servertest.Question) string { return "once" }) // scripts that remove files require approval
	before := tree(t, root)
	id := e.Ask("change everything").SessionID
	said := m.Requests()[2].Messages // a notice of the background command may follow the result
	if !slices.ContainsFunc(said, func(m model.Message) bool { return strings.Contains(m.Text(), `"status":"success"`) }) {
		t.Fatalf("the script: %s", said[len(said)-1].Text())
	}
	list := checkpoints(t, e)
	if len(list) != 1 || list[0].Title != "change everything" {
		t.Fatalf("checkpoints: %+v", list)
	}
	want := []string{"background.txt", "both.txt", "command.txt", "ended.txt", "gone.txt", "link", "made/deep/file", "mode.txt", "moved.txt", "there.txt", "tool.txt"}
	if !slices.Equal(list[0].Files, want) {
		t.Errorf("files %q, want %q", list[0].Files, want)
	}
	var restored protocol.RestoreResult
	if err := e.Command(protocol.CommandRestore, map[string]any{"checkpointId": list[0].ID}, &restored); err != nil {
		t.Fatal(err)
	}
	if len(restored.Kept) > 0 || !slices.Equal(restored.Restored, want) {
		t.Errorf("restored %q, kept %q", restored.Restored, restored.Kept)
	}
	if after := tree(t, root); after != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", after, before)
	}

	e.Ask("and now?")
	last := m.Requests()[len(m.Requests())-1].Messages
	told := func(said model.Message) bool { return strings.Contains(said.Text(), "gone back to a checkpoint") }
	if !slices.ContainsFunc(last, told) {
		t.Error("the model does not know what was taken back")
	}
	kept := filepath.Join(home, "checkpoints", "sessions", id)
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if err := e.Command(protocol.CommandSessionDelete, map[string]any{"sessionId": id}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("the checkpoints of a deleted session: %v", err)
	}
}

// Switched off, nothing is kept, and it is said.
func TestNoCheckpoints(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(calls("write_file", map[string]any{"path": "a.txt", "content": "x"}), says("Done."))
	home := t.TempDir()
	e := servertest.New(t, servertest.Options{Model: m, Home: home, Init: map[string]any{"checkpoints": map[string]any{"enabled": false}}})
	e.Ask("write")
	err := e.Command(protocol.CommandCheckpoints, map[string]any{}, nil)
	if err == nil || !strings.Contains(err.Error(), "checkpoints.enabled") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, "checkpoints")); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
	for _, tool := range m.Requests()[0].Tools {
		if tool.Name == "checkpoint" {
			t.Error("the tool is offered")
		}
	}
}
