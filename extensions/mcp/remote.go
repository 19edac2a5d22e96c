package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/secure"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/wire"
	"github.com/hermes-ls/hermes-ls/tools"
)

// remote is a server reached over HTTP. It holds the HTTP connections of a connection, so close can close all
// of them.
type remote struct {
	endpoint *url.URL
	headers  map[string]string
	client   *http.Client
	pool     *http.Transport

	wire.Dropped
	server       *server
	target       login.Target
	logins       *login.Store // nil: no login
	unauthorized atomic.Bool  // the server needs a login
	unchallenged atomic.Bool  // its answer did not report it

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	mu     sync.Mutex
	conns  map[net.Conn]bool
}

func (a attempt) dial() (*remote, error) {
	endpoint, err := url.Parse(a.URL)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, errors.New("its url is no http(s) address")
	}
	checks, err := secure.Config(a.Verify, a.Certificate)
	if err != nil {
		return nil, err
	}
	r := &remote{endpoint: endpoint, headers: a.values.Headers, conns: map[net.Conn]bool{}, server: a.server, Dropped: wire.Dropped{Forms: &a.forms}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.pool = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: r.connect, ForceAttemptHTTP2: true,
		TLSClientConfig: checks, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
	}
	r.client = &http.Client{Transport: r}
	if a.logsIn() {
		r.logins, r.target = a.owner.cfg.Logins, a.values.LoginTarget()
		r.target.Transport = r.pool
	}
	return r, nil
}

func (r *remote) transport(kind string) sdk.Transport {
	if kind == TransportSSE {
		return &sdk.SSEClientTransport{Endpoint: r.endpoint.String(), HTTPClient: r.client}
	}
	return &sdk.StreamableClientTransport{Endpoint: r.endpoint.String(), HTTPClient: &http.Client{Transport: listening{r}}}
}

// RoundTrip adds the configured headers and the token of the login. It rejects requests to
// other hosts, because a redirect or the server could otherwise get the headers sent there.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	if !r.own(req.URL) {
		return nil, fmt.Errorf("the server points to another host, %s; nothing is sent there: name its address itself", req.URL.Host)
	}
	token, err := r.token(req.Context(), "")
	if err != nil {
		return nil, err
	}
	r.record(req)
	resp, err := r.send(req, token)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized && r.logins != nil {
		r.unchallenged.Store(token == "" && r.server.Auth != AuthOAuth && resp.Header.Get("WWW-Authenticate") == "")
		if token, err = r.token(req.Context(), token); err != nil || token == "" {
			resp.Body.Close()
			r.unauthorized.Store(true)
			return nil, errors.Join(errLogin, err)
		}
		resp.Body.Close()
		if resp, err = r.send(req, token); err != nil {
			return nil, err
		}
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		r.unauthorized.Store(true)
	case http.StatusForbidden:
		if r.logins != nil && token != "" {
			if err := r.lacks(req.Context(), resp); err != nil {
				resp.Body.Close()
				return nil, err
			}
		}
	}
	r.Watch(resp)
	return resp, nil
}

// record records the message in a request.
func (r *remote) record(req *http.Request) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return
	}
	if body, err := req.GetBody(); err == nil {
		defer body.Close()
		if text, err := io.ReadAll(body); err == nil { // the SDK has it in memory
			r.Sent(text)
		}
	}
}

// send sends a request. The request can be sent again, because the SDK's bodies can be read again.
func (r *remote) send(req *http.Request, token string) (*http.Response, error) {
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	for name, value := range r.headers {
		again.Header.Set(name, value)
	}
	if token != "" {
		again.Header.Set("Authorization", "Bearer "+token)
	}
	return r.pool.RoundTrip(again)
}

// token returns the token of the login; empty: the server may need none. rejected is a token
// already rejected by the server.
func (r *remote) token(ctx context.Context, rejected string) (string, error) {
	if r.logins == nil {
		return "", nil
	}
	token, err := r.logins.Token(ctx, r.target, rejected)
	if errors.Is(err, login.ErrNeeded) {
		if r.server.Auth != AuthOAuth {
			return "", nil
		}
		r.unauthorized.Store(true)
		return "", errLogin
	}
	r.server.owner.redact(r.target.URL, token)
	return token, err
}

// redact redacts the tokens of a login in all output. token is the token in use.
func (s *Servers) redact(address, token string) {
	if _, known := s.tokens.LoadOrStore(token, true); known || token == "" || s.cfg.Secret == nil {
		return
	}
	values := map[string]string{address + " access token": token}
	if e, err := s.cfg.Logins.Entry(address); err == nil && e.Tokens.Refresh != "" {
		values[address+" refresh token"] = e.Tokens.Refresh
	}
	s.cfg.Secret(values)
}

func (r *remote) own(u *url.URL) bool {
	if u.Scheme == r.endpoint.Scheme && u.Host == r.endpoint.Host {
		return true
	}
	return u.Scheme == "https" && r.endpoint.Scheme == "http" && u.Hostname() == r.endpoint.Hostname() && usual(u) && usual(r.endpoint)
}

// usual reports whether an address uses the default port of its scheme.
func usual(u *url.URL) bool {
	return u.Port() == "" || u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func (r *remote) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		conn.Close()
		return nil, r.ctx.Err()
	}
	kept := &tracked{conn, r}
	r.conns[kept] = true
	return kept, nil
}

// tracked is a connection that removes itself from the remote on Close.
type tracked struct {
	net.Conn
	remote *remote
}

func (c *tracked) Close() error {
	c.remote.mu.Lock()
	delete(c.remote.conns, c)
	c.remote.mu.Unlock()
	return c.Conn.Close()
}

// close closes all connections and prevents new ones.
func (r *remote) close() {
	r.cancel()
	r.mu.Lock()
	open := make([]net.Conn, 0, len(r.conns))
	for c := range r.conns {
		open = append(open, c)
	}
	r.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
	r.pool.CloseIdleConnections()
}

func (r *remote) exitReason() string { return "" }

// Waits returns the error: unread data waits in the requests of its calls.
func (r *remote) Waits(err error) error { return err }

// review returns nothing: a remote server does not write in the workspace.
func (r *remote) review(context.Context, tools.Call) string { return "" }
