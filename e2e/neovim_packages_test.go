//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// The plugin is loaded as plugin managers load it, at once and by its command, with the
// configuration from the documentation.
func TestNeovimPackages(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"packadd", "lazy", "start", "rtp", "on"} {
		for _, version := range []string{"0.10", "0.12"} {
			t.Run(way+" "+version, func(t *testing.T) {
				t.Parallel()
				b := newBed(t, shopFiles)
				write(t, filepath.Join(b.workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
				packs := filepath.Join(b.home, "xdg", "nvim", "site", "pack", "any", "opt")
				if err := os.MkdirAll(packs, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(root(t), "nvim"), filepath.Join(packs, "hermes")); err != nil {
					t.Fatal(err)
				}
				b.run(t, host(t, "nvim-"+version), "--headless", "-u", "NONE", "-i", "NONE", "-n",
					"-c", "let g:way = '"+way+"'", "-c", "luafile "+filepath.Join(root(t), "e2e", "neovim", "packages.lua"))
			})
		}
	}
}
