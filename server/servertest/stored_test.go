package servertest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

func contentOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Another server restores files of a session that it has not loaded, and of one that the first server has open. The
// model learns of it with the next prompt. While a turn of the session runs, it restores nothing and says why.
func TestRestoreFromAnotherServer(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	hold := fakemodel.Script(
		calls("write_file", map[string]any{"path": "a.txt", "content": "two\n"}), says("Done."), says("I see."),
		func(x *fakemodel.Exchange) { close(begun); holds(x) })
	home, root := t.TempDir(), t.TempDir()
	one := servertest.New(t, servertest.Options{Files: map[string]string{"a.txt": "one\n"}, Model: hold, Home: home, Root: root})
	id := one.Ask("write").SessionID
	two := servertest.New(t, servertest.Options{Home: home, Root: root, Model: fakemodel.Script()})
	var list protocol.CheckpointListResult
	if err := two.Command(protocol.CommandCheckpoints, map[string]any{"sessionId": id}, &list); err != nil || len(list.Checkpoints) != 1 {
		t.Fatalf("checkpoints %+v, %v", list, err)
	}
	args := map[string]any{"sessionId": id, "checkpointId": list.Checkpoints[0].ID}
	var restored protocol.RestoreResult
	if err := two.Command(protocol.CommandRestore, args, &restored); err != nil || !slices.Equal(restored.Restored, []string{"a.txt"}) {
		t.Fatalf("restored %+v, %v", restored, err)
	}
	if text := contentOf(t, filepath.Join(root, "a.txt")); text != "one\n" {
		t.Errorf("a.txt reads %q", text)
	}
	one.Ask("and now?")
	told := func(m model.Message) bool { return strings.Contains(m.Text(), "gone back to a checkpoint") }
	if last := hold.Requests()[2].Messages; !slices.ContainsFunc(last, told) {
		t.Error("the model was not told of the restore by the other server")
	}
	_, wait := one.Go("workspace/executeCommand", map[string]any{"command": protocol.CommandPrompt, "arguments": []any{map[string]any{"prompt": "go on", "wait": true}}})
	<-begun
	err := two.Command(protocol.CommandRestore, args, nil)
	if err == nil || !strings.Contains(err.Error(), "at work in another window") {
		t.Errorf("restored during a turn: %v", err)
	}
	one.Cancel()
	if _, err := wait(); err != nil {
		t.Error(err)
	}
}

// A server restores nothing of a session of another folder that it has not loaded.
func TestNoRestoreOfAnotherFolder(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(calls("write_file", map[string]any{"path": "a.txt", "content": "two\n"}), says("Done."))
	home, root := t.TempDir(), t.TempDir()
	one := servertest.New(t, servertest.Options{Files: map[string]string{"a.txt": "one\n"}, Model: m, Home: home, Root: root})
	id := one.Ask("write").SessionID
	checkpoint := checkpoints(t, one)[0].ID
	one.End()
	two := servertest.New(t, servertest.Options{Home: home, Model: fakemodel.Script(), Plugin: true})
	err := two.Command(protocol.CommandRestore, map[string]any{"sessionId": id, "checkpointId": checkpoint}, nil)
	if err == nil || !strings.Contains(err.Error(), "not a folder of this workspace") {
		t.Errorf("error %v", err)
	}
	_, err = two.Call("_hermes/checkpoint/restore", map[string]any{"sessionId": id, "checkpointId": checkpoint})
	if err == nil || !strings.Contains(err.Error(), "not a folder of this workspace") {
		t.Errorf("error %v", err)
	}
	if text := contentOf(t, filepath.Join(root, "a.txt")); text != "two\n" {
		t.Errorf("a.txt reads %q", text)
	}
}
