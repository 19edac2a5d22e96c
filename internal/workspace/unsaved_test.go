package workspace

import (
	"path/filepath"
	"slices"
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
