//go:build unix

package servertest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// readByItself lists the files that the server, or its programs, read without a request, in a
// workspace and, behind ~, in the home. Files that exclude each other are in groups.
var readByItself = map[string][]string{
	"files": {
		".hermes/config.yaml", ".hermes.md", "AGENTS.md", "CLAUDE.md", "sub/AGENTS.md", "sub/.hermes.md",
		".python-version", ".pdm-python", ".venv/pyvenv.cfg", ".venv/bin/python3", "CACHEDIR.TAG",
		".gitignore", ".ignore", ".rgignore",
		".editorconfig", ".envrc", ".vscode", ".nvim.lua", "~/.env", "~/SOUL.md", "~/config.yaml",
	},
	"rules below, settings, loose object": {"sub/.gitignore", "sub/.ignore", "sub/.rgignore", ".hermes", ".git/objects/LOOSE"},
	"git": {
		".git/config", ".git/config.worktree", ".git/HEAD", ".git/index", ".git/commondir", ".git/info/exclude",
		".git/info/attributes", ".git/hooks/pre-commit", ".git/modules/sub/config", "sub/.git",
	},
	"objects": {
		".git/objects/info/alternates", ".git/objects/pack/pack-1.idx", ".git/objects/pack/pack-1.pack", ".git/objects/info/commit-graph",
	},
	"repository": {".git", ".hermes/chats"},
	"worktree":   {"tree/commondir", "tree/gitdir", "tree/index", "tree/HEAD", "tree/config"},
}

// A workspace contains something else in place of each such file. The session opens, each turn
// ends, commands, scripts and searches run, and the server ends.
func TestHostilePlaces(t *testing.T) {
	testneed.Long(t)
	for _, thing := range hostile.Obstacles(t) {
		for group, places := range readByItself {
			t.Run(thing.Name+", "+group, func(t *testing.T) {
				t.Parallel()
				root, home := repository(t), t.TempDir()
				loose := looseObject(t, root)
				if group == "worktree" {
					must(t, os.RemoveAll(filepath.Join(root, ".git")))
					must(t, os.WriteFile(filepath.Join(root, ".git"), []byte("gitdir: "+filepath.Join(root, "tree")+"\n"), 0o600))
				}
				for _, place := range places {
					path := filepath.Join(root, strings.Replace(place, "LOOSE", loose, 1))
					if name, ok := strings.CutPrefix(place, "~/"); ok {
						path = filepath.Join(home, name)
					}
					thing.Put(t, path)
				}
				converse(t, root, home, calls("terminal", map[string]any{"command": "echo he''llo"}))
			})
		}
	}
}

// A command puts a named pipe in the place of such a file. The next command and script run, and the
// server ends.
func TestMadeByCommand(t *testing.T) {
	testneed.Long(t)
	for _, command := range []string{
		"mv .git .g && mkfifo .git",
		"mkfifo .git/commondir",
		"mkfifo .python-version .pdm-python",
		"rm -f .gitignore; mkfifo .gitignore .ignore sub/.gitignore",
		"mkfifo .git/objects/info/alternates",
		"mkdir .hermes && mkfifo .hermes/config.yaml",
		"mkfifo .hermes",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			converse(t, repository(t), t.TempDir(), calls("terminal", map[string]any{"command": command}))
		})
	}
}

// converse plays a session of three turns in a folder. The first turn starts with the reply first.
func converse(t *testing.T, root, home string, first reply) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	turn := []reply{
		calls("terminal", map[string]any{"command": "echo he''llo"}),
		calls("execute_code", map[string]any{"code": "print('sc' + 'ript')"}),
		calls("search_files", map[string]any{"pattern": "need" + "le"}),
		calls("read_file", map[string]any{"path": "sub/b.txt"}),
		calls("write_file", map[string]any{"path": "sub/c.txt", "content": "needle\n"}),
		says("Done."),
	}
	m := fakemodel.Script(append([]reply{first, says("Begun.")}, append(turn, turn...)...)...)
	e := servertest.New(t, servertest.Options{Root: root, Home: home, Model: m})
	began := time.Now()
	for i := range 3 {
		done := make(chan string, 1)
		go func() { done <- e.Ask("go").StopReason }()
		select {
		case reason := <-done:
			if reason != "end_turn" {
				t.Errorf("turn %d ended with %q", i, reason)
			}
		case <-time.After(5 * time.Minute):
			buf := make([]byte, 1<<20)
			t.Fatalf("turn %d does not end\n%s", i, buf[:runtime.Stack(buf, true)])
		}
	}
	t.Logf("the turns took %v", time.Since(began).Round(time.Millisecond))
	requests := m.Requests()
	said := ""
	for _, message := range requests[len(requests)-1].Messages {
		said += message.Text() + "\n"
	}
	for what, want := range map[string]string{"the command": `"output":"hello\n"`, "the script": `"output":"script\n"`, "the search": `\nsub/b.txt\n1|needle`, "the read": "needle in b"} {
		if got := strings.Count(said, want); got < 2 {
			t.Errorf("%s has succeeded %d times of 2", what, got)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
	e.End()
	runtime.ReadMemStats(&after)
	if used := (after.HeapSys - min(after.HeapSys, before.HeapSys)) >> 20; used > 1000 {
		t.Errorf("the heap has grown by %d MB", used)
	}
}

// repository is a folder with a commit.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"a.txt": "needle in a\n", "sub/b.txt": "needle in b\n"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"}} {
		git := exec.Command("git", args...)
		git.Dir = root
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return root
}

// looseObject is the name of a.txt's object below .git/objects.
func looseObject(t *testing.T, root string) string {
	t.Helper()
	git := exec.Command("git", "rev-parse", ":a.txt")
	git.Dir = root
	out, err := git.Output()
	must(t, err)
	id := strings.TrimSpace(string(out))
	return fmt.Sprintf("%s/%s", id[:2], id[2:])
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
