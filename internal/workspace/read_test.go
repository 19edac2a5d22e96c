package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", textenc.MaxLine)
	w, _ := open(t, map[string]string{
		"three": "a\nb\nc\n", "noend": "a\nb", "crlf": "a\r\nb\r\n", "empty": "", "blank": "\n",
		"noise": "\xfeu\x12R]\xb8-\x9f\b\x12\x02\xd3?\x8e7+\n", "bell": "caf\xe9" + strings.Repeat("x", 300) + "\a\n",
		"binary": "a\nb\x00c\n", "late": strings.Repeat("x\n", (8<<10)) + "\x00\n",
		"long": "1\n" + long + "\n3\n", "latin": "caf\xe9\n", "cr": "a\rb\n",
		"huge": strings.Repeat("a line\n", 1_000_000),
	}, nil)
	for _, test := range []struct {
		path          string
		offset, limit int
		want          textenc.Window
	}{
		{"three", 1, 500, textenc.Window{Lines: []string{"a", "b", "c"}, Offset: 1, Total: 3}},
		{"three", 1, 2, textenc.Window{Lines: []string{"a", "b"}, Offset: 1, Total: 3, Next: 3, Truncated: true}},
		{"three", 3, 2, textenc.Window{Lines: []string{"c"}, Offset: 3, Total: 3}},
		{"three", 9, 2, textenc.Window{Offset: 9, Total: 3}},
		{"three", -1, 0, textenc.Window{Lines: []string{"a", "b", "c"}, Offset: 1, Total: 3}},
		{"noend", 2, 1, textenc.Window{Lines: []string{"b"}, Offset: 2, Total: 2}},
		{"noend", 1, 1, textenc.Window{Lines: []string{"a"}, Offset: 1, Total: 2, Next: 2, Truncated: true}},
		{"crlf", 1, 9, textenc.Window{Lines: []string{"a", "b"}, Offset: 1, Total: 2}},
		{"empty", 1, 9, textenc.Window{Offset: 1}},
		{"blank", 1, 9, textenc.Window{Lines: []string{""}, Offset: 1, Total: 1}},
		{"noise", 1, 9, textenc.Window{Offset: 1, Binary: true}},
		{"bell", 1, 1, textenc.Window{Lines: []string{"caf\xe9" + strings.Repeat("x", 300) + "\a"}, Offset: 1, Total: 1}},
		{"binary", 1, 9, textenc.Window{Offset: 1, Binary: true}},
		{"late", (8 << 10), 9, textenc.Window{Lines: []string{"x", "\x00"}, Offset: (8 << 10), Total: (8 << 10) + 1}},
		{"long", 1, 9, textenc.Window{Lines: []string{"1", long[:textenc.MaxLine], "3"}, Offset: 1, Total: 3}},
		{"latin", 1, 9, textenc.Window{Lines: []string{"café"}, Offset: 1, Total: 1, Charset: textenc.CharsetLatin1}},
		{"cr", 1, 9, textenc.Window{Lines: []string{"a\rb"}, Offset: 1, Total: 1}},
		{"huge", 999_999, 9, textenc.Window{Lines: []string{"a line", "a line"}, Offset: 999_999, Total: 1_000_000}},
	} {
		got, err := w.Lines(t.Context(), test.path, test.offset, test.limit)
		if err != nil {
			t.Errorf("Lines(%s): %v", test.path, err)
			continue
		}
		if got.Size == 0 && test.path != "empty" || got.Name != test.path {
			t.Errorf("Lines(%s): size %d, name %q", test.path, got.Size, got.Name)
		}
		got.Path, got.Name, got.Size = "", "", 0
		if !reflect.DeepEqual(got.Window, test.want) {
			t.Errorf("Lines(%s, %d, %d) = %.200v, want %.200v", test.path, test.offset, test.limit, *got, test.want)
		}
	}
	win, err := w.Lines(t.Context(), "huge", 1, 0)
	if err != nil || win.Total != 1_000_000 || !win.Truncated || win.Next != len(win.Lines)+1 || len(win.Lines)*6 > (4<<20)+6 {
		t.Errorf("a window without limit: %d lines, next %d of %d, %v", len(win.Lines), win.Next, win.Total, err)
	}
}

// A file too large to hash is known by its attributes.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	w, dir := open(t, nil, nil)
	path := filepath.Join(dir, "big")
	f, err := os.Create(path)
	must(t, err)
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range MaxWhole>>20 + 1 {
		_, err := f.Write(line)
		must(t, err)
	}
	must(t, f.Close())
	if _, err := w.Read(t.Context(), "big"); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "window") {
		t.Errorf("Read = %v", err)
	}
	if _, err := w.Edit(t.Context(), "big", replace("x", "y")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Edit = %v", err)
	}
	win, err := w.Lines(t.Context(), "big", MaxWhole>>20, 5)
	if err != nil || win.Total != MaxWhole>>20+1 || len(win.Lines) != 2 || len(win.Lines[0]) != textenc.MaxLine {
		t.Fatalf("Lines: %d of %d, %v", len(win.Lines), win.Total, err)
	}
	f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("more")
	must(t, err)
	must(t, f.Close())
	if _, err := w.Write(t.Context(), "big", []byte("small")); !errors.Is(err, ErrStale) {
		t.Errorf("Write over a changed large file = %v", err)
	}
	_, err = w.Lines(t.Context(), "big", 1, 1)
	must(t, err)
	if written, err := w.Write(t.Context(), "big", []byte("small")); err != nil || written.Created || written.Old != nil {
		t.Errorf("Write over a large file = %+v, %v", written, err)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{
		"README.md": "", "server/handler.go": "", "server/handler_test.go": "", "a/b/config.yaml": "", "a/c/config.yaml": "",
		"ignored/x.go": "", ".ignore": "ignored\n",
	}, nil)
	for path, want := range map[string]string{
		"readme.md":         "; did you mean README.md?",
		"server/handlr.go":  "; did you mean server/handler.go?",
		"config.yaml":       "; did you mean a/b/config.yaml or a/c/config.yaml?",
		"srv/handler.go":    "; did you mean server/handler.go?",
		"server/missing.ts": ". Search for its name with search_files",
		"x.go":              ". Search for its name with search_files",
	} {
		for name, call := range map[string]func() error{
			"Read":  func() error { _, err := w.Read(t.Context(), path); return err },
			"Lines": func() error { _, err := w.Lines(t.Context(), path, 1, 1); return err },
			"Edit":  func() error { _, err := w.Edit(t.Context(), path, replace("a", "b")); return err },
			"Stat":  func() error { _, err := w.Stat(t.Context(), path); return err },
		} {
			if err := call(); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), path+" does not exist"+want) {
				t.Errorf("%s(%s) = %v, want …%s", name, path, err, want)
			}
		}
	}
}

func ExampleWorkspace_Edit() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	w, _ := Open([]string{dir}, nil)
	defer w.Close()
	_, _ = w.Write(context.Background(), "greeting.txt", []byte("hello\nworld\n"))
	written, _ := w.Edit(context.Background(), "greeting.txt", replace("world", "there"))
	fmt.Print(diff.Unified(written.Name, written.Old, written.New))
	// Output:
	// --- a/greeting.txt
	// +++ b/greeting.txt
	// @@ -1,2 +1,2 @@
	//  hello
	// -world
	// +there
}
