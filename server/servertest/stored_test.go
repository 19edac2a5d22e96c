package servertest_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
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

// Another server restores files of a session that it has not loaded, and of a session opened by the
// first server. The model learns of it with the next prompt. While a turn of the session runs, the
// server restores nothing and returns the reason.
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

// A server restores nothing of an unloaded session of another folder.
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
	if err := os.Rename(root, root+".renamed"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root + ".renamed") })
	err = two.Command(protocol.CommandCheckpoints, map[string]any{"sessionId": id}, nil)
	if err == nil || !strings.Contains(err.Error(), "hermes-ls sessions move "+folderpath.Shell(root)+" NEW") {
		t.Errorf("after the folder was renamed: %v", err)
	}
}

// waits lists the pending changes in the workspace of an editor, "SESSION FILES" for each turn.
func waits(t *testing.T, e *servertest.Editor) (lines []string) {
	t.Helper()
	var list protocol.ChangesResult
	if err := e.Command(protocol.CommandChanges, map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Changes {
		lines = append(lines, c.SessionID+" "+strings.Join(c.Files, " "))
	}
	return lines
}

// Each server lists the changes of all sessions of a folder, until a server accepts or restores
// them, and after a restart.
func TestChangesOfAllSessions(t *testing.T) {
	t.Parallel()
	write := func(path, text string) reply {
		return calls("write_file", map[string]any{"path": path, "content": text})
	}
	m := fakemodel.Script(write("a.txt", "2\n"), says("Done."), write("b.txt", "2\n"), says("Done."))
	home, root := t.TempDir(), t.TempDir()
	o := servertest.Options{Files: map[string]string{"a.txt": "1\n"}, Model: m, Home: home, Root: root}
	one := servertest.New(t, o)
	first := one.Ask("write").SessionID
	if err := one.Command(protocol.CommandSessionNew, map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	second := one.Ask("write").SessionID
	want := []string{second + " b.txt", first + " a.txt"}
	if got := waits(t, one); !slices.Equal(got, want) {
		t.Fatalf("%q waits, want %q", got, want)
	}
	two := servertest.New(t, servertest.Options{Home: home, Root: root, Model: fakemodel.Script(), Plugin: true})
	if got := waits(t, two); !slices.Equal(got, want) {
		t.Errorf("another server lists %q, want %q", got, want)
	}
	var found struct{ Changes []protocol.TurnChanges }
	raw, err := two.Call("_hermes/checkpoint/changes", map[string]any{"cwd": root})
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	if err != nil || len(found.Changes) != 2 {
		t.Fatalf("_hermes/checkpoint/changes: %s, %v", raw, err)
	}
	if _, err := two.Call("_hermes/checkpoint/accept", map[string]any{"sessionId": second, "checkpointId": found.Changes[0].CheckpointID}); err != nil {
		t.Fatal(err)
	}
	if got := waits(t, one); !slices.Equal(got, want[1:]) {
		t.Errorf("after an accept in another server %q waits", got)
	}
	one.End()
	three := servertest.New(t, servertest.Options{Home: home, Root: root, Model: fakemodel.Script()})
	// An editor without a plugin names no session: the command uses the session with the
	// checkpoint.
	if err := three.Command(protocol.CommandRestore, map[string]any{"checkpointId": found.Changes[1].CheckpointID}, nil); err != nil {
		t.Fatal(err)
	}
	if got := waits(t, two); len(got) > 0 {
		t.Errorf("after the restore %q waits", got)
	}
	if text := contentOf(t, filepath.Join(root, "a.txt")); text != "1\n" {
		t.Errorf("a.txt reads %q", text)
	}
	if _, err := two.Call("_hermes/checkpoint/changes", map[string]any{"cwd": home}); err == nil {
		t.Error("the changes of a folder that is not in the workspace are listed")
	}
}

// A turn whose checkpoint cannot be written is listed with the reason, in each server of the folder,
// until the user accepts it. It has no checkpoint to restore.
func TestListOfMissedChanges(t *testing.T) {
	t.Parallel()
	write := calls("write_file", map[string]any{"path": "a.txt", "content": "2\n"})
	home, root := t.TempDir(), t.TempDir()
	o := servertest.Options{Files: map[string]string{"a.txt": "1\n"}, Model: fakemodel.Script(write, says("Done.")), Home: home, Root: root}
	one := servertest.New(t, o)
	var made protocol.SessionResult
	if err := one.Command(protocol.CommandSessionNew, map[string]any{}, &made); err != nil {
		t.Fatal(err)
	}
	session, sessions := made.SessionID, filepath.Join(home, "checkpoints", "sessions")
	if err := os.MkdirAll(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sessions, session), nil, 0o600); err != nil { // a file is in the way
		t.Fatal(err)
	}
	if id := one.Ask("write").SessionID; id != session {
		t.Fatalf("session %s, want %s", id, session)
	}
	list := func(e *servertest.Editor) (r protocol.ChangesResult) {
		t.Helper()
		if err := e.Command(protocol.CommandChanges, map[string]any{}, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	found := list(one)
	if len(found.Changes) > 0 || len(found.Missed) != 1 {
		t.Fatalf("listed: %+v", found)
	}
	m := found.Missed[0]
	if m.SessionID != session || m.Title != "write" || !slices.Equal(m.Files, []string{"a.txt"}) || m.Commands || m.Why == "" {
		t.Errorf("listed: %+v", m)
	}
	if err := os.Remove(filepath.Join(sessions, session)); err != nil {
		t.Fatal(err)
	}
	one.End()
	two := servertest.New(t, servertest.Options{Home: home, Root: root, Model: fakemodel.Script(), Plugin: true})
	if got := list(two).Missed; len(got) != 1 || got[0].CheckpointID != m.CheckpointID {
		t.Errorf("the next server lists %+v, want %+v", got, m)
	}
	args := map[string]any{"sessionId": session, "checkpointId": m.CheckpointID}
	if err := two.Command(protocol.CommandRestore, args, nil); err == nil {
		t.Error("it was restored")
	}
	raw, err := two.Call("_hermes/checkpoint/accept", args)
	if err != nil || string(raw) != `{"accepted":["a.txt"]}` {
		t.Errorf("accepted %s, %v", raw, err)
	}
	two.End()
	three := servertest.New(t, servertest.Options{Home: home, Root: root, Model: fakemodel.Script()})
	if got := list(three); len(got.Changes)+len(got.Missed) > 0 {
		t.Errorf("after the accept: %+v", got)
	}
}

// /undo restores the files, and then the history cannot be rewound, as on a full disk: the user learns
// which files are restored.
func TestUndoThatIsNotStored(t *testing.T) {
	t.Parallel()
	home, root := t.TempDir(), t.TempDir()
	m := fakemodel.Script(calls("write_file", map[string]any{"path": "a.txt", "content": "2\n"}), says("Done."))
	e := servertest.New(t, servertest.Options{Files: map[string]string{"a.txt": "1\n"}, Model: m, Home: home, Root: root})
	e.Ask("write")
	db, err := sql.Open("sqlite", filepath.Join(home, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TRIGGER full BEFORE INSERT ON sessions BEGIN SELECT RAISE(FAIL, 'no room'); END"); err != nil {
		t.Fatal(err)
	}
	raw, err := e.Call("workspace/executeCommand", map[string]any{"command": protocol.CommandPrompt, "arguments": []any{map[string]any{"prompt": "/undo", "wait": true}}})
	if told := fmt.Sprintf("%s %v", raw, err); !strings.Contains(told, "Not all is done. Restored: `a.txt`. The history is unchanged: ") {
		t.Errorf("told %s", told)
	}
	if text := contentOf(t, filepath.Join(root, "a.txt")); text != "1\n" {
		t.Errorf("a.txt reads %q", text)
	}
}
