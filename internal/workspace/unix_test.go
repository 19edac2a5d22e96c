//go:build unix

package workspace

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/search"
)

// An irregular file is rejected at once: an open waiting for the other end of a pipe would never
// return.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"a": "x"}, nil)
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	must(t, os.Symlink("fifo", filepath.Join(dir, "tofifo")))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	must(t, err)
	defer l.Close()
	kinds := map[string]error{"fifo": ErrNotRegular, "tofifo": ErrNotRegular, "sock": ErrNotRegular, "zero": ErrOutside}
	if err := syscall.Mknod(filepath.Join(dir, "null"), syscall.S_IFCHR|0o666, 1<<8|3); err == nil {
		kinds["null"] = ErrNotRegular // only the superuser can make a device
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, want := range kinds {
			if _, err := w.Read(t.Context(), name); !errors.Is(err, want) {
				t.Errorf("Read(%s) = %v", name, err)
			}
			if _, err := w.Lines(t.Context(), name, 1, 1); !errors.Is(err, want) {
				t.Errorf("Lines(%s) = %v", name, err)
			}
			if _, err := w.Write(t.Context(), name, nil); !errors.Is(err, want) {
				t.Errorf("Write(%s) = %v", name, err)
			}
			if _, err := w.Write(t.Context(), name+"/new", nil); err == nil {
				t.Errorf("Write(%s/new) has succeeded", name)
			}
			if _, err := w.Search(t.Context(), search.Query{Pattern: "x", Path: name}); !errors.Is(err, want) {
				t.Errorf("Search(%s) = %v", name, err)
			}
		}
		if found, err := w.Search(t.Context(), search.Query{Pattern: "x"}); err != nil || found.Total != 1 {
			t.Errorf("Search = %v, %v", found, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("hangs")
	}
}

func TestHardLink(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"sub/": ""}, nil)
	outside := filepath.Join(tempDir(t), "outside.txt")
	must(t, os.WriteFile(outside, []byte("old"), 0o644))
	if err := os.Link(outside, filepath.Join(dir, "hard.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(t.Context(), "hard.txt", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if in, out := onDisk(t, filepath.Join(dir, "hard.txt")), onDisk(t, outside); in != "new" || out != "old" {
		t.Errorf("inside %q, outside %q", in, out)
	}
}

func TestModeIsKept(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"x": "1"}, nil)
	path := filepath.Join(dir, "x")
	for _, mode := range []os.FileMode{0o600, 0o755, 0o640} {
		must(t, os.Chmod(path, mode))
		_, err := w.Edit(t.Context(), "x", func(old []byte) ([]byte, error) { return append(old[:len(old):len(old)], '1'), nil })
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != mode {
			t.Errorf("mode = %v, want %v", info.Mode(), mode)
		}
	}
	must(t, os.Chmod(path, 0o444))
	if _, err := w.Write(t.Context(), "x", []byte("2")); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("Write of a read-only file = %v", err)
	}
	if got := names(t, dir); len(got) != 1 || onDisk(t, path) != "1111" {
		t.Errorf("left behind: %q, %q", got, onDisk(t, path))
	}
}

// regularOnly is an editor that reads only regular files, and writes like a program: with a pipe,
// it would wait.
type regularOnly struct{ Documents }

func (regularOnly) Get(_ context.Context, path string) (Document, bool, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return Document{}, false, ErrRefused
	}
	return Document{}, false, nil
}

func (regularOnly) Write(_ context.Context, path string, text []byte, _ bool) (bool, error) {
	return true, os.WriteFile(path, text, 0o600)
}

func (regularOnly) Paths() []string { return nil }

// A file is put back in the place of a pipe, by the editor too.
func TestPutBackOverPipe(t *testing.T) {
	t.Parallel()
	for _, docs := range []Documents{nil, regularOnly{}} {
		w, dir := open(t, nil, docs)
		path := filepath.Join(dir, "a")
		must(t, syscall.Mkfifo(path, 0o644))
		put := make(chan error, 1)
		go func() {
			put <- w.PutBack(t.Context(), path, Image{Mode: 0o640, Text: []byte("x"), Size: 1}, func(Image) error { return nil })
		}()
		select {
		case err := <-put:
			must(t, err)
		case <-time.After(time.Minute):
			t.Fatal("it waits for the pipe")
		}
		info, err := os.Lstat(path)
		must(t, err)
		if !info.Mode().IsRegular() {
			t.Fatalf("it is %v", info.Mode())
		}
		if text, err := os.ReadFile(path); info.Mode() != 0o640 || string(text) != "x" || err != nil {
			t.Errorf("it is %v with %q, %v", info.Mode(), text, err)
		}
	}
}
