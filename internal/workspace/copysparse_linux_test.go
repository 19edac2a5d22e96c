package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

func TestCopyOutKeepsHoles(t *testing.T) {
	t.Parallel()
	top, dest := t.TempDir(), t.TempDir()
	const size = workspace.MaxCopied
	f, err := os.Create(filepath.Join(top, "data.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(size), write(f, "begin", 0), write(f, "middle", 1<<25), f.Close()); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(filepath.Join(top, "huge.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(size+1), huge.Close()); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{top}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	copied, err := ws.CopyOut(t.Context(), top, []string{"data.bin", "huge.bin"}, dest)
	if err != nil || len(copied) != 1 {
		t.Fatalf("copied %v, %v", copied, err)
	}
	got, err := os.Open(filepath.Join(dest, "data.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(got.Fd()), &st); err != nil || st.Size != size || st.Blocks > 1<<12 {
		t.Errorf("%d bytes in %d blocks, %v", st.Size, st.Blocks, err)
	}
	text := make([]byte, 6)
	if _, err := got.ReadAt(text, 1<<25); err != nil || string(text) != "middle" {
		t.Errorf("in the middle: %q, %v", text, err)
	}
}

func TestCopyOutIsCanceled(t *testing.T) {
	t.Parallel()
	top, dest := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(top, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open([]string{top}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if copied, err := ws.CopyOut(ctx, top, []string{"a"}, dest); !errors.Is(err, context.Canceled) || len(copied) > 0 {
		t.Errorf("copied %v, %v", copied, err)
	}
}

func write(f *os.File, text string, at int64) error {
	_, err := f.WriteAt([]byte(text), at)
	return err
}
