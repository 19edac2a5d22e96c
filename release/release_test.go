//go:build e2e

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestRelease makes the release of this platform twice, from two copies of the last commit in
// different folders. All files must be the same. Then it installs the program from each
// package and runs its demo.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the packages for Linux are tested")
	}
	commit := strings.TrimSpace(must(t, ".", nil, "git", "-c", "safe.directory=*", "rev-parse", "HEAD")) // a commit may be added meanwhile
	dists := [2]string{released(t, commit), released(t, commit)}
	sums := readFile(t, filepath.Join(dists[0], "SHA256SUMS"))
	if other := readFile(t, filepath.Join(dists[1], "SHA256SUMS")); sums != other {
		t.Errorf("two releases of one commit differ:\n%s\n%s", sums, other)
	}
	if n := strings.Count(sums, "\n"); n != 7 {
		t.Errorf("%d files, want 7: archive, .deb, .rpm, contents, two for npm, wheel\n%s", n, sums)
	}
	dist := dists[0]
	must(t, dist, nil, "sha256sum", "--check", "--quiet", "SHA256SUMS")
	for name, install := range map[string]func(t *testing.T, dist, dir string) string{
		"archive": fromArchive, "deb": fromDeb, "npm": fromNPM, "wheel": fromWheel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := install(t, dist, t.TempDir())
			home := t.TempDir()
			env := []string{"HOME=" + home, "HERMES_HOME=" + filepath.Join(home, ".hermes")}
			if got := must(t, home, env, program, "version"); !strings.HasPrefix(got, "hermes-ls 9.8.7 (abcdef, go") {
				t.Errorf("version: %q", got)
			}
			if got := must(t, home, env, program, "demo"); !strings.Contains(got, "subagent") {
				t.Errorf("the demo did not do its work:\n%s", got)
			}
		})
	}
}

// released clones the repository at a commit and makes the release of this platform there. It returns
// the folder with the files.
func released(t *testing.T, commit string) string {
	t.Helper()
	source, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	must(t, dir, nil, "git", "-c", "safe.directory=*", "clone", "--quiet", "--shared", source, "copy")
	must(t, filepath.Join(dir, "copy"), nil, "git", "checkout", "--quiet", "--detach", commit)
	dist := filepath.Join(dir, "dist")
	must(t, filepath.Join(dir, "copy"), nil, "go", "run", "./release", "-version", "9.8.7", "-commit", "abcdef", "-out", dist,
		"-platforms", runtime.GOOS+"/"+runtime.GOARCH)
	return dist
}

func fromArchive(t *testing.T, dist, dir string) string {
	must(t, dir, nil, "tar", "xzf", only(t, dist, "*.tar.gz"))
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "THIRD-PARTY-NOTICES.txt", "man/hermes-ls.1", "completions/hermes-ls.bash"} {
		only(t, dir, "hermes-ls-9.8.7-linux-*/"+name)
	}
	return only(t, dir, "hermes-ls-9.8.7-linux-*/hermes-ls")
}

// fromDeb installs into a folder, with a separate package database. Recommended packages are not
// needed.
func fromDeb(t *testing.T, dist, dir string) string {
	testneed.Program(t, "dpkg", "")
	for _, name := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin"}, "dpkg", "--root="+dir, "--force-not-root", "--force-script-chrootless", "--log=/dev/null",
		"--install", only(t, dist, "*.deb"))
	return filepath.Join(dir, "usr/bin/hermes-ls")
}

// fromNPM installs from the two files, without a registry.
func fromNPM(t *testing.T, dist, dir string) string {
	testneed.Program(t, "npm", "")
	args := []string{"install", "--offline", "--omit=optional", "--no-audit", "--no-fund", "--prefix", dir}
	args = append(args, matches(t, dist, "npm/*.tgz")...)
	must(t, dir, []string{"npm_config_cache=" + t.TempDir()}, "npm", args...)
	return filepath.Join(dir, "node_modules/.bin/hermes-ls")
}

func fromWheel(t *testing.T, dist, dir string) string {
	must(t, dir, nil, "python3", "-m", "venv", "venv")
	must(t, dir, nil, "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", only(t, dist, "python/*.whl"))
	return filepath.Join(dir, "venv/bin/hermes-ls")
}

// building allows a single build at a time: each uses all cores.
var building sync.Mutex

func must(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	cmd := exec.CommandContext(t.Context(), name, args...)
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		cmd.Path = filepath.Join(dir, name)
		cmd.Err = nil
	}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// only returns the path of the only matching file.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found := matches(t, dir, pattern)
	if len(found) != 1 {
		t.Fatalf("%s: %d files, want one: %q", pattern, len(found), found)
	}
	return found[0]
}

func matches(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
