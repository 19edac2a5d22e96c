//go:build !linux && !darwin

package checkpoint

import (
	"io/fs"
	"time"
)

// stampOf is what the file system says of a file. That it was changed is told by
// its time of modification here, which a program could set back.
func stampOf(info fs.FileInfo) stamp {
	modified := info.ModTime().UnixNano()
	return stamp{Size: info.Size(), Modified: modified, Changed: modified, Mode: uint32(info.Mode())}
}

// stampsTell: a program can set back what a stamp says of the time of a change.
const stampsTell = false

// now is the time.
func now() int64 { return time.Now().UnixNano() }

// stampNow is the clock that files are stamped by.
func stampNow() int64 { return now() }
