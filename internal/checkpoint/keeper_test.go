package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filetime"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// bench holds a keeper and its folder.
type bench struct {
	*Keeper
	t     testing.TB
	dir   string
	store *Store
	told  []string
}

var plenty = Limits{Total: 500 << 20, File: 10 << 20}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, store: New(t.TempDir())}
	for name, text := range files {
		b.write(name, text)
	}
	b.open("session")
	return b
}

// open replaces the keeper of the bench, as for another session or process.
func (b *bench) open(session string) {
	b.t.Helper()
	ws, err := workspace.Open([]string{b.dir}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	k := b.store.Keeper(Config{
		Session: session, Files: ws, Limits: func() Limits { return plenty }, ScanTimeout: time.Minute,
		Report: func(text string) { b.told = append(b.told, text) },
	})
	ws.Journal = k.Journal
	b.Keeper = k
	b.t.Cleanup(func() {
		if err := errors.Join(k.Close(context.Background()), ws.Close(), b.store.Close()); err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// shell runs a command as a turn does.
func (b *bench) shell(script string) {
	b.t.Helper()
	done := b.BeginCommand(b.t.Context())
	defer done()
	b.sh(script)
}

// sh runs a command as the user does.
func (b *bench) sh(script string) {
	b.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// edit writes a file as a tool does.
func (b *bench) edit(name, text string) {
	b.t.Helper()
	if _, err := b.Files.Write(b.t.Context(), name, []byte(text)); err != nil {
		b.t.Fatal(err)
	}
}

// pastTick waits for the next tick of the file stamps' clock, so later changes have other stamps
// than earlier changes.
func pastTick() { filetime.Pass(context.Background()) }

// turn runs a turn. Then it waits for more than a clock's tick, so later changes have later stamps,
// like the user's.
func (b *bench) turn(title string, do func()) {
	b.t.Helper()
	b.Begin(title)
	do()
	pastTick()
	b.End()
}

func (b *bench) list() []Info {
	b.t.Helper()
	list, err := b.List(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// restore restores the checkpoint with a title.
func (b *bench) restore(title string, names ...string) (restored, kept []string) {
	b.t.Helper()
	return b.restoreWith(title, Choice{}, names...)
}

func (b *bench) restoreWith(title string, c Choice, names ...string) (restored, kept []string) {
	b.t.Helper()
	list := b.list()
	i := slices.IndexFunc(list, func(i Info) bool { return i.Title == title })
	if i < 0 {
		b.t.Fatalf("no checkpoint %q among %v", title, list)
	}
	for _, name := range names {
		c.Files = append(c.Files, b.path(name))
	}
	out, err := b.Restore(b.t.Context(), list[i].ID, c)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, path := range out.Restored {
		restored = append(restored, b.Files.Name(path))
	}
	for _, k := range out.Kept {
		kept = append(kept, b.Files.Name(k.Path))
	}
	return restored, kept
}

// tree describes all files of a folder in lines, except .git.
func (b *bench) tree() string { return treeOf(b.t, b.dir) }

func treeOf(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := rel + " " + info.Mode().String()
		switch {
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(text)
		case d.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line = rel + " -> " + to
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestCommandsAreTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"keep.txt": "keep", "change.txt": "old", "gone/deep.txt": "deep", "moved.txt": "moved", "run.sh": "#!/bin/sh"})
	b.sh("ln -s keep.txt link; chmod 600 change.txt; mkdir empty")
	before := b.tree()
	b.turn("Turn", func() {
		b.shell("printf new > change.txt; rm -r gone empty; mv moved.txt there.txt; chmod 755 run.sh; mkdir -p new/er; echo x > new/er/file; ln -sf change.txt link; ln -s new also")
	})
	after := b.tree()
	list := b.list()
	if len(list) != 1 {
		t.Fatalf("checkpoints: %v", list)
	}
	var names []string
	for _, f := range list[0].Files {
		names = append(names, b.Files.Name(f))
	}
	same(t, "files", names, []string{"also", "change.txt", "gone/deep.txt", "link", "moved.txt", "new/er/file", "run.sh", "there.txt"})
	_, kept := b.restore("Turn")
	same(t, "kept", kept, nil)
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
	}
	restored, kept := b.restore("Turn")
	same(t, "restored again", restored, nil)
	same(t, "kept again", kept, nil)
	b.restore("Before going back to “Turn”")
	if got := b.tree(); got != after {
		t.Errorf("reverted:\n%s\n\nwant:\n%s", got, after)
	}
}

func TestToolsAreTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one", "b.txt": "two"})
	before := b.tree()
	b.turn("First", func() { b.edit("a.txt", "ONE"); b.edit("new/c.txt", "three") })
	middle := b.tree()
	b.turn("Second", func() {
		b.edit("a.txt", "ONE!")
		if err := b.Files.Remove(t.Context(), "b.txt"); err != nil {
			t.Fatal(err)
		}
		if err := b.Files.Rename(t.Context(), "new/c.txt", "other/d.txt"); err != nil {
			t.Fatal(err)
		}
	})
	b.turn("Nothing", func() {})
	if list := b.list(); len(list) != 2 || list[0].Title != "Second" || list[1].Title != "First" {
		t.Fatalf("checkpoints: %v", list)
	}
	b.restore("Second")
	if got := b.tree(); got != middle {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, middle)
	}
	b.restore("First")
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
	}
}

func TestToolsAndCommandsTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one", "b.txt": "two"})
	before := b.tree()
	b.turn("Turn", func() {
		b.edit("a.txt", "by the tool")
		b.shell("echo by the command >> a.txt; echo x > b.txt; echo y > c.txt")
		b.edit("b.txt", "by the tool")
		b.edit("c.txt", "by the tool")
		b.shell("true")
	})
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{"a.txt", "b.txt", "c.txt"})
	same(t, "kept", kept, nil)
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
	}
}

func TestWhatAPersonChangesStays(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one", "b.txt": "two", "c.txt": "three", "d.txt": "four"})
	b.turn("First", func() { b.edit("a.txt", "ONE"); b.edit("b.txt", "TWO"); b.edit("new.txt", "x") })
	b.write("b.txt", "mine")
	b.turn("Second", func() { b.shell("echo more >> b.txt; echo gone > d.txt") })
	b.list() // after the scan of the command's writes
	b.write("new.txt", "mine too")
	b.write("d.txt", "mine as well")
	restored, kept := b.restore("First")
	same(t, "restored", restored, []string{"a.txt"})
	same(t, "kept", kept, []string{"b.txt", "d.txt", "new.txt"})
	restored, kept = b.restoreWith("First", Choice{Force: func(path string) bool { return !strings.HasSuffix(path, "new.txt") }}, "b.txt", "new.txt")
	same(t, "restored by name", restored, []string{"b.txt"})
	same(t, "kept by name", kept, []string{"new.txt"})
	if text, _ := os.ReadFile(b.path("b.txt")); string(text) != "two" {
		t.Errorf("b.txt: %q", text)
	}
	if _, err := b.Restore(t.Context(), b.list()[0].ID, Choice{Files: []string{b.path("c.txt")}}); !errors.Is(err, ErrUnchanged) {
		t.Errorf("a file that has not changed: %v", err)
	}
	if _, err := b.Restore(t.Context(), "none", Choice{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown checkpoint: %v", err)
	}
}

// Changes of the user during a turn are not recorded as the turn's while no command runs.
func TestWhatAPersonChangesMeanwhile(t *testing.T) {
	t.Parallel()
	if !stampsTell {
		t.Skip("this system does not tell when a file was changed")
	}
	b := newBench(t, map[string]string{"a.txt": "one", "b.txt": "two"})
	b.turn("Turn", func() {
		b.shell("echo x >> a.txt")
		pastTick()
		b.sh("echo mine > b.txt")
		pastTick()
		b.shell("echo y >> a.txt")
	})
	for _, c := range b.list() {
		if len(c.Files) != 1 {
			t.Errorf("changes of the session: %v", c.Files)
		}
	}
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{"a.txt"})
	same(t, "kept", kept, nil)
	if text, _ := os.ReadFile(b.path("b.txt")); string(text) != "mine\n" {
		t.Errorf("b.txt: %q", text)
	}
}

// The user's deletions, moves and renames while no command runs are not the turn's, even between
// two commands.
func TestWhatAPersonRemovesMeanwhile(t *testing.T) {
	t.Parallel()
	if !stampsTell {
		t.Skip("this system does not tell when a file was changed")
	}
	scripts := []string{
		"rm a.txt", "mv a.txt b.txt", "mv a.txt d/", "rm -r d", "mv d k", "mv d/e k", "mv d k; mv a.txt d",
		"rm a.txt; mkdir a.txt; echo mine > a.txt/b", "rm -r d; echo mine > d", "mv d k; mkdir d; echo mine > d/x",
	}
	for i := range 2 * len(scripts) {
		script, large := scripts[i/2], i%2 > 0
		t.Run(fmt.Sprint(script, " ", large), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, map[string]string{"a.txt": "one", "d/x": "x", "d/e/y": "y", "z.txt": "z"})
			pastTick()
			var after string
			b.turn("Turn", func() {
				b.shell("echo first >> z.txt")
				b.list() // after the scan that follows the command
				pastTick()
				b.sh(script)
				pastTick()
				after = b.tree()
				if large { // then the next command does not wait for another scan
					b.snapshot.mu.Lock()
					b.snapshot.took, b.snapshot.scanned = time.Minute, time.Now()
					b.snapshot.mu.Unlock()
				}
				b.shell("echo second >> z.txt")
				b.shell("true")
			})
			restored, kept := b.restore("Turn")
			same(t, "restored", restored, []string{"z.txt"})
			same(t, "kept", kept, nil)
			if got, want := b.tree(), strings.Replace(after, "zfirst\n", "z", 1); got != want {
				t.Errorf("restored:\n%s\n\nwant:\n%s", got, want)
			}
		})
	}
}

// Files keep their times if a command renames a folder with them. The files are restored all the
// same, also after a tool or a command has changed them.
func TestRenamedFolderIsTakenBack(t *testing.T) {
	t.Parallel()
	if !stampsTell {
		t.Skip("this system does not tell when a file was changed")
	}
	for _, then := range []string{"", "tool", "command", "list, tool", "list, command"} {
		t.Run(then, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, map[string]string{".gitignore": "ignored\n", "d/x": "x", "d/e/y": "y", "d/e/z": "z", "ignored/a": "a"})
			before := b.tree()
			pastTick()
			var after string
			b.turn("Turn", func() {
				b.shell("mv d k; mkdir d; mv k/e/y d/y")
				if strings.HasPrefix(then, "list") {
					b.list()
				}
				switch {
				case strings.HasSuffix(then, "tool"):
					_, _ = b.Files.Read(t.Context(), "k/e/z")
					b.edit("k/e/z", "by the tool")
				case strings.HasSuffix(then, "command"):
					b.shell("echo more >> k/e/z")
				}
				after = b.tree()
			})
			_, kept := b.restore("Turn")
			same(t, "kept", kept, nil)
			if got := b.tree(); got != before {
				t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
			}
			b.restore("Before going back to “Turn”")
			if got := b.tree(); got != after {
				t.Errorf("reverted:\n%s\n\nwant:\n%s", got, after)
			}
		})
	}
}

// A command's folders are removed even if a tool writes into them before the scan following the
// command.
func TestFoldersOfCommandsThatToolsWriteInto(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{".gitignore": "ignored\n", "mine/x": "x"})
	b.sh("mkdir -p empty ignored/deep")
	before := b.tree()
	pastTick()
	b.turn("Turn", func() {
		done := b.BeginCommand(t.Context())
		b.sh("mkdir -p new/er mine/sub ignored/deep/er; echo x > new/by-command")
		b.snapshot.scanning <- struct{}{} // the scan after the command has not begun
		done()
		pastTick()
		for _, name := range []string{"new/er/own/a.txt", "mine/sub/b.txt", "empty/c.txt", "ignored/deep/er/d.txt"} {
			b.edit(name, "by the tool")
		}
		<-b.snapshot.scanning
	})
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{"empty/c.txt", "ignored/deep/er/d.txt", "mine/sub/b.txt", "new/by-command", "new/er/own/a.txt"})
	same(t, "kept", kept, nil)
	b.sh("rmdir ignored/deep/er") // a command's files in an ignored folder are not recorded
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
	}
}

// The session moves a file, and the user changes it there. A restore brings the old path back, and
// takes only the session's lines out of the new file.
func TestMovedAndChangedByThePerson(t *testing.T) {
	t.Parallel()
	for how, move := range map[string]func(b *bench){
		"moved by a tool":     func(b *bench) { must(0, b.Files.Rename(t.Context(), "a.txt", "sub/b.txt")) },
		"moved by a command":  func(b *bench) { b.shell("mkdir sub; mv a.txt sub/b.txt") },
		"moved and rewritten": func(b *bench) { b.shell("mkdir sub; sed s/three/THREE/ a.txt > sub/b.txt; rm a.txt") },
		"copied, then edited": func(b *bench) { b.shell("mkdir sub; cp a.txt sub/b.txt; rm a.txt; echo agent >> sub/b.txt") },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			old := "one\ntwo\nthree\nfour\nfive\n"
			b := newBench(t, map[string]string{"a.txt": old, "other.txt": "one\n"})
			b.turn("Turn", func() { b.shell("rm other.txt"); move(b) })
			b.list()
			now := string(must(os.ReadFile(b.path("sub/b.txt"))))
			b.write("sub/b.txt", "mine\n"+now)
			restored, kept := b.restore("Turn")
			same(t, "restored", restored, []string{"a.txt", "other.txt"})
			same(t, "kept", kept, []string{"sub/b.txt"})
			if a, moved := string(must(os.ReadFile(b.path("a.txt")))), string(must(os.ReadFile(b.path("sub/b.txt")))); a != old || moved != "mine\n"+old {
				t.Errorf("a.txt is %q, sub/b.txt %q", a, moved)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one"})
	if _, err := b.Name(t.Context(), "before everything"); err != nil {
		t.Fatal(err)
	}
	b.turn("Turn", func() {
		b.shell("echo two > a.txt")
		if _, err := b.Name(t.Context(), "in the middle"); err != nil {
			t.Fatal(err)
		}
		b.shell("echo three > a.txt; echo x > x.txt")
		b.restore("in the middle")
		if text, _ := os.ReadFile(b.path("a.txt")); string(text) != "two\n" {
			t.Errorf("in the middle a.txt was %q", text)
		}
		b.shell("echo four > a.txt")
	})
	var titles []string
	for _, i := range b.list() {
		titles = append(titles, i.Title)
		if i.Restore != strings.HasPrefix(i.Title, "Before going back") {
			t.Errorf("%q: made by a restore: %v", i.Title, i.Restore)
		}
	}
	same(t, "titles", titles, []string{"Turn", "Before going back to “in the middle”", "in the middle", "Turn", "before everything"})
	b.restore("before everything")
	if got := b.tree(); !strings.HasSuffix(got, "a.txt -rw-r--r-- one") {
		t.Errorf("at the beginning:\n%s", got)
	}
}

func TestIgnoredAndLarge(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{".gitignore": "*.log\n", "a.log": "log", "node_modules/x/y.js": "js", "venv/pyvenv.cfg": "", "venv/a.py": "py", "small": "s", ".env": "secret"})
	b.write("large", strings.Repeat("x", 11<<20))
	b.turn("Turn", func() { b.shell("rm -r a.log node_modules venv/a.py small large .env") })
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{".env", "small"})
	same(t, "kept", kept, []string{"large"})
	b.turn("By a tool", func() { b.edit("b.log", "x"); b.edit(".gitignore", "") })
	restored, _ = b.restore("By a tool")
	same(t, "a file that a tool names", restored, []string{".gitignore", "b.log"})
}

// Files no longer ignored existed before: a restore keeps them.
func TestNoLongerIgnored(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{".gitignore": "*.env\n", "my.env": "secret", "other.env": "x"})
	pastTick()
	b.turn("Turn", func() { b.shell("rm .gitignore; echo y >> other.env") })
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{".gitignore"})
	same(t, "kept", kept, []string{"other.env"})
	if text, _ := os.ReadFile(b.path("my.env")); string(text) != "secret" {
		t.Errorf("my.env: %q", text)
	}
}

func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	name := "odd\xff\n\"name"
	if err := os.WriteFile(b.path(name), []byte("x"), 0o644); err != nil {
		t.Skip("the file system takes no such name")
	}
	before := b.tree()
	b.turn("Turn", func() { b.shell("rm -- *") })
	b.restore("Turn")
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%q\nwant:\n%q", got, before)
	}
}

// Workspace folders may be added and removed during a turn.
func TestFoldersChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"one/a": "a", "two/b": "b", "three/c": "c"})
	if err := b.Files.SetFolders([]string{b.path("one"), b.path("two")}); err != nil {
		t.Fatal(err)
	}
	pastTick()
	b.turn("Turn", func() {
		b.shell("echo x >> one/a")
		if err := b.Files.SetFolders([]string{b.path("one"), b.path("three")}); err != nil {
			t.Fatal(err)
		}
		b.shell("echo x > three/d")
	})
	restored, kept := b.restore("Turn")
	same(t, "restored", restored, []string{"a", b.path("three/d")})
	same(t, "kept", kept, nil)
	if text, _ := os.ReadFile(b.path("two/b")); string(text) != "b" {
		t.Errorf("two/b: %q", text)
	}
}

// A turn may change a file written by a command of the previous turn before the last scan of the
// previous turn. No state of the file is lost.
func TestBackToBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"mine": "one"})
	for i := range 40 {
		b.turn(fmt.Sprint("Turn ", i), func() {
			b.edit("mine", fmt.Sprint("text ", i))
			b.shell("echo more >> mine")
			_, _ = b.Files.Read(t.Context(), "mine")
		})
	}
	b.restore("Turn 20", "mine")
	if text, err := os.ReadFile(b.path("mine")); err != nil || string(text) != "text 19more\n" {
		t.Errorf("mine is %q, %v", text, err)
	}
}
