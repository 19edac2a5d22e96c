package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A tool, commands and the user add lines to the same file in any order. The user saves while a
// command runs, or changes the file while none does. A restore removes all lines of the session and
// none of the user, unless it leaves the file as it is, or cannot distinguish them.
func TestEachLineHasAnOwner(t *testing.T) {
	t.Parallel()
	if !stampsTell {
		t.Skip("this system does not tell when a file was changed")
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, home: tempDir(rt)}
		defer os.RemoveAll(w.home)
		for i := range w.roots {
			w.roots[i] = tempDir(rt)
			defer os.RemoveAll(w.roots[i])
		}
		path := filepath.Join(w.roots[0], "f")
		lines := []string{"o1", "o2", "o3", "o4", "o5", "o6"}
		text := func() []byte { return []byte(strings.Join(lines, "\n") + "\n") }
		must(0, os.WriteFile(path, text(), 0o644))
		pastTick()
		w.open()
		defer func() { w.close() }()
		n, users, commands, mixed := 0, false, false, false
		insert := func(owner string) {
			n++
			lines = slices.Insert(slices.Clone(lines), rapid.IntRange(0, len(lines)).Draw(rt, "at"), fmt.Sprint(owner, n))
		}
		write := func() { must(0, os.WriteFile(path, text(), 0o644)) }
		w.keeper.Begin("turn")
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"tool", "command", "user", "both"}).Draw(rt, "step") {
			case "tool":
				_ = must(w.files.Read(rt.Context(), path))
				insert("agent")
				mixed = mixed || users && commands // earlier lines of a command are not distinguished from the user's
				_ = must(w.files.Write(rt.Context(), path, text()))
			case "command":
				commands = true
				done := w.keeper.BeginCommand(rt.Context())
				insert("agent")
				write()
				done()
			case "user": // an approval is open, or a hook runs
				pastTick()
				if s := w.keeper.snapshot; s != nil { // the scan after a command has ended
					s.scanning <- struct{}{}
					<-s.scanning
				}
				base := text()
				insert("user")
				users = true
				write()
				if rapid.Bool().Draw(rt, "told") { // else another program writes, or an editor that does not report saves
					w.keeper.Saved(Saved{path, base, text()})
				}
				pastTick()
			case "both":
				commands = true
				done := w.keeper.BeginCommand(rt.Context())
				if rapid.Bool().Draw(rt, "changes") {
					insert("agent")
					write()
				}
				base := text() // the editor has read it again
				insert("user")
				users = true
				write()
				w.keeper.Saved(Saved{path, base, text()})
				done()
			}
		}
		w.keeper.End()
		w.settle()
		var out Outcome
		if list := must(w.keeper.List(rt.Context())); len(list) > 0 {
			out = must(w.keeper.Restore(rt.Context(), list[0].ID, Choice{}))
		}
		left := slices.ContainsFunc(out.Kept, func(k Kept) bool { return k.Others })
		now := string(must(os.ReadFile(path)))
		if left && now != string(text()) {
			rt.Fatalf("a file that is left as it is is\n%swant\n%s", now, text())
		}
		for _, line := range lines {
			there, agents := strings.Contains(now, line+"\n"), strings.HasPrefix(line, "agent")
			if !there && !agents || there && agents && !left && !mixed {
				rt.Fatalf("%s: there is %v; restored %v, kept %v; it was\n%sand is\n%s", line, there, out.Restored, out.Kept, text(), now)
			}
		}
	})
}
