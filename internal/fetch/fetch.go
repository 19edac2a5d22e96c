// Package fetch reads public web pages for a model: the only way to an address chosen by a model.
//
// Only the public internet is reached: each connection is checked when it is made, by its resolved
// address, and again for every redirect. Size, time and number of redirects are bounded, robots.txt
// is heeded, and each host gets one request at a time. A [Client] is safe for concurrent use.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/amount"
)

// Agent is the client's name for servers and in robots.txt.
const Agent = "hermes-ls"

const (
	bodyLimit     = 10 << 20         // bytes, unpacked
	timeLimit     = 30 * time.Second // for a page with all its redirects, without waiting for the host's slot
	headerLimit   = 15 * time.Second // until the server begins to answer
	redirectLimit = 5
)

// Options limit the reachable addresses.
type Options struct {
	// AllowPrivate allows loopback and private addresses, and a proxy of the environment: addresses
	// behind a proxy cannot be checked.
	AllowPrivate bool
	Version      string // of the program, for servers to see

	dial func(ctx context.Context, network, address string) (net.Conn, error) // for tests
	gap  time.Duration                                                        // between two requests to a host; 0: politeGap
}

// Client reads pages.
type Client struct {
	http   *http.Client
	agent  string
	robots robots
	pace   pace
}

// New makes a client. It touches no network.
func New(o Options) *Client {
	dialer := &net.Dialer{Timeout: headerLimit, Control: control}
	transport := &http.Transport{
		DialContext: dialer.DialContext,
		// No proxy of the environment: it would resolve names itself, unchecked.
		TLSHandshakeTimeout:    headerLimit,
		ResponseHeaderTimeout:  headerLimit,
		MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost:        2,
		IdleConnTimeout:        10 * time.Second,
		ForceAttemptHTTP2:      true,
	}
	if o.AllowPrivate {
		dialer.Control, transport.Proxy = nil, http.ProxyFromEnvironment
	}
	if o.dial != nil {
		transport.DialContext = o.dial
	}
	if o.gap == 0 {
		o.gap = politeGap
	}
	c := &Client{
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		agent: Agent + "/" + o.Version + " (coding agent in an editor; asked by its user)",
		pace:  pace{gap: o.gap},
	}
	c.robots.read = c.readRobots
	return c
}

// Rest closes idle connections.
func (c *Client) Rest() { c.http.CloseIdleConnections() }

// Body is the response of a server.
type Body struct {
	URL  string // where it came from in the end
	Type string // Content-Type, as sent
	Data []byte
}

// Get reads an address. The error is a sentence fragment about the page, for a
// model to read.
func (c *Client) Get(ctx context.Context, address string) (*Body, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, noAddress(strings.TrimSpace(address))
	}
	u.Fragment = ""
	for range redirectLimit + 1 {
		body, next, err := c.step(ctx, u)
		if err != nil || next == nil {
			return body, err
		}
		u = next
	}
	return nil, fmt.Errorf("it redirects more than %d times", redirectLimit)
}

// step requests an address, and returns its body or its redirect.
func (c *Client) step(ctx context.Context, u *url.URL) (body *Body, next *url.URL, err error) {
	if err := check(u); err != nil {
		return nil, nil, err
	}
	rules, err := c.robots.of(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	if !rules.allows(u) {
		return nil, nil, fmt.Errorf("%s asks programs to stay away from this page (robots.txt); tell the user, who can open it", u.Host)
	}
	leave, err := c.pace.enter(ctx, u.Host, rules.delay())
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	limited, stop := context.WithTimeout(ctx, timeLimit)
	defer stop()
	return c.ask(limited, u)
}

func (c *Client) ask(ctx context.Context, u *url.URL) (*Body, *url.URL, error) {
	r, err := c.send(ctx, u, "text/html,application/xhtml+xml,text/*;q=0.9,application/pdf;q=0.9,application/json;q=0.8,*/*;q=0.5")
	if err != nil {
		return nil, nil, err
	}
	defer r.Body.Close() // nothing is lost
	if next, moved := redirect(r, u); moved {
		next.Fragment = ""
		return nil, next, nil
	}
	switch {
	case r.StatusCode < 200 || r.StatusCode >= 300:
		return nil, nil, statusError(r)
	case r.ContentLength > bodyLimit:
		return nil, nil, fmt.Errorf("it is too large: %s, at most %s are read", amount.IBytes(r.ContentLength), amount.IBytes(bodyLimit))
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	switch {
	case err != nil:
		return nil, nil, plain(ctx, u, err)
	case len(data) > bodyLimit:
		return nil, nil, fmt.Errorf("it is too large: at most %s are read", amount.IBytes(bodyLimit))
	}
	return &Body{URL: u.String(), Type: r.Header.Get("Content-Type"), Data: data}, nil, nil
}

func (c *Client) send(ctx context.Context, u *url.URL, accept string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("it is no valid address")
	}
	q.Header.Set("User-Agent", c.agent)
	q.Header.Set("Accept", accept)
	r, err := c.http.Do(q)
	if err != nil {
		return nil, plain(ctx, u, err)
	}
	return r, nil
}

func statusError(r *http.Response) error {
	text := fmt.Sprintf("the server answers %d %s", r.StatusCode, http.StatusText(r.StatusCode))
	switch r.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		text += "; look for the right address with a search instead of guessing"
	case http.StatusUnauthorized, http.StatusForbidden:
		text += "; it wants a login or keeps programs out"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		text += "; do not ask it again at once"
		if after := r.Header.Get("Retry-After"); after != "" && len(after) < 40 {
			text += " (it says: after " + after + ")"
		}
	}
	return errors.New(text)
}

// plain converts a transport's error to a text for the reader.
func plain(ctx context.Context, u *url.URL, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrPrivate):
		return fmt.Errorf("%s is %w: loopback, link-local and private addresses are refused, also by redirect; the user can allow them with web.allow_private", u.Host, ErrPrivate)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it was not all there after %v", timeLimit)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s, or this machine is offline. Do not try it again; go on without the page, and tell the user", u.Hostname())
	}
	return fmt.Errorf("%s could not be read: %w. Try it once more at most; then go on without the page", u.Host, err)
}
