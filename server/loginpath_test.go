//go:build linux

package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server"
)

// The login shell reads the profile with all its includes, and can change nothing. An included file
// may lie in the workspace, where commands write.
func TestLoginShellIsBound(t *testing.T) {
	bash := testneed.Program(t, "bash", "")
	for mode, bound := range map[string]bool{"workspace-write": true, "read-only": true, "off": false} {
		t.Run(mode, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			for _, dir := range []string{"dotfiles", "mine/bin", ".nvm"} {
				if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range map[string]string{
				"dotfiles/sh": "PATH=$HOME/mine/bin:$PATH; echo > $HOME/changed;\n", ".nvm/nvm.sh": ". $HOME/dotfiles/sh\n", ".profile": ". ~/.nvm/nvm.sh\n",
			} {
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l := server.LoginPath([]string{"HOME=" + home, "PATH=/usr/bin:/bin", "SHELL=" + bash}, func() *config.Loaded {
				return server.SchemaOf(nil).Load(filepath.Join(home, ".hermes"), config.Options{Init: json.RawMessage(`{"sandbox": {"mode": "` + mode + `"}}`)})
			})
			defer l.Close()
			path, _ := l.Path(t.Context())
			if !slices.Contains(filepath.SplitList(path), filepath.Join(home, "mine/bin")) {
				t.Errorf("PATH is %q: %s", path, l.From())
			}
			if _, err := os.Stat(filepath.Join(home, "changed")); (err != nil) != bound {
				t.Errorf("the profile has written: %v", err == nil)
			}
		})
	}
}
