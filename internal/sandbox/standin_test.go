package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// Copies of settings are as the settings are, and are written only if these have changed.
func TestCopies(t *testing.T) {
	t.Parallel()
	temp, err := newTemp()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { temp.dir.Remove() })
	dir := filepath.Join(t.TempDir(), "copies")
	path := filepath.Join(dir, "tool", "settings")
	file := func(text string) []settingsFile { return []settingsFile{{name: "tool/settings", text: []byte(text)}} }
	var before os.FileInfo
	for _, text := range []string{"one", "one", "two"} {
		if err := temp.copies(dir, file(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("the copy is %q (%v), want %q", got, err, text)
		}
		now, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && os.SameFile(before, now) != (text == "one") {
			t.Errorf("with %q, the same file: %v", text, os.SameFile(before, now))
		}
		before = now
	}
	if err := temp.copies(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the copy of a missing file: %v", err)
	}
}
