package sandbox

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// sceneAge is how old a look may be for a command that is about to start.
const sceneAge = time.Second

// scene returns what has to be held for a command that is about to start: the look of its
// Watch, or a new one. If something was denied and could not be removed, it returns an error.
func (b *Box) scene() (*scene, error) {
	b.mu.Lock()
	s := b.review.ready
	b.review.ready = nil
	stuck := len(b.review.stuck)
	b.mu.Unlock()
	if stuck > 0 {
		return nil, fmt.Errorf("nothing was run: what the user has denied could not be removed (%s). Tell the user; commands run again when it is gone", b.stuck())
	}
	if s == nil || time.Since(s.at) > sceneAge || !slices.Equal(s.roots, existing(b.cfg.Roots())) {
		s = b.lookAt(true)
	}
	return s, nil
}

// stuck names what was denied and is still there.
func (b *Box) stuck() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var paths []string
	for key := range b.review.stuck {
		_, path, _ := parts(key)
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return strings.Join(slices.Compact(paths), ", ")
}

// holds reports whether the mechanism holds places by mounts.
func (b *Box) holds() bool {
	kind := b.heldBy()
	return kind == Namespaces || kind == Bubblewrap
}

// heldBy is the mechanism that is in use, if that is known by now.
func (b *Box) heldBy() Kind {
	if b.cfg.Mechanism != nil {
		return b.cfg.Mechanism.Kind
	}
	onHost.Lock()
	defer onHost.Unlock()
	if onHost.mechanism == nil {
		return None
	}
	return onHost.mechanism.Kind
}

// walkerOf returns the walker of a root.
func (b *Box) walkerOf(root string) *walker {
	w := b.walkers[root]
	if w == nil {
		w = &walker{root: root}
		b.walkers[root] = w
	}
	return w
}

// guard adds to a policy what is held, but for what the command opens.
func (b *Box) guard(p *Policy, s *scene) {
	opened := func(path string) bool { return underAny(path, b.opening.Open) }
	for _, pl := range s.readOnly {
		switch {
		case pl.via != "" && opened(pl.via):
		case b.opens(pl.path):
			p.ReadOnly = append(p.ReadOnly, b.openIn(pl.path)...)
			if !opened(pl.path) {
				p.Pinned = append(p.Pinned, pl.path)
			}
		default:
			p.ReadOnly = append(p.ReadOnly, pl.path)
		}
	}
	for _, pl := range s.pinned {
		if opened(pl.path) || pl.via != "" && opened(pl.via) {
			continue
		}
		if info, err := os.Lstat(pl.path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			p.links = append(p.links, pl.path)
		} else if err == nil {
			p.Pinned = append(p.Pinned, pl.path)
		}
	}
	for _, list := range []*[]string{&p.ReadOnly, &p.Pinned, &p.links} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if p.Mode == ReadOnly {
		p.links = nil
	}
}

// protectLimit is how long protecting something from commands that run may take.
const protectLimit = 10 * time.Second

// protect holds the places that a look has found for commands that run already. It leaves out
// those of an unfinished repository that the look before had not found, since a command may
// be making that. If all is set, it leaves out none.
func (b *Box) protect(s *scene, all bool) {
	var readOnly, pinned []string
	found := map[string]bool{}
	for _, pl := range slices.Concat(s.readOnly, s.pinned) {
		found[pl.path] = true
	}
	b.mu.Lock()
	before := b.review.held
	b.review.held = found
	b.mu.Unlock()
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
	if err := b.holders.Protect(ctx, readOnly, pinned); err != nil {
		b.Tell("Commands that run in the background can still change " + strings.Join(readOnly, ", ") + ": " + err.Error())
	}
}

// Tell tells the user something about the sandbox, where there is a way.
func (b *Box) Tell(text string) {
	if b != nil && b.cfg.Notice != nil {
		b.cfg.Notice(text)
	}
}
