package servertest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// In real time, a prompt is stored some moments before its turn changes anything. /undo still finds
// the checkpoint, and no older checkpoint.
func TestUndoInRealTime(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		calls("write_file", map[string]any{"path": "a.txt", "content": "first\n"}), says("Done."),
		calls("write_file", map[string]any{"path": "b.txt", "content": "second\n"}), says("Done."))
	root := t.TempDir()
	e := servertest.New(t, servertest.Options{Model: m, Root: root})
	e.Ask("write a")
	e.Ask("write b")
	e.Ask("/undo")
	if _, err := os.Stat(filepath.Join(root, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("b.txt is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "a.txt")); err != nil {
		t.Errorf("a.txt was taken back too: %v", err)
	}
}
