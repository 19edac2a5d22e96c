//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/contain"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestMain runs the tests so that no editor, browser or server outlives them, also if they are killed.
// Some editors kill their server; the next server removes its folders.
func TestMain(m *testing.M) { os.Exit(contain.Tests(m, scratch.Sweep, sweepOthers)) }

// othersFolders are temporary folders that other programs never remove: Neovim's, pyright's and those of
// the language server for TypeScript.
var othersFolders = regexp.MustCompile(`^(nvim\.\w+|pyright-\S+|[0-9a-f]{32})$`)

func sweepOthers() {
	dirs := []string{os.TempDir()}
	if testneed.Base("") != "" { // /tmp is a folder of this run
		dirs = append(dirs, "/tmp")
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if othersFolders.MatchString(e.Name()) {
				os.RemoveAll(filepath.Join(dir, e.Name())) //nolint:errcheck // the list of leftovers tells
			}
		}
	}
}
