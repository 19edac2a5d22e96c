package gitguard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// Move gives the journals of killed servers the new paths of a renamed folder, so the next server
// there reviews the changes of their commands. The paths of m have no links. It returns how many
// journals it has moved.
func Move(home string, m folderpath.Move) (moved int, err error) {
	locks, _ := filepath.Glob(filepath.Join(home, "sandbox", "*", "*.lock")) // the pattern is right
	deadline := time.Now().Add(scratch.Inherited)
	for _, path := range locks {
		lock, err := scratch.LockLeft(path, makerOf(path), deadline)
		if err != nil {
			continue // of a living server
		}
		did, err := moveJournal(home, path, lock, m)
		filelock.Release(lock)
		if err != nil {
			return moved, fmt.Errorf("moving what a killed server had reviewed: %w", err)
		}
		if did {
			moved++
		}
	}
	return moved, nil
}

func moveJournal(home, path string, lock *os.File, m folderpath.Move) (moved bool, err error) {
	kept, ok := readJournal(lock, journalOf(path))
	if !ok {
		return false, nil
	}
	next := reviewed{Items: make(map[string]string, len(kept.Items))}
	for _, root := range kept.Roots {
		to, below := m.Below(root)
		next.Roots, moved = append(next.Roots, to), moved || below
	}
	for _, dir := range kept.Taken {
		to, _ := m.Below(dir)
		next.Taken = append(next.Taken, to)
	}
	if !moved {
		return false, nil
	}
	for key, value := range kept.Items {
		kind, at, name := parts(key)
		at, _ = m.Below(at)
		next.Items[item{kind: kind, path: at, name: name}.key()] = value
	}
	slices.Sort(next.Roots)
	to := filepath.Join(journalDir(home, next.Roots), filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return false, err
	}
	if err := next.save(journalOf(to)); err != nil {
		return false, err
	}
	if err := os.Rename(path, to); err != nil {
		return false, err
	}
	os.Remove(journalOf(path))    // without its lock, it is not read
	os.Remove(filepath.Dir(path)) // another server may use it
	return true, nil
}
