package gitguard

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// takeOver removes the journals of dead servers with the workspace of s. It returns the items of s
// as the dead servers with running commands reviewed them. If there was no such server, it returns
// nil. Unless empty is set, it leaves empty locks: a server may be making the lock.
//
// A dead server counts if its folders contain folders of s, or lie in them.
func takeOver(home string, s *Scene, empty bool) (left map[string]string) {
	locks, _ := filepath.Glob(filepath.Join(home, "sandbox", "*", "*.lock")) // the pattern is right
	own := journalDir(home, s.roots)
	deadline := time.Now().Add(scratch.Inherited)
	var all []reviewed
	for _, path := range locks {
		if info, err := os.Lstat(path); err != nil || info.Size() == 0 && (!empty || filepath.Dir(path) != own) {
			continue
		}
		lock, err := scratch.LockLeft(path, makerOf(path), deadline)
		if err != nil {
			continue // of a living server
		}
		if kept, ok := takeOne(path, lock, s, filepath.Dir(path) == own); ok {
			all = append(all, kept)
		}
		filelock.Release(lock)
	}
	if len(all) == 0 {
		return nil
	}
	return asReviewed(s, all)
}

// takeOne reads a dead server's journal. If the session has to review its items, ok is true. The
// part of it that the session reviews is removed: the session's own journal has it from now on.
func takeOne(path string, lock *os.File, s *Scene, own bool) (kept reviewed, ok bool) {
	kept, ok = readJournal(lock, journalOf(path))
	if own {
		kept.Roots = []string{string(filepath.Separator)} // also items outside the folders, such as of a repository above
	} else if !ok || !kept.differs(s) {
		return kept, false
	}
	if own || !slices.ContainsFunc(kept.Roots, func(root string) bool { return !fspath.UnderAny(root, s.roots) }) {
		os.Remove(journalOf(path))    // read again by the next server, which does no harm
		os.Remove(path)               // as above
		os.Remove(filepath.Dir(path)) // another server may use it
		return kept, ok
	}
	rest := reviewed{Roots: kept.Roots, Items: maps.Clone(kept.Items), Taken: append(slices.Clone(kept.Taken), s.roots...)}
	for key, value := range s.items { // also of a repository above the folders
		if kept.covers(key) {
			rest.Items[key] = value
		}
	}
	_ = rest.save(journalOf(path)) // read again by the next server, which asks again
	return kept, true
}

// covers reports whether an item was looked at by the server that wrote the journal, and its
// changes are still to be reviewed.
func (r reviewed) covers(key string) bool {
	_, path, _ := parts(key)
	if fspath.UnderAny(path, r.Taken) {
		return false
	}
	_, known := r.Items[key]
	return known || fspath.UnderAny(path, r.Roots)
}

// differs reports whether s contains an item that has changed since the review.
func (r reviewed) differs(s *Scene) bool {
	for key, value := range s.items {
		if before, ok := r.Items[key]; (!ok || before != value) && r.covers(key) {
			return true
		}
	}
	return false
}

// asReviewed returns the items with the value that all servers reviewed which covered the item. An
// item that none covered has its present value.
func asReviewed(s *Scene, all []reviewed) map[string]string {
	items := maps.Clone(s.items)
	for _, r := range all {
		for key := range r.Items {
			if _, ok := items[key]; !ok {
				items[key] = "" // a claim of r follows
			}
		}
	}
	for key := range items {
		first := true
		for _, r := range all {
			if !r.covers(key) {
				continue
			}
			value, ok := r.Items[key]
			if !ok || !first && value != items[key] {
				delete(items, key)
				break
			}
			items[key], first = value, false
		}
	}
	return items
}
