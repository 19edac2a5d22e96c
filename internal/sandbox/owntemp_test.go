package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// TestInTemp shows commands the folders of a program in a folder for temporary files, and no home
// beside it.
func TestInTemp(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "intemp")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /tmp")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // it is of no more use
	dir = fspath.Real(dir)
	for _, name := range []string{"bin/a", "lib/node_modules/p/cli.js", "tools/t/bin/t", "tools/t/pyvenv.cfg", "beside", "home/x", "ws/x"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../lib/node_modules/p/cli.js", filepath.Join(dir, "bin/p")); err != nil {
		t.Fatal(err)
	}
	c := Config{Home: filepath.Join(dir, "home")}
	for program, want := range map[string]string{
		"bin/a": "bin", "bin/p": "bin lib/node_modules", "tools/t/bin/t": "tools/t", "beside": "beside", "home/x": "",
	} {
		var got []string
		for _, path := range inTemp([]string{filepath.Join(dir, program)}, c, []string{filepath.Join(dir, "ws")}) {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		if shown := strings.Join(slices.Compact(got), " "); shown != want {
			t.Errorf("%s: %q, want %q", program, shown, want)
		}
	}
	if got := inTemp([]string{"/usr/bin/env"}, c, nil); got != nil {
		t.Errorf("/usr/bin/env: %q", got)
	}
}

func TestOwnTemp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode Mode
		kind Kind
		own  bool
	}{
		{WorkspaceWrite, Namespaces, true},
		{WorkspaceWrite, Bubblewrap, true},
		{ReadOnly, Namespaces, true},
		{WorkspaceWrite, Landlock, false},
		{WorkspaceWrite, Seatbelt, false},
		{WorkspaceWrite, None, false},
		{WorkspaceWrite, Unknown, false},
		{Off, Namespaces, false},
	} {
		b := New(Config{Mode: c.mode, Roots: func() []string { return nil }, Mechanism: &Mechanism{Kind: c.kind}})
		if got := b.OwnTemp(t.Context()); slices.Contains(got, "/tmp") != c.own || len(got) > 0 != c.own {
			t.Errorf("%s by %s: %q", c.mode, c.kind, got)
		}
		if b.ReadOnly() != (c.mode == ReadOnly) {
			t.Errorf("%s: ReadOnly is %v", c.mode, b.ReadOnly())
		}
	}
	var none *Box
	if none.OwnTemp(t.Context()) != nil || none.ReadOnly() {
		t.Error("no sandbox has temporary files of its own, or is read-only")
	}
}
