package login

import (
	"maps"
	"sync"
)

// Attempts are the running logins of a session, by server.
type Attempts struct {
	mu   sync.Mutex
	open map[string]*Attempt
	wait sync.WaitGroup
}

// Replace adds a login and ends the server's earlier login. finish runs beside it.
func (a *Attempts) Replace(name string, now *Attempt, finish func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.open[name]; before != nil {
		before.Close()
	}
	if a.open == nil {
		a.open = map[string]*Attempt{}
	}
	a.open[name] = now
	a.wait.Go(finish)
}

// Find returns the running login of a server; nil: there is none.
func (a *Attempts) Find(name string) *Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[name]
}

// Remove removes an ended login, and reports whether it was still the server's current login.
func (a *Attempts) Remove(name string, ended *Attempt) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[name] != ended {
		return false
	}
	delete(a.open, name)
	return true
}

// Close ends all logins and waits for their goroutines.
func (a *Attempts) Close() {
	a.mu.Lock()
	for one := range maps.Values(a.open) {
		one.Close()
	}
	a.open = nil
	a.mu.Unlock()
	a.wait.Wait()
}
