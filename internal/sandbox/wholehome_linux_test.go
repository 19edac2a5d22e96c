package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// With Landlock, a login shell or another reader of the whole home gets a rule for it.
func TestLandlockShowsTheWholeHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	reads, _ := rules(Policy{Mode: ReadOnly, Visible: []string{home}, view: &homeView{home: home}})
	if !slices.Contains(reads, home) {
		t.Errorf("%s is not among %q", home, reads)
	}
}

// With Landlock, a user's service listening in a writable folder does not make the folder
// read-only.
func TestLandlockWritesBesideSockets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, socket string }{
		{"none", ""},
		{"in the workspace", "s"},
		{"deeper", "tmp/sockets/s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := shortDir(t)
			policy := Policy{Mode: WorkspaceWrite, Roots: []string{root}}
			if test.socket != "" {
				path := filepath.Join(root, test.socket)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() }) // a socket of the test
				policy.Unreadable = []string{path}
			}
			if _, writes := rules(policy); !slices.Contains(writes, root) {
				t.Errorf("%s is not among %q", root, writes)
			}
		})
	}
}

// shortDir is a folder whose name leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // a folder of the test
	return dir
}
