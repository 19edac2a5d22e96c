package gitguard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Bounds of the copies of a Guard. Denied files beyond them are only moved aside.
const (
	copyLimit   = 256 << 10 // bytes of a file
	copiesLimit = 32 << 20  // bytes of all files
	copyFolders = 500       // folders
	copyFiles   = 500       // files of a folder
)

// copies are files by their marks, to restore files changed by a command. They are in memory:
// reviewed files are few and small, and a mark reads them in any case.
type copies struct {
	mu      sync.Mutex
	files   map[string]content
	folders map[folder][]copied
	size    int
}

// content is a file or a link.
type content struct {
	mode fs.FileMode
	text []byte
	link string
	mark string // of the link
}

// folder is one as it was. Another one may have the same mark.
type folder struct{ path, mark string }

// copied is a file of a folder.
type copied struct{ path, mark string }

func (c *copies) add(mark string, one content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.files[mark]; known || c.size+len(one.text) > copiesLimit {
		return
	}
	if c.files == nil {
		c.files = map[string]content{}
	}
	c.files[mark] = one
	c.size += len(one.text) + len(mark)
}

func (c *copies) file(mark string, mode fs.FileMode, text []byte) {
	if len(text) <= copyLimit {
		c.add(mark, content{mode: mode, text: text})
	}
}

func (c *copies) link(mark, target string) {
	c.add(mark, content{mode: fs.ModeSymlink, link: target, mark: mark})
}

func (c *copies) folder(path, mark string, list []copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := folder{path, mark}
	if _, known := c.folders[at]; known || len(list) > copyFiles || len(c.folders) >= copyFolders {
		return
	}
	if c.folders == nil {
		c.folders = map[folder][]copied{}
	}
	c.folders[at] = list
}

// of returns the files of a path with a mark. If a file is unknown, or is a link in a folder, it
// returns nil: a folder is restored as a whole or not at all, and link targets may have changed.
func (c *copies) of(path, mark string) map[string]content {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, isFolder := c.folders[folder{path, mark}]
	if !isFolder {
		list = []copied{{path, mark}}
	}
	all := map[string]content{}
	for _, f := range list {
		one, known := c.files[f.mark]
		if !known || isFolder && one.link != "" {
			return nil
		}
		all[f.path] = one
	}
	return all
}

// text returns the text of a file with a mark.
func (c *copies) text(mark string) (text []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, ok := c.files[mark]
	return one.text, ok && one.link == ""
}

// restoring writes a missing file, with its content from the input, or a link. Its arguments are a
// folder, the file's path in it, its mode, and the target of the link.
const restoring = `set -eC
cd -P -- "$1"
[ "$PWD" = "$1" ]
case $2 in */*) mkdir -p -- "./${2%/*}" ;; esac
if [ "$4" ]; then
	[ ! -e "./$2" ]
	ln -s -- "$4" "./$2"
else
	umask 077
	cat >"./$2"
	chmod "$3" -- "./$2"
fi`

// restore restores the files of a denied change to their state before the command.
func (g *Guard) restore(ctx context.Context, c Change) error {
	var failed []error
	for key, before := range c.before {
		kind, path, name := parts(key)
		if kind == settingItem && name != "" || kind == todoItem || kind == cutItem || kind == pointerItem {
			continue
		}
		dir := filepath.Dir(path)
		for file, one := range g.copies.of(path, before) {
			rel, err := filepath.Rel(dir, file)
			if err != nil || one.link != "" && !g.leadsAsBefore(file, one) {
				continue // the link's target has changed
			}
			mode := fmt.Sprintf("%o", one.mode.Perm())
			if _, err := g.cfg.Inside(ctx, restoring, one.text, []string{dir}, dir, rel, mode, one.link); err != nil {
				failed = append(failed, fmt.Errorf("%s was moved aside and could not be restored: %w", file, err))
			}
		}
	}
	return errors.Join(failed...)
}

// leadsAsBefore reports whether a restored link would lead to a file with the same content as
// before.
func (g *Guard) leadsAsBefore(file string, one content) bool {
	target := one.link
	if one.mark == onlyLink+target {
		return true // only the link was reviewed here
	}
	if !filepath.IsAbs(target) {
		target = filepath.Dir(file) + "/" + target // not cleaned: there may be links before ".."
	}
	info, err := os.Stat(target)
	return (err != nil || !info.IsDir()) && one.mark == "link "+one.link+" "+g.markTarget(target)
}
