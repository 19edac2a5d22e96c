//go:build unix

package delegate_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

const secret = "BEGIN-OF-A-PRIVATE-KEY"

// hostileBed is a session with a subagent whose commands attack. Beside its workspace is a home
// directory with a secret.
type hostileBed struct {
	*bed
	home, kept string
}

// entry is an entry of a git index.
type entry struct {
	name string
	mode uint32
}

// index encodes an index of version 2 that git would never write.
func index(entries ...entry) []byte {
	var b bytes.Buffer
	b.WriteString("DIRC")
	word := func(n uint32) { b.Write(binary.BigEndian.AppendUint32(nil, n)) }
	word(2)
	word(uint32(len(entries)))
	for _, e := range entries {
		start := b.Len()
		for range 6 {
			word(0)
		}
		word(e.mode)
		for range 3 {
			word(0)
		}
		sum := sha1.Sum([]byte(e.name))
		b.Write(sum[:])
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(min(len(e.name), 0xfff))))
		b.WriteString(e.name)
		for range 8 - (b.Len()-start)%8 {
			b.WriteByte(0)
		}
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}

// attack has a subagent run commands in a worktree. In the commands, HOME is the home directory
// with the secret, INDEX a file with the index.
func attack(t *testing.T, raw []byte, commands ...string) *hostileBed {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &hostileBed{home: home, kept: filepath.Join(t.TempDir(), "outputs", "parent")}
	for name, text := range map[string]string{".ssh/id_test": secret, "secrets/id_test": secret, "victim": "the user's\n"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	indexFile := filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(indexFile, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "set -x\n"
	for _, c := range commands {
		c = strings.ReplaceAll(c, "HOMEUP", strings.Repeat("../", 12)+strings.TrimPrefix(home, "/"))
		script += strings.NewReplacer("HOME", home, "INDEX", indexFile).Replace(c) + "\n"
	}
	attackFile := filepath.Join(t.TempDir(), "attack.sh")
	if err := os.WriteFile(attackFile, []byte(script+"true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.bed = newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("Attack from a copy")), say("ok")},
		"Attack f": {run("bash " + attackFile), say("Attacked.")},
	}, func(b *bed) { b.output = h.kept })
	h.repository()
	began := time.Now()
	h.prompt("parent")
	if took := time.Since(began); took > 5*time.Minute { // it takes a second; what waits for a pipe or reads an endless file does not end
		t.Errorf("it took %v", took)
	}
	return h
}

// check looks for the secret in the model's input, and for changes in the home directory.
func (h *hostileBed) check() {
	h.t.Helper()
	text := h.answer().text
	if strings.Contains(text, secret) {
		h.t.Errorf("the model reads the secret: %s", text)
	}
	for _, dir := range []string{h.dir, filepath.Dir(h.kept)} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(secret)) {
				h.t.Errorf("the secret is in %s", path)
			}
			return nil
		})
	}
	if objects := h.git("cat-file", "--batch-all-objects", "--batch"); strings.Contains(objects, secret) {
		h.t.Error("the secret is in the repository's objects")
	}
	found := []string{}
	_ = filepath.WalkDir(h.home, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			found = append(found, strings.TrimPrefix(path, h.home)+"="+string(data))
		}
		return nil
	})
	if got, want := strings.Join(found, " "), "/.ssh/id_test="+secret+" /secrets/id_test="+secret+" /victim=the user's\n"; got != want {
		h.t.Errorf("the home holds %q", got)
	}
	entries, _ := os.ReadDir(filepath.Dir(h.kept)) // none: nothing is kept
	for _, e := range entries {
		if e.Name() != filepath.Base(h.kept) && e.Name() != h.answer().Results[0].Session {
			h.t.Errorf("%s is kept beside the sessions' outputs", e.Name())
		}
	}
	h.checkGone()
}

// TestHostileFolderLink replaces a tracked folder by a link to a place with secrets.
func TestHostileFolderLink(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for name, commands := range map[string][]string{
		"staged":    {"mkdir d; echo x >d/id_test; git add d/id_test; rm -r d; ln -s HOME/.ssh d"},
		"committed": {"mkdir d; echo x >d/id_test; git add .; git -c user.name=x -c user.email=x@y commit -qm x; rm -r d; ln -s HOME/.ssh d"},
		"deeper":    {"mkdir -p d/e; echo x >d/e/id_test; git add .; rm -r d/e; ln -s HOME/.ssh d/e"},
		"relative":  {"mkdir d; echo x >d/id_test; git add .; rm -r d; ln -s HOMEUP/.ssh d"},
		"of a link": {"mkdir d; echo x >d/id_test; git add .; rm -r d; ln -s HOME/.ssh e; ln -s e d"},
		"the root":  {"mkdir d; echo x >d/id_test; git add .; rm -r d; ln -s / d; mkdir -p x"},
		"file link": {"echo x >f; git add f; rm f; ln -s HOME/.ssh/id_test f"},
		"hard link": {"ln HOME/.ssh/id_test hard; ln HOME/.ssh/id_test a2.txt; rm b.txt; ln HOME/.ssh/id_test b.txt"},
		"swapping":  {"mkdir d; echo x >d/id_test; git add .; (while :; do mv d d2; ln -s HOME/.ssh d; rm d; mv d2 d; done) >/dev/null 2>&1 &"},
		"git file":  {"rm .git; ln -s HOME/.ssh .git"},
		"new git":   {"rm .git; git init -q .; mkdir d; echo x >d/id_test; git add .; rm -r d; ln -s HOME/.ssh d"},
		"redirect":  {"git init -q evil; git -C evil config core.worktree HOME; echo \"gitdir: $PWD/evil/.git\" >.git"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(t, nil, commands...).check()
		})
	}
}

// TestHostileIndex writes an index by hand. It names files elsewhere, git's own, or special
// files.
func TestHostileIndex(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	const put = `cp INDEX "$(git rev-parse --git-dir)/index"`
	up := strings.Repeat("../", 12)
	for name, tc := range map[string]struct {
		entries  func(home string) []entry
		commands []string
	}{
		"up":       {func(home string) []entry { return []entry{{up + home[1:] + "/.ssh/id_test", 0o100644}} }, nil},
		"absolute": {func(home string) []entry { return []entry{{home + "/.ssh/id_test", 0o100644}} }, nil},
		"dots":     {func(home string) []entry { return []entry{{"d/../" + up + home[1:] + "/.ssh/id_test", 0o100644}} }, []string{"mkdir d"}},
		"deleted":  {func(home string) []entry { return []entry{{up + home[1:] + "/victim", 0o100644}} }, nil},
		"as link":  {func(home string) []entry { return []entry{{"l", 0o120000}, {"l/id_test", 0o100644}} }, []string{"ln -s HOME/.ssh l"}},
		"modes":    {func(string) []entry { return []entry{{"a.txt", 0o160000}, {"b.txt", 0o120000}, {"c.txt", 0o040000}} }, nil},
		"gits": {func(string) []entry {
			return []entry{{".GIT/hooks/pre-commit", 0o100755}, {".git/hooks/pre-commit", 0o100755}, {"a/.Git./config", 0o100644}, {"git~1/config", 0o100644}, {".git\u200c/config", 0o100644}}
		}, []string{"mkdir -p .GIT/hooks git~1 a/.Git. .git\u200c; for f in .GIT/hooks/pre-commit git~1/config a/.Git./config .git\u200c/config; do echo evil >$f; done"}},
		"newline": {func(string) []entry { return []entry{{"two\nlines", 0o100644}, {"x\n../../victim", 0o100644}} }, []string{"printf x >'two\nlines'"}},
		"empty":   {func(string) []entry { return []entry{{"", 0o100644}, {"/", 0o100644}, {"d//e", 0o100644}} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The home directory is not known before, so it gets all entries.
			home := t.TempDir()
			if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".ssh", "id_test"), []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "victim"), []byte("the user's\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			h := attack(t, index(tc.entries(home)...), append(tc.commands, put)...)
			h.check()
			if text, err := os.ReadFile(filepath.Join(home, "victim")); string(text) != "the user's\n" {
				t.Errorf("the victim is %q, %v", text, err)
			}
			if _, err := os.Stat(filepath.Join(h.dir, ".git", "hooks", "pre-commit")); err == nil {
				t.Error("there is a hook")
			}
			for _, place := range []string{".GIT", "git~1", "a/.Git.", ".git\u200c"} {
				if _, err := os.Lstat(filepath.Join(h.dir, place)); err == nil {
					t.Errorf("%q was brought back", place)
				}
			}
		})
	}
}

// TestHostileGitlink creates a repository within the repository, below a folder replaced by a
// link.
func TestHostileGitlink(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	const id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	for name, commands := range map[string][]string{
		"below a link": {"git update-index --add --cacheinfo 160000," + id + ",l/.ssh; ln -s HOME l"},
		"is a link":    {"git update-index --add --cacheinfo 160000," + id + ",l; ln -s HOME/.ssh l"},
		"holds links":  {"git init -q in; ln -s HOME/.ssh in/keys; ln -s HOME/.ssh/id_test in/key; ln HOME/.ssh/id_test in/hard; echo x >in/file"},
		"endless":      {"git init -q in; ln -s . in/self; mkfifo in/pipe; truncate -s 10T in/big; d=in; for i in $(seq 300); do d=$d/d; mkdir $d; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := attack(t, nil, commands...)
			h.check()
			_ = filepath.WalkDir(filepath.Dir(h.kept), func(path string, d fs.DirEntry, _ error) error {
				if d != nil && d.Type()&fs.ModeSymlink != 0 {
					t.Errorf("a link is kept: %s", path)
				}
				return nil
			})
		})
	}
}

// TestHostileThings creates special files and endless files.
func TestHostileThings(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for name, commands := range map[string][]string{
		"pipes":       {"rm a.txt; mkfifo a.txt pipe"},
		"zero":        {"ln -sf /dev/zero b.txt; ln -s /dev/zero zero"},
		"sparse":      {"truncate -s 100T big"},
		"modes":       {"mkdir shut; echo x >shut/x; git add .; chmod 0 shut; chmod 0 a.txt"},
		"many":        {"mkdir m; cd m; seq 3000 | xargs touch"},
		"git's pipes": {`g=$(git rev-parse --git-dir); rm $g/HEAD; mkfifo $g/HEAD`},
		"git's index": {`g=$(git rev-parse --git-dir); rm $g/index; ln -s HOME/.ssh/id_test $g/index`},
		"git's link":  {`g=$(git rev-parse --git-dir); mv $g $g.x; ln -s HOME/.ssh $g`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := attack(t, nil, commands...)
			if name == "git's link" {
				defer os.RemoveAll(filepath.Join(h.dir, ".git", "worktrees"))
			} else {
				h.check()
			}
			if _, err := os.Stat(filepath.Join(h.home, ".ssh", "id_test")); err != nil {
				t.Error(err)
			}
			if name == "many" && len(h.answer().Results[0].Changes.Applied) != 3000 {
				t.Errorf("%d were brought back", len(h.answer().Results[0].Changes.Applied))
			}
		})
	}
}

// TestHostileRepositoryElsewhere writes a .git file in the workspace. It names the repository
// of another project, which does not know of it.
func TestHostileRepositoryElsewhere(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"repository": "gitdir: PRIVATE/.git\n",
		"worktree":   "gitdir: PRIVATE/.git/worktrees/other\n",
		"made":       "gitdir: MADE\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			private := newBed(t, nil)
			private.repository()
			private.write("key", secret)
			private.git("add", ".")
			private.git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "key")
			private.git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "other"))
			b := newBed(t, map[string][][]step{
				"parent":   {call("delegate_task", isolated("Look around")), say("ok")},
				"Look aro": {run("git show HEAD:key; git log --all -p"), say("Done.")},
			})
			made := t.TempDir()
			for name, line := range map[string]string{"gitdir": filepath.Join(b.dir, ".git"), "commondir": filepath.Join(private.dir, ".git"), "HEAD": "ref: refs/heads/master"} {
				if err := os.WriteFile(filepath.Join(made, name), []byte(line+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b.write(".git", strings.NewReplacer("PRIVATE", private.dir, "MADE", made).Replace(text))
			b.prompt("parent")
			if answer := b.answer(); strings.Contains(answer.text, secret) || !strings.Contains(answer.text, "does not know it") {
				t.Error(answer.text)
			}
			if list := private.git("worktree", "list"); strings.Contains(list, "hermes-") {
				t.Error(list)
			}
		})
	}
}

// TestForgedTree lets a command forge the record of a dead server in the shared temp directory.
// Its paths are not used.
func TestForgedTree(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	b := newBed(t, map[string][][]step{"parent": {say("ok")}})
	b.repository()
	for i, prefix := range []string{"tree", "tree-0"} {
		dir := filepath.Join(os.TempDir(), "hermes-ls-"+prefix+"-evil"+filepath.Base(filepath.Dir(home)))
		root := filepath.Join(dir, "hermes-a")
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.MkdirAll(filepath.Join(root, "autostart"), 0o700); err != nil {
			t.Fatal(err)
		}
		note, err := json.Marshal(map[string]any{
			"store": b.store.Path(), "task": "a/../../.config", "top": b.dir, "git_dir": filepath.Join(b.dir, ".git"), "common_dir": filepath.Join(b.dir, ".git"),
			"output": filepath.Join(home, "x"), "root": root, "commit": strings.TrimSpace(b.git("rev-parse", "HEAD")), "began": map[string]any{},
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"lock": "", "kept": "", "note.json": string(note), "hermes-a/autostart/evil.desktop": "evil",
			"hermes-a/.git": fmt.Sprintf("gitdir: %s/.git/worktrees/hermes-zzz%d\n", b.dir, i),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.git("worktree", "add", "-q", "--detach", filepath.Join(dir, fmt.Sprintf("hermes-zzz%d", i)))
	}
	b.children.Sweep(b.dir)
	b.prompt("parent")
	b.children.Notice(t.Context(), b.id)
	b.close()
	b.open()
	if found, err := os.ReadDir(home); len(found) > 0 || err != nil {
		t.Errorf("written: %v, %v", found, err)
	}
}

// TestWorktreeInSandbox uses the real sandbox. git works on worktrees as without a sandbox, and
// their subagents' commands reach nothing else.
func TestWorktreeInSandbox(t *testing.T) {
	t.Parallel()
	found := sandbox.Detect(t.Context())
	if found.Kind == sandbox.None || found.Kind == sandbox.Unknown {
		t.Skip(found.Reason)
	}
	for _, m := range []sandbox.Mechanism{found, {Kind: sandbox.Landlock}} {
		t.Run(string(m.Kind), func(t *testing.T) {
			t.Parallel()
			if m.Kind == sandbox.Landlock && !landlocked() {
				t.Skip("there is no Landlock here")
			}
			worktreeIn(t, &m)
		})
	}
}

func worktreeIn(t *testing.T, by *sandbox.Mechanism) {
	var box *sandbox.Box
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", isolated("Change things")), say("ok")},
		"Change t": {run("git status --short; sed -i s/two/TWO/ a.txt; rm b.txt; mkdir d; echo n >d/new; git add d; git -c user.name=x -c user.email=x@y commit -qm mine; echo i >ignored"), say("Done.")},
	}, func(b *bed) {
		box = sandbox.New(sandbox.Config{Mechanism: by, Mode: sandbox.WorkspaceWrite, Network: true, Roots: func() []string { return []string{b.dir} }, HermesHome: filepath.Dir(b.store.Path())})
		b.box = box
	})
	defer box.Close()
	b.repository()
	b.write("a.txt", "one\ntwo changed\n")
	b.write("untracked", "u\n")
	b.prompt("parent")
	a := b.answer()
	if len(a.Results) != 1 || a.Results[0].Changes == nil {
		t.Fatal(a.text)
	}
	m := a.Results[0].Changes
	if got := strings.Join(m.Applied, " "); got != "a.txt b.txt d/new" || len(m.Conflicts) > 0 || m.Commit == "" || strings.Join(m.Ignored, " ") != "ignored" {
		t.Errorf("%+v in %s", m, a.text)
	}
	if b.read("a.txt") != "one\nTWO changed\n" || b.read("d/new") != "n\n" {
		t.Errorf("a.txt = %q, new = %q", b.read("a.txt"), b.read("d/new"))
	}
	b.checkGone()
}
