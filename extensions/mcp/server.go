package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/elicit"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/logfile"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/prompts"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/resources"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/restart"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/running"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/wire"
)

// ResourceToolset is the toolset of the tool for resources.
const ResourceToolset = resources.Toolset

// server is an MCP server. Its goroutine run owns the connection: only run changes the state. Other
// goroutines read the state, wait for its changes, and send functions to run.
type server struct {
	Server
	label  string
	owner  *Servers
	client *sdk.Client
	ctx    context.Context
	cancel context.CancelFunc
	began  time.Time
	work   chan func()   // for run; see do
	done   chan struct{} // closed when run has ended

	calls        running.Calls
	log          logfile.File
	forms        wire.Forms // sent by the server
	asker        *elicit.Asker
	prompts      prompts.Prompts
	listsChanged listsChanged
	catalog      catalog
	notices      notices

	mu    sync.Mutex
	state state // see now and change
}

// start starts to connect a server.
func (s *Servers) start(one Server, label string) *server {
	x := &server{
		Server: one, label: label, owner: s, began: time.Now(), work: make(chan func()), done: make(chan struct{}),
		listsChanged: newListsChanged(), state: state{changed: make(chan struct{})},
	}
	x.ctx, x.cancel = context.WithCancel(s.ctx)
	x.asker = newAsker(x)
	x.client = x.newClient(s.roots)
	if s.cfg.Home != "" {
		x.log.Path = LogFile(s.cfg.Home, one.Name)
	}
	go x.run()
	return x
}

// run connects the server, and connects it again on request, until its context ends.
func (s *server) run() {
	defer close(s.done)
	defer s.log.Close()
	defer s.cancel()
	defer s.change(func(st *state) { st.leave(closed, errClosed) })
	for {
		if conn := s.state.conn; conn != nil {
			s.serve(conn)
			conn.end()
		}
		switch {
		case s.ctx.Err() != nil:
			return
		case s.state.phase == connecting:
			s.connect()
		default:
			select {
			case <-s.ctx.Done():
			case f := <-s.work:
				f()
			}
		}
	}
}

var errClosed = errors.New("it has been closed with its session")

// connect makes an attempt to connect the server, and stores its result.
func (s *server) connect() {
	first := !s.state.tried
	s.change(func(st *state) {
		st.since = time.Now()
		st.exits.resetIfRestarted(s.owner.cfg.Dir, s.Name)
	})
	conn, found, err := s.attempt(first)
	switch {
	case err == nil:
		s.keep(found)
		s.catalog.setResources(conn)
		s.change(func(st *state) {
			st.phase, st.conn, st.err, st.tried = ready, conn, nil, true
			s.owner.version.Add(1) // before a waiting prompt sees the phase
		})
		return
	case s.ctx.Err() != nil || errors.Is(err, errPermission):
	case errors.Is(err, errLogin):
		s.noticeLogin()
	default:
		s.notice("is not connected: " + err.Error())
	}
	s.change(func(st *state) {
		st.leave(phaseOf(err), err)
		if s.URL == "" && s.ctx.Err() == nil && st.phase != needsApproval {
			st.exits.add()
		}
	})
}

// serve follows a connection. It returns when the state has another connection or none, or when the context ends.
func (s *server) serve(conn *connection) {
	defer s.follow(conn)()
	began, idleTimer := time.Now(), (<-chan time.Time)(nil)
	if s.URL == "" && (s.Idle > 0 || s.Lifetime > 0) {
		idleTimer = time.After(0)
	}
	for s.state.conn == conn {
		select {
		case <-s.ctx.Done():
			return
		case f := <-s.work:
			f()
		case <-idleTimer:
			due, next := restAt(s, began)
			if due {
				s.change(func(st *state) { st.leave(idle, errIdle) })
			}
			idleTimer = time.After(next)
		case <-conn.gone:
			s.ended(conn)
		}
	}
}

var errIdle = errors.New("it rests until the next call")

// ended stores and reports the end of a connection.
func (s *server) ended(conn *connection) {
	why := conn.carrier.exitReason()
	s.change(func(st *state) {
		st.leave(down, errors.New(strings.TrimSuffix("the connection has ended: "+why, ": ")))
		if s.URL == "" && s.ctx.Err() == nil {
			st.exits.add()
		}
	})
	if s.ctx.Err() == nil {
		s.notice(strings.TrimSuffix("has ended: "+why, ": ") + ". The next call of one of its tools connects it again")
	}
}

// connection returns the connection. If there is none, it starts an attempt and waits for it.
func (s *server) connection(ctx context.Context) (*connection, error) {
	st := s.now()
	if st.conn != nil && restart.Since(s.owner.cfg.Dir, s.Name, st.conn.began) {
		s.forget(ctx, st.conn)
		st = s.now()
	}
	limit, before := (<-chan time.Time)(nil), st.err
	for first := true; st.conn == nil; first = false {
		if st.phase != connecting {
			if st.phase == closed || !first && st.phase != idle { // it may rest again already
				return nil, fmt.Errorf("the MCP server %s is not connected: %w", s.Name, st.err)
			}
			if st.tooManyExits(s.owner.cfg.Dir, s.Name) {
				return nil, errDown(s, st)
			}
			timer := time.NewTimer(restartWait)
			defer timer.Stop()
			limit = timer.C
			s.requestReconnect(ctx)
		}
		var ended bool
		st, ended = s.until(ctx, limit, func(st state) bool { return st.phase != connecting })
		if !ended && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !ended {
			return nil, fmt.Errorf("the MCP server %s is starting again and did not answer within %v: %w", s.Name, restartWait, before)
		}
	}
	return st.conn, nil
}

// requestReconnect starts another attempt, unless the server is connected or connecting.
func (s *server) requestReconnect(ctx context.Context) {
	s.do(ctx, func() {
		if s.state.conn == nil {
			s.change(func(st *state) { st.leave(connecting, st.err) })
		}
	})
}

// forget ends a connection after the server has dropped its session.
func (s *server) forget(ctx context.Context, conn *connection) {
	s.drop(ctx, conn, down, errors.New("the server has forgotten the connection"))
}

// drop ends a connection, if the state still has it.
func (s *server) drop(ctx context.Context, conn *connection, to phase, err error) {
	s.do(ctx, func() {
		if s.state.conn == conn {
			s.change(func(st *state) {
				st.leave(to, err)
				st.since = time.Now() // only a later change is a login
			})
		}
	})
}

// notice sends the user a notice about the server.
func (s *server) notice(text string) {
	s.owner.cfg.Notice(fmt.Sprintf("The MCP server %q %s.", s.Name, strings.TrimSuffix(text, ".")))
}

// remark sends a notice caused by the server. The user gets at most mostRemarks in a minute.
func (s *server) remark(text string) {
	if s.notices.admit(time.Now()) {
		s.notice(text)
	}
}

func (s *server) definitions() []definition {
	if st := s.now(); st.phase != ready && st.phase != idle {
		return nil
	}
	return s.catalog.all()
}

func (s *server) status() Status {
	st := s.now()
	out := Status{Name: s.Name, From: login.Address(s.URL), Log: s.log.Path, Approved: s.Workspace != nil}
	if s.URL == "" {
		out.From = s.Command
	}
	switch st.phase {
	case ready, idle:
		out.State = Connected
	case connecting:
		out.State = Connecting
	case needsLogin:
		out.State, out.Error = NeedsLogin, s.howToLogIn()
	case needsApproval:
		out.State, out.Error = NeedsApproval, "it "+st.pending.Reason
	default:
		out.State, out.Error = Failed, fmt.Sprint(st.err)
		if st.tooManyExits(s.owner.cfg.Dir, s.Name) {
			out.Error = errDown(s, st).Error()
		}
	}
	if st.phase == ready || st.phase == idle || st.phase == connecting {
		out.Tools, out.LeftOut = s.catalog.names()
	}
	return out
}

// same reports whether two configurations are equal.
func same(a, b Server) bool {
	if !maps.Equal(a.Headers, b.Headers) || !maps.Equal(a.Approve, b.Approve) {
		return false
	}
	a.Headers, b.Headers, a.Approve, b.Approve = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}
