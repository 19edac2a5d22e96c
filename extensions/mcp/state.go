package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/restart"
)

// phase is the phase of a server.
type phase int

const (
	connecting phase = iota
	ready
	idle          // stopped until the next call
	needsLogin    // the user must log in
	needsApproval // the user must approve its program
	down          // the attempt failed, or the connection has ended; a call connects it again
	closed        // with its session
)

// state is the state of a server's connection.
type state struct {
	phase   phase
	conn    *connection   // set in the phase ready
	err     error         // why there is no connection
	since   time.Time     // the time of the last attempt, or when the server rejected the login
	tried   bool          // the first attempt has ended
	exits   exits         // recent times when the program ended unexpectedly
	pending Permission    // of the last attempt; an empty Key: none is required
	granted string        // the approved key
	changed chan struct{} // closed at the next change
}

// leave ends the phase ready, or an attempt.
func (st *state) leave(to phase, err error) {
	st.phase, st.conn, st.err, st.tried = to, nil, err, st.tried || to != connecting
}

// tooManyExits reports whether the program has ended too often to be started again. A restart by the user in a
// shell allows it again.
func (st state) tooManyExits(dir, name string) bool {
	return st.exits.tooMany() && !restart.Since(dir, name, st.exits[len(st.exits)-1])
}

// phaseOf returns the phase after a failed attempt.
func phaseOf(err error) phase {
	switch {
	case errors.Is(err, errLogin):
		return needsLogin
	case errors.Is(err, errPermission):
		return needsApproval
	}
	return down
}

// now returns a copy of the state.
func (s *server) now() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// change changes the state. Only run calls it.
func (s *server) change(f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
	close(s.state.changed)
	s.state.changed = make(chan struct{})
}

// do has run call f, and returns after it. If the server or ctx ends before, f is not called.
func (s *server) do(ctx context.Context, f func()) {
	called := make(chan struct{})
	select {
	case s.work <- func() { defer close(called); f() }:
		<-called
	case <-s.done:
	case <-ctx.Done():
	}
}

// until waits until is holds. It reports false if ctx or the limit ends first. A nil limit does not end.
func (s *server) until(ctx context.Context, limit <-chan time.Time, is func(state) bool) (state, bool) {
	for {
		st := s.now()
		if is(st) {
			return st, true
		}
		select {
		case <-st.changed:
		case <-limit:
			return st, false
		case <-ctx.Done():
			return st, false
		}
	}
}
