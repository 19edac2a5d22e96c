package workspace

import (
	"context"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// MaxUpwards is how many directories above a path are looked into.
const MaxUpwards = 64

// Upward is a file in a directory above a path.
type Upward struct {
	Path string // the path, relative to the directory, with slashes
	Text []byte
}

// Upwards reads the files called name in the directory of path and its parents, up to the workspace
// folder, the nearest first. The path itself need not exist. A file is left out if it is longer
// than limit, leads out of the folder or cannot be read. Files are read from the disk, and count as
// not read by the model.
func (d *disk) Upwards(ctx context.Context, path, name string, limit int64) (found []Upward) {
	p, err := d.locate(path)
	if err != nil {
		return nil
	}
	dir := p.rel
	for n := 0; n < MaxUpwards && dir != "." && ctx.Err() == nil; n++ {
		dir = filepath.Dir(dir)
		text, err := safefile.ReadIn(p.folder.root, filepath.Join(dir, name), limit)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(dir, p.rel); err == nil {
			found = append(found, Upward{filepath.ToSlash(rel), text})
		}
	}
	return found
}
