package workspace

import (
	"io"
	"io/fs"
	"os"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// walkedFolder is a folder that a walk has come to, held open.
type walkedFolder struct{ root *os.Root }

func openWalked(root *os.Root, _ string) (walkedFolder, error) {
	root, err := root.OpenRoot(".")
	return walkedFolder{root}, err
}

func (d walkedFolder) close() { _ = d.root.Close() }

func (d walkedFolder) entries() []fs.DirEntry { return readFolder(d.root) }

// sub opens a folder in d.
func (d walkedFolder) sub(name, _ string) (walkedFolder, error) {
	root, err := d.root.OpenRoot(name)
	return walkedFolder{root}, err
}

// open opens a regular file in d.
func (d walkedFolder) open(name string) (io.ReadCloser, error) {
	f, _, err := safefile.OpenSeen(d.root, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}
