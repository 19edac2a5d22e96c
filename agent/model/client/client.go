// Package client requests streamed responses from model APIs.
//
// [New] takes endpoints in the order to try them. A [Model] retries until it has yielded text
// of the response. It tries all keys of an endpoint, then the next endpoint. If all fail, it
// returns a [*model.Error] with the cause, the endpoint and the next step. A key is sent only
// to its own endpoint, and never appears in an error.
//
// A Model is safe for concurrent use. A stream belongs to the goroutine ranging over it. When
// the range ends, all goroutines of the stream have ended.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Config configures a Model. Endpoints is required.
type Config struct {
	// Endpoints are tried in order; the later ones are fallbacks.
	Endpoints []Endpoint
	// Transport sends the requests of endpoints without a transport. If it is nil, they use the
	// network.
	Transport http.RoundTripper
	// Stall limits the wait between events. The first event of a response may take three times
	// as long; a comment of the endpoint restarts this wait. 0 means 90 s.
	Stall time.Duration
	// Keys holds the state of keys. All models of a process share it. Nil: this model has its
	// own.
	Keys *Keys
	// Rejections remembers rejected pictures after the process ends. If it is zero, they are
	// remembered in memory only.
	Rejections Rejections
	Log        *slog.Logger // nil discards the log
}

// Rejections remembers models without picture support, after their endpoint rejected a picture.
// Set both functions or none.
type Rejections struct {
	// Known reports whether a rejection is remembered. If it cannot be read, Known returns
	// false.
	Known    func(ctx context.Context, endpoint, model string) bool
	Remember func(ctx context.Context, endpoint, model string) error
}

var (
	_ model.Served     = (*Model)(nil)
	_ model.Sized      = (*Model)(nil)
	_ model.Prepares   = (*Model)(nil)
	_ model.Sees       = (*Model)(nil)
	_ model.KnownToSee = (*Model)(nil)
)

// Model is a [model.Model] on endpoints of model APIs.
type Model struct {
	endpoints []*endpoint
	stall     time.Duration
	keys      *Keys
	rejected  Rejections
	log       *slog.Logger
	network   []*http.Transport

	mu      sync.Mutex
	turns   map[string]fallback // by session
	refused map[string]string   // endpoints and models that refused the last request with pictures, by session
	noTools map[string]string   // endpoints and models with a notice from endpoint.noTools, by session
}

// fallback is the endpoint for the rest of a turn.
type fallback struct {
	turn string
	to   *endpoint
}

// New returns a Model. It opens no connection before the first request.
func New(c Config) *Model {
	m := &Model{stall: cmp.Or(max(c.Stall, 0), 90*time.Second), keys: c.Keys, rejected: c.Rejections, log: c.Log, turns: map[string]fallback{}, refused: map[string]string{}, noTools: map[string]string{}}
	if m.keys == nil {
		m.keys = new(Keys)
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	var shared *http.Transport // for endpoints without a proxy or certificates
	for _, e := range c.Endpoints {
		if e.Transport == nil {
			e.Transport = c.Transport
		}
		var broken error
		switch {
		case e.Transport != nil:
		case e.Proxy != "" || e.CAFile != "":
			var own *http.Transport
			if own, broken = dialled(e.Proxy, e.CAFile); own != nil {
				m.network = append(m.network, own)
				e.Transport = own
			}
		default:
			if shared == nil {
				shared, _ = dialled("", "") // these arguments cannot fail
				m.network = append(m.network, shared)
			}
			e.Transport = shared
		}
		made := newEndpoint(e)
		if broken != nil {
			made.broken = made.fail(model.ErrDown, 0, broken.Error(), nil)
		}
		m.endpoints = append(m.endpoints, made)
	}
	return m
}

// Close closes idle connections. The model can still be used.
func (m *Model) Close() {
	for _, t := range m.network {
		t.CloseIdleConnections()
	}
}

// Window returns the first endpoint's context window in tokens. It takes the configured window,
// or the endpoint's metadata, or [Endpoint.Known]. If none is known, Window returns 128000. A
// smaller window applies if the server runs the model with it or has refused a longer request.
// Window makes no request.
func (m *Model) Window() int {
	if len(m.endpoints) == 0 {
		return defaultWindow
	}
	return m.endpoints[0].window()
}

// Stream sends req to the endpoints in order until one of them answers. See [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		defer m.fetchMetadata(ctx, req)()
		s := &stream{model: m, req: req, yield: yield}
		err := s.run(ctx)
		s.noteRefusal(err)
		if err != nil && !s.broken {
			yield(model.Delta{}, err)
		}
	}
}

// stream is a request of the caller, with its retries and endpoints.
type stream struct {
	model   *Model
	req     *model.Request
	yield   func(model.Delta, error) bool
	forms   *pictureForms         // of the current endpoint
	noState map[model.Origin]bool // origins whose state was refused
	dropped *model.Origin         // not yet reported to the caller
	instead string                // why a fallback is asked; empty: it is not, or the caller knows
	paused  continuation

	begun   bool // a part of the response was yielded
	restart bool // the parts yielded so far are not part of the response
	shown   int  // yielded characters of text
	limit   int  // of the response in tokens, from the last request
	broken  bool // the caller stopped reading
}

// emit yields a delta of the response.
func (s *stream) emit(d model.Delta) bool {
	if s.restart && s.begun {
		s.restart = false
		if s.broken = !s.yield(model.Delta{Restart: true}, nil); s.broken {
			return false
		}
	}
	s.begun, s.restart = true, false
	s.shown += utf8.RuneCountInString(d.Text)
	s.broken = !s.yield(d, nil)
	return !s.broken
}

// notice yields a notice to the user.
func (s *stream) notice(text string) bool {
	s.broken = !s.yield(model.Delta{Notice: text}, nil)
	return !s.broken
}

// over reports whether to give up after err: text was shown, the caller stopped reading, or a
// part was yielded and the request would fail again.
func (s *stream) over(ctx context.Context, err error) bool {
	if err == nil || s.broken || s.shown > 0 || ctx.Err() != nil {
		return true
	}
	var failed *model.Error
	return s.begun && (s.paused.times > 0 || !errors.As(err, &failed) || !retryable(failed))
}

// run tries the endpoints in order.
func (s *stream) run(ctx context.Context) error {
	var first *model.Error // returned if all fail, because the user chose this endpoint
	order := s.model.order(s.req)
	for i, e := range order {
		err := s.try(ctx, e, i+1 < len(order))
		if s.broken {
			return nil
		}
		if err == nil {
			s.model.answered(s.req, e)
			return nil
		}
		var failed *model.Error
		if !errors.As(err, &failed) {
			return err
		}
		if s.over(ctx, err) {
			failed.Shown = s.shown
			return err
		}
		if first == nil {
			first = failed
		} else {
			first.Others = append(first.Others, failed)
		}
		if !another(failed) {
			return failed
		}
		if i+1 == len(order) {
			break
		}
		next := order[i+1]
		s.model.log.Info("model falls over", "from", e.name(), "to", next.name(), "error", err)
		s.restart = true
		s.instead = e.id() + " failed: " + string(failed.Kind)
		if failed.Status != 0 {
			s.instead += fmt.Sprintf(" (%d)", failed.Status)
		}
		if !s.notice(brief(failed) + "; trying " + next.id()) {
			return nil
		}
	}
	if first == nil {
		first = &model.Error{Kind: model.ErrNoKey}
	}
	return first
}

// order returns the endpoints in the order to try them. Endpoints configured for the request's
// model come first. If there are none, the model goes to the first endpoint. If a fallback has
// answered in this turn, it comes first.
func (m *Model) order(req *model.Request) []*endpoint {
	all := m.endpoints
	if id := req.Model; id != "" && len(all) > 0 && all[0].Model != id {
		var first, rest []*endpoint
		for _, e := range all {
			if e.Model == id {
				first = append(first, e)
			} else {
				rest = append(rest, e)
			}
		}
		if len(first) == 0 {
			first = []*endpoint{all[0].serving(id)}
		}
		all = append(first, rest...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.turns[req.SessionID]; ok && f.turn == req.Turn {
		if i := slices.Index(all, f.to); i > 0 {
			return all[i:]
		}
	}
	return all
}

// answered records the endpoint for the rest of a turn.
func (m *Model) answered(req *model.Request, e *endpoint) {
	if req.SessionID == "" || req.Turn == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.endpoints) == 0 || e == m.endpoints[0] {
		delete(m.turns, req.SessionID)
	} else {
		m.turns[req.SessionID] = fallback{req.Turn, e}
	}
}

// another reports whether to try the next endpoint.
func another(e *model.Error) bool {
	switch e.Kind {
	case model.ErrOverflow, model.ErrState:
		return false
	case model.ErrRequest:
		switch e.Status {
		case http.StatusNotFound, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
			return true
		}
		return model.Elsewhere(e.Message)
	default:
		return true
	}
}

// continuation holds the parts of a paused response. The request is repeated with them.
type continuation struct {
	times int
	reply *model.Reply
	req   *model.Request // of the caller
	usage model.Usage    // of the earlier requests
	calls int            // of the earlier responses
}

const maxContinued = 16 // requests for a response

// add takes a delta of the response and returns the delta for the caller.
func (c *continuation) add(d model.Delta) (model.Delta, error) {
	if c.reply == nil {
		c.reply = new(model.Reply)
	}
	if d.Call != nil && d.Call.Index >= 0 {
		call := *d.Call
		call.Index += c.calls
		d.Call = &call
	}
	if err := c.reply.Add(d); err != nil {
		return d, err
	}
	if d.Usage != nil && c.times > 0 {
		sum := c.usage.Plus(*d.Usage)
		d.Usage = &sum
	}
	return d, nil
}

// next returns the next request for the response.
func (c *continuation) next(req *model.Request) *model.Request {
	if c.times == 0 {
		c.req = req
	}
	c.times++
	c.usage, c.calls = c.usage.Plus(c.reply.Usage), len(c.reply.Calls)
	more := *c.req
	parts := c.reply.Parts()
	for i := range parts {
		parts[i].Text = model.SoundText(parts[i].Text)
	}
	more.Messages = append(slices.Clip(more.Messages), model.Message{Role: model.Assistant, Parts: parts})
	return &more
}
