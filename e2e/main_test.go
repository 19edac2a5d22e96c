//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/contain"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestMain runs the tests so no editor, browser or server outlives them, even after a kill. Some
// editors kill their server; the next server removes its folders.
func TestMain(m *testing.M) { os.Exit(contain.Tests(m, scratch.Sweep, sweepOthers)) }

// ours are the names of temporary files of the tests and of hermes-ls. Other programs leave theirs when
// they are ended, such as Neovim, Emacs' compiler and pyright: these are removed with the folder.
var ours = regexp.MustCompile(`^(hermes|Test|vs-)`)

func sweepOthers() {
	sweep(os.TempDir(), func(name string) bool { return !ours.MatchString(name) || unlocked(name) })
	if testneed.Base("") != "" { // /tmp is a folder of this run; a language server does not get our TMPDIR
		sweep("/tmp", func(name string) bool { return strings.HasPrefix(name, "pyright-") })
	}
}

// unlocked reports whether a folder's server was killed before it locked the folder. If another
// process has got the server's id, the next server removes the folder only when it is a minute old.
func unlocked(name string) bool {
	_, err := os.Lstat(filepath.Join(os.TempDir(), name, "lock"))
	return strings.HasPrefix(name, "hermes-ls-") && os.IsNotExist(err)
}

// sweep removes the entries of a folder with such names.
func sweep(dir string, remove func(name string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if remove(e.Name()) {
			os.RemoveAll(filepath.Join(dir, e.Name())) // the list of leftovers reports it
		}
	}
}
