//go:build unix

package replay_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/server/replay"
)

func TestCopyLeavesOutPipes(t *testing.T) {
	t.Parallel()
	from := folder(t, map[string]string{"a.txt": "a", "b.txt": "b"})
	if err := unix.Mkfifo(filepath.Join(from, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := replay.CopyWorkspace(from, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "b.txt")); err != nil || string(text) != "b" {
		t.Errorf("b.txt: %q, %v", text, err)
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || target != "a.txt" {
		t.Errorf("link: %q, %v", target, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "pipe")); !os.IsNotExist(err) {
		t.Errorf("pipe: %v", err)
	}
}
