package gitrepo

import "io/fs"

// ownerOf does not tell: git itself asks for it there.
func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
