package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command reads and changes no folder that was made for a command of another session.
func TestFoldersOfOneCommand(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			sockets := v.box.sockets
			v.hermes = filepath.Join(v.base, "h") // a longer path has no room for a socket
			v.box = New(Config{Mode: WorkspaceWrite, Network: true, Roots: v.box.cfg.Roots, Home: v.home, HermesHome: v.hermes, Environ: v.box.cfg.Environ, Mechanism: &m})
			v.box.sockets = sockets
			t.Cleanup(v.box.Close)
			other := New(Config{
				Mode: WorkspaceWrite, Network: true, Roots: func() []string { return []string{v.out} }, Home: v.home, HermesHome: v.hermes, Environ: v.box.cfg.Environ, Mechanism: &m,
			})
			other.sockets = sockets
			t.Cleanup(other.Close)
			dir, err := Private{other, "exec"}.Make(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(dir.Remove)
			script := dir.Path("script.py")
			if err := os.WriteFile(script, []byte(canary), 0o600); err != nil {
				t.Fatal(err)
			}
			v.run("cat " + script + " > got; echo hostile > " + script + "; echo hostile > " + dir.Path("new") + "; rm -rf " + dir.Path())
			if text, err := os.ReadFile(script); err != nil || string(text) != canary || v.has("ws/got", canary) {
				t.Errorf("%s: %q, %v; read: %v", script, text, err, v.has("ws/got", canary))
			}
			if _, err := os.Lstat(dir.Path("new")); err == nil {
				t.Error("a file was made in it")
			}
			if m.Kind == Landlock && !strings.HasPrefix(dir.Path(), filepath.Join(v.hermes, "run")) {
				t.Errorf("it is %s", dir.Path())
			}
		})
	}
}
