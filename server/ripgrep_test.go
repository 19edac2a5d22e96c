//go:build linux

package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// rg finds only files of the workspace. It finds none behind a link into the home directory.
func TestRipgrepInSandbox(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "rg", "ripgrep")
	if m := sandbox.Detect(t.Context()); m.Kind == sandbox.None || m.Kind == sandbox.Unknown {
		t.Skip(m.Reason)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, home := filepath.Join(dir, "ws"), filepath.Join(dir, "home")
	for path, text := range map[string]string{root + "/a.txt": "a needle\n", home + "/.ssh/id_test": "a secret needle\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home+"/.ssh", root+"/keys"); err != nil {
		t.Fatal(err)
	}
	box := sandbox.New(sandbox.Config{Mode: sandbox.WorkspaceWrite, Home: home, HermesHome: filepath.Join(home, ".hermes"), Roots: func() []string { return []string{root} }})
	t.Cleanup(box.Close)
	run := ripgrep([]string{root}, box)
	if run == nil {
		t.Fatal("there is no rg")
	}
	for range 2 {
		var out bytes.Buffer
		exit, err := run(t.Context(), []string{"--no-config", "--follow", "--hidden", "needle", "."}, root, &out)
		if err != nil || !strings.Contains(out.String(), "a.txt") || strings.Contains(out.String(), "secret") {
			t.Errorf("exit code %d, %v: %s", exit, err, out.String())
		}
	}
}
