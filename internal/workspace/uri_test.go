package workspace

import (
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFromURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"file:///a/b%20c.go": "/a/b c.go", "file:///a/b.go#L3-L9": "/a/b.go", "FILE://localhost/a": "/a", "file:///a%2Fb": "/a/b", "file:///a%3Fb": "/a?b",
		"file:/a": "file:/a", "a.go": "a.go", "file://other/a": "file://other/a", "file:///%zz": "file:///%zz", "file:///a%00b": "file:///a%00b", "file://": "file://",
		"https://a/b": "https://a/b", `a\b.go`: `a\b.go`,
	} {
		if got := fromURI(path, false); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{ // VS Code encodes the colon of a drive
		"file:///C:/a/b%20c.go": `C:\a\b c.go`, "file:///c%3A/a/b.go#L3": `c:\a\b.go`, `file:///C:\a\b.go`: `C:\a\b.go`,
		"file://localhost/C:/a": `C:\a`, "file://server/share/a": "file://server/share/a", `src\a.go`: `src\a.go`, "src/a.go": "src/a.go",
	} {
		if got := fromURI(path, true); got != want {
			t.Errorf("%s: %q on Windows, want %q", path, got, want)
		}
	}
}

// On Windows, both separators are accepted, in paths and in patches.
func TestSeparators(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "windows" {
		t.Skip(`\ is part of a name here`)
	}
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"sub/dir/c.txt": "c"})
	w := openDirs(t, nil, dir)
	for _, name := range []string{`sub\dir\c.txt`, "sub/dir/c.txt", `sub\dir/c.txt`, filepath.Join(dir, "sub/dir/c.txt"), filepath.ToSlash(dir) + `\sub\dir\c.txt`} {
		if file, err := w.Read(t.Context(), name); err != nil || string(file.Text) != "c" {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
	for _, name := range []string{`..\x`, `sub\..\..\x`} {
		if _, err := w.Read(t.Context(), name); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files are read and written by their URIs, inside the workspace only.
func TestURIs(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"a b.txt": "a", "sub/c.txt": "c"})
	w := openDirs(t, nil, dir)
	address := func(path string) string { return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String() }
	for name, want := range map[string]string{"a b.txt": "a", "sub/c.txt": "c"} {
		file, err := w.Read(t.Context(), address(filepath.Join(dir, name)))
		if err != nil || string(file.Text) != want {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
	if _, err := w.Write(t.Context(), address(filepath.Join(dir, "new.txt")), []byte("x")); err != nil {
		t.Error(err)
	}
	for _, outside := range []string{address(filepath.Dir(dir)) + "/x", address(dir) + "/%2e%2e/x", "file://host" + dir + "/a%20b.txt"} {
		if _, err := w.Read(t.Context(), outside); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", outside, err)
		}
	}
}
