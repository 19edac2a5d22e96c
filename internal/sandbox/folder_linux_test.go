package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A command reads and changes no folder that was made for a command of another session.
func TestFoldersOfOneCommand(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) { foldersOfOneCommand(t, m, false) })
		t.Run(m.letter(WorkspaceWrite)+", long home", func(t *testing.T) { foldersOfOneCommand(t, m, true) })
	}
}

func foldersOfOneCommand(t *testing.T, m Mechanism, long bool) {
	t.Parallel()
	v := newVictim(t, m, WorkspaceWrite, true)
	sockets := v.box.sockets
	runtime := filepath.Join(v.base, "r")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	environ := append(slices.Clone(v.box.cfg.Environ), "XDG_RUNTIME_DIR="+runtime)
	want := filepath.Join(v.base, "h", "run")
	v.hermes = filepath.Join(v.base, "h")
	if long { // its path has no room for a socket
		v.hermes, want = filepath.Join(v.base, strings.Repeat("h", longestRun)), filepath.Join(runtime, "hermes-ls")
	}
	v.box = New(Config{Mode: WorkspaceWrite, Network: true, Roots: v.box.cfg.Roots, Home: v.home, HermesHome: v.hermes, Environ: environ, Mechanism: &m})
	v.box.sockets = sockets
	t.Cleanup(v.box.Close)
	other := New(Config{
		Mode: WorkspaceWrite, Network: true, Roots: func() []string { return []string{v.out} }, Home: v.home, HermesHome: v.hermes, Environ: environ, Mechanism: &m,
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
	if m.Kind == Landlock && !strings.HasPrefix(dir.Path(), want) {
		t.Errorf("it is %s", dir.Path())
	}
}
