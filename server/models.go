package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/embedded"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
)

// models shares one model, with its connections and its key pool, among the
// sessions whose configuration is the same.
type models struct {
	mu   sync.Mutex
	made map[string]sizedModel
}

// sizedModel is a model that knows its context window.
type sizedModel interface {
	model.Model
	Window() int
}

func (m *models) get(s *Service, endpoints []config.Endpoint) sizedModel {
	if endpoints[0].Provider == "embedded" {
		return embedded.Model{Name: endpoints[0].Model}
	}
	key := fmt.Sprintf("%#v", endpoints)
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.made[key]; made != nil {
		return made
	}
	c := openai.Config{Log: s.Log, Rejections: s.rejections()}
	for _, e := range endpoints {
		c.Endpoints = append(c.Endpoints, openai.Endpoint{
			Provider: e.Provider, BaseURL: e.BaseURL, Model: e.Model, Keys: e.Keys, Window: e.Window, TextCalls: e.TextCalls,
		})
	}
	if m.made == nil {
		m.made = map[string]sizedModel{}
	}
	m.made[key] = openai.New(c)
	return m.made[key]
}

// rejections are kept in the store.
func (s *Service) rejections() openai.Rejections {
	return openai.Rejections{
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

// chosen is the model of one session, as its options have it. The conversation
// holds on to it while the options change.
type chosen struct {
	mu     sync.Mutex
	model  model.Model
	name   string // one of the configured models; empty: the first
	effort string // empty: the endpoint's own
}

// Stream sends the request to the model that is chosen now. Its name is the
// model's own affair, because a fallback has another.
func (c *chosen) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	c.mu.Lock()
	m, effort := c.model, c.effort
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

// ready brings the model up to the configuration and the options. The error says
// how to set a model up.
func (x *Session) ready() error {
	if x.svc.Model != nil {
		x.model.set(x.svc.Instruments.model(x.svc.Model))
		return nil
	}
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	endpoints, err := conf.Endpoints()
	if errors.Is(err, config.ErrProvider) {
		return err // a key would not help
	}
	if err != nil {
		return &model.Error{Kind: model.ErrNoKey, Message: err.Error(), Err: err}
	}
	x.model.set(x.svc.Instruments.model(x.svc.models.get(x.svc, preferred(endpoints, x.model.choice()))))
	return nil
}

// preferred puts the endpoint of the chosen model first.
func preferred(endpoints []config.Endpoint, name string) []config.Endpoint {
	i := slices.IndexFunc(endpoints, func(e config.Endpoint) bool { return e.Model == name })
	if i <= 0 {
		return endpoints
	}
	first := endpoints[i]
	return append([]config.Endpoint{first}, slices.Delete(slices.Clone(endpoints), i, i+1)...)
}

func (c *chosen) set(m model.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model = m
}

// choose takes what is kept with the session. It reports whether there is a model yet.
func (c *chosen) choose(head store.Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.effort = head.Preferred, head.Thinking
	return c.model != nil
}

func (c *chosen) choice() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// Window is the context window in tokens; 0: not known yet.
func (c *chosen) Window() int {
	c.mu.Lock()
	m := c.model
	c.mu.Unlock()
	if sized, ok := m.(interface{ Window() int }); ok {
		return sized.Window()
	}
	return 0
}

// sees reports whether the model that is chosen now takes pictures.
func (x *Session) sees() bool {
	x.model.mu.Lock()
	m := x.model.model
	x.model.mu.Unlock()
	seeing, ok := m.(interface{ Sees(context.Context) bool })
	return ok && seeing.Sees(x.ctx)
}

// childModel returns the model of a route, its name and its context window; without a
// route and without a configured one the session's own, as it is chosen then.
func (x *Session) childModel(_ context.Context, route string) (m model.Model, name string, window int, err error) {
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	endpoints, err := conf.ChildEndpoints(route)
	if err != nil {
		return nil, "", 0, err
	}
	if endpoints == nil {
		if err := x.ready(); err != nil {
			return nil, "", 0, err
		}
		return x.model, x.modelName(), x.model.Window(), nil
	}
	if x.svc.Model != nil {
		return x.svc.Instruments.model(x.svc.Model), endpoints[0].Model, 0, nil
	}
	made := x.svc.models.get(x.svc, endpoints)
	return x.svc.Instruments.model(made), endpoints[0].Model, made.Window(), nil
}

func (x *Session) modelName() string {
	if name := x.model.choice(); name != "" {
		return name
	}
	return x.Options()[1].Value
}
