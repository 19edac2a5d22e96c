package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tested matches the blocks of commands that TestBlocks runs.
var tested = regexp.MustCompile("(?ms)^<!-- tested -->\n```sh\n(.*?)^```$")

// TestBlocks runs the marked blocks of the pages, in their order, as a user would: each page has a home and a
// workspace of its own, the embedded model, and no network.
func TestBlocks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := tested.FindAllStringSubmatch(string(text), -1)
		if marks := strings.Count(string(text), "<!-- tested"); marks != len(blocks) {
			t.Errorf("%s has %d marks and %d marked blocks", page, marks, len(blocks))
		}
		if len(blocks) == 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		found = append(found, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t)
			for _, block := range blocks {
				r.follow(block[1])
			}
		})
	}
	for _, name := range []string{"first-day", "privacy", "cost", "proxies", "remote", "upgrade", "team", "recipes", "switching"} {
		if !slices.Contains(found, name) {
			t.Errorf("no block of %s.md is marked", name)
		}
	}
}

// reader follows the steps of a page in a shell.
type reader struct {
	program
	bin string // a directory with the program
}

// newReader prepares a repository with a branch, a session that has changed a file, and the log of a failed job.
func newReader(t *testing.T) reader {
	t.Helper()
	r := reader{newProgram(t), t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(r.bin, "hermes-ls")); err != nil {
		t.Fatal(err)
	}
	r.write("ws/ci.log", "main.py:1: error\n")
	r.follow("git init -q -b main && git add main.py && git commit -q -m one && git switch -q -c work\n" +
		"echo 'print(2)' > main.py && git commit -q -a -m two && echo 'print(3)' > main.py")
	if _, errOut, code := r.run("run", scripted("Go.", `[{"call":{"name":"write_file","args":{"path":"new.py","content":"print(4)\n"}}}]`, `[{"text":"Done."}]`)); code != 0 {
		t.Fatal(errOut)
	}
	return r
}

// follow runs lines of a shell. It fails the test if a line fails.
func (r reader) follow(lines string) {
	r.t.Helper()
	home := filepath.Dir(r.home)
	cmd := exec.CommandContext(r.t.Context(), "sh", "-eu", "-c", lines)
	cmd.Dir = r.cwd
	cmd.Env = []string{
		"HERMES_LS_TEST_PROGRAM=1", "HERMES_HOME=" + r.home, "HOME=" + home, "PATH=" + r.bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", // the network cannot be reached
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Errorf("%v\n%s\n%s", err, lines, out)
	}
}
