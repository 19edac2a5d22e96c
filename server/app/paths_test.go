package app_test

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A tool parameter for a path accepts the URI of a file, also with encoded characters.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool string
		args func(uri func(string) string) map[string]any
		want string // in the result
		file string // is written; empty: none
	}{
		"read_file":   {"read_file", func(uri func(string) string) map[string]any { return map[string]any{"path": uri("a b.txt")} }, "1|one", ""},
		"a directory": {"read_file", func(uri func(string) string) map[string]any { return map[string]any{"path": uri("sub dir")} }, "c.txt", ""},
		"write_file": {"write_file", func(uri func(string) string) map[string]any {
			return map[string]any{"path": uri("sub dir/new.txt"), "content": "new\n"}
		}, "bytes_written", "sub dir/new.txt"},
		"patch": {"patch", func(uri func(string) string) map[string]any {
			return map[string]any{"path": uri("a b.txt"), "old_string": "one", "new_string": "new"}
		}, "changed", "a b.txt"},
		"a V4A patch": {"patch", func(uri func(string) string) map[string]any {
			return map[string]any{"mode": "patch", "patch": "*** Begin Patch\n*** Update File: " + uri("a b.txt") + "\n-one\n+new\n*** Add File: " + uri("d e.txt") + "\n+new\n*** End Patch\n"}
		}, "changed", "d e.txt"},
		"search_files": {"search_files", func(uri func(string) string) map[string]any {
			return map[string]any{"pattern": "three", "path": uri("sub dir")}
		}, "3|three", ""},
		"workdir": {"terminal", func(uri func(string) string) map[string]any {
			return map[string]any{"command": "ls", "workdir": uri("sub dir")}
		}, "c.txt", ""},
		"a script": {"execute_code", func(uri func(string) string) map[string]any {
			return map[string]any{"code": "from hermes_tools import read_file\nprint(read_file('" + uri("a b.txt") + "')['content'])"}
		}, "1|one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS == "windows" && c.tool == "execute_code" {
				t.Skip("Windows has no scripts")
			}
			write(t, root, "a b.txt", "one\ntwo\n")
			write(t, root, "sub dir/c.txt", "1\n2\nthree\n")
			uri := func(name string) string {
				u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(root, name))}
				return u.String()
			}
			if got := resultOf(t, root, c.tool, c.args(uri)); !strings.Contains(got, c.want) {
				t.Errorf("%s: %s", c.tool, got)
			}
			if text, _ := os.ReadFile(filepath.Join(root, c.file)); c.file != "" && !strings.Contains(string(text), "new") {
				t.Errorf("%s has %q", c.file, text)
			}
		})
	}
}
