package sandbox

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"
)

// holds reports whether the mechanism holds places by mounts.
func (b *Box) holds() bool {
	kind := b.heldBy()
	return kind == Namespaces || kind == Bubblewrap
}

// heldBy returns the mechanism in use, if it is known by now.
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

// guard adds the held places to a policy, except the paths that the command opens.
func (b *Box) guard(p *Policy, s *gitguard.Scene) {
	readOnly, pinned, links := s.Bounds(b.opening)
	p.ReadOnly, p.Pinned, p.links = append(p.ReadOnly, readOnly...), append(p.Pinned, pinned...), append(p.links, links...)
	for _, list := range []*[]string{&p.ReadOnly, &p.Pinned, &p.links} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if p.Mode == ReadOnly {
		p.links = nil
	}
}

// Report sends the user a notice about the sandbox. Without a Notice function, it does nothing.
func (b *Box) Report(text string) {
	if b != nil && b.cfg.Notice != nil {
		b.cfg.Notice(text)
	}
}
