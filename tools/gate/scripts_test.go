//go:build unix

package gate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// A link's target outside the workspace is compared, but never shown: it is neither judged nor
// mounted for the command.
func TestScriptsOutsideAreNotRead(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(home, "key"): "secret: x\n\trm -rf /\n", filepath.Join(dir, "in.sh"): "ls\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"Makefile": filepath.Join(home, "key"), "x.sh": filepath.Join(home, "key"), "l": home, "in": "in.sh"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := scripts{roots: []string{dir}}
	for _, path := range []string{"Makefile", "x.sh", "l/key", "../" + filepath.Base(home) + "/key"} {
		if text, ok := s.read(filepath.Join(dir, path)); ok || text != "" {
			t.Errorf("%s: read %q", path, text)
		}
	}
	if text, ok := s.read(filepath.Join(dir, "in")); !ok || text != "ls\n" {
		t.Errorf("a link within: %q", text)
	}
	frozen := s.frozen(policy.Verdict{Level: policy.Asks})
	if len(frozen) != 1 || string(frozen[filepath.Join(dir, "in")]) != "ls\n" {
		t.Errorf("frozen: %q", frozen)
	}
	if s.changed() != "" {
		t.Error("something is said to have changed")
	}
	if err := os.WriteFile(filepath.Join(home, "key"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.changed() == "" {
		t.Error("a change outside is not seen")
	}
}

// The git directories of a repository are the same as git's, even if a pointer ends with spaces and
// a directory without them exists.
func TestRepositoryOfPointers(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"sub/.git": "gitdir: ../x \n", "x /commondir": "../real \n", "x/a": "", "real/a": "", "real /a": "",
		"nul/.git": "gitdir: ../x\x00\n", "bare/.git": "gitdir:../x\n", "crlf/.git": "gitdir: ../x\r\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		putScript(t, file, text)
	}
	for folder, want := range map[string][]string{"sub": {"x ", "real "}, "nul": nil, "bare": nil, "crlf": {"x"}} {
		var paths []string
		for _, w := range want {
			paths = append(paths, filepath.Join(dir, w))
		}
		if got := repositoryOf(filepath.Join(dir, folder)); !slices.Equal(got, paths) {
			t.Errorf("%s: %q, want %q", folder, got, paths)
		}
	}
}

func putScript(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFollowLinks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"etc": "/etc", "nowhere": "/etc/new", "relative": "etc/new", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/": "/", "etc": "/etc", "etc/passwd": "/etc/passwd", "etc/no/such": "/etc/no/such", "nowhere": "/etc/new",
		"relative": "/etc/new", "loop": "DIR/loop", "no/such": "DIR/no/such", ".": "DIR",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if got := FollowLinks(path); got != strings.ReplaceAll(want, "DIR", dir) {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
}
