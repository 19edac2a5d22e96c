package workspace

import (
	"io/fs"

	"github.com/hermes-ls/hermes-ls/internal/diff"
)

// ImageDiff returns the change from old to next, like [diff.Git]. Folders have no diff.
func ImageDiff(name string, old, next Image) string {
	from, to := old.gitMode(), next.gitMode()
	if from != 0 && to != 0 && from>>12 == to>>12 && (old.Open || next.Open) { // the editor knows no mode
		from = max(from, to)
		to = from
	}
	return diff.Git(name, from, to, old.Content(), next.Content())
}

// gitMode returns the mode as recorded by git. If the image is neither a file nor a link, it
// returns 0.
func (i Image) gitMode() int {
	switch {
	case !i.There(), i.Mode.IsDir():
		return 0
	case i.Mode&fs.ModeSymlink != 0:
		return 0o120000
	case i.Mode.Perm()&0o100 != 0:
		return 0o100755
	}
	return 0o100644
}

// Content returns the text of a file, or the target of a link. If the image is of
// neither, it returns nil.
func (i Image) Content() []byte {
	switch {
	case i.gitMode() == 0:
		return nil
	case i.Mode&fs.ModeSymlink != 0:
		return []byte(i.Link)
	case i.Text == nil:
		return []byte{}
	}
	return i.Text
}
