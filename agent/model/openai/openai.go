// Package openai requests streamed chat completions from OpenAI-compatible endpoints.
//
// [New] takes endpoints in the order in which they are tried. A [Model] tries again until
// a part of the response was yielded. It tries all keys of an endpoint, then the next
// endpoint. If all fail, it returns a [*model.Error] with the cause, the endpoint and the
// next step. If the messages of a request extend those of the previous one, its bytes do,
// too. A key is sent only to its own endpoint, and never appears in an error.
//
// A Model is safe for concurrent use. A stream belongs to the goroutine that ranges over
// it. When the range ends, all goroutines of the stream have ended.
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

// Config configures a Model. Endpoints is required.
type Config struct {
	// Endpoints are tried in order; the later ones are fallbacks.
	Endpoints []Endpoint
	// Transport sends the requests of endpoints that have no transport. If it is nil, they use
	// the network, with the proxies of the environment.
	Transport http.RoundTripper
	// FirstTimeout limits the wait for the first event of a response. A comment of the
	// endpoint restarts the wait. 0 means 120 s.
	FirstTimeout time.Duration
	// IdleTimeout limits the wait between events. 0 means 90 s.
	IdleTimeout time.Duration
	// Rejections remembers rejected pictures after the process ends. If it is zero, they are
	// remembered in memory only.
	Rejections Rejections
	Log        *slog.Logger // nil discards the log
}

// Rejections remembers which models get no pictures, because their endpoint rejected one.
// Set both functions or none.
type Rejections struct {
	// Known reports whether a rejection is remembered. If it cannot be read, Known returns
	// false.
	Known    func(ctx context.Context, endpoint, model string) bool
	Remember func(ctx context.Context, endpoint, model string) error
}

// Endpoint is one model of one server.
type Endpoint struct {
	Provider string   // openai, openrouter, ollama, lmstudio or custom
	BaseURL  string   // without /chat/completions; empty: the default URL of the provider
	Model    string   // the id that is sent
	Keys     []string // tried in turn; may be empty if the server requires none
	Window   int      // context window in tokens; 0: from the metadata or a table
	// TextCalls says whether tool calls that the model writes as text run. If it is neither
	// TextCallsNever nor TextCallsAlways, they run until the model makes a native call.
	TextCalls string
	// Transport sends the requests of this endpoint. If it is nil, Config.Transport does.
	Transport http.RoundTripper
}

// baseURLs are the default URLs of the providers.
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
	network   *http.Transport // nil if each endpoint has a transport of its own
}

// New returns a Model. It opens no connection before the first request.
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

// dialled returns the transport to the network. All endpoints share it.
func (m *Model) dialled() http.RoundTripper {
	if m.network == nil {
		m.network = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   15 * time.Second,
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   64,   // so that as many subagents can keep a connection between two requests
			DisableCompression:    true, // a compressed stream arrives late
		}
	}
	return m.network
}

// Close closes idle connections. The model can still be used.
func (m *Model) Close() {
	if m.network != nil {
		m.network.CloseIdleConnections()
	}
}

// Window returns the first endpoint's context window in tokens. It takes the configured
// window, or the endpoint's metadata, or a table of known models. If none has it, Window
// returns 128000. It makes no request.
func (m *Model) Window() int {
	if len(m.endpoints) == 0 {
		return defaultWindow
	}
	e := m.endpoints[0]
	return cmp.Or(e.Window, e.told().window, window(e.Model))
}

// Stream sends req to the first endpoint that answers. See [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		defer m.inquire(ctx, req)()
		s := &stream{model: m, req: req, yield: yield}
		if err := s.run(ctx); err != nil && !s.broken {
			yield(model.Delta{}, err)
		}
	}
}

// stream is one request of the caller, with its retries and endpoints.
type stream struct {
	model  *Model
	req    *model.Request
	yield  func(model.Delta, error) bool
	forms  *pictureForms // of the current endpoint
	shown  bool          // a part of the response was yielded, so it is not tried again
	broken bool          // the caller has stopped reading
}

// emit yields a delta of the reply.
func (s *stream) emit(d model.Delta) bool {
	s.shown = true
	s.broken = !s.yield(d, nil)
	return !s.broken
}

// notice yields a notice to the user.
func (s *stream) notice(text string) bool {
	s.broken = !s.yield(model.Delta{Notice: text}, nil)
	return !s.broken
}

// run tries the endpoints in order.
func (s *stream) run(ctx context.Context) error {
	var first error // is returned if all fail, because the user chose that endpoint
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

// order returns the endpoints in the order in which they are tried for a model id. Those
// that are configured for the id are first. If there are none, the first endpoint gets it.
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

// another reports whether the next endpoint may succeed.
func another(err error) bool {
	var e *model.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case model.ErrOverflow, model.ErrState:
		return false
	case model.ErrRequest:
		return e.Status == http.StatusNotFound
	default:
		return true
	}
}

// displayURL returns a URL for messages, without user, query and fragment.
func displayURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return strings.SplitN(raw, "?", 2)[0]
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
