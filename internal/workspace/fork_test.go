package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// A fork knows only the texts it has read itself.
func TestForkRemembersByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fork, err := w.Fork()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, each := range []*workspace.Workspace{w, fork} {
		if _, err := each.Read(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fork.Write(ctx, "a", []byte("2")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(ctx, "a", []byte("3")); !errors.Is(err, workspace.ErrStale) {
		t.Errorf("a write over the other's change: %v", err)
	}
	if err := fork.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(ctx, "a"); err != nil {
		t.Errorf("closing the fork closed more than that: %v", err)
	}
}
