//go:build unix

package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

// Commands find the programs that the profile of the user's shell would add to PATH, after the
// editor's.
func TestToolsOfTheUserAreFound(t *testing.T) {
	home := t.TempDir()
	for _, program := range []string{".cargo/bin/rusty", ".local/bin/piped", ".nvm/versions/node/v9.1.0/bin/noded", ".nvm/versions/node/v20.3.0/bin/noded", ".local/bin/ls"} {
		path := filepath.Join(home, program)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+program+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", "/usr/bin:/bin")
	s := New(t.TempDir(), nil)
	if got, _ := do(t, s, "rusty; piped; noded; ls -d /"); got != ".cargo/bin/rusty\n.local/bin/piped\n.nvm/versions/node/v20.3.0/bin/noded\n/\n" {
		t.Errorf("it printed %q", got)
	}
	if err := os.MkdirAll(filepath.Join(home, ".nvm/alias"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".nvm/alias/default"), []byte("9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(userpath.ToolFolders([]string{"HOME=" + home, "PATH=/usr/bin:" + home + "/.cargo/bin"}), " "); !strings.Contains(got, "v9.1.0/bin") || strings.Contains(got, ".cargo") {
		t.Errorf("missing: %s", got)
	}
}
