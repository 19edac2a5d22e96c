package workspace

import (
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
)

// TestBelowNoFolder: a path below a file does not exist, which is found without waiting.
func TestBelowNoFolder(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Obstacles(t) {
		t.Run(thing.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			thing.Put(t, filepath.Join(dir, "sub"))
			w, err := Open([]string{dir}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if _, err := w.Read(t.Context(), "sub/b.txt"); err == nil || err.Error() == "" {
				t.Errorf("read: %v", err)
			}
			if _, err := w.List(t.Context(), "sub/c"); err == nil || err.Error() == "" {
				t.Errorf("listed: %v", err)
			}
			if err := w.Remove(t.Context(), "sub/b.txt"); err == nil || err.Error() == "" {
				t.Errorf("removed: %v", err)
			}
		})
	}
}
