package lsp

import (
	"context"
	"sync"
	"time"
)

// settingsLimit is how long the first session waits for the editor's settings.
const settingsLimit = time.Second

// settings tells when the editor's settings are known, so that the first session has
// them: a session keeps its interpreter and its model.
type settings struct {
	mu      sync.Mutex
	unknown chan struct{} // closed when they are known; nil: none are expected
}

// expect has sessions wait until known is called.
func (x *settings) expect() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unknown = make(chan struct{})
}

// known ends the waiting.
func (x *settings) known() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unknown != nil {
		close(x.unknown)
		x.unknown = nil
	}
}

// wait returns when the settings are known, when ctx ends, or after settingsLimit. After
// the limit no other session waits.
func (x *settings) wait(ctx context.Context) {
	x.mu.Lock()
	unknown := x.unknown
	x.mu.Unlock()
	if unknown == nil {
		return
	}
	limit := time.NewTimer(settingsLimit)
	defer limit.Stop()
	select {
	case <-unknown:
	case <-ctx.Done():
	case <-limit.C:
		x.known()
	}
}
