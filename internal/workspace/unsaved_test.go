package workspace

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnsaved(t *testing.T) {
	t.Parallel()
	e := newEditor()
	w, dir := open(t, map[string]string{
		"same.go": "package a\r\n", "longer.go": "a\n", "edited.go": "abc\n", "closed.go": "x\n", "mark.go": "\ufeffé\n",
		"latin.txt": "caf\xe9\n", "utf16.txt": "\xff\xfea\x00\n\x00", ".hermes/chats/1.md": "## You\n", "folder/": "",
	}, e)
	for name, text := range map[string]string{
		"same.go": "package a\r\n", "longer.go": "a\nb\n", "edited.go": "abd\n", "new.go": "", "mark.go": "é\n",
		"latin.txt": "café\n", "utf16.txt": "a\n", ".hermes/chats/1.md": "## You\nhi\n", "folder": "",
	} {
		e.Open(filepath.Join(dir, name), 1, text)
	}
	e.Open("/elsewhere/x", 1, "x")
	if got, want := w.Unsaved(t.Context()), []string{"edited.go", "longer.go", "new.go"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := openDirs(t, nil, dir).Unsaved(t.Context()); got != nil {
		t.Errorf("without an editor: %q", got)
	}
}

// lossy is an editor with unsaved changes, which reads every file as UTF-8. It does not list its
// open documents.
type lossy struct{ Documents }

func (lossy) Get(_ context.Context, path string) (Document, bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Document{}, false, nil
	}
	return Document{Path: path, Text: append(bytes.ToValidUTF8(text, []byte("\ufffd")), "typed"...)}, true, nil
}

func (lossy) Paths() []string { return nil }

// A picture is read from the disk, because an editor's text of it is no picture. A text beginning
// like a picture comes from the editor.
func TestPictureOpenInEditor(t *testing.T) {
	t.Parallel()
	picture := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff"
	files := map[string]string{"a.png": picture, "b.txt": picture, "c.bmp": "BMW \xff", "d.tif": "II*\x00\xff", "e.png": "text \xff"}
	for name, disk := range map[string]bool{"a.png": true, "b.txt": true, "c.bmp": false, "d.tif": true, "e.png": false} {
		w, dir := open(t, files, lossy{})
		want := files[name]
		if !disk {
			want = strings.ToValidUTF8(want, "\ufffd") + "typed"
		}
		if f, err := w.Read(t.Context(), name); err != nil || string(f.Text) != want || f.Open == disk {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		listed := newEditor()
		listed.Open(filepath.Join(dir, "a.png"), 1, "PNG")
		if f, err := openDirs(t, listed, dir).Read(t.Context(), "a.png"); err != nil || string(f.Text) != picture {
			t.Errorf("open in an editor that lists it: %+v, %v", f, err)
		}
	}
}
