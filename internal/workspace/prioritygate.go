package workspace

import (
	"context"
	"sync"
)

// priorityGate makes scans wait while searches run: a user waits for a search, and a scan
// runs in the background. A workspace shares its gate with its forks, which use the same
// machine.
type priorityGate struct {
	mu       sync.Mutex
	searches int           // running
	boosts   int           // open boosts
	changed  chan struct{} // closed when the gate opens; nil: nothing waits
}

// searching records the start of a search, and done its end.
func (t *priorityGate) searching() (done func()) { return t.count(&t.searches) }

func (t *priorityGate) count(counter *int) (done func()) {
	t.add(counter, 1)
	return sync.OnceFunc(func() { t.add(counter, -1) })
}

func (t *priorityGate) add(counter *int, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*counter += n
	if t.changed != nil && !t.closed() {
		close(t.changed)
		t.changed = nil
	}
}

// closed reports whether scans wait. Its caller holds mu.
func (t *priorityGate) closed() bool { return t.searches > 0 && t.boosts == 0 }

// wait returns a channel closed when the gate opens. If it is open, it returns nil.
func (t *priorityGate) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed() {
		return nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// Yield waits until no search runs, a [Workspace.Boost] is open, or ctx ends. Background
// work such as [Workspace.Scan] calls it between its steps.
func (t *priorityGate) Yield(ctx context.Context) {
	for {
		wait := t.wait()
		if wait == nil {
			return
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return
		}
	}
}

// Boost makes [Workspace.Yield] return at once until done is called. Call it while a turn
// waits for background work.
func (t *priorityGate) Boost() (done func()) { return t.count(&t.boosts) }
