package lsp

import (
	"sync"
	"time"
)

// spaceAfter is how long nothing follows an answer.
const spaceAfter = 200 * time.Millisecond

// spacing leaves a pause behind each answer, for an editor that needs it. Emacs, when it
// has waited for an answer, looks no further in the piece that it has read: lsp-mode
// throws the rest away, and eglot leaves it until more comes, which may be never.
type spacing struct {
	mu    sync.RWMutex
	until time.Time // nothing but answers is sent before
}

// answer sends an answer.
func (x *spacing) answer(send func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = time.Now().Add(spaceAfter)
	return send()
}

// other sends what is no answer, when the last one is long enough ago.
func (x *spacing) other(send func() error) error {
	for {
		x.mu.RLock()
		pause := time.Until(x.until)
		if pause <= 0 {
			defer x.mu.RUnlock()
			return send()
		}
		x.mu.RUnlock()
		time.Sleep(pause)
	}
}
