// Package openai speaks to any OpenAI-compatible endpoint: chat completions,
// streamed.
//
// [New] joins endpoints in the order they are tried. A [Model] retries before
// anything was shown, rotates an endpoint's keys, falls over to the next endpoint
// when one fails for good, and gives up with a [*model.Error] that says what
// failed, where, and what to do. Each request is a byte-for-byte extension of the
// one before as long as the caller's messages are. A key is sent to its own
// endpoint only, and never appears in an error.
//
// A Model is safe for concurrent use; a stream belongs to the goroutine that
// ranges over it, and no goroutine is left when the range ends.
package openai

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Config says where models are. Endpoints is required.
type Config struct {
	// Endpoints are tried in order; the later ones are fallbacks.
	Endpoints []Endpoint
	// Transport carries the requests of endpoints that bring none of their own.
	// Nil: the network, through the proxies of the environment.
	Transport http.RoundTripper
	// FirstTimeout bounds the wait for the first event of a reply, or a comment
	// that says that it is being worked upon; 0: 120 s.
	FirstTimeout time.Duration
	// IdleTimeout bounds the wait between events; 0: 90 s.
	IdleTimeout time.Duration
	// Rejections outlive the process. Zero: rejections are remembered in memory only.
	Rejections Rejections
	Log        *slog.Logger // nil: none
}

// Rejections remembers which models get no pictures because their endpoint rejected
// one. Set both functions or none.
type Rejections struct {
	// Known reports whether a rejection is remembered. If it cannot be read, Known
	// returns false.
	Known    func(ctx context.Context, endpoint, model string) bool
	Remember func(ctx context.Context, endpoint, model string) error
}

// Endpoint is one model somewhere.
type Endpoint struct {
	Provider string   // openai, openrouter, ollama, lmstudio, custom
	BaseURL  string   // up to and without /chat/completions; empty: the provider's
	Model    string   // the id sent
	Keys     []string // tried in turn; may be empty where none is needed
	Window   int      // context window in tokens; 0: from a table
	// TextCalls says whether calls that the model writes as text count: TextCallsNever,
	// TextCallsAlways, or else until the model has made a native call.
	TextCalls string
	// Transport carries this endpoint's requests; nil: Config.Transport.
	Transport http.RoundTripper
}

// baseURLs are where the providers live when nothing else is configured.
var baseURLs = map[string]string{
	"openai":     "https://api.openai.com/v1",
	"openrouter": "https://openrouter.ai/api/v1",
	"ollama":     "http://localhost:11434/v1",
	"lmstudio":   "http://localhost:1234/v1",
}

// Model is a [model.Model] on OpenAI-compatible endpoints.
type Model struct {
	endpoints []*endpoint
	first     time.Duration
	idle      time.Duration
	rejected  Rejections
	log       *slog.Logger
	network   *http.Transport // nil when every request has a transport of its own
}

// New makes a model. Nothing is dialled before the first request.
func New(c Config) *Model {
	m := &Model{first: c.FirstTimeout, idle: c.IdleTimeout, rejected: c.Rejections, log: c.Log}
	if m.first <= 0 {
		m.first = 120 * time.Second
	}
	if m.idle <= 0 {
		m.idle = 90 * time.Second
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	for _, e := range c.Endpoints {
		if e.Transport == nil {
			e.Transport = c.Transport
		}
		if e.Transport == nil {
			e.Transport = m.dialled()
		}
		m.endpoints = append(m.endpoints, newEndpoint(e))
	}
	return m
}

// dialled returns the transport to the network, made once.
func (m *Model) dialled() http.RoundTripper {
	if m.network == nil {
		m.network = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   15 * time.Second,
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   64,   // as many subagents keep theirs between two requests
			DisableCompression:    true, // a compressed stream comes late
		}
	}
	return m.network
}

// Close lets go of idle connections. The model can still be used.
func (m *Model) Close() {
	if m.network != nil {
		m.network.CloseIdleConnections()
	}
}

// Window returns the first endpoint's context window in tokens: as configured,
// else what the endpoint has said, else from a table of known models, else 128000. It
// makes no request.
func (m *Model) Window() int {
	if len(m.endpoints) == 0 {
		return defaultWindow
	}
	e := m.endpoints[0]
	return cmp.Or(e.Window, e.told().window, window(e.Model))
}

// Stream sends req to the first endpoint that answers; see [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		defer m.inquire(ctx, req)()
		s := &stream{model: m, req: req, yield: yield}
		if err := s.run(ctx); err != nil && !s.broken {
			yield(model.Delta{}, err)
		}
	}
}

// stream is one request of the caller's, through retries and endpoints.
type stream struct {
	model  *Model
	req    *model.Request
	yield  func(model.Delta, error) bool
	forms  *pictureForms // of the endpoint that is asked
	shown  bool          // something of the reply was yielded: no retry after this
	broken bool          // the caller has broken off
}

// emit yields a delta of the reply.
func (s *stream) emit(d model.Delta) bool {
	s.shown = true
	s.broken = !s.yield(d, nil)
	return !s.broken
}

// notice yields a word to the user.
func (s *stream) notice(text string) bool {
	s.broken = !s.yield(model.Delta{Notice: text}, nil)
	return !s.broken
}

// run tries the endpoints in order.
func (s *stream) run(ctx context.Context) error {
	var first error // the one to report when all fail: the user chose that endpoint
	order := s.model.order(s.req.Model)
	for i, e := range order {
		err := s.try(ctx, e)
		if err == nil || s.broken {
			return nil
		}
		if first == nil {
			first = err
		}
		if s.shown || ctx.Err() != nil || !another(err) {
			return err
		}
		if i+1 == len(order) {
			break
		}
		next := order[i+1]
		s.model.log.Info("model falls over", "from", e.name(), "to", next.name(), "error", err)
		if !s.notice(brief(err) + "; trying " + next.Model) {
			return nil
		}
	}
	if first == nil {
		first = &model.Error{Kind: model.ErrNoKey}
	}
	return first
}

// order returns the endpoints as they are to be tried for a model id: those that
// are configured for it first; where none is, the first endpoint serves it.
func (m *Model) order(id string) []*endpoint {
	if id == "" || len(m.endpoints) == 0 || m.endpoints[0].Model == id {
		return m.endpoints
	}
	var first, rest []*endpoint
	for _, e := range m.endpoints {
		if e.Model == id {
			first = append(first, e)
		} else {
			rest = append(rest, e)
		}
	}
	if len(first) == 0 {
		first = []*endpoint{m.endpoints[0].serving(id)}
	}
	return append(first, rest...)
}

// another tells whether the next endpoint may do better.
func another(err error) bool {
	var e *model.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case model.ErrOverflow:
		return false
	case model.ErrRequest:
		return unknownModel(e)
	default:
		return true
	}
}

// displayURL is a URL for people: without user, query or fragment.
func displayURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return strings.SplitN(raw, "?", 2)[0]
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
