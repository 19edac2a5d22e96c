package models

import (
	"cmp"
	"context"
	"iter"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Chosen is the model of a session. It follows the options. The zero value has no model yet.
type Chosen struct {
	mu     sync.Mutex
	model  model.Model
	name   string // a configured model; empty: the first
	effort string // empty: the configured effort

	configured string // model.effort; empty: the endpoint's own
}

// Stream sends the request to the chosen model. The model sets the name itself, because a fallback
// has another name.
func (c *Chosen) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
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

// Configure sets the effort if the session has chosen none; empty: the endpoint's own.
func (c *Chosen) Configure(effort string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.configured = effort
}

// Set replaces the model.
func (c *Chosen) Set(m model.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model = m
}

// Choose sets the options. It reports whether there is a model yet.
func (c *Chosen) Choose(name, effort string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.effort = name, effort
	return c.model != nil
}

// Choice returns the options.
func (c *Chosen) Choice() (name, effort string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name, c.effort
}

// Current returns the model. Before the first [Chosen.Set], it returns nil.
func (c *Chosen) Current() model.Model {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model
}

// Window returns the context window in tokens; 0: not known yet.
func (c *Chosen) Window() int { return model.WindowOf(c.Current()) }

// WindowFrom returns the source of the window. If the window is unknown, it returns "".
func (c *Chosen) WindowFrom() string {
	if s := model.ServedOf(c.Current()); s != nil {
		return s.WindowFrom()
	}
	return ""
}

// Inspect asks a server for the window, if it runs models: see [model.Served].
func (c *Chosen) Inspect(ctx context.Context) {
	if s := model.ServedOf(c.Current()); s != nil {
		s.Inspect(ctx)
	}
}

// Prepare asks the endpoint for the window of the model, if it is not known. See
// the method Prepare of the client.
func (c *Chosen) Prepare(ctx context.Context) {
	model.Prepare(ctx, c.Current())
}

// Price returns the price of the chosen model. If it is not known, it returns false.
func (c *Chosen) Price() (model.Price, bool) { return model.PriceOf(c.Current()) }

// Sees reports whether the chosen model accepts pictures.
func (c *Chosen) Sees(ctx context.Context) bool {
	return model.CanSee(ctx, c.Current(), false)
}
