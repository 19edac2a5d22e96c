package search

import (
	"io"
	"io/fs"
	"os"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// openDir is an open directory of a walk.
type openDir struct{ root *os.Root }

func openRootDir(root *os.Root, _ string) (openDir, error) {
	root, err := root.OpenRoot(".")
	return openDir{root}, err
}

func (d openDir) close() { _ = d.root.Close() }

func (d openDir) entries() []fs.DirEntry {
	f, err := d.root.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // after an error, the entries read so far
	return entries
}

// sub opens a directory in d.
func (d openDir) sub(name, _ string) (openDir, error) {
	root, err := d.root.OpenRoot(name)
	return openDir{root}, err
}

// open opens a regular file in d.
func (d openDir) open(name string) (io.ReadCloser, error) {
	f, _, err := safefile.OpenSeen(d.root, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}
