package elicit

import (
	"context"
	"sync"
	"time"
)

const (
	mostWaiting = 8  // pending requests of a server, including the shown request
	mostMinute  = 30 // requests of a server in a minute
	mostAgreed  = 100
)

// gate admits the requests of a server in order, and limits them.
type gate struct {
	mu      sync.Mutex
	recent  []time.Time // requests of the last minute
	waiting int
	shown   chan struct{}   // holds an element while a request is shown
	open    map[string]bool // ids of addresses that the user agreed to open
}

// enter counts a request. If too many wait, or there were too many in the last minute, it returns false.
func (g *gate) enter(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.recent) > 0 && now.Sub(g.recent[0]) >= time.Minute {
		g.recent = g.recent[1:]
	}
	if g.waiting >= mostWaiting || len(g.recent) >= mostMinute {
		return false
	}
	if g.shown == nil {
		g.shown = make(chan struct{}, 1)
	}
	g.recent = append(g.recent, now)
	g.waiting++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

// turn waits until no other request is shown. If ctx ends before, it returns false.
func (g *gate) turn(ctx context.Context) bool {
	select {
	case g.shown <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *gate) next() { <-g.shown }

// agreed records the id of an address that the user agreed to open.
func (g *gate) agreed(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil || len(g.open) >= mostAgreed {
		g.open = map[string]bool{}
	}
	g.open[id] = true
}

// Complete reports whether the user agreed to open the address with an id. It reports each id once.
func (a *Asker) Complete(id string) bool {
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	known := a.gate.open[id]
	delete(a.gate.open, id)
	return known
}
