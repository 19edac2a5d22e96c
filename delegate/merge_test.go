package delegate_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// TestWorktreeMergesWhatIsNoText merges modes, links, odd names, and files now ignored by git.
// The rest is reported and kept.
func TestWorktreeMergesWhatIsNoText(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "parent")
	b := newBed(t, map[string][][]step{
		"parent": {call("delegate_task", isolated("Change everything")), say("ok")},
		"Change e": {
			run(`printf '#!/bin/sh\n' > tool.sh; chmod +x tool.sh run.sh; chmod -x was.sh; echo more >> both.sh; chmod +x both.sh`),
			run(`ln -s a.txt new-link; ln -sfn b.txt link; rm gone-link; rm file-link; echo text > file-link; rm turned.txt; ln -s a.txt turned.txt`),
			run(`ln -s "$PWD/b.txt" whole; ln -s /etc/passwd away; ln -s b.txt taken`),
			run(`printf x > "$(printf 'two\nlines')"; printf q > '"quoted"'; echo '*.log' >> .gitignore; echo out > build.log; mkdir cache; echo c > cache/ignored; echo no > ignored`),
			run(`git init -q inner; echo i > inner/file; git add -A . 2>/dev/null; git rm -q --cached keep.log; git -c user.name=x -c user.email=x@example.org commit -qm mine`),
			say("Done."),
		},
	}, func(b *bed) { b.output, b.asker = kept, &asker{answer: tools.DecisionOnce} })
	for name, text := range map[string]string{"run.sh": "r\n", "was.sh": "w\n", "both.sh": "b\n", "turned.txt": "t\n", "keep.log": "k\n"} {
		b.write(name, text)
	}
	if err := os.Chmod(filepath.Join(b.dir, "was.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "a.txt", "gone-link": "a.txt", "file-link": "a.txt"} {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.repository()
	b.sink.also = func(e agent.Event) { // the user continues to work
		if started, ok := e.(agent.ChildEvent); ok {
			if called, ok := started.Event.(agent.CallStarted); ok && strings.Contains(called.Title, "taken") {
				b.write("taken", "the user's\n")
			}
		}
	}
	b.prompt("parent")
	a := b.answer()
	if len(a.Results) != 1 || a.Results[0].Changes == nil {
		t.Fatal(a.text)
	}
	m := a.Results[0].Changes
	for name, want := range map[string]string{
		"tool.sh": "#!/bin/sh\n x", "run.sh": "r\n x", "was.sh": "w\n", "both.sh": "b\nmore\n x",
		"new-link": "-> a.txt", "link": "-> b.txt", "gone-link": "", "file-link": "text\n", "turned.txt": "-> a.txt", "whole": "-> " + filepath.Join(b.top(), "b.txt"),
		"away": "", "taken": "the user's\n", "two\nlines": "x", `"quoted"`: "q", "keep.log": "k\n", "build.log": "", "ignored": "", "inner": "",
	} {
		if got := b.state(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	reasons := map[string]worktree.Conflict{}
	for _, c := range m.Conflicts {
		reasons[c.Path] = c
	}
	for path, want := range map[string]string{"away": "out of the workspace", "taken": "meanwhile", "inner": "repository of its own"} {
		if c := reasons[path]; !strings.Contains(c.Reason, want) {
			t.Errorf("%s: %+v, want %q", path, c, want)
		}
	}
	if len(m.Conflicts) != 3 {
		t.Errorf("conflicts: %+v", m.Conflicts)
	}
	if text, err := os.ReadFile(filepath.Join(kept, "worktree-"+a.Results[0].Session, "inner", "file")); string(text) != "i\n" {
		t.Errorf("the inner repository is kept as %q, %v", text, err)
	}
	if !slices.Contains(m.Ignored, "build.log") || !slices.Contains(m.Ignored, "ignored") || slices.Contains(m.Ignored, "keep.log") {
		t.Errorf("not brought back: %q", m.Ignored)
	}
	if m.Commit == "" || !strings.Contains(b.git("log", "-1", "--format=%s", m.Commit), "mine") {
		t.Errorf("commit %q", m.Commit)
	}
	b.checkGone()
}

func (b *bed) top() string { return b.files.Folders()[0] }

// state describes a file of the user: its text with its mode, or the target of the link.
func (b *bed) state(name string) string {
	path := filepath.Join(b.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, _ := os.Readlink(path)
		return "-> " + target
	}
	if info.IsDir() {
		return "a folder"
	}
	if info.Mode()&0o100 != 0 {
		return b.read(name) + " x"
	}
	return b.read(name)
}

// silent is an editor that does not list its open documents.
type silent map[string]string

func (s silent) Get(_ context.Context, path string) (workspace.Document, bool, error) {
	text, ok := s[filepath.Base(path)]
	return workspace.Document{Path: path, Text: []byte(text)}, ok, nil
}

func (s silent) Replace(_ context.Context, doc workspace.Document, text []byte) error {
	s[filepath.Base(doc.Path)] = string(text)
	return nil
}

func (silent) Paths() []string { return nil }

func (silent) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }

// TestWorktreeOfASilentEditor checks an editor that does not list its open documents. The
// server asks it for files read before, files changed in git, and files named in the task. The
// result reports this.
func TestWorktreeOfASilentEditor(t *testing.T) {
	t.Parallel()
	editor := silent{"a.txt": "one\nunsaved\n", "b.txt": "b unsaved\n", "c.txt": "c unsaved\n", "d.txt": "d unsaved\n"}
	b := newBed(t, map[string][][]step{
		"parent":   {call("read_file", object{"path": "b.txt"}), call("delegate_task", isolated("Look around, in `./c.txt`.")), say("ok")},
		"Look aro": {run("cat a.txt b.txt c.txt d.txt; echo two >> a.txt"), say("Done.")},
	}, func(b *bed) { b.docs = editor })
	b.write("c.txt", "c\n")
	b.write("d.txt", "d\n")
	b.repository()
	b.write("a.txt", "one\nchanged\n")
	b.prompt("parent")
	a := b.answer()
	if saw := b.log(a.Results[0].Session)[2].Text(); !strings.Contains(saw, `one\nunsaved\nb unsaved\nc unsaved\nd\n`) {
		t.Errorf("the copy was %s", saw)
	}
	if m := a.Results[0].Changes; !strings.Contains(m.Note, "does not tell what it has open") || strings.Join(m.Applied, " ") != "a.txt" {
		t.Errorf("%+v", m)
	}
	if got := editor["a.txt"]; got != "one\nunsaved\ntwo\n" {
		t.Errorf("the editor has %q", got)
	}
}
