package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// notes is a [Log] in memory.
type notes struct{ all []Missed }

func (n *notes) LoadMissed() []Missed    { return n.all }
func (n *notes) SaveMissed(all []Missed) { n.all = all }

// TestMissed makes turns whose checkpoints cannot be written: their changes are known with the
// reason, in the next process, too, and a restore of an earlier checkpoint names them.
func TestMissed(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one\n", "b.txt": "one\n", "c.txt": "one\n"})
	kept := &notes{}
	b.Log = kept
	b.turn("first", func() { b.edit("a.txt", "two\n") })
	first := b.list()[0]
	began := time.Now()
	sessions := filepath.Join(b.store.dir, "sessions")
	if err := os.Rename(sessions, sessions+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sessions, nil, 0o600); err != nil { // a file is in the way
		t.Fatal(err)
	}
	b.turn("second", func() {
		b.edit("b.txt", "two\n")
		b.edit("b.txt", "three\n")
		b.edit("a.txt", "three\n")
	})
	b.turn("third", func() { b.shell("echo two > c.txt") })
	b.turn("talk", func() {})
	if err := os.Remove(sessions); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(sessions+".away", sessions); err != nil {
		t.Fatal(err)
	}
	b.turn("fourth", func() { b.edit("c.txt", "four\n") })
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.open("session") // as the next process does
	b.Log = kept
	missed := b.Missed(began, nil)
	if len(missed) != 2 || !slices.Equal(missed[0].Files, []string{b.path("b.txt"), b.path("a.txt")}) || missed[0].Commands || !missed[1].Commands || len(missed[1].Files) > 0 {
		t.Fatalf("missed: %+v", missed)
	}
	if !strings.Contains(missed[0].Why, "sessions") {
		t.Errorf("why: %q", missed[0].Why)
	}
	if missed[0].Title != "second" || missed[1].Title != "third" || missed[0].ID >= missed[1].ID {
		t.Errorf("the turns: %+v", missed)
	}
	if files, err := b.AcceptMissed(missed[0].ID); err != nil || !slices.Equal(files, missed[0].Files) {
		t.Errorf("accepted %q, %v", files, err)
	}
	if _, err := b.AcceptMissed(""); !errors.Is(err, ErrUnknown) {
		t.Errorf("accepting nothing: %v", err)
	}
	if !kept.all[0].Accepted || kept.all[1].Accepted || !b.store.MissedOf(b.Files.Folders())["session"][0].Accepted {
		t.Errorf("after one was accepted: %+v", kept.all)
	}
	if got := b.Missed(began, []string{b.path("b.txt")}); len(got) != 2 || len(got[0].Files) != 1 {
		t.Errorf("of one file: %+v", got)
	}
	out, err := b.Restore(t.Context(), first.ID, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, k := range out.Kept {
		why[filepath.Base(k.Path)] = k.Why
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if !strings.Contains(why[name], "no checkpoint has its change") {
			t.Errorf("%s is kept because %q", name, why[name])
		}
	}
	if len(out.Missed) != 2 || len(out.Kept) != 2 || !slices.Equal(out.Restored, []string{b.path("c.txt")}) {
		t.Errorf("the restore: %+v", out)
	}
}
