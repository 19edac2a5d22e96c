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

// Objects of a repository may disappear during a turn: git gc or a command may delete them. The
// store therefore creates hard links to a tree's objects, in its own folder on the same file
// system. They take no space while the originals exist.

// pinGitObjects creates hard links to the git objects of t, if possible. Older objects are in
// packs, so there are few links.
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
			continue // an object deleted by git is then lost
		}
		from, err := safefile.OpenFolder(filepath.Dir(r.Objects))
		if err != nil {
			continue
		}
		holdIn(from, filepath.Join(dir, "objects"), needed[i])
		_ = from.Close() // only read
	}
}

// holdIn creates hard links below own to the needed objects of the repository whose common
// folder is common.
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

// mostNames is the maximum number of names read from a folder of git.
const mostNames = 1_000_000

func isPack(name string) bool {
	return strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx")
}

// second creates hard links to the wanted files of the folder name of objects, in the folder with
// the same name in to. It skips linked files. It stops at the first failed link and returns the
// error, unless the file is gone or its link exists.
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

// unpinGitObjects removes the hard links to objects deleted from the repository, and the links to
// all packs, so a git gc frees space.
func (s *Store) unpinGitObjects(t *tree) {
	for _, r := range t.repos {
		if dir, err := s.git.folder(r.Objects); err == nil {
			removePins(filepath.Join(dir, "objects"), r.Objects)
		}
	}
}

func removePins(own, objects string) {
	folders, _ := os.ReadDir(own)
	for _, f := range folders {
		if f.Name() == "info" {
			continue
		}
		names, _ := os.ReadDir(filepath.Join(own, f.Name()))
		for _, e := range names {
			_, err := os.Lstat(filepath.Join(objects, f.Name(), e.Name()))
			if os.IsNotExist(err) || isPack(e.Name()) {
				_ = os.Remove(filepath.Join(own, f.Name(), e.Name())) // else the next call removes it
			}
		}
	}
}
