package checkpoint

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// A repository's objects may go while a turn needs them: by git gc, or with all of
// .git. So what a tree needs of them gets a second name in a folder of our own, where
// both lie on one file system. That takes no room as long as the first one is there.

// pinGitObjects gives the objects that t takes from git second names, where that can be done.
// Objects that have been there for long are in packs, so there are few of them.
func (s *Store) pinGitObjects(t *tree) {
	needed := make([]map[[20]byte]bool, len(t.repos))
	for i := range needed {
		needed[i] = map[[20]byte]bool{}
	}
	for _, e := range t.entries {
		if e.repo > 0 && !e.kept {
			needed[e.repo-1][e.git] = true
		}
	}
	for i, r := range t.repos {
		dir, err := s.git.folder(r.Objects)
		if err != nil || len(needed[i]) == 0 {
			continue // what goes is lost then
		}
		from, err := safefile.OpenFolder(filepath.Dir(r.Objects))
		if err != nil {
			continue
		}
		holdIn(from, filepath.Join(dir, "objects"), needed[i])
		_ = from.Close() // only read
	}
}

// holdIn gives objects in the folder common of a repository second names below own.
func holdIn(common *safefile.Folder, own string, needed map[[20]byte]bool) {
	to, err := safefile.OpenFolder(own)
	if err != nil {
		return
	}
	defer to.Close()
	if second(common, to, "pack", isPack) != nil {
		return // on another file system
	}
	folders, _ := common.ReadDir("objects", mostNames)
	for _, f := range folders {
		if len(f.Name()) != 2 {
			continue
		}
		_ = second(common, to, f.Name(), func(name string) bool {
			var id [20]byte
			n, err := hex.Decode(id[:], []byte(f.Name()+name))
			return err == nil && n == len(id) && needed[id]
		})
	}
}

// mostNames is how many objects or packs a folder of git may have to be looked at.
const mostNames = 1_000_000

func isPack(name string) bool {
	return strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx")
}

// second gives the files of a folder of objects that are wanted a second name in the
// folder of the same name below to. What has one is left alone; the first failure is the
// last try.
func second(common, to *safefile.Folder, name string, wanted func(name string) bool) error {
	from := filepath.Join("objects", name)
	entries, err := common.ReadDir(from, mostNames)
	if err != nil {
		return nil // there are none
	}
	if err := to.MkdirAll(name, 0o700); err != nil {
		return err
	}
	have, err := to.ReadDir(name, mostNames)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range have {
		there[e.Name()] = true
	}
	for _, e := range entries {
		if there[e.Name()] || !e.Type().IsRegular() || len(e.Name()) > 80 || !wanted(e.Name()) {
			continue
		}
		err := common.Link(filepath.Join(from, e.Name()), to, filepath.Join(name, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unpinGitObjects takes second names away again from what has no first one any more, and from
// all packs, so that a git gc gives room back.
func (s *Store) unpinGitObjects(t *tree) {
	for _, r := range t.repos {
		if dir, err := s.git.folder(r.Objects); err == nil {
			letGoOf(filepath.Join(dir, "objects"), r.Objects)
		}
	}
}

func letGoOf(own, objects string) {
	folders, _ := os.ReadDir(own)
	for _, f := range folders {
		if f.Name() == "info" {
			continue
		}
		names, _ := os.ReadDir(filepath.Join(own, f.Name()))
		for _, e := range names {
			_, err := os.Lstat(filepath.Join(objects, f.Name(), e.Name()))
			if os.IsNotExist(err) || isPack(e.Name()) {
				_ = os.Remove(filepath.Join(own, f.Name(), e.Name())) // taken away by the next one
			}
		}
	}
}
