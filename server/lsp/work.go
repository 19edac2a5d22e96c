package lsp

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// idleLimit is the time for the goroutines of a connection to end after its turns.
const idleLimit = 100 * time.Millisecond

// work tracks the goroutines that outlive their requests.
type work struct {
	log    *slog.Logger
	failed func(text string) // reports a panic to the user

	mu      sync.Mutex
	running sync.WaitGroup
	closing bool
}

// start runs f in a goroutine; [work.finish] waits for it. If finish already waits, f runs at once
// with a canceled context.
func (w *work) start(name string, f func()) {
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		f()
		return
	}
	w.running.Add(1)
	w.mu.Unlock()
	go func() {
		defer w.running.Done()
		defer func() {
			if p := recover(); p != nil {
				w.log.Error("background work panicked", "what", name, "panic", p, "stack", string(debug.Stack()))
				w.failed(fmt.Sprintf("hermes-ls failed inside, in %s: %v", name, p))
			}
		}()
		f()
	}()
}

// finish waits until all work has ended and then for read, at most idleLimit. If the limit
// has passed, it returns false.
func (w *work) finish(read <-chan struct{}) bool {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		w.mu.Lock()
		w.closing = true
		w.mu.Unlock()
		w.running.Wait()
		<-read
	}()
	limit := time.NewTimer(idleLimit)
	defer limit.Stop()
	select {
	case <-gone:
		return true
	case <-limit.C:
		return false
	}
}
