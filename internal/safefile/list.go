package safefile

import (
	"io/fs"
	"os"
)

// Folders returns the file system below root for functions that list directories, such as
// [fs.WalkDir] and [fs.Glob]. Unlike os.Root.FS, it never waits for a named pipe put in the place
// of a directory. It opens no files, and describes a link and not its target.
func Folders(root *os.Root) fs.FS { return folders{root} }

type folders struct{ root *os.Root }

func (f folders) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

func (f folders) Stat(name string) (fs.FileInfo, error) { return f.root.Lstat(name) }

func (f folders) ReadDir(name string) ([]fs.DirEntry, error) {
	sub, err := OpenRootIn(f.root, name)
	if err != nil {
		return nil, err
	}
	defer sub.Close() // only read
	return fs.ReadDir(sub.FS(), ".")
}
