package sandbox

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Layers are removed when their workspace has not been used for layerAge. If all together exceed
// layersMB, the oldest are removed first. A further slot of a workspace, needed only by concurrent
// commands, is removed after slotAge.
const (
	layerAge = 30 * 24 * time.Hour
	slotAge  = 24 * time.Hour
	layersMB = 20 << 10
	// sweepEvery is how often they are looked through, sweepAfter how long after the first
	// command of a session: starting is not slowed by it.
	sweepEvery = 24 * time.Hour
	sweepAfter = time.Minute
)

// sweeper removes layers in the background.
type sweeper struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// startSweeper sweeps the layers below dir, unless a sweep ran recently.
func startSweeper(dir string) *sweeper {
	mark := filepath.Join(dir, "swept")
	if info, err := os.Lstat(mark); err == nil && time.Since(info.ModTime()) < sweepEvery {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sweeper{cancel, make(chan struct{})}
	go func() {
		defer close(s.done)
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepAfter):
		}
		if os.WriteFile(mark, nil, 0o600) == nil {
			sweepLayers(ctx, dir, time.Now(), layersMB<<20)
		}
	}()
	return s
}

// stop ends a sweep and waits for it. The nil sweeper has none.
func (s *sweeper) stop() {
	if s != nil {
		s.cancel()
		<-s.done
	}
}

// workspaceLayers are the layers of a workspace.
type workspaceLayers struct {
	dir  string
	used time.Time
	size int64
}

// sweepLayers removes too old or too large layers, and the remains of an earlier sweep. Layers in
// use stay.
func sweepLayers(ctx context.Context, dir string, now time.Time, limit int64) {
	entries, _ := os.ReadDir(dir)
	var all []workspaceLayers
	total := int64(0)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || ctx.Err() != nil {
			continue
		}
		if filepath.Ext(e.Name()) == trash {
			removeTree(ctx, path)
			continue
		}
		w := workspaceLayers{dir: path}
		if info, err := os.Lstat(filepath.Join(path, "lock")); err == nil {
			w.used = info.ModTime()
		}
		if now.Sub(w.used) > layerAge && w.remove(ctx) {
			continue
		}
		w.removeSlots(ctx, now)
		w.size = sizeOf(ctx, path)
		total += w.size
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b workspaceLayers) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir)) })
	for _, w := range all {
		if total > limit && ctx.Err() == nil && w.remove(ctx) {
			total -= w.size
		}
	}
}

// trash is the name suffix of a folder under removal.
const trash = ".removed"

// remove removes the layers of a workspace if they are not in use.
func (w workspaceLayers) remove(ctx context.Context) bool {
	return removeOwned(ctx, w.dir, w.dir+trash)
}

// removeSlots removes the slots of concurrent commands.
func (w workspaceLayers) removeSlots(ctx context.Context, now time.Time) {
	entries, _ := os.ReadDir(w.dir)
	for _, e := range entries {
		if e.Name() == "0" || e.Name() == "plain" || !e.IsDir() {
			continue
		}
		path := filepath.Join(w.dir, e.Name())
		if info, err := os.Lstat(filepath.Join(path, "lock")); err == nil && now.Sub(info.ModTime()) > slotAge {
			removeOwned(ctx, path, w.dir+"-"+e.Name()+trash)
		}
	}
}

// removeOwned moves a locked folder away and removes it afterwards, so the lock is held only
// briefly.
func removeOwned(ctx context.Context, dir, away string) bool {
	lock, err := ownFolder(dir)
	if err != nil {
		return false
	}
	err = os.Rename(dir, away)
	lock.Close() // only a lock
	if err != nil {
		return false
	}
	removeTree(ctx, away)
	return true
}

// removeTree removes a folder filled by commands; some of its folders may be read-only. It follows
// no link.
func removeTree(ctx context.Context, dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close() // only a handle
	openFolders(ctx, root, ".")
	os.RemoveAll(dir) // the next sweep tries again
}

// openFolders makes all folders below name writable.
func openFolders(ctx context.Context, root *os.Root, name string) {
	if ctx.Err() != nil || root.Chmod(name, 0o700) != nil {
		return
	}
	f, err := root.Open(name)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	f.Close() // only read
	for _, e := range entries {
		if e.IsDir() {
			openFolders(ctx, root, filepath.Join(name, e.Name()))
		}
	}
}

// sizeOf is how much the files of a folder hold.
func sizeOf(ctx context.Context, dir string) (total int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // unreadable files do not count
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
