package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/restart"
)

const (
	mostExits   = 5
	exitsWithin = 10 * time.Minute
	restartWait = 5 * time.Second // how long a call waits for a restarting server
)

// exits are the recent times when a program ended unexpectedly.
type exits []time.Time

func (e *exits) add() {
	*e = append(*e, time.Now())
	if len(*e) > mostExits {
		*e = (*e)[1:]
	}
}

// tooMany reports whether the program ended too often to be started again.
func (e exits) tooMany() bool { return len(e) == mostExits && time.Since(e[0]) < exitsWithin }

// forgive clears the exits if the user has restarted the server in the shell since the last exit.
func (e *exits) forgive(dir, name string) {
	if n := len(*e); n > 0 && restart.Since(dir, name, (*e)[n-1]) {
		*e = nil
	}
}

// errDown is the error of a server that ended too often.
func errDown(s *server) error {
	return fmt.Errorf("the MCP server %s has ended %d times in ten minutes and stays down. /mcp restart %s starts it: %w", s.Name, mostExits, s.Name, s.err)
}

// Restart ends the connection of a server and starts it again. For an unknown name, it returns an
// error.
func (s *Servers) Restart(name string) error {
	for _, one := range s.all() {
		if !strings.EqualFold(one.Name, name) {
			continue
		}
		one.mu.Lock()
		defer one.mu.Unlock()
		one.exits = nil
		if one.err == errClosed {
			return errClosed
		}
		select {
		case <-one.attempt:
		default:
			return nil // it is starting
		}
		if l := one.link; l != nil {
			l.lost, one.link, one.err = true, nil, errors.New("it is started again")
			go func() { _ = l.session.Close() }() // attend waits for its end
		}
		one.again()
		return nil
	}
	return fmt.Errorf("there is no MCP server %q in this session", name)
}

// dropped removes a connection that ended during a call, so the next call does not use it.
func (s *server) dropped(ctx context.Context, l *link) {
	select {
	case <-l.gone:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link, s.err = nil, errors.New("the connection has ended")
	}
}

// rest ends the connection of an idle program, or of a program past its lifetime. The next call
// starts it again.
func (s *server) rest(l *link) {
	s.mu.Lock()
	l.lost, s.link, s.err, s.resting = true, nil, errors.New("it rests until the next call"), true
	s.mu.Unlock()
	l.end()
}

// restAt reports whether the program is due to rest: it was idle or has run for too long. If not,
// or if a call is running, next is the time until the next check.
func restAt(s *server, began time.Time) (due bool, next time.Duration) {
	last, running := s.calls.Used()
	if last.Before(began) {
		last = began
	}
	next = time.Hour
	for _, limit := range []struct {
		since time.Time
		most  time.Duration
	}{{last, s.Idle}, {began, s.Lifetime}} {
		if limit.most > 0 {
			next = min(next, limit.most-time.Since(limit.since))
		}
	}
	if next > 0 {
		return false, next
	}
	if running {
		return false, time.Second
	}
	return true, 0
}

const mostRemarks = 5 // in a minute

// remarks are the times of notices caused by a server.
type remarks struct {
	mu     sync.Mutex
	recent []time.Time
}

// admit counts a notice. If there were too many in the last minute, it returns false.
func (r *remarks) admit(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.recent) > 0 && now.Sub(r.recent[0]) >= time.Minute {
		r.recent = r.recent[1:]
	}
	if len(r.recent) >= mostRemarks {
		return false
	}
	r.recent = append(r.recent, now)
	return true
}
