package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const defaultConnect = 30 * time.Second

// server is one server. A goroutine of its own, run, connects it, follows its news, and
// ends it; everybody else looks at what that has found.
type server struct {
	Server
	label  string
	owner  *Servers
	client *sdk.Client
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc

	first  chan struct{} // closed when the first attempt is over
	done   chan struct{} // closed when nothing is left
	wanted chan struct{} // somebody wants it connected again
	news   chan struct{} // its tools have changed
	calls  calls

	changes  int    // of its tools; run's own, as the two below
	leftOut  string // tools that the user was told of last
	leftTold int    // how often

	mu      sync.Mutex
	link    *link                 // nil: not connected
	err     error                 // why not
	attempt chan struct{}         // closed when the attempt that runs is over
	tools   map[string]definition // by their names for the model
	order   []string              // of tools
	left    []string              // tools that are left out because they need a task
	pending Permission            // of the last attempt; no Key: none is needed
	granted string                // the key of what the user has approved
}

// link is one connection to a server, until either side ends it.
type link struct {
	session *sdk.ClientSession
	carrier carrier
	release context.CancelCauseFunc // of what it was opened with; nil: not yet kept
	gone    chan struct{}           // closed when the other side, or end, has ended it
	lost    bool                    // the other side has forgotten it; guarded by the server's mu
}

// carrier is what a link runs on.
type carrier interface {
	cut()        // ends it; nothing is left then
	why() string // what is known of its end; empty: nothing
	needsTask(tool string) bool
}

// start begins to connect a server.
func (s *Servers) start(one Server, label string) *server {
	x := &server{
		Server: one, label: label, owner: s, began: time.Now(),
		first: make(chan struct{}), done: make(chan struct{}),
		wanted: make(chan struct{}, 1), news: make(chan struct{}, 1), attempt: make(chan struct{}),
	}
	x.ctx, x.cancel = context.WithCancel(s.ctx)
	x.client = x.newClient(s.roots)
	go x.run()
	return x
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is a word already
	}
}

// run is the server's life.
func (s *server) run() {
	defer close(s.done)
	defer s.cancel()
	defer s.settle(nil, nil, errClosed)
	for {
		l, found, err := s.connect()
		if err != nil && s.ctx.Err() == nil && !errors.Is(err, errPermission) {
			how := "is not connected: "
			if errors.Is(err, errLogin) {
				how = "needs login: "
			}
			s.notice(how + err.Error())
		}
		s.settle(l, found, err)
		if l != nil {
			s.attend(l)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.wanted:
		}
	}
}

// errLogin: the server answers 401.
var errLogin = errors.New("it rejects requests without a valid token (401). Set its token in mcp_servers.NAME.headers.Authorization")

var errClosed = errors.New("it has been closed with its session")

// settle notes how an attempt ended.
func (s *server) settle(l *link, found []definition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.err = l, err
	if l != nil {
		s.keep(found)
	}
	select {
	case <-s.attempt:
	default:
		close(s.attempt)
	}
	select {
	case <-s.first:
	default:
		close(s.first)
	}
}

// settled tells whether the first attempt is over.
func (s *server) settled() bool {
	select {
	case <-s.first:
		return true
	default:
		return false
	}
}

func (s *server) keep(found []definition) {
	s.tools, s.order = map[string]definition{}, nil
	for _, d := range found {
		s.tools[d.full] = d
		s.order = append(s.order, d.full)
	}
}

// refreshGap is the shortest time between two requests for the tools of a connection.
const refreshGap = 200 * time.Millisecond

// attend follows a connection to its end.
func (s *server) attend(l *link) {
	news, calm := s.news, (<-chan time.Time)(nil)
	for {
		select {
		case <-s.ctx.Done():
			l.end()
			return
		case <-news:
			s.refresh(l)
			news, calm = nil, time.After(refreshGap)
			continue
		case <-calm:
			news, calm = s.news, nil
			continue
		case <-l.gone:
		}
		why := l.carrier.why()
		l.end()
		s.mu.Lock()
		s.link, s.err = nil, errors.New(strings.TrimSuffix("the connection has ended: "+why, ": "))
		quiet := l.lost || s.ctx.Err() != nil
		s.mu.Unlock()
		if !quiet {
			s.notice(strings.TrimSuffix("has ended: "+why, ": ") + ". The next call of one of its tools connects it again")
		}
		return
	}
}

// linked is the connection, which is made anew where it has ended.
func (s *server) linked(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if s.link != nil {
		defer s.mu.Unlock()
		return s.link, nil
	}
	select {
	case <-s.attempt: // over, and failed
		if s.err != errClosed {
			s.again()
		}
	default:
	}
	attempt := s.attempt
	s.mu.Unlock()
	select {
	case <-attempt:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil, fmt.Errorf("the MCP server %s is not connected: %w", s.Name, s.err)
	}
	return s.link, nil
}

// again begins another attempt. The caller holds mu.
func (s *server) again() {
	s.attempt = make(chan struct{})
	nudge(s.wanted)
}

// forget ends a connection that the other side does not know any more.
func (s *server) forget(l *link) {
	s.mu.Lock()
	l.lost = true
	if s.link == l {
		s.link, s.err = nil, errors.New("the server has forgotten the connection")
	}
	s.mu.Unlock()
	_ = l.session.Close() // it is gone
}

// connect makes a connection and asks what there is.
func (s *server) connect() (*link, []definition, error) {
	limit := s.ConnectTimeout
	if limit <= 0 {
		limit = defaultConnect
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("it did not answer within %v", limit)) })
	defer timer.Stop()
	// A stream of events lives as long as the context that it was opened with, so this
	// one ends with the link.
	l, err := s.open(ctx)
	if err == nil {
		var found []definition
		if found, err = s.list(ctx, l); err == nil && timer.Stop() {
			l.release = cancel
			return l, found, nil
		}
		l.end()
	}
	if cause := context.Cause(ctx); cause != nil && s.ctx.Err() == nil {
		err = cause
	}
	cancel(nil)
	for _, known := range []error{errLogin, errPermission} {
		if errors.Is(err, known) {
			return nil, nil, known
		}
	}
	return nil, nil, errors.New(plain(s.owner.cfg.Hide(withoutQuery(err.Error(), s.URL)), longestLine))
}

// legacy is the version whose handshake every server understands.
const legacy = "2025-11-25"

// open tries the ways there are to speak to the server.
func (s *server) open(ctx context.Context) (l *link, err error) {
	if s.URL == "" {
		// A program that does not know the newer handshake may not answer it at all.
		if l, err = s.openProgram(ctx, legacy); refused(err) {
			l, err = s.openProgram(ctx, "")
		}
		return l, err
	}
	if s.Transport != "" {
		return s.openRemote(ctx, s.Transport)
	}
	if l, err = s.openRemote(ctx, TransportHTTP); err != nil && ctx.Err() == nil {
		if older, olderErr := s.openRemote(ctx, TransportSSE); olderErr == nil {
			return older, nil
		}
	}
	return l, err
}

func refused(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire)
}

func (s *server) openProgram(ctx context.Context, version string) (*link, error) {
	p, err := s.launch(ctx)
	if err != nil {
		return nil, err
	}
	session, err := s.shake(ctx, p, p.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		if ctx.Err() == nil {
			if why := p.why(); why != "" {
				err = fmt.Errorf("%w (%s)", err, why)
			}
		}
		p.cut()
		return nil, err
	}
	return newLink(session, p), nil
}

func (s *server) openRemote(ctx context.Context, kind string) (*link, error) {
	r, err := s.dial()
	if err != nil {
		return nil, err
	}
	session, err := s.shake(ctx, r, r.transport(kind), nil)
	if err != nil {
		r.cut()
		if r.unauthorized.Load() {
			err = errLogin
		}
		return nil, err
	}
	return newLink(session, r), nil
}

// shake shakes hands. What a server that does not answer has left open would be closed
// politely, and waited for; so it is cut off when the time is up.
func (s *server) shake(ctx context.Context, c carrier, t sdk.Transport, o *sdk.ClientSessionOptions) (*sdk.ClientSession, error) {
	defer context.AfterFunc(ctx, c.cut)()
	return s.client.Connect(ctx, t, o)
}

func newLink(session *sdk.ClientSession, c carrier) *link {
	l := &link{session: session, carrier: c, gone: make(chan struct{})}
	go func() { // ends with the connection, which end ends
		_ = session.Wait()
		close(l.gone)
	}()
	return l
}

// end lets the server go: gently, and then hard. Nothing is left when it returns.
func (l *link) end() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close() // it is not needed any more
	}()
	timer := time.NewTimer(gentle)
	select {
	case <-closed:
	case <-timer.C:
	}
	timer.Stop()
	l.carrier.cut()
	<-closed
	<-l.gone
	if l.release != nil {
		l.release(nil)
	}
}

// notice tells the user of the server.
func (s *server) notice(text string) {
	s.owner.cfg.Notice(fmt.Sprintf("The MCP server %q %s.", s.Name, strings.TrimSuffix(text, ".")))
}

func (s *server) definitions() []definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil
	}
	var all []definition
	for _, name := range s.order {
		all = append(all, s.tools[name])
	}
	return all
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.Name, State: Connected, Tools: slices.Clone(s.order), LeftOut: slices.Clone(s.left), From: address(s.URL)}
	if s.URL == "" {
		st.From = s.Command
	}
	select {
	case <-s.attempt:
	default:
		st.State = Connecting
		return st
	}
	if s.link == nil {
		st.State, st.Error, st.Tools, st.LeftOut = Failed, fmt.Sprint(s.err), nil, nil
		if errors.Is(s.err, errLogin) {
			st.State = NeedsLogin
		}
		if errors.Is(s.err, errPermission) {
			st.State, st.Error = NeedsApproval, "it "+s.pending.Reason
		}
	}
	return st
}

// same tells whether two descriptions are of one server.
func same(a, b Server) bool {
	if !maps.Equal(a.Headers, b.Headers) {
		return false
	}
	a.Headers, b.Headers = nil, nil
	return reflect.DeepEqual(a, b)
}
