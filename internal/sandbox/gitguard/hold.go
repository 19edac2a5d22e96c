package gitguard

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// sceneAge is the maximum age of a scan for a new command.
const sceneAge = time.Second

// Scene returns the places to hold for a new command: the scan of its Watch, or a new scan. If a
// denied change could not be removed, it returns an error.
func (g *Guard) Scene() (*Scene, error) {
	g.mu.Lock()
	s := g.review.ready
	g.review.ready = nil
	stuck := len(g.review.stuck)
	g.mu.Unlock()
	if stuck > 0 {
		return nil, fmt.Errorf("nothing was run: what the user has denied could not be removed (%s). Tell the user; commands run again when it is gone", g.stuck())
	}
	if s == nil || time.Since(s.at) > sceneAge || !slices.Equal(s.roots, fspath.Existing(g.cfg.Roots())) {
		s = g.lookAt(true)
	}
	return s, nil
}

// stuck names the denied paths that are still there.
func (g *Guard) stuck() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var paths []string
	for key := range g.review.stuck {
		kind, path, _ := parts(key)
		if kind == cutItem {
			path = uncounted(path)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return strings.Join(slices.Compact(paths), ", ")
}

// uncounted names the folders in a folder too large to scan. The folder itself need not be removed:
// it is usually the workspace folder.
func uncounted(path string) string { return "folders in " + path + " that are too many or too deep" }

// walkerOf returns the walker of a root.
func (g *Guard) walkerOf(root string) *walker {
	w := g.walkers[root]
	if w == nil {
		w = &walker{root: root}
		g.walkers[root] = w
	}
	return w
}

// protectLimit is the timeout for protecting places from running commands.
const protectLimit = 10 * time.Second

// protect holds the places of a scan for running commands. Unless all is set, it leaves out new
// places of an unfinished repository: a command may be making it. With the next scan, they are
// held.
func (g *Guard) protect(s *Scene, all bool) {
	var readOnly, pinned []string
	found := map[string]bool{}
	for _, pl := range slices.Concat(s.readOnly, s.pinned) {
		found[pl.path] = true
	}
	g.mu.Lock()
	before := g.review.held
	g.review.held = found
	g.mu.Unlock()
	for _, pl := range s.readOnly {
		if all || !pl.later || before[pl.path] {
			readOnly = append(readOnly, pl.path)
		}
	}
	for _, pl := range s.pinned {
		if info, err := os.Lstat(pl.path); err == nil && info.Mode()&os.ModeSymlink == 0 && (all || !pl.later || before[pl.path]) {
			pinned = append(pinned, pl.path)
		}
	}
	for _, list := range []*[]string{&readOnly, &pinned} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	ctx, cancel := context.WithTimeout(context.Background(), protectLimit)
	defer cancel()
	if err := g.cfg.Protect(ctx, readOnly, pinned); err != nil {
		g.cfg.Notify("Commands that run in the background can still change " + strings.Join(readOnly, ", ") + ": " + err.Error())
	}
}

// Bounds returns a command's read-only paths, the paths it cannot move or remove, and the links it
// cannot replace. It leaves out the opened paths.
func (s *Scene) Bounds(o Opening) (readOnly, pinned, links []string) {
	opened := func(path string) bool { return fspath.UnderAny(path, o.Open) }
	for _, pl := range s.readOnly {
		switch {
		case pl.via != "" && opened(pl.via):
		case o.opens(pl.path):
			readOnly = append(readOnly, o.openIn(pl.path)...)
			if !opened(pl.path) {
				pinned = append(pinned, pl.path)
			}
		default:
			readOnly = append(readOnly, pl.path)
		}
	}
	for _, pl := range s.pinned {
		if opened(pl.path) || pl.via != "" && opened(pl.via) {
			continue
		}
		if info, err := os.Lstat(pl.path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			links = append(links, pl.path)
		} else if err == nil {
			pinned = append(pinned, pl.path)
		}
	}
	return readOnly, pinned, links
}
