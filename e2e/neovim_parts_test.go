//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNeovimParts runs the tests of the plugin's parts, in Lua, in each version of Neovim.
func TestNeovimParts(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"nvim-0.10", "nvim-0.12"} {
		cmd := exec.CommandContext(t.Context(), host(t, version), "-u", "NONE", "-i", "NONE", "--headless", "-l", filepath.Join(root(t), "nvim", "tests", "run.lua"))
		cmd.Env = newBed(t, nil).environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}
