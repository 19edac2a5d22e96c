package file

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

// Recall records for a session's file tools which text the model still has, and which edits have
// failed. It is safe for concurrent use; a nil Recall records nothing.
type Recall struct {
	mu     sync.Mutex
	shown  map[shownWindow][sha256.Size]byte
	failed map[string]int // edits in a row, by absolute path
}

// shownWindow is the window of a read.
type shownWindow struct {
	path          string // absolute
	offset, limit int
}

// NewRecall remembers nothing yet.
func NewRecall() *Recall {
	return &Recall{shown: map[shownWindow][sha256.Size]byte{}, failed: map[string]int{}}
}

// Forget clears the record of shown text, after a compaction or a cut result.
func (r *Recall) Forget() {
	if r == nil {
		return
	}
	r.mu.Lock()
	clear(r.shown)
	r.mu.Unlock()
}

// again reports whether w showed the same text the last time, and records the text shown now. It
// does not return true twice in a row: a third request needs the text.
func (r *Recall) again(w shownWindow, out readOut) bool {
	if r == nil {
		return false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", out.TotalLines, out.FileSize, out.Content))
	r.mu.Lock()
	defer r.mu.Unlock()
	if have, ok := r.shown[w]; ok && have == sum {
		delete(r.shown, w)
		return true
	}
	r.shown[w] = sum
	return false
}

// edited records a change of a file by the session.
func (r *Recall) edited(path string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, path)
	for w := range r.shown {
		if w.path == path {
			delete(r.shown, w)
		}
	}
}

// missed counts a failed edit, and returns how many failed in a row.
func (r *Recall) missed(path string) int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[path]++
	return r.failed[path]
}

// read records that the model has read a file again.
func (r *Recall) read(path string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, path)
}
