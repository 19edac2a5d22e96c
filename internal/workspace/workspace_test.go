package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// open makes a workspace of a fresh folder with the given files. The user's own
// git settings stay out of the tests.
func open(t *testing.T, files map[string]string, docs Documents) (*Workspace, string) {
	t.Helper()
	dir := tempDir(t)
	writeFiles(t, dir, files)
	return openDirs(t, docs, dir), dir
}

func openDirs(t *testing.T, docs Documents, dirs ...string) *Workspace {
	t.Helper()
	w, err := Open(dirs, docs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	w.gitConfig = ignore.GitConfig{}
	return w
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeFiles makes files below dir; a name ending with a slash is a folder.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func onDisk(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// names lists the entries of dir, including hidden entries.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// editor keeps open documents in real [Buffers], and plays the user: before each
// Replace it calls the next function of typing.
type editor struct {
	*Buffers
	mu       sync.Mutex
	typing   []func()
	replaced int
}

func newEditor() *editor { return &editor{Buffers: NewBuffers()} }

func (e *editor) Get(_ context.Context, path string) (Document, bool, error) {
	doc, ok := e.Buffers.Get(path)
	return doc, ok, nil
}

func (e *editor) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }

func (e *editor) Replace(_ context.Context, doc Document, text []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.typing) > 0 {
		e.typing[0]()
		e.typing = e.typing[1:]
	}
	now, ok := e.Buffers.Get(doc.Path)
	if !ok || now.Version != doc.Version {
		return ErrStale
	}
	e.replaced++
	var changes []Change
	for _, edit := range slices.Backward(diff.Edits(now.Text, text, textenc.UTF16)) {
		changes = append(changes, Change{Range: &edit.Range, Text: edit.NewText})
	}
	return e.Change(doc.Path, doc.Version+1, changes, textenc.UTF16)
}

func TestOpenFolders(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"a/x": "1", "b/y": "2", "file": ""})
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, folders := range [][]string{nil, {filepath.Join(dir, "none")}, {filepath.Join(dir, "file")}, {a, filepath.Join(dir, "none")}} {
		if _, err := Open(folders, nil); err == nil {
			t.Errorf("Open(%q) did not fail", folders)
		}
	}
	w := openDirs(t, nil, a, a)
	if got := w.Folders(); !slices.Equal(got, []string{a}) {
		t.Errorf("Folders = %q", got)
	}
	if _, err := w.Read(t.Context(), filepath.Join(b, "y")); !errors.Is(err, ErrOutside) {
		t.Errorf("Read in a folder not open: %v", err)
	}
	must(t, w.SetFolders([]string{b, a}))
	if file, err := w.Read(t.Context(), "y"); err != nil || string(file.Text) != "2" {
		t.Errorf("Read after SetFolders = %v, %v", file, err)
	}
	if err := w.SetFolders([]string{filepath.Join(dir, "none")}); err == nil || len(w.Folders()) != 2 {
		t.Errorf("a SetFolders that fails must change nothing: %v, %q", err, w.Folders())
	}
	if got := w.Name(filepath.Join(a, "x")); got != filepath.ToSlash(filepath.Join(a, "x")) {
		t.Errorf("Name in the second folder = %q", got)
	}
	must(t, w.Close())
	if _, err := w.Read(t.Context(), "y"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
}
