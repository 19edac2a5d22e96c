//go:build !linux && !darwin

package checkpoint

import "io/fs"

// stampOf returns the stamp of a file. Here, only the modification time shows a change, and a
// program can set it back.
func stampOf(info fs.FileInfo) stamp {
	modified := info.ModTime().UnixNano()
	return stamp{Size: info.Size(), Modified: modified, Changed: modified, Mode: uint32(info.Mode())}
}

// stampsTell: a program can set back the change time in a stamp.
const stampsTell = false
