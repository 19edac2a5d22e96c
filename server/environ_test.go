package server

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A server started by the desktop lacks the PATH of a profile. For scripts, hooks and other
// servers, it appends the user's tool folders to PATH.
func TestEnvironHasToolFolders(t *testing.T) {
	home := t.TempDir()
	tools := filepath.Join(home, ".local/bin")
	if err := os.MkdirAll(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", "/usr/bin"+string(filepath.ListSeparator)+"/bin")
	s := New(Options{})
	defer s.Close()
	i := slices.IndexFunc(s.Environ, func(kv string) bool { return len(kv) > 5 && kv[:5] == "PATH=" })
	path := filepath.SplitList(s.Environ[i][5:])
	if path[0] != "/usr/bin" || !slices.Contains(path, tools) {
		t.Errorf("PATH is %q", path)
	}
}
