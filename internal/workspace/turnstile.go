package workspace

import (
	"context"
	"sync"
)

// turnstile lets searches, which somebody waits for, go before surveys, which go on
// beside. All forks of a workspace share one: they work on the same machine.
type turnstile struct {
	mu       sync.Mutex
	searches int           // that run
	hurries  int           // who waits for a survey
	changed  chan struct{} // closed when those that stand here may look again; nil: nobody does
}

// searching says that a search begins; done, that it has ended.
func (t *turnstile) searching() (done func()) { return t.count(&t.searches) }

func (t *turnstile) count(what *int) (done func()) {
	t.add(what, 1)
	return sync.OnceFunc(func() { t.add(what, -1) })
}

func (t *turnstile) add(what *int, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*what += n
	if t.changed != nil && !t.shut() {
		close(t.changed)
		t.changed = nil
	}
}

// shut reports whether what can wait has to. Its caller holds mu.
func (t *turnstile) shut() bool { return t.searches > 0 && t.hurries == 0 }

// wait is closed when it is worth to look again; nil: nothing is in the way.
func (t *turnstile) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shut() {
		return nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// Yield returns when no search runs, when somebody is in a [Workspace.Hurry], or with
// ctx. What goes on beside a turn, such as [Workspace.Survey], calls it between its
// steps: it only has to be over before the first change.
func (w *Workspace) Yield(ctx context.Context) {
	for {
		wait := w.turnstile.wait()
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

// Hurry says that somebody waits for what yields, until done is called.
func (w *Workspace) Hurry() (done func()) { return w.turnstile.count(&w.turnstile.hurries) }
