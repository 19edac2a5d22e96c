package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/tools"
)

// connection is an open connection to a server.
type connection struct {
	session *sdk.ClientSession
	carrier carrier
	release context.CancelCauseFunc // cancels the context of the connection; nil: not set yet
	gone    chan struct{}           // closed when the connection has ended
	began   time.Time
	values  Server // the server with the configuration's values of the attempt
}

// carrier is the transport of a connection.
type carrier interface {
	close()             // ends it and releases everything
	exitReason() string // why it has ended; empty: unknown
	NeedsTask(tool string) bool
	Cut() bool         // a message of it was too long
	Waits(error) error // the error of a call without an answer; reports if the server does not read
	Faults() []string  // mistakes in its list of tools
	// review reviews the changes by a program during a call. It returns text for the model, nearly always none.
	review(context.Context, tools.Call) string
}

// attempt is an attempt to connect a server.
type attempt struct {
	*server
	values Server // the server with the current values of its configuration
}

const defaultConnect = 30 * time.Second

// attempt opens a connection and requests the tools. The first attempt uses the values of the configuration of the
// session's begin, later ones the current values.
func (s *server) attempt(first bool) (*connection, []definition, error) {
	a := attempt{s, s.Server}
	if err := a.renew(first); err != nil {
		return nil, nil, err
	}
	limit := s.ConnectTimeout
	if limit <= 0 {
		limit = defaultConnect
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("it did not answer within %v", limit)) })
	defer timer.Stop()
	// A stream of events ends with its context. So this context ends with the connection, not with this
	// function.
	conn, err := a.open(ctx)
	if err == nil {
		var found []definition
		if found, err = s.list(ctx, conn); err == nil && timer.Stop() {
			conn.release = cancel
			return conn, found, nil
		}
		conn.end()
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
func (a attempt) open(ctx context.Context) (conn *connection, err error) {
	if a.URL == "" {
		switch a.Protocol {
		case "stateless":
			return a.openProgram(ctx, "")
		case "legacy":
			return a.openProgram(ctx, legacy)
		}
		// A program without the newer handshake may not answer it at all.
		if conn, err = a.openProgram(ctx, legacy); refused(err) {
			conn, err = a.openProgram(ctx, "")
		}
		return conn, err
	}
	if a.Transport != "" {
		return a.openRemote(ctx, a.Transport)
	}
	if conn, err = a.openRemote(ctx, TransportHTTP); err != nil && ctx.Err() == nil && !errors.Is(err, errLogin) {
		if older, olderErr := a.openRemote(ctx, TransportSSE); olderErr == nil {
			return older, nil
		}
	}
	return conn, err
}

func refused(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire)
}

func (a attempt) openProgram(ctx context.Context, version string) (*connection, error) {
	p, err := a.launch(ctx)
	if err != nil {
		return nil, err
	}
	session, err := a.handshake(ctx, p, p.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		if ctx.Err() == nil {
			if why := p.exitReason(); why != "" {
				err = fmt.Errorf("%w (%s)", err, why)
			}
		}
		p.close()
		return nil, err
	}
	return newConnection(session, p, a.values), nil
}

func (a attempt) openRemote(ctx context.Context, kind string) (*connection, error) {
	r, err := a.dial()
	if err != nil {
		return nil, err
	}
	var options *sdk.ClientSessionOptions
	if a.Protocol == "legacy" {
		options = &sdk.ClientSessionOptions{ProtocolVersion: legacy}
	}
	session, err := a.handshake(ctx, r, r.transport(kind), options)
	if err != nil {
		r.close()
		if r.unauthorized.Load() {
			err = a.rejection(r)
		}
		return nil, err
	}
	return newConnection(session, r, a.values), nil
}

// rejection returns the error for a server's response with status 401.
func (a attempt) rejection(r *remote) error {
	switch {
	case !a.logsIn():
		return errToken
	case r.unchallenged.Load():
		return errNoChallenge
	}
	return errLogin
}

// handshake runs the handshake. If ctx ends first, it closes the transport, because closing the
// session would wait for an unresponsive server.
func (a attempt) handshake(ctx context.Context, c carrier, t sdk.Transport, o *sdk.ClientSessionOptions) (*sdk.ClientSession, error) {
	defer context.AfterFunc(ctx, c.close)()
	return a.client.Connect(ctx, t, o)
}

func newConnection(session *sdk.ClientSession, c carrier, values Server) *connection {
	conn := &connection{session: session, carrier: c, values: values, began: time.Now(), gone: make(chan struct{})}
	go func() { // ends with the connection, which end closes
		_ = session.Wait()
		close(conn.gone)
	}()
	return conn
}

// end closes the session, and closes the transport after a grace period. When it returns,
// everything of the connection has ended.
func (conn *connection) end() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = conn.session.Close() // an error does not matter any more
	}()
	timer := time.NewTimer(gentle)
	select {
	case <-closed:
	case <-timer.C:
	}
	timer.Stop()
	conn.carrier.close()
	<-closed
	<-conn.gone
	if conn.release != nil {
		conn.release(nil)
	}
}
