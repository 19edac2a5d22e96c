package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A server is killed while a command runs. Sessions with other folders of the same files review
// what the command changed in them, once, and nothing else. The rest is left for the session that
// has it.
func TestKilledInOtherFolders(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		for _, c := range []struct {
			name        string
			dead, other []string // folders below the base
			first, then string   // what the other session reviews; what a session of the dead one's folders reviews after it
		}{
			{"a folder below", []string{"ws"}, []string{"ws/sub"}, "ws/sub/n/.git/config", "ws/deep/.idea"},
			{"the folder above", []string{"ws/sub"}, []string{"ws"}, "ws/sub/n/.git/config", ""},
			{"one more folder", []string{"ws"}, []string{"ws", "more"}, "ws/deep/.idea ws/sub/n/.git/config", ""},
			{"another folder", []string{"ws"}, []string{"more"}, "", "ws/deep/.idea ws/sub/n/.git/config"},
		} {
			t.Run(string(m.Kind)+", "+c.name, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, true)
				for _, name := range []string{"ws/sub/.vscode/tasks.json", "ws/.idea/x", "more/.vscode/tasks.json", "ws/AGENTS.md", "ws/sub/AGENTS.md", "ws/deep/x"} {
					v.write(name, "mine\n")
				}
				in := func(names []string) *Box {
					roots := func() (all []string) {
						for _, name := range names {
							all = append(all, filepath.Join(v.base, name))
						}
						return all
					}
					box := New(Config{
						Mode: WorkspaceWrite, Network: true, Roots: roots, Home: v.home, HermesHome: v.hermes, Environ: v.box.cfg.Environ, Mechanism: &m,
					})
					box.sockets = v.box.sockets
					t.Cleanup(box.Close)
					return box
				}
				dead := in(c.dead)
				watching(dead)
				v.write("ws/sub/n/.git/HEAD", "ref: refs/heads/main\n")
				v.write("ws/sub/n/.git/config", "[core]\n\tfsmonitor = touch pwned\n")
				for _, name := range []string{"objects", "refs"} {
					if err := os.MkdirAll(filepath.Join(v.base, "ws/sub/n/.git", name), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if c.dead[0] == "ws" {
					v.write("ws/deep/.idea/x", "hostile\n")
				}
				dead.places.Abandon()
				review := func(names []string) string {
					box := in(names)
					w := watching(box)
					changes, done := w.Changes()
					var paths []string
					for _, change := range changes {
						path := strings.TrimPrefix(change.Path, v.base+"/")
						if path == "ws/sub/n/.git" || path == "ws/sub/n" {
							path = "ws/sub/n/.git/config"
						}
						paths = append(paths, path)
					}
					w.Keep(changes)
					done()
					w.End()
					box.Close()
					slices.Sort(paths)
					return strings.Join(slices.Compact(paths), " ")
				}
				if got := review(c.other); got != c.first {
					t.Errorf("the other session reviews %q, want %q", got, c.first)
				}
				if got := review(c.other); got != "" {
					t.Errorf("it reviews %q again", got)
				}
				if got := review(c.dead); got != c.then {
					t.Errorf("the next session of the dead one's folders reviews %q, want %q", got, c.then)
				}
				if left, _ := filepath.Glob(filepath.Join(v.hermes, "sandbox", "*", "*")); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			})
		}
	}
}
