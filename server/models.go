package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/embedded"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
)

// models has one model, with its connections and its key pool, for all sessions with the
// same configuration.
type models struct {
	keys client.Keys
	mu   sync.Mutex
	made map[string]agent.Sized
}

func (m *models) get(s *Service, endpoints []config.Endpoint) agent.Sized {
	if endpoints[0].Provider == "embedded" {
		return embedded.Model{Name: endpoints[0].Model}
	}
	key, err := json.Marshal(endpoints)
	if err != nil { // a value of extra_body that JSON lacks
		key = fmt.Appendf(nil, "%+v", endpoints)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.made[string(key)]; made != nil {
		return made
	}
	c := client.Config{Log: s.Log, Rejections: s.rejections(), Keys: &m.keys, Stall: endpoints[0].Stall}
	for _, e := range endpoints {
		c.Endpoints = append(c.Endpoints, ClientEndpoint(e, s.Log))
	}
	if m.made == nil {
		m.made = map[string]agent.Sized{}
	}
	made := client.New(c)
	m.made[string(key)] = made
	return made
}

// ClientEndpoint returns a configured endpoint for the client.
func ClientEndpoint(e config.Endpoint, log *slog.Logger) client.Endpoint {
	out := client.Endpoint{
		API: apiOf(e), Provider: e.Provider, BaseURL: e.BaseURL, Model: e.Model, Keys: e.Keys,
		AddressIn: e.AddressFrom, KeyIn: e.KeyFrom,
		Pool: e.Pool, Cooldown: e.Cooldown, MaxConcurrent: e.Concurrent,
		Headers: e.Headers, Proxy: e.Proxy, CAFile: e.CAFile,
		Window: e.Window, MaxTokens: e.MaxTokens, Efforts: e.Efforts, Images: e.Images,
		Cache: api.Cache{Off: e.CacheOff, Long: e.CacheLong}, ServiceTier: e.ServiceTier, TextCalls: e.TextCalls,
	}
	if e.KeyCommand != "" {
		out.Command = func(ctx context.Context) (string, error) { return printKey(ctx, e.KeyCommand) }
	}
	if p := e.Price; p != nil {
		out.Price = &client.Price{Input: p.Input, CacheRead: p.CacheRead, Output: p.Output, CacheWrite: p.CacheWrite}
	}
	out.Known = client.Facts{Window: e.Table.Window, Images: e.Table.Images}
	if p := e.Table.Price; p != nil {
		out.Known.Price = &client.Price{Input: p.Input, CacheRead: p.CacheRead, Output: p.Output, CacheWrite: p.CacheWrite}
	}
	for _, name := range slices.Sorted(maps.Keys(e.ExtraBody)) {
		value, err := api.Marshal(e.ExtraBody[name])
		if err != nil {
			log.Warn("a field of extra_body is not sent", "field", name, "error", err)
			continue
		}
		out.Extra = append(out.Extra, api.Field{Name: name, Value: value})
	}
	return out
}

// apiOf returns the API of an endpoint.
func apiOf(e config.Endpoint) api.API {
	switch {
	case e.API == api.Messages, e.API == "" && strings.HasSuffix(strings.TrimRight(e.BaseURL, "/"), "/anthropic"):
		return messages.API{}
	case e.API == api.Responses:
		return responses.API{}
	case e.API == api.Gemini:
		return gemini.API{}
	default:
		return openai.API{}
	}
}

// ofSubagent sends requests after those of turns of the user.
type ofSubagent struct{ model.Model }

func (m ofSubagent) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	r := *req
	r.Background = true
	return m.Model.Stream(ctx, &r)
}

// Sees reports whether the model gets pictures.
func (m ofSubagent) Sees(ctx context.Context) bool {
	seeing, ok := m.Model.(interface{ Sees(context.Context) bool })
	return ok && seeing.Sees(ctx)
}

// rejections returns functions that load and save rejections in the store.
func (s *Service) rejections() client.Rejections {
	return client.Rejections{
		Known: func(ctx context.Context, endpoint, id string) bool {
			st := s.opened()
			if st == nil { // there is no prompt yet
				return false
			}
			rejects, err := st.RejectsPictures(ctx, endpoint, id)
			if err != nil {
				s.Log.Warn("cannot tell whether pictures were rejected", "error", err)
			}
			return rejects
		},
		Remember: func(ctx context.Context, endpoint, id string) error {
			st := s.opened()
			if st == nil {
				return errors.New("the store is not open")
			}
			return st.RejectPictures(ctx, endpoint, id)
		},
	}
}

// chosen is the model of one session. It follows the options.
type chosen struct {
	mu     sync.Mutex
	model  model.Model
	name   string      // one of the configured models; empty: the first
	effort string      // empty: the configured one
	routed atomic.Bool // model is that of a route, for one turn

	configured string // model.effort; empty: the endpoint's own
}

// Stream sends the request to the chosen model. The model sets the name itself, because a
// fallback has another one.
func (c *chosen) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	c.mu.Lock()
	m, effort := c.model, cmp.Or(c.effort, c.configured)
	c.mu.Unlock()
	if m == nil {
		return func(yield func(model.Delta, error) bool) {
			yield(model.Delta{}, &model.Error{Kind: model.ErrNoKey, Message: "no model is configured"})
		}
	}
	r := *req
	r.Model = ""
	if effort != "" {
		r.Effort = effort
	}
	return m.Stream(ctx, &r)
}

// ready applies the configuration and the options to the model. If there is none, the error
// tells how to set a model up.
func (s *settings) ready() error {
	if s.svc.Model != nil {
		s.model.set(s.svc.Instruments.model(s.svc.Model))
	}
	if s.svc.Model != nil || s.model.routed.Load() {
		return nil
	}
	conf := s.config()
	name, _ := s.model.choice()
	endpoints, err := conf.EndpointsFrom(name)
	if errors.Is(err, config.ErrProvider) {
		return err // a key would not help
	}
	if err != nil {
		return &model.Error{Kind: model.ErrNoKey, Message: err.Error(), Err: err}
	}
	s.model.set(s.svc.Instruments.model(s.svc.models.get(s.svc, endpoints)))
	s.model.configure(conf.Model.Effort)
	return nil
}

// configure sets the effort of a session that has chosen none.
func (c *chosen) configure(effort string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.configured = effort; effort == thoughtAuto {
		c.configured = ""
	}
}

func (c *chosen) set(m model.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model = m
}

// choose sets the options of a stored session. It reports whether there is a model yet.
func (c *chosen) choose(head store.Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.effort = head.Preferred, head.Thinking
	return c.model != nil
}

// choice returns the options.
func (c *chosen) choice() (name, effort string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name, c.effort
}

// current returns the model. Before the first [settings.ready], it returns nil.
func (c *chosen) current() model.Model {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model
}

// Window returns the context window in tokens; 0: not known yet.
func (c *chosen) Window() int {
	if sized, ok := c.current().(interface{ Window() int }); ok {
		return sized.Window()
	}
	return 0
}

// Sees reports whether the chosen model accepts pictures.
func (c *chosen) Sees(ctx context.Context) bool {
	m, ok := c.current().(interface{ Sees(context.Context) bool })
	return ok && m.Sees(ctx)
}

// childModel returns the model of a route, its name and its context window. If neither the
// task nor the configuration has a route, it returns the session's own model.
func (s *settings) childModel(_ context.Context, section, route string) (m model.Model, name string, window int, err error) {
	endpoints, err := s.config().RouteEndpoints(section, route)
	if err != nil {
		return nil, "", 0, err
	}
	if endpoints == nil {
		if err := s.ready(); err != nil {
			return nil, "", 0, err
		}
		return ofSubagent{s.model}, s.modelName(), s.model.Window(), nil
	}
	if s.svc.Model != nil {
		return s.svc.Instruments.model(s.svc.Model), endpoints[0].Model, 0, nil
	}
	made := s.svc.models.get(s.svc, endpoints)
	return ofSubagent{s.svc.Instruments.model(made)}, endpoints[0].Model, made.Window(), nil
}

// readyFor is ready for a turn with the model of a route of delegation.routes. If there is none, show
// gets the reason, and the model of the session answers.
func (s *settings) readyFor(route string, show func(text string)) error {
	s.model.routed.Store(false)
	if err := s.ready(); err != nil || route == "" || s.svc.Model != nil {
		return err
	}
	if endpoints, err := s.config().RouteEndpoints("delegation", route); err != nil {
		show(err.Error() + ". The model of the session answers.")
	} else {
		s.model.set(s.svc.Instruments.model(s.svc.models.get(s.svc, endpoints)))
		s.model.routed.Store(true)
	}
	return nil
}

// first returns PROVIDER/MODEL of the model that answers first.
func (s *settings) first() string { return s.options()[1].Value }

// modelName returns the id of the model that answers first.
func (s *settings) modelName() string {
	name := s.first()
	if _, id, ok := strings.Cut(name, "/"); ok {
		return id
	}
	return name
}

// notesModel returns the configured model for the notes of compactions. Nil: the session's.
func (s *settings) notesModel() agent.Sized {
	made := s.modelFor("compression")
	if made == nil {
		return nil
	}
	return observed{s.svc.Instruments.model(made), made}
}

// observed is a model that is watched. The one that it watches knows the window.
type observed struct {
	model.Model
	sized agent.Sized
}

func (o observed) Window() int { return o.sized.Window() }

// modelFor returns the model for a task other than the session's turns. Nil: the session's.
func (s *settings) modelFor(task string) agent.Sized {
	if s.svc.Model != nil {
		return nil
	}
	e, ok, err := s.config().Small(task)
	if err != nil {
		s.svc.Log.Warn("the session's model does the task of another one", "task", task, "error", err)
	}
	if !ok {
		return nil
	}
	return s.svc.models.get(s.svc, []config.Endpoint{e})
}
