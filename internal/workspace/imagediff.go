package workspace

import (
	"fmt"
	"io/fs"
	"strings"
)

// ImageDiff is [UnifiedDiff] with git's words for modes, links, and files that are
// empty. A folder is nothing to it.
func ImageDiff(name string, old, next Image) string {
	from, to := old.gitMode(), next.gitMode()
	if from != 0 && to != 0 && from>>12 != to>>12 { // a link in the place of a file: two steps
		return ImageDiff(name, old, NoImage) + ImageDiff(name, NoImage, next)
	}
	if from != 0 && to != 0 && (old.Open || next.Open) { // of a mode, nothing is known
		from, to = max(from, to), max(from, to)
	}
	body := UnifiedDiff(name, old.Content(), next.Content())
	if body == "" && from == to {
		return ""
	}
	name = strings.TrimPrefix(name, "/")
	head := "diff --git " + headName("a/"+name) + " " + headName("b/"+name) + "\n"
	switch {
	case from == 0:
		head += fmt.Sprintf("new file mode %06o\n", to)
	case to == 0:
		head += fmt.Sprintf("deleted file mode %06o\n", from)
	case from != to:
		head += fmt.Sprintf("old mode %06o\nnew mode %06o\n", from, to)
	}
	return head + body
}

// gitMode is the mode as git has them; 0: nothing that git knows is there.
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

// Content is the text of a file, or where a link leads; nil where there is neither.
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
