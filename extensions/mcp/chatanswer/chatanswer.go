// Package chatanswer lets the user answer questions of MCP servers in the chat, with /answer.
package chatanswer

import (
	"context"
	"slices"
	"sync"
)

// Waiting are a session's questions waiting for an answer in the chat. The zero value is empty.
type Waiting struct {
	mu   sync.Mutex
	open []chan string // the oldest first
}

// Wait returns the user's answer. If ctx ends before it, Wait returns false.
func (w *Waiting) Wait(ctx context.Context) (string, bool) {
	c := make(chan string, 1)
	w.mu.Lock()
	w.open = append(w.open, c)
	w.mu.Unlock()
	select {
	case text := <-c:
		return text, true
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := slices.Index(w.open, c); at >= 0 {
		w.open = slices.Delete(w.open, at, at+1)
	}
	return "", false
}

// Give answers the oldest question. If none waits, it returns false.
func (w *Waiting) Give(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		return false
	}
	w.open[0] <- text
	w.open = slices.Delete(w.open, 0, 1)
	return true
}
