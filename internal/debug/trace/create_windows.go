package trace

import "io/fs"

const noFollow = 0

func ownAlone(fs.FileInfo) bool { return true }
