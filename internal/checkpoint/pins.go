package checkpoint

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// A repository's objects may go while a turn needs them: by git gc, or with all of
// .git. So what a tree needs of them gets a second name in a folder of our own, where
// both lie on one file system. That takes no room as long as the first one is there.

// hold gives the objects that t takes from git second names, where that can be done.
// Objects that have been there for long are in packs, so there are few of them.
func (s *Store) hold(t *tree) {
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
		dir, err := s.gitFolder(r.Objects)
		if err != nil || len(needed[i]) == 0 {
			continue // what goes is lost then
		}
		own := filepath.Join(dir, "objects")
		if second(filepath.Join(r.Objects, "pack"), filepath.Join(own, "pack"), isPack) != nil {
			continue // on another file system
		}
		folders, _ := os.ReadDir(r.Objects)
		for _, f := range folders {
			if len(f.Name()) != 2 {
				continue
			}
			_ = second(filepath.Join(r.Objects, f.Name()), filepath.Join(own, f.Name()), func(name string) bool {
				var id [20]byte
				n, err := hex.Decode(id[:], []byte(f.Name()+name))
				return err == nil && n == len(id) && needed[i][id]
			})
		}
	}
}

func isPack(name string) bool {
	return strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx")
}

// second gives the files of a folder that are wanted a second name in another. What
// has one is left alone; the first failure is the last try.
func second(from, to string, wanted func(name string) bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil // there are none
	}
	there := map[string]bool{}
	have, err := os.ReadDir(to)
	if err != nil {
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
	}
	for _, e := range have {
		there[e.Name()] = true
	}
	for _, e := range entries {
		if there[e.Name()] || !e.Type().IsRegular() || len(e.Name()) > 80 || !wanted(e.Name()) {
			continue
		}
		if err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !os.IsExist(err) && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// letGo takes second names away again from what has no first one any more, and from
// all packs, so that a git gc gives room back.
func (s *Store) letGo(t *tree) {
	for _, r := range t.repos {
		if dir, err := s.gitFolder(r.Objects); err == nil {
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
