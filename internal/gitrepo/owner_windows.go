package gitrepo

import "io/fs"

// ownerOf is unsupported here: git itself checks the owner.
func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
