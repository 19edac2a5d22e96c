package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// resetIfRestarted clears the exits if the user has restarted the server in the shell since the last exit.
func (e *exits) resetIfRestarted(dir, name string) {
	if n := len(*e); n > 0 && restart.Since(dir, name, (*e)[n-1]) {
		*e = nil
	}
}

// errDown is the error of a server that ended too often.
func errDown(s *server, st state) error {
	return fmt.Errorf("the MCP server %s has ended %d times in ten minutes and stays down. /mcp restart %s starts it: %w", s.Name, mostExits, s.Name, st.err)
}

// Restart ends the connection of a server and starts it again. For an unknown name, it returns an
// error.
func (s *Servers) Restart(name string) error {
	for _, one := range s.all() {
		if !strings.EqualFold(one.Name, name) {
			continue
		}
		if one.now().phase == connecting {
			return nil
		}
		err := errClosed
		one.do(one.ctx, func() {
			err = nil
			one.change(func(st *state) {
				st.exits = nil
				st.leave(connecting, errors.New("it is started again"))
			})
		})
		return err
	}
	return fmt.Errorf("there is no MCP server %q in this session", name)
}

// dropped waits until a connection that ended during a call is not used any more.
func (s *server) dropped(ctx context.Context, conn *connection) {
	s.until(ctx, nil, func(st state) bool { return st.conn != conn })
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
