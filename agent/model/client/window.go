package client

import (
	"context"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// window returns the context window of the endpoint's model in tokens. See [Model.Window].
func (e *endpoint) window() int {
	tokens, _ := e.windowFrom()
	return tokens
}

// windowFrom returns the context window and its source.
func (e *endpoint) windowFrom() (tokens int, from string) {
	e.learned.Lock()
	defer e.learned.Unlock()
	var m metadata
	if known := e.learned.models[e.Model]; known != nil {
		m = *known
	}
	for _, next := range []struct {
		tokens int
		from   string
	}{
		{e.Window, "config.yaml"}, {m.served, m.servedBy()}, {m.window, m.source.advertised()},
		{e.Known.Window, model.FromTable}, {defaultWindow, model.FromGuess},
	} {
		if tokens <= 0 {
			tokens, from = next.tokens, next.from
		}
	}
	if m.served > 0 && m.served < tokens {
		tokens, from = m.served, m.servedBy()
	}
	if bound := e.learned.bounds[e.Model]; bound > 0 && bound < tokens {
		tokens, from = bound, "a refusal of the server"
	}
	return tokens, from
}

// servedBy names the source of a loaded model's window.
func (m metadata) servedBy() string {
	switch m.source {
	case fromProps:
		return "llama.cpp: n_ctx of a slot"
	case fromOllama:
		if m.planned {
			return "Ollama: num_ctx of the model"
		}
		return "Ollama: the loaded context"
	case fromLMStudio:
		return "LM Studio: the loaded context"
	}
	return "the server's list of models"
}

// advertised names the source of a window before the model is loaded.
func (s source) advertised() string {
	switch s {
	case fromOllama:
		return "Ollama's default until the model is loaded"
	case fromLMStudio:
		return "LM Studio's default until the model is loaded"
	}
	return "the provider's list of models"
}

// WindowFrom implements [model.Served].
func (m *Model) WindowFrom() string {
	if len(m.endpoints) == 0 {
		return ""
	}
	_, from := m.endpoints[0].windowFrom()
	return from
}

// Inspect implements [model.Served].
func (m *Model) Inspect(ctx context.Context) (local bool) {
	if len(m.endpoints) == 0 || m.endpoints[0].broken != nil || !m.endpoints[0].runsModels() {
		return false
	}
	m.endpoints[0].ask(ctx)
	return true
}

// guessed reports whether the configuration is the only source for the window.
func (e *endpoint) guessed() bool {
	m := e.metadata()
	return m.served == 0 && m.window == 0 && e.Known.Window == 0
}

// bound records that the endpoint refuses requests of more than tokens.
func (e *endpoint) bound(tokens int) {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.bounds == nil {
		e.learned.bounds = map[string]int{}
	}
	if known := e.learned.bounds[e.Model]; known == 0 || tokens < known {
		e.learned.bounds[e.Model] = tokens
	}
}

// accepted records the size of the largest accepted request.
func (e *endpoint) accepted(tokens int) {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.accepted == nil {
		e.learned.accepted = map[string]int{}
	}
	e.learned.accepted[e.Model] = max(tokens, e.learned.accepted[e.Model])
}

// plausible reports whether a number in a refusal may be the window. If the endpoint has
// accepted a request of twice the size, the number may be a code or another limit. A second
// time, the number is believed: the server may have restarted with a smaller window.
func (e *endpoint) plausible(window int) bool {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.accepted[e.Model]/2 <= window {
		return true
	}
	delete(e.learned.accepted, e.Model)
	return false
}

// lower reports whether the endpoint refused the limit of the response as too large. It then
// sets the limit named by the endpoint in t. If it is the limit of the model, later requests
// use it, too.
func (s *stream) lower(e *endpoint, t *api.Target, failed *model.Error) bool {
	switch failed.Kind {
	case model.ErrRequest, model.ErrOverflow, model.ErrCredit:
	default:
		return false
	}
	limit, whole := api.OutputLimit(failed.Message, s.limit)
	if limit <= 0 || limit >= s.limit {
		return false
	}
	s.model.log.Info("model endpoint refuses the limit of a response", "endpoint", e.name(), "limit", s.limit, "instead", limit)
	t.MaxTokens = limit
	if failed.Window > 0 && e.plausible(failed.Window) {
		e.bound(failed.Window)
	}
	if whole && failed.Kind != model.ErrCredit { // credit changes
		e.learned.Lock()
		defer e.learned.Unlock()
		if e.learned.limits == nil {
			e.learned.limits = map[string]int{}
		}
		e.learned.limits[e.Model] = limit
	}
	return true
}

// overflow returns a refusal. If the request was too long, its kind is ErrOverflow, and
// overflow records the window: the number in the message, else the estimated size of the
// request.
func (s *stream) overflow(e *endpoint, failed *model.Error) error {
	size := s.req.TextTokens()
	if api.Overlong(failed, size, e.window()) {
		failed.Kind, failed.Window = model.ErrOverflow, api.WindowIn(failed.Message)
	}
	if failed.Kind != model.ErrOverflow {
		return failed
	}
	if failed.Window > 0 && !e.plausible(failed.Window) {
		failed.Window = 0
	}
	if failed.Window == 0 {
		e.forgetMetadata()
	}
	if bound := failed.Window; bound > 0 {
		e.bound(bound)
	} else if size > leastBound && size < e.window() && e.guessed() {
		e.bound(size)
	}
	return failed
}

// leastBound is the smallest size of a refused request to be recorded as a window. A refusal of
// a smaller request has another cause.
const leastBound = 2000
