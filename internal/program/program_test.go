package program_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/program"
)

// bed is a workspace, a folder of the system's programs and a home.
type bed struct {
	t                       *testing.T
	root, workspace, system string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are scripts")
	}
	root := t.TempDir()
	b := &bed{t: t, root: root, workspace: filepath.Join(root, "ws"), system: filepath.Join(root, "usr", "bin")}
	b.program("usr/bin/git")
	return b
}

// program creates a program and returns its path.
func (b *bed) program(name string) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	b.must(os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	return path
}

func (b *bed) link(target, name string) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	b.must(os.Symlink(target, path))
	return path
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// A program that a command may have written is never found, by any entry of PATH. The system's
// program later in PATH is found.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]func(b *bed) string{
		"environment of the workspace": func(b *bed) string { return filepath.Dir(b.program("ws/.venv/bin/git")) },
		"the workspace":                func(b *bed) string { return filepath.Dir(b.program("ws/git")) },
		"dots": func(b *bed) string {
			return filepath.Dir(b.program("ws/bin/git")) + "/../../usr/../ws/bin"
		},
		"relative": func(*bed) string { return "node_modules/.bin" },
		"current":  func(*bed) string { return "." },
		"empty":    func(*bed) string { return "" },
		"link to the workspace": func(b *bed) string {
			b.program("ws/bin/git")
			return b.link(filepath.Join(b.workspace, "bin"), "home/bin")
		},
		"link out of the workspace": func(b *bed) string {
			b.program("other/git")
			return b.link(filepath.Join(b.root, "other"), "ws/bin")
		},
		"link through the workspace": func(b *bed) string {
			b.program("other/git")
			return b.link(b.link(filepath.Join(b.root, "other"), "ws/bin"), "home/bin")
		},
		"program is a link to the workspace": func(b *bed) string {
			return filepath.Dir(b.link(b.program("ws/tool"), "home/bin/git"))
		},
		"program is a link through the workspace": func(b *bed) string {
			inside := b.link(b.program("other/tool"), "ws/tool")
			return filepath.Dir(b.link(inside, "home/bin/git"))
		},
		"program is a relative link": func(b *bed) string {
			b.program("ws/tool")
			return filepath.Dir(b.link("../../ws/tool", "home/bin/git"))
		},
		"environment of another project": func(b *bed) string {
			b.must(os.MkdirAll(filepath.Join(b.root, "other", ".venv"), 0o755))
			b.must(os.WriteFile(filepath.Join(b.root, "other", ".venv", "pyvenv.cfg"), nil, 0o600))
			return filepath.Dir(b.program("other/.venv/bin/git"))
		},
		"packages of another project": func(b *bed) string { return filepath.Dir(b.program("other/node_modules/.bin/git")) },
		"everybody may write": func(b *bed) string {
			dir := filepath.Dir(b.program("shared/git"))
			b.must(os.Chmod(dir, 0o777))
			return dir
		},
		"link that leads to itself": func(b *bed) string { return filepath.Dir(b.link("git", "home/bin/git")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.must(os.MkdirAll(b.workspace, 0o755))
			path := entry(b)
			got, err := program.FindIn(path+":"+b.system, "git", []string{b.workspace})
			if want := filepath.Join(b.system, "git"); got != want || err != nil {
				t.Errorf("found %q, %v, want %q", got, err, want)
			}
			if got, err := program.FindIn(path, "git", []string{b.workspace}); !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("alone: found %q, %v", got, err)
			}
			// A tool of the user may be in an environment.
			want := ""
			if name == "environment of another project" {
				want = filepath.Join(path, "git")
			}
			if got, _ := program.FindTool(path, "git", []string{b.workspace}); got != want {
				t.Errorf("a tool: found %q, want %q", got, want)
			}
		})
	}
}

// The user's own directory comes first if it is first in PATH. So does a link in it to the installed
// program.
func TestFindKeepsOrder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(os.MkdirAll(b.workspace, 0o755))
	own := b.link(b.program("opt/git-2/bin/git"), "home/.local/bin/git")
	got, err := program.FindIn(filepath.Dir(own)+":"+b.system, "git", []string{b.workspace})
	if got != own || err != nil {
		t.Errorf("found %q, %v, want %q", got, err, own)
	}
	for _, name := range []string{"", "../git", "bin/git", "/bin/sh", "none"} {
		if got, err := program.FindIn(b.system, name, nil); !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("%q: found %q, %v", name, got, err)
		}
	}
}

// The workspace spelled by a link is the same workspace.
func TestFindLinkedWorkspace(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	dir := filepath.Dir(b.program("real/bin/git"))
	linked := b.link(filepath.Join(b.root, "real"), "ws")
	if got, err := program.FindIn(dir, "git", []string{linked}); err == nil {
		t.Errorf("found %q", got)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(os.MkdirAll(filepath.Join(b.workspace, "bin"), 0o755))
	got := program.Environ([]string{"A=b", "PATH=" + strings.Join([]string{"", "bin", filepath.Join(b.workspace, "bin"), b.system}, ":")}, []string{b.workspace})
	if want := "A=b PATH=" + b.system; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
