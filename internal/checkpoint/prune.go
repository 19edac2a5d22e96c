package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

// forgetAfter is how long the tree of an unused workspace is kept.
const forgetAfter = 30 * 24 * time.Hour

// tidyUp runs Prune on its first call, and whenever enough has been added since.
func (s *Store) tidyUp(ctx context.Context, limits Limits) {
	if s.tidied.Swap(true) && s.added.Load() < limits.Total/20 {
		return
	}
	added := s.added.Load()
	if s.Prune(ctx, limits) == nil {
		s.added.Add(-added)
	}
}

// errInUse is returned if a process writes to the store or cleans it up.
var errInUse = errors.New("the checkpoints' folder is in use")

// Prune removes unneeded contents. If all checkpoints together exceed the limit, it first removes
// the oldest checkpoints. If a process writes to the store or cleans it up, Prune does nothing and
// returns an error.
func (s *Store) Prune(ctx context.Context, limits Limits) error {
	alone, err := openLock(filepath.Join(s.dir, "lock"))
	if err != nil {
		return fmt.Errorf("cleaning up checkpoints: %w", err)
	}
	defer filelock.Release(alone)
	if free, err := filelock.Try(alone, filelock.Exclusive); err != nil || !free {
		return errors.Join(err, errInUse)
	}
	p := pruning{Store: s, limits: limits, sizes: map[string]int64{}, needed: map[string]bool{}}
	for _, step := range []func() error{p.measure, p.read, p.drop, p.sweep} {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := step(); err != nil {
			return fmt.Errorf("cleaning up checkpoints: %w", err)
		}
	}
	return nil
}

// pruning is a running clean-up.
type pruning struct {
	*Store
	limits  Limits
	sizes   map[string]int64 // of all contents on the disk, by sum
	records []ownedRecord    // oldest first
	needed  map[string]bool  // sums
	total   int64            // the sum of the sizes of needed
	bases   map[string]bool  // trees of unfinished records
}

type ownedRecord struct {
	*record
	session string
}

// measure lists all contents and their sizes.
func (p *pruning) measure() error {
	top := filepath.Join(p.dir, "objects")
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // it is gone
		}
		if isUnfinished(d.Name()) {
			return removeOld(path, info)
		}
		const block = 4096
		p.sizes[filepath.Base(filepath.Dir(path))+d.Name()] = (info.Size() + block - 1) / block * block
		return nil
	})
}

// isUnfinished reports whether name belongs to a temporary file of writeAtomic.
func isUnfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// removeOld removes a temporary file if it is an hour old: its writer must have died.
func removeOld(path string, info fs.FileInfo) error {
	if time.Since(info.ModTime()) < time.Hour {
		return nil
	}
	return removeFile(path)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// read reads all records and trees and collects the contents needed by trees.
func (p *pruning) read() error {
	sessions, err := os.ReadDir(filepath.Join(p.dir, "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.bases = map[string]bool{}
	for _, d := range sessions {
		records, err := p.Store.records(d.Name())
		if err != nil {
			return err
		}
		for _, r := range records {
			p.records = append(p.records, ownedRecord{r, d.Name()})
			if r.Base != "" {
				p.bases[r.Base] = true
			}
		}
	}
	slices.SortFunc(p.records, func(a, b ownedRecord) int { return cmp.Compare(a.ID, b.ID) })
	return p.readTrees()
}

// treeFound is a tree file.
type treeFound struct {
	name, path string
	info       fs.FileInfo
	base       bool // the base of an unfinished record; else the newest tree of a workspace
}

// readTrees collects the contents needed by trees. It removes these trees:
//
//   - damaged trees
//   - bases of complete records
//   - newest trees of workspaces unused for forgetAfter
//   - the least recently used, if the newest trees of all workspaces together exceed half of the
//     limit
func (p *pruning) readTrees() error {
	trees, err := p.trees()
	if err != nil {
		return err
	}
	room := p.limits.Total / 2
	for i, t := range trees {
		unused := !t.base && (time.Since(t.info.ModTime()) > forgetAfter || i > 0 && room <= 0) || t.base && !p.bases[t.name]
		read, err := p.load(t.name)
		if unused || err != nil { // a damaged tree is created again
			if err := removeFile(t.path); err != nil {
				return err
			}
			continue
		}
		for _, e := range read.entries {
			if sum := e.state().Sum; e.kept && !p.needed[sum] {
				p.needed[sum] = true
				p.total += p.sizes[sum]
				if !t.base {
					room -= p.sizes[sum]
				}
			}
		}
	}
	return nil
}

// trees lists the tree files, the newest first.
func (p *pruning) trees() (found []treeFound, err error) {
	entries, err := os.ReadDir(filepath.Join(p.dir, "trees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range entries {
		info, err := d.Info()
		if err != nil {
			continue // it is gone
		}
		t := treeFound{d.Name(), p.treeFile(d.Name()), info, len(d.Name()) != len(newest(nil))}
		if !isUnfinished(t.name) {
			found = append(found, t)
		} else if err := removeOld(t.path, info); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b treeFound) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	return found, nil
}

// drop removes the oldest records until the others fit the limit. It keeps the newest record and
// the records of living processes.
func (p *pruning) drop() error {
	full := false
	for i, r := range slices.Backward(p.records) {
		fresh, cost := []string{}, int64(0)
		for _, c := range r.changes {
			for _, sum := range c.sums() {
				if !p.needed[sum] && !slices.Contains(fresh, sum) {
					fresh = append(fresh, sum)
					cost += p.sizes[sum]
				}
			}
		}
		full = full || p.total+cost > p.limits.Total*19/20
		if full && i < len(p.records)-1 && (r.Owner == "" || !p.lives(r.Owner)) {
			if err := p.removeRecord(r.session, r.ID); err != nil {
				return err
			}
			continue
		}
		p.total += cost
		for _, sum := range fresh {
			p.needed[sum] = true
		}
	}
	return nil
}

// sweep removes unneeded contents. Before, it replaces sweptFile to notify every process.
func (p *pruning) sweep() error {
	told := false
	for sum := range p.sizes {
		if p.needed[sum] {
			continue
		}
		if !told {
			if err := writeAtomic(p.sweptFile(), []byte(newID())); err != nil {
				return err
			}
			told = true
		}
		if err := removeFile(p.object(sum)); err != nil {
			return err
		}
	}
	return p.sweepOwners()
}

// sweptFile is replaced by each clean-up before it removes contents.
func (s *Store) sweptFile() string { return filepath.Join(s.dir, "swept") }

// recheck returns t, or a copy without the contents removed by a clean-up. The caller prevents
// clean-ups.
func (s *Store) recheck(t *tree) *tree {
	swept := fileStamp(s.sweptFile())
	if t.swept == swept {
		return t
	}
	c := &tree{began: t.began, stamped: t.stamped, swept: swept, entries: maps.Clone(t.entries), repos: t.repos}
	for path, e := range c.entries {
		if !e.kept {
			continue
		}
		if _, err := os.Lstat(s.object(hex.EncodeToString(e.sum[:]))); err != nil {
			e.sum, e.kept, e.readAt = [32]byte{}, false, 0
			c.entries[path] = e
		}
	}
	return c
}

// sweepOwners removes the files of dead owner processes.
func (p *pruning) sweepOwners() error {
	owners, err := os.ReadDir(filepath.Join(p.dir, "owners"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range owners {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Minute {
			p.lives(d.Name())
		}
	}
	return nil
}
