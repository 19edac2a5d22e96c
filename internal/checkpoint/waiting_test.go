package checkpoint

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// waits returns the waiting changes as read by another process: "TITLE: FILES" for each checkpoint.
func (b *bench) waits() (lines []string) {
	b.t.Helper()
	for _, w := range b.waiting() {
		var names []string
		for _, path := range w.Files {
			names = append(names, b.Files.Name(path))
		}
		lines = append(lines, w.Title+": "+strings.Join(names, " "))
	}
	return lines
}

func (b *bench) waiting() []Waiting {
	b.t.Helper()
	ws, err := workspace.Open([]string{b.dir}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer ws.Close()
	if err := b.waitWritten(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	other := New("unused")
	other.dir = b.store.dir
	all, err := other.Waiting(b.t.Context(), Config{Files: ws, Limits: b.Limits})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// accept accepts files of the checkpoint with a title; none: all.
func (b *bench) accept(title string, names ...string) {
	b.t.Helper()
	all := b.waiting()
	i := slices.IndexFunc(all, func(w Waiting) bool { return w.Title == title })
	if i < 0 {
		b.t.Fatalf("nothing of %q waits: %v", title, all)
	}
	for j, name := range names {
		names[j] = b.path(name)
	}
	if _, err := b.store.Accept(all[i].Session, all[i].ID, names); err != nil {
		b.t.Fatal(err)
	}
}

// In a renamed folder, accepted changes do not wait again, and the others still wait.
func TestChangesWaitInARenamedFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "1", "b": "1"})
	b.turn("one", func() { b.shell("echo 2 > a; echo 2 > b") })
	b.accept("one", "a")
	old := b.dir
	next := old + "-renamed"
	if err := os.Rename(old, next); err != nil {
		t.Fatal(err)
	}
	b.dir = next
	if _, err := b.store.Move([]string{"session"}, folderpath.Move{Old: old, New: next}); err != nil {
		t.Fatal(err)
	}
	if all := b.waiting(); len(all) != 1 || !slices.Equal(all[0].Files, []string{b.path("b")}) {
		t.Errorf("%+v waits", all)
	}
}

// A change waits until the user accepts or reverts it, in whichever session and process.
func TestChangesWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "1", "b": "1"})
	step := func(what string, want ...string) {
		t.Helper()
		if got := b.waits(); !slices.Equal(got, want) {
			t.Errorf("%s: %q waits, want %q", what, got, want)
		}
	}
	edit := func(title string, files ...string) {
		b.turn(title, func() {
			for i := 0; i < len(files); i += 2 {
				_, _ = b.Files.Read(t.Context(), files[i]) // a write requires that
				b.edit(files[i], files[i+1])
			}
		})
	}
	step("nothing was done")
	edit("one", "a", "2", "b", "2", "new", "x")
	edit("two", "a", "3")
	step("two turns", "two: a", "one: a b new")
	b.accept("one", "b")
	step("a file accepted", "two: a", "one: a new")
	b.restore("two", "a")
	step("a turn reverted", "one: a new")
	undo := b.list()[0].Title
	b.restore(undo)
	step("the revert reverted", "two: a", "one: a new")
	b.restore("one", "a")
	step("an earlier turn reverted", "one: new")
	b.write("new", "mine")
	step("changed by the user", "one: new")
	b.sh("rm new")
	step("reverted by hand")
	b.open("other")
	edit("three", "b", "3")
	b.turn("command", func() { b.shell("echo by a command > c") })
	b.sh("echo by the user > d")
	step("of another session", "command: c", "three: b")
	b.Begin("four")
	edit4 := func(text string) {
		_, _ = b.Files.Read(t.Context(), "b") // a write requires that
		b.edit("b", text)
	}
	edit4("4")
	step("during a turn", "four: b", "command: c", "three: b")
	b.accept("four")
	b.accept("three")
	step("accepted during the turn", "command: c")
	edit4("5")
	b.End()
	step("changed again after that", "four: b", "command: c")
	b.accept("command")
	b.accept("four", "b")
	step("all accepted")
}
