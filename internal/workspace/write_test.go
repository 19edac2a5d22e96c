package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

func replace(from, to string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if !strings.Contains(string(old), from) {
			return nil, errors.New("no " + from)
		}
		return []byte(strings.Replace(string(old), from, to, 1)), nil
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"old.txt": "old", "empty": ""}, nil)
	for _, test := range []struct {
		path    string
		created bool
		old     string
	}{
		{"new.txt", true, ""},
		{"a/b/c.txt", true, ""},
		{"old.txt", false, "old"},
		{"empty", false, ""},
	} {
		got, err := w.Write(t.Context(), test.path, []byte("text"))
		if err != nil {
			t.Errorf("Write(%s): %v", test.path, err)
			continue
		}
		if got.Created != test.created || string(got.Old) != test.old || (got.Old == nil) != test.created ||
			string(got.New) != "text" || got.Name != test.path || got.Path != filepath.Join(dir, test.path) {
			t.Errorf("Write(%s) = %+v", test.path, got)
		}
		if onDisk(t, got.Path) != "text" {
			t.Errorf("%s reads %q", test.path, onDisk(t, got.Path))
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a", "empty", "new.txt", "old.txt"}) {
		t.Errorf("folder holds %q", got)
	}
}

// Whatever stops a write leaves the folder as it was.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"file": "x", "dir/y": "y"}, nil)
	long := strings.Repeat("n", 300)
	for _, path := range []string{"fresh/deep/" + long, "file/below", "dir", ".", long, "dir/" + long} {
		if _, err := w.Write(t.Context(), path, []byte("z")); err == nil {
			t.Errorf("Write(%.20s) did not fail", path)
		} else if errors.Is(err, ErrStale) {
			t.Errorf("Write(%.20s) = %v, though nothing has changed", path, err)
		}
	}
	if _, err := w.Edit(t.Context(), "file", func([]byte) ([]byte, error) {
		return []byte("mine"), os.WriteFile(filepath.Join(dir, "file"), []byte("theirs"), 0o644)
	}); !errors.Is(err, ErrStale) {
		t.Errorf("Edit of a file that changes meanwhile = %v", err)
	}
	if _, err := w.Edit(t.Context(), "none", replace("a", "b")); !errors.Is(err, ErrNotFound) {
		t.Errorf("Edit of nothing = %v", err)
	}
	sentinel := errors.New("no match")
	if _, err := w.Edit(t.Context(), "file", func([]byte) ([]byte, error) { return nil, sentinel }); err != sentinel {
		t.Errorf("an error of change = %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Write(cancelled, "file", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Write with a cancelled context = %v", err)
	}
	if got := onDisk(t, filepath.Join(dir, "file")); got != "theirs" {
		t.Errorf("file reads %q", got)
	}
	if top, sub := names(t, dir), names(t, filepath.Join(dir, "dir")); !slices.Equal(top, []string{"dir", "file"}) || !slices.Equal(sub, []string{"y"}) {
		t.Errorf("left behind: %q, %q", top, sub)
	}
}

func TestBytesAreKept(t *testing.T) {
	t.Parallel()
	text := "\xef\xbb\xbfone\r\ntwo\rthree\n\xff\xfe four\r\nlast"
	w, dir := open(t, map[string]string{"f": text}, nil)
	_, err := w.Edit(t.Context(), "f", replace("three", "3"))
	must(t, err)
	if got, want := onDisk(t, filepath.Join(dir, "f")), strings.Replace(text, "three", "3", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStaleOnDisk(t *testing.T) {
	t.Parallel()
	for name, touch := range map[string]func(*Workspace, string) error{
		"read":  func(w *Workspace, p string) error { _, err := w.Read(t.Context(), p); return err },
		"lines": func(w *Workspace, p string) error { _, err := w.Lines(t.Context(), p, 2, 1); return err },
		"write": func(w *Workspace, p string) error { _, err := w.Write(t.Context(), p, []byte("b\n")); return err },
		"edit":  func(w *Workspace, p string) error { _, err := w.Edit(t.Context(), p, replace("a", "b")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := open(t, map[string]string{"f": "a\na\n"}, nil)
			path := filepath.Join(dir, "f")
			must(t, touch(w, "f"))
			must(t, os.WriteFile(path, []byte("theirs a\n"), 0o644))
			called := false
			_, writeErr := w.Write(t.Context(), "f", []byte("mine"))
			_, editErr := w.Edit(t.Context(), "f", func(old []byte) ([]byte, error) { called = true; return old, nil })
			removeErr, renameErr := w.Remove(t.Context(), "f"), w.Rename(t.Context(), "f", "g")
			for _, err := range []error{writeErr, editErr, removeErr, renameErr} {
				if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "f has changed on disk since it was read; read it again") {
					t.Errorf("err = %v", err)
				}
			}
			if called || onDisk(t, path) != "theirs a\n" {
				t.Errorf("called %v, text %q", called, onDisk(t, path))
			}
			must(t, touch2(t, w))
			if _, err := w.Edit(t.Context(), "f", replace("theirs", "our")); err != nil {
				t.Errorf("Edit after reading again: %v", err)
			}
		})
	}
	t.Run("never read", func(t *testing.T) {
		w, _ := open(t, map[string]string{"f": "a"}, nil)
		if _, err := w.Write(t.Context(), "f", []byte("b")); err != nil {
			t.Error(err)
		}
	})
	t.Run("same bytes", func(t *testing.T) {
		w, dir := open(t, map[string]string{"f": "a"}, nil)
		_, err := w.Read(t.Context(), "f")
		must(t, err)
		must(t, os.Remove(filepath.Join(dir, "f")))
		must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a"), 0o644))
		if _, err := w.Write(t.Context(), "f", []byte("b")); err != nil {
			t.Errorf("a file rewritten with the same content is not stale: %v", err)
		}
	})
	t.Run("another session", func(t *testing.T) {
		w, dir := open(t, map[string]string{"f": "a"}, nil)
		other := openDirs(t, nil, dir)
		_, err := w.Read(t.Context(), "f")
		must(t, err)
		_, err = other.Write(t.Context(), "f", []byte("b"))
		must(t, err)
		if _, err := w.Write(t.Context(), "f", []byte("c")); !errors.Is(err, ErrStale) {
			t.Errorf("err = %v", err)
		}
	})
}

func touch2(t *testing.T, w *Workspace) error {
	_, err := w.Read(t.Context(), "f")
	return err
}

func TestOpenDocument(t *testing.T) {
	t.Parallel()
	e := newEditor()
	w, dir := open(t, map[string]string{"f": "disk\n", "sub/": ""}, e)
	path := filepath.Join(dir, "f")
	e.Open(path, 1, "buffer 😀\n")

	file, err := w.Read(t.Context(), "f")
	if err != nil || string(file.Text) != "buffer 😀\n" || !file.Open || !file.Mode.IsRegular() {
		t.Fatalf("Read = %+v, %v", file, err)
	}
	win, err := w.Lines(t.Context(), "f", 1, 5)
	if err != nil || !slices.Equal(win.Lines, []string{"buffer 😀"}) {
		t.Errorf("Lines = %+v, %v", win, err)
	}
	written, err := w.Edit(t.Context(), "f", replace("buffer", "edited"))
	if err != nil || !written.Open || string(written.New) != "edited 😀\n" || string(written.Old) != "buffer 😀\n" {
		t.Fatalf("Edit = %+v, %v", written, err)
	}
	if doc, _ := e.Buffers.Get(path); string(doc.Text) != "edited 😀\n" || doc.Version != 2 {
		t.Errorf("the editor has %q at %d", doc.Text, doc.Version)
	}
	if got := onDisk(t, path); got != "disk\n" {
		t.Errorf("the disk was written: %q", got)
	}
	if _, err := w.Write(t.Context(), "f", written.New); err != nil || e.replaced != 1 {
		t.Errorf("the same text again must not reach the editor: %v, %d", err, e.replaced)
	}
	// An open document not yet on disk.
	e.Open(filepath.Join(dir, "fresh"), 1, "new")
	if written, err := w.Write(t.Context(), "fresh", []byte("newer")); err != nil || !written.Open {
		t.Errorf("Write = %+v, %v", written, err)
	}
	if got := names(t, dir); slices.Contains(got, "fresh") {
		t.Errorf("folder holds %q", got)
	}
}

// The editor may name a path through a link, or a link may be open.
func TestOpenDocumentThroughLink(t *testing.T) {
	t.Parallel()
	e := newEditor()
	_, dir := open(t, map[string]string{"real.txt": "disk", "other.txt": "disk"}, nil)
	must(t, os.Symlink("real.txt", filepath.Join(dir, "link.txt")))
	alias := filepath.Join(tempDir(t), "alias")
	must(t, os.Symlink(dir, alias))
	w := openDirs(t, e, alias)
	e.Open(filepath.Join(alias, "other.txt"), 1, "buffer")
	e.Open(filepath.Join(alias, "link.txt"), 1, "buffer")
	for _, path := range []string{"other.txt", filepath.Join(dir, "other.txt"), "real.txt", "link.txt"} {
		if f, err := w.Read(t.Context(), path); err != nil || string(f.Text) != "buffer" {
			t.Errorf("Read(%s) = %+v, %v", path, f, err)
		}
	}
}

func TestStaleDocument(t *testing.T) {
	t.Parallel()
	typed := func(e *editor, path string, version int32, text string) func() {
		return func() { must(t, e.Change(path, version, []Change{{Text: text}}, textenc.UTF16)) }
	}
	for _, test := range []struct {
		name   string
		typing []string // the text of the buffer at each attempt to change it
		whole  bool
		want   string
		stale  bool
	}{
		{"edit moves once", []string{"head\nfoo\n"}, false, "head\nbar\n", false},
		{"edit moves twice", []string{"head\nfoo\n", "two\nfoo\n"}, false, "two\nfoo\n", true},
		{"write moves once", []string{"head\nfoo\n"}, true, "head\nfoo\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEditor()
			w, dir := open(t, map[string]string{"f": ""}, e)
			path := filepath.Join(dir, "f")
			e.Open(path, 1, "foo\n")
			for i, text := range test.typing {
				e.typing = append(e.typing, typed(e, path, int32(i+2), text))
			}
			var err error
			if test.whole {
				_, err = w.Write(t.Context(), "f", []byte("all new"))
			} else {
				_, err = w.Edit(t.Context(), "f", replace("foo", "bar"))
			}
			if errors.Is(err, ErrStale) != test.stale || err != nil && !test.stale {
				t.Errorf("err = %v", err)
			}
			if doc, _ := e.Buffers.Get(path); string(doc.Text) != test.want {
				t.Errorf("buffer = %q, want %q", doc.Text, test.want)
			}
		})
	}
	t.Run("moved since it was read", func(t *testing.T) {
		e := newEditor()
		w, dir := open(t, map[string]string{"f": ""}, e)
		path := filepath.Join(dir, "f")
		e.Open(path, 1, "foo\n")
		_, err := w.Lines(t.Context(), "f", 1, 1)
		must(t, err)
		typed(e, path, 2, "foo and more\n")()
		_, writeErr := w.Write(t.Context(), "f", []byte("x"))
		_, editErr := w.Edit(t.Context(), "f", replace("foo", "bar"))
		for _, err := range []error{writeErr, editErr} {
			if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "read it again") {
				t.Errorf("err = %v", err)
			}
		}
		if doc, _ := e.Buffers.Get(path); string(doc.Text) != "foo and more\n" {
			t.Errorf("buffer = %q", doc.Text)
		}
	})
}

func TestRemoveAndRename(t *testing.T) {
	t.Parallel()
	e := newEditor()
	base := tempDir(t)
	writeFiles(t, base, map[string]string{"w/a": "a", "w/b": "b", "w/dir/c": "c", "w/open": "disk", "second/": ""})
	dir, second := filepath.Join(base, "w"), filepath.Join(base, "second")
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	must(t, os.Chmod(filepath.Join(dir, "b"), 0o755))
	w := openDirs(t, e, dir, second)
	e.Open(filepath.Join(dir, "open"), 1, "buffer")
	ctx := t.Context()

	for _, test := range []struct {
		from, to string
		err      error
	}{
		{"a", "b", fs.ErrExist},
		{"a", "open", fs.ErrExist},
		{"none", "x", ErrNotFound},
		{"dir", "x", ErrNotRegular},
		{"a", "../x", ErrOutside},
		{"a", "deep/er/a2", nil},
		{"b", filepath.Join(second, "b2"), nil},
		{"link", "link2", nil},
		{"open", "open2", nil},
	} {
		if err := w.Rename(ctx, test.from, test.to); !errors.Is(err, test.err) {
			t.Errorf("Rename(%s, %s) = %v", test.from, test.to, err)
		}
	}
	if got := onDisk(t, filepath.Join(dir, "deep/er/a2")); got != "a" {
		t.Errorf("a2 = %q", got)
	}
	if info, err := os.Stat(filepath.Join(second, "b2")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("b2: %v, %v", info, err)
	}
	if got := onDisk(t, filepath.Join(dir, "open2")); got != "buffer" {
		t.Errorf("open2 = %q", got)
	}
	if target, err := os.Readlink(filepath.Join(dir, "link2")); target != "a" {
		t.Errorf("link2 → %q, %v", target, err)
	}
	for path, want := range map[string]error{"link2": nil, "deep/er/a2": nil, "dir": ErrNotRegular, "none": ErrNotFound, second + "/../x": ErrOutside} {
		if err := w.Remove(ctx, path); !errors.Is(err, want) {
			t.Errorf("Remove(%s) = %v", path, err)
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"deep", "dir", "open2"}) {
		t.Errorf("folder holds %q", got)
	}
	entries, err := w.List(ctx, "dir")
	if err != nil || len(entries) != 1 || entries[0].Name() != "c" {
		t.Errorf("List = %v, %v", entries, err)
	}
	if _, err := w.List(ctx, "dir/c"); err == nil {
		t.Error("List of a file did not fail")
	}
	if info, err := w.Stat(ctx, "dir/c"); err != nil || info.Size() != 1 {
		t.Errorf("Stat = %v, %v", info, err)
	}
}
