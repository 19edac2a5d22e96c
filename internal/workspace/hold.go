package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// literal returns the place of a path without following links. The file tools follow links, because
// users have links. A restored path follows none: a command may have replaced a folder by a link to
// .git/hooks since.
func (s *scope) literal(path string) (place, error) {
	abs, err := s.absolute(path)
	if err != nil {
		return place{}, err
	}
	p, ok := s.within(abs)
	if !ok {
		return place{}, s.outside(path)
	}
	return p, nil
}

// hold opens the folder around p, without a link on the way, and returns p as a place in it:
// operations on the place stay in the folder, even if the path changes. If the folder is missing,
// the error is [fs.ErrNotExist]. close must follow.
func (p place) hold() (held place, err error) {
	if p.rel == "." {
		return p, &PathError{Path: p.abs(), Text: p.abs() + " is a folder of the workspace itself", Err: os.ErrInvalid}
	}
	dir, base := filepath.Dir(p.rel), filepath.Base(p.rel)
	strict, err := p.folder.strict.Sub(dir)
	if errors.Is(err, safefile.ErrLink) {
		return p, p.byLink()
	}
	if err != nil {
		return p, err
	}
	defer strict.Close()
	root, err := safefile.OpenRootIn(p.folder.root, dir)
	if err != nil {
		return p, err
	}
	if !strict.Is(root) {
		root.Close()
		return p, p.byLink()
	}
	return place{&folder{path: filepath.Join(p.folder.path, dir), given: filepath.Join(p.folder.given, dir), root: root}, base}, nil
}

func (p place) byLink() error {
	return &PathError{Path: p.abs(), Text: fmt.Sprintf("%s lies behind a link, which is not followed here", p.abs()), Err: ErrOutside}
}

// close closes the folder opened by hold.
func (p place) close() { p.folder.root.Close() }

// makeParent makes the missing folders above p, and holds p.
func (p place) makeParent() (held place, undo func(), err error) {
	gone := missingFolders(p)
	undo = func() {
		for i := len(gone) - 1; i >= 0; i-- {
			if p.folder.strict.Remove(gone[i]) != nil {
				return
			}
		}
	}
	if err := p.folder.strict.MkdirAll(filepath.Dir(p.rel), 0o755); err != nil {
		undo()
		return p, undo, err
	}
	if held, err = p.hold(); err != nil {
		undo()
	}
	return held, undo, err
}
