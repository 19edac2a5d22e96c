package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// mostEntries is the maximum number of files and folders in a scanned workspace.
const mostEntries = 300_000

var errTooMany = fmt.Errorf("the workspace has more than %d files", mostEntries)

// Limits bound the size of saved contents.
type Limits struct {
	Total int64 // bytes of all contents
	File  int64 // bytes of a file
}

// scanner creates a tree of a workspace.
type scanner struct {
	store   *Store
	confine Confiner
	files   *workspace.Workspace
	limits  Limits
	before  *tree // an earlier tree; nil: none
	stop    context.CancelCauseFunc

	reposMu sync.RWMutex
	repos   []*gitIndex

	treeMu     sync.Mutex
	tree       *tree
	unverified []string // paths of entries whose content in git may differ
}

// scan scans all folders and returns their tree. It does not read contents. For unchanged files, it
// copies the known sums from before. It records which contents are stored in git. If the workspace
// has too many entries, it returns errTooMany.
func (s *Store) scan(ctx context.Context, confine Confiner, files *workspace.Workspace, before *tree, limits Limits) (*tree, error) {
	s.git.avoid(files.Folders())
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x := &scanner{store: s, confine: confine, files: files, limits: limits, before: before, stop: stop}
	size := 64
	if before != nil {
		size = len(before.entries)
	}
	x.tree = &tree{began: now(), stamped: stampNow(), swept: fileStamp(s.sweptFile()), entries: make(map[string]entry, size)}
	if s.git.program() != "" {
		for _, folder := range files.Folders() {
			if outer := findRepo(folder); outer != "" {
				x.addRepo(s.git.index(outer))
			}
		}
	}
	err := files.Scan(ctx, workspace.Scan{Enter: x.enter, Tracked: x.tracked, Visit: x.visit})
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, fmt.Errorf("looking at the workspace: %w", err)
	}
	if err := x.verifyObjects(ctx); err != nil {
		return nil, err
	}
	return x.tree, nil
}

func (x *scanner) enter(folder string) {
	if x.store.git.program() != "" {
		x.addRepo(x.store.git.index(folder))
	}
}

func (x *scanner) addRepo(r *gitIndex) {
	if r == nil {
		return
	}
	x.reposMu.Lock()
	defer x.reposMu.Unlock()
	if !slices.ContainsFunc(x.repos, func(o *gitIndex) bool { return o.Folder == r.Folder }) {
		x.repos = append(x.repos, r)
	}
}

func (x *scanner) indexes() []*gitIndex {
	x.reposMu.RLock()
	defer x.reposMu.RUnlock()
	return x.repos
}

func (x *scanner) tracked(path string) bool {
	for _, r := range x.indexes() {
		if r.holds(path) {
			return true
		}
	}
	return false
}

// visit adds the entries of a folder to the tree.
func (x *scanner) visit(found []workspace.Entry) {
	entries := make([]entry, len(found))
	for i, f := range found {
		entries[i] = x.entry(f)
	}
	x.treeMu.Lock()
	defer x.treeMu.Unlock()
	for i, f := range found {
		x.tree.entries[f.Path] = entries[i]
	}
	if len(x.tree.entries) > mostEntries {
		x.stop(errTooMany)
	}
}

// entry returns the entry of a file, link or folder without reading its content.
func (x *scanner) entry(f workspace.Entry) entry {
	e := entry{stamp: stampOf(f.Info), link: f.Link}
	if e.kind() != kindFile {
		return e
	}
	if x.before != nil {
		if old, ok := x.before.entries[f.Path]; ok && old.stamp == e.stamp {
			if old.hasSum() && old.settled(old.readAt) {
				e.sum, e.kept, e.readAt = old.sum, old.kept, old.readAt
			}
			if old.repo > 0 && x.same(old, f.Path) {
				e.git, e.repo = old.git, x.repo(x.before.repos[old.repo-1])
			}
		}
	}
	if e.safe() {
		return e
	}
	for _, r := range x.indexes() {
		if id, ok := r.clean(f.Path, e.stamp); ok {
			e.git, e.repo = id, x.repo(r.repo)
			if r.convert {
				x.treeMu.Lock()
				x.unverified = append(x.unverified, f.Path)
				x.treeMu.Unlock()
			}
			break
		}
	}
	return e
}

// same reports whether git still tracks the file at path, unchanged, with the object of the
// entry.
func (x *scanner) same(old entry, path string) bool {
	for _, r := range x.indexes() {
		if id, ok := r.clean(path, old.stamp); ok {
			return id == old.git
		}
	}
	return false
}

// repo returns the number of a repository in the tree, from 1. It adds a new repository.
func (x *scanner) repo(r repo) uint16 {
	x.treeMu.Lock()
	defer x.treeMu.Unlock()
	i := slices.Index(x.tree.repos, r)
	if i < 0 {
		i = len(x.tree.repos)
		x.tree.repos = append(x.tree.repos, r)
	}
	return uint16(i + 1)
}

// verifyObjects asks git for the sizes of possibly converted objects. If the size differs from the
// file's, or git returns none, the entry does not use the object.
func (x *scanner) verifyObjects(ctx context.Context) error {
	byRepo := map[uint16][]string{}
	for _, path := range x.unverified {
		e := x.tree.entries[path]
		byRepo[e.repo] = append(byRepo[e.repo], path)
	}
	for number, paths := range byRepo {
		ids := make([][20]byte, len(paths))
		for i, path := range paths {
			ids[i] = x.tree.entries[path].git
		}
		sizes, err := x.store.git.sizes(ctx, x.confine, x.tree.repos[number-1].Objects, ids)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, path := range paths {
			e := x.tree.entries[path]
			if size, ok := sizes[e.git]; err != nil || !ok || size != e.Size {
				e.repo, e.git = 0, [20]byte{}
				x.tree.entries[path] = e
			}
		}
	}
	return nil
}

// saveBlobs saves the contents of t that exist nowhere else, the smallest files first, up to the
// limits. For an unsaved entry, it sets lost to the reason. It returns false if there was no
// content to read.
func (s *Store) saveBlobs(ctx context.Context, files *workspace.Workspace, t *tree, limits Limits) (changed bool) {
	paths := t.unsavedPaths(limits)
	if len(paths) == 0 {
		return false
	}
	entries := make([]entry, len(paths))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(4, len(paths)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)); i = next.Add(1) - 1 {
				e := t.entries[paths[i]]
				files.Yield(ctx)
				if ctx.Err() != nil {
					e.lost = notInTime
				} else {
					s.keep(files, paths[i], &e, limits)
				}
				entries[i] = e
			}
		})
	}
	workers.Wait()
	for i, path := range paths {
		t.entries[path] = entries[i]
	}
	return true
}

// unsavedPaths returns the paths whose content must be read, the smallest files first. It marks
// files above the limits as lost.
func (t *tree) unsavedPaths(limits Limits) (paths []string) {
	room := limits.Total / 2
	for path, e := range t.entries {
		switch {
		case e.kept:
			room -= e.Size
		case e.safe():
		case e.Size > limits.File:
			e.lost = tooLarge
			t.entries[path] = e
		default:
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.entries[a].Size, t.entries[b].Size), cmp.Compare(a, b))
	})
	for i, path := range paths {
		e := t.entries[path]
		if room -= e.Size; room >= 0 {
			continue
		}
		for _, path := range paths[i:] {
			e := t.entries[path]
			e.lost = tooMuch
			t.entries[path] = e
		}
		return paths[:i]
	}
	return paths
}

// keep reads a file and saves its content, if the file still has the stamp of e.
func (s *Store) keep(files *workspace.Workspace, path string, e *entry, limits Limits) {
	readAt := stampNow()
	text, after, err := files.ReadEntry(path, limits.File)
	switch {
	case errors.Is(err, workspace.ErrTooLarge), errors.Is(err, workspace.ErrNotRegular), errors.Is(err, fs.ErrNotExist):
		e.lost = changedFor
		return
	case err != nil:
		e.lost = unread
		return
	case stampOf(after) != e.stamp:
		e.lost = changedFor
		return
	}
	sum, err := s.put(text)
	if err != nil {
		e.lost = notStored
		return
	}
	if _, err := hex.Decode(e.sum[:], []byte(sum)); err != nil {
		panic(err) // sumOf returns valid hexadecimal
	}
	e.kept, e.readAt, e.lost = true, readAt, ""
}

// fetch reads the contents of paths in t from git and saves them.
func (s *Store) fetch(ctx context.Context, confine Confiner, t *tree, paths []string) {
	byRepo := map[uint16]map[[20]byte][]string{}
	for _, path := range paths {
		e := t.entries[path]
		if e.repo == 0 || e.kept {
			continue
		}
		if byRepo[e.repo] == nil {
			byRepo[e.repo] = map[[20]byte][]string{}
		}
		byRepo[e.repo][e.git] = append(byRepo[e.repo][e.git], path)
	}
	for number, wanted := range byRepo {
		ids := make([][20]byte, 0, len(wanted))
		for id := range wanted {
			ids = append(ids, id)
		}
		_ = s.git.blobs(ctx, confine, t.repos[number-1].Objects, ids, func(id [20]byte, text []byte) error { // a missing object is marked as lost below
			for _, path := range wanted[id] {
				s.take(t, path, text)
			}
			return nil
		})
		for _, paths := range wanted {
			for _, path := range paths {
				if e := t.entries[path]; !e.kept && e.lost == "" {
					e.lost = goneInGit
					t.set(path, e)
				}
			}
		}
	}
}

// take saves git's content for path, if it has the size of the file.
func (s *Store) take(t *tree, path string, text []byte) {
	e := t.entries[path]
	if int64(len(text)) != e.Size {
		return
	}
	sum, err := s.put(text)
	if err != nil {
		e.lost = notStored
	} else if _, err := hex.Decode(e.sum[:], []byte(sum)); err == nil {
		e.kept, e.readAt, e.lost = true, e.Changed+int64(settling)+1, ""
	}
	t.set(path, e)
}

// saveEntry returns the current entry of a path and saves its content. If there is no file, folder
// or link, ok is false.
func (s *Store) saveEntry(files *workspace.Workspace, path string, limits Limits) (e entry, ok bool) {
	found, ok := files.Entry(path)
	if !ok {
		return e, false
	}
	e = entry{stamp: stampOf(found.Info), link: found.Link}
	if e.kind() == kindFile {
		if e.Size > limits.File {
			e.lost = tooLarge
		} else {
			s.keep(files, path, &e, limits)
		}
	}
	return e, true
}

// difference returns the paths with a certain or possible difference between two trees.
func difference(old, next *tree) (paths []string) {
	for path, n := range next.entries {
		o, ok := old.entries[path]
		if !ok || !o.looksLike(n) {
			paths = append(paths, path)
		}
	}
	for path := range old.entries {
		if _, ok := next.entries[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// looksLike reports whether both entries certainly describe the same unchanged thing.
func (e entry) looksLike(n entry) bool {
	if e.kind() != n.kind() {
		return false
	}
	switch e.kind() {
	case kindFolder:
		return e.Mode == n.Mode
	case kindLink:
		return e.link == n.link
	}
	if e.Mode != n.Mode {
		return false
	}
	if e.hasSum() && n.hasSum() {
		return e.sum == n.sum
	}
	if e.repo > 0 && n.repo > 0 {
		return e.git == n.git
	}
	return e.stamp == n.stamp && !e.hasSum() && !n.hasSum()
}
