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

	"github.com/hermes-ls/hermes-ls/extension"
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

const defaultConnect = 30 * time.Second

// server is an MCP server. Its goroutine run connects it, refreshes its tools, and ends it. Other
// goroutines only read the state.
type server struct {
	Server
	now    Server // with the values of the current attempt; only run uses it
	label  string
	owner  *Servers
	client *sdk.Client
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc

	first  chan struct{} // closed when the first attempt has ended
	done   chan struct{} // closed when the server has ended
	wanted chan struct{} // a request to connect it again
	news   chan struct{} // its tools have changed
	calls  running.Calls
	log    logfile.File

	forms   wire.Forms // sent by the server
	asker   *elicit.Asker
	prompts prompts.Prompts
	moved   chan struct{} // its prompts or resources have changed

	changes        int      // number of changes of its tools; only run uses this field and the next three
	leftOut        string   // the omitted tools in the last notice
	faults         []string // the mistakes in the last notice
	leftOutNotices int      // number of notices about omitted tools and mistakes

	mu           sync.Mutex
	link         *link                 // nil: not connected
	err          error                 // why it is not connected
	attempt      chan struct{}         // closed when the current attempt has ended
	since        time.Time             // when it began
	tools        map[string]definition // by their names for the model
	order        []string              // of tools
	original     map[string]string     // the first shapes of tools in this session, by name for the model
	left         []string              // omitted tools, because they need a task
	pending      Permission            // of the last attempt; an empty Key: none is required
	exits        exits                 // recent times when the program ended unexpectedly
	resting      bool                  // it was stopped until the next call
	hasResources bool                  // the last connection had resources
	granted      string                // the approved key
	watched      extension.Watched     // of a program with write access to the workspace

	remarks   remarks
	toldLogin bool // the user was notified of the login
	steps     int  // how often a call lacked a scope
}

// link is a connection to a server.
type link struct {
	session *sdk.ClientSession
	carrier carrier
	release context.CancelCauseFunc // cancels the context of the connection; nil: not set yet
	gone    chan struct{}           // closed when the connection has ended
	began   time.Time
	lost    bool // the server has dropped the session; guarded by the server's mu
}

// carrier is the transport of a link.
type carrier interface {
	close()      // ends it and releases everything
	why() string // why it has ended; empty: unknown
	NeedsTask(tool string) bool
	Cut() bool         // a message of it was too long
	Waits(error) error // the error of a call without an answer; reports if the server does not read
	Faults() []string  // mistakes in its list of tools
}

// start starts to connect a server.
func (s *Servers) start(one Server, label string) *server {
	x := &server{
		Server: one, now: one, label: label, owner: s, began: time.Now(),
		first: make(chan struct{}), done: make(chan struct{}),
		wanted: make(chan struct{}, 1), news: make(chan struct{}, 1), moved: make(chan struct{}, 1), attempt: make(chan struct{}),
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

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already pending
	}
}

// run connects the server, and connects it again on request, until its context ends.
func (s *server) run() {
	defer close(s.done)
	defer s.log.Close()
	defer s.cancel()
	defer s.setResult(nil, nil, errClosed)
	for {
		s.mu.Lock()
		s.since = time.Now()
		s.mu.Unlock()
		l, found, err := s.connect()
		switch {
		case err == nil || s.ctx.Err() != nil || errors.Is(err, errPermission):
		case errors.Is(err, errLogin):
			s.noticeLogin()
		default:
			s.notice("is not connected: " + err.Error())
		}
		s.setResult(l, found, err)
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

var errClosed = errors.New("it has been closed with its session")

// setResult stores the result of an attempt.
func (s *server) setResult(l *link, found []definition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.err, s.resting = l, err, false
	if l != nil {
		s.keep(found)
	}
	if err != nil && s.URL == "" && s.ctx.Err() == nil && !errors.Is(err, errPermission) {
		s.exits.add()
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

// tried reports whether the first attempt has ended.
func (s *server) tried() bool {
	select {
	case <-s.first:
		return true
	default:
		return false
	}
}

func (s *server) keep(found []definition) {
	s.owner.version.Add(1)
	s.tools, s.order = map[string]definition{}, nil
	if s.original == nil {
		s.original = map[string]string{}
	}
	for _, d := range found {
		if s.original[d.full] == "" {
			s.original[d.full] = d.shape
		}
		d.changed = s.original[d.full] != d.shape
		s.tools[d.full] = d
		s.order = append(s.order, d.full)
	}
}

// refreshGap is the shortest time between two requests for the tools of a connection.
const refreshGap = 200 * time.Millisecond

// attend refreshes the tools when they change. It returns when the connection or the
// context ends.
func (s *server) attend(l *link) {
	defer followPrompts(s, l)()
	news, calm := s.news, (<-chan time.Time)(nil)
	began, rests := time.Now(), (<-chan time.Time)(nil)
	if s.URL == "" && (s.Idle > 0 || s.Lifetime > 0) {
		rests = time.After(0)
	}
	for {
		select {
		case <-rests:
			due, next := restAt(s, began)
			if due {
				s.rest(l)
				return
			}
			rests = time.After(next)
			continue
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
		if !l.lost {
			s.link, s.err = nil, errors.New(strings.TrimSuffix("the connection has ended: "+why, ": "))
		}
		quiet := l.lost || s.ctx.Err() != nil
		if !quiet && s.URL == "" {
			s.exits.add()
		}
		s.mu.Unlock()
		if !quiet {
			s.notice(strings.TrimSuffix("has ended: "+why, ": ") + ". The next call of one of its tools connects it again")
		}
		return
	}
}

// linked returns the connection. If there is none, it starts an attempt and waits for it.
func (s *server) linked(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if l := s.link; l != nil && restart.Since(s.owner.cfg.Dir, s.Name, l.began) {
		s.mu.Unlock()
		s.forget(l)
		s.mu.Lock()
	}
	if s.link != nil {
		defer s.mu.Unlock()
		return s.link, nil
	}
	limit := (<-chan time.Time)(nil)
	select {
	case <-s.attempt: // the attempt has ended and failed
		s.exits.forgive(s.owner.cfg.Dir, s.Name)
		if s.exits.tooMany() {
			defer s.mu.Unlock()
			return nil, errDown(s)
		}
		if s.err != errClosed {
			s.again()
			timer := time.NewTimer(restartWait)
			defer timer.Stop()
			limit = timer.C
		}
	default:
	}
	attempt, before := s.attempt, s.err
	s.mu.Unlock()
	select {
	case <-attempt:
	case <-limit:
		return nil, fmt.Errorf("the MCP server %s is starting again and did not answer within %v: %w", s.Name, restartWait, before)
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

// again starts another attempt. The caller holds mu.
func (s *server) again() {
	s.attempt = make(chan struct{})
	nudge(s.wanted)
}

// forget ends a connection after the server has dropped its session.
func (s *server) forget(l *link) {
	s.mu.Lock()
	l.lost = true
	if s.link == l {
		s.link, s.err = nil, errors.New("the server has forgotten the connection")
	}
	s.mu.Unlock()
	_ = l.session.Close() // the server has dropped the session
}

// connect opens a connection and requests the tools.
func (s *server) connect() (*link, []definition, error) {
	if err := renew(s); err != nil {
		return nil, nil, err
	}
	limit := s.ConnectTimeout
	if limit <= 0 {
		limit = defaultConnect
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("it did not answer within %v", limit)) })
	defer timer.Stop()
	// A stream of events ends with its context. So this context ends with the link, not with this
	// function.
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
	if isLogin(err) {
		return nil, nil, errLogin
	}
	for _, known := range []error{errPermission, errNoChallenge} {
		if errors.Is(err, known) {
			return nil, nil, known
		}
	}
	return nil, nil, errors.New(plain(s.owner.cfg.Hide(login.WithoutQuery(err.Error(), s.URL)), longestLine))
}

// legacy is the protocol version whose handshake every server supports.
const legacy = "2025-11-25"

// open opens a connection. It tries several protocol versions or transports.
func (s *server) open(ctx context.Context) (l *link, err error) {
	if s.URL == "" {
		switch s.Protocol {
		case "stateless":
			return s.openProgram(ctx, "")
		case "legacy":
			return s.openProgram(ctx, legacy)
		}
		// A program without the newer handshake may not answer it at all.
		if l, err = s.openProgram(ctx, legacy); refused(err) {
			l, err = s.openProgram(ctx, "")
		}
		return l, err
	}
	if s.Transport != "" {
		return s.openRemote(ctx, s.Transport)
	}
	if l, err = s.openRemote(ctx, TransportHTTP); err != nil && ctx.Err() == nil && !errors.Is(err, errLogin) {
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
	session, err := s.handshake(ctx, p, p.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		if ctx.Err() == nil {
			if why := p.why(); why != "" {
				err = fmt.Errorf("%w (%s)", err, why)
			}
		}
		p.close()
		return nil, err
	}
	return newLink(session, p), nil
}

func (s *server) openRemote(ctx context.Context, kind string) (*link, error) {
	r, err := s.dial()
	if err != nil {
		return nil, err
	}
	var options *sdk.ClientSessionOptions
	if s.Protocol == "legacy" {
		options = &sdk.ClientSessionOptions{ProtocolVersion: legacy}
	}
	session, err := s.handshake(ctx, r, r.transport(kind), options)
	if err != nil {
		r.close()
		if r.unauthorized.Load() {
			err = s.rejection(r)
		}
		return nil, err
	}
	return newLink(session, r), nil
}

// rejection returns the error for a server's response with status 401.
func (s *server) rejection(r *remote) error {
	switch {
	case !s.logsIn():
		return errToken
	case r.unchallenged.Load():
		return errNoChallenge
	}
	return errLogin
}

// handshake runs the handshake. If ctx ends first, it closes the transport, because closing the
// session would wait for an unresponsive server.
func (s *server) handshake(ctx context.Context, c carrier, t sdk.Transport, o *sdk.ClientSessionOptions) (*sdk.ClientSession, error) {
	defer context.AfterFunc(ctx, c.close)()
	return s.client.Connect(ctx, t, o)
}

func newLink(session *sdk.ClientSession, c carrier) *link {
	l := &link{session: session, carrier: c, began: time.Now(), gone: make(chan struct{})}
	go func() { // ends with the connection, which end closes
		_ = session.Wait()
		close(l.gone)
	}()
	return l
}

// end closes the session, and closes the transport after a grace period. When it returns,
// everything of the link has ended.
func (l *link) end() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close() // an error does not matter any more
	}()
	timer := time.NewTimer(gentle)
	select {
	case <-closed:
	case <-timer.C:
	}
	timer.Stop()
	l.carrier.close()
	<-closed
	<-l.gone
	if l.release != nil {
		l.release(nil)
	}
}

// notice sends the user a notice about the server.
func (s *server) notice(text string) {
	s.owner.cfg.Notice(fmt.Sprintf("The MCP server %q %s.", s.Name, strings.TrimSuffix(text, ".")))
}

// remark sends a notice caused by the server. The user gets at most mostRemarks in a minute.
func (s *server) remark(text string) {
	if s.remarks.admit(time.Now()) {
		s.notice(text)
	}
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
	st := Status{Name: s.Name, State: Connected, Tools: slices.Clone(s.order), LeftOut: slices.Clone(s.left), From: login.Address(s.URL), Log: s.log.Path, Approved: s.Workspace != nil}
	if s.URL == "" {
		st.From = s.Command
	}
	select {
	case <-s.attempt:
	default:
		st.State = Connecting
		return st
	}
	if s.link == nil && s.resting {
		return st
	}
	if s.link == nil {
		st.State, st.Error, st.Tools, st.LeftOut = Failed, fmt.Sprint(s.err), nil, nil
		if s.exits.tooMany() {
			st.Error = errDown(s).Error()
		}
		if errors.Is(s.err, errLogin) {
			st.State, st.Error = NeedsLogin, s.howToLogIn()
		}
		if errors.Is(s.err, errPermission) {
			st.State, st.Error = NeedsApproval, "it "+s.pending.Reason
		}
	}
	return st
}

// same reports whether two configurations are equal.
func same(a, b Server) bool {
	if !maps.Equal(a.Headers, b.Headers) || !maps.Equal(a.Approve, b.Approve) {
		return false
	}
	a.Headers, b.Headers, a.Approve, b.Approve = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}
