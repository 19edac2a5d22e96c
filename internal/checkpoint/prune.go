package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// forgetAfter is how long a workspace that nobody works in is remembered.
const forgetAfter = 30 * 24 * time.Hour

// tidyUp cleans up when enough has been added, or for the first time.
func (s *Store) tidyUp(ctx context.Context, limits Limits) {
	if s.tidied.Swap(true) && s.added.Load() < limits.Total/20 {
		return
	}
	added := s.added.Load()
	if s.Prune(ctx, limits) == nil {
		s.added.Add(-added)
	}
}

// errInUse says that another process writes or cleans up.
var errInUse = errors.New("the checkpoints' folder is in use")

// Prune removes what no checkpoint needs, and the oldest checkpoints while all of
// them together are larger than the limit. While somebody writes or cleans up, it
// does nothing, which is an error.
func (s *Store) Prune(ctx context.Context, limits Limits) error {
	alone, err := openLock(filepath.Join(s.dir, "lock"))
	if err != nil {
		return fmt.Errorf("cleaning up checkpoints: %w", err)
	}
	defer alone.close() // gives the lock up
	if free, err := alone.tryAlone(); err != nil || !free {
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

// pruning is one clean-up.
type pruning struct {
	*Store
	limits  Limits
	sizes   map[string]int64 // of all contents on the disk, by sum
	records []ownedRecord    // oldest first
	needed  map[string]bool  // sums
	total   int64            // of their sizes
	bases   map[string]bool  // trees of unfinished records
}

type ownedRecord struct {
	*record
	session string
}

// measure lists all contents.
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
			return nil // gone
		}
		if isUnfinished(d.Name()) {
			return removeOld(path, info)
		}
		const block = 4096
		p.sizes[filepath.Base(filepath.Dir(path))+d.Name()] = (info.Size() + block - 1) / block * block
		return nil
	})
}

// isUnfinished tells of a file that was being written.
func isUnfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// removeOld removes a file whose writer must be dead.
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

// read reads all records and trees, and notes what they need.
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

// treeFound is a tree on the disk.
type treeFound struct {
	name, path string
	info       fs.FileInfo
	base       bool // of an unfinished record; else the newest of its folders
}

// readTrees notes what trees need, and removes those that nobody needs: bases of what
// is complete, folders that nobody works in, and, where the newest of all folders
// together have more than their half, those that were not used for longest.
func (p *pruning) readTrees() error {
	trees, err := p.trees()
	if err != nil {
		return err
	}
	room := p.limits.Total / 2
	for i, t := range trees {
		unused := !t.base && (time.Since(t.info.ModTime()) > forgetAfter || i > 0 && room <= 0) || t.base && !p.bases[t.name]
		read, err := p.load(t.name)
		if unused || err != nil { // what is damaged is made again
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

// trees lists what lies there, the newest first.
func (p *pruning) trees() (found []treeFound, err error) {
	entries, err := os.ReadDir(filepath.Join(p.dir, "trees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range entries {
		info, err := d.Info()
		if err != nil {
			continue // gone
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

// drop removes the oldest records until what the others need has room. The newest
// one stays in any case, and so do those that are not complete.
func (p *pruning) drop() error {
	full := false
	for i, r := range slices.Backward(p.records) {
		fresh, cost := []string{}, int64(0)
		for _, c := range r.changes {
			if sum := c.Before.Sum; sum != "" && !p.needed[sum] && !slices.Contains(fresh, sum) {
				fresh = append(fresh, sum)
				cost += p.sizes[sum]
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

// sweep removes contents that nobody needs any more.
func (p *pruning) sweep() error {
	for sum := range p.sizes {
		if p.needed[sum] {
			continue
		}
		if err := removeFile(p.object(sum)); err != nil {
			return err
		}
	}
	return p.sweepOwners()
}

// sweepOwners removes the marks of processes that have died.
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
