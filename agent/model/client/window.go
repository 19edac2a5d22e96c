package client

import (
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// window returns the context window of the endpoint's model in tokens. See [Model.Window].
func (e *endpoint) window() int {
	e.learned.Lock()
	defer e.learned.Unlock()
	var m metadata
	if known := e.learned.models[e.Model]; known != nil {
		m = *known
	}
	window := e.Window
	for _, next := range []int{m.served, m.window, e.Known.Window, defaultWindow} {
		if window <= 0 {
			window = next
		}
	}
	for _, most := range []int{m.served, e.learned.bounds[e.Model]} {
		if most > 0 {
			window = min(window, most)
		}
	}
	return window
}

// guessed reports whether nothing but the configuration says how large the window is.
func (e *endpoint) guessed() bool {
	m := e.metadata()
	return m.served == 0 && m.window == 0 && e.Known.Window == 0
}

// bound remembers that the endpoint refuses requests of more than a number of tokens.
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

// accepted remembers the size of the largest request that the endpoint has accepted.
func (e *endpoint) accepted(tokens int) {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.accepted == nil {
		e.learned.accepted = map[string]int{}
	}
	e.learned.accepted[e.Model] = max(tokens, e.learned.accepted[e.Model])
}

// plausible reports whether a number of a refusal may be the window. If the endpoint has accepted a
// request of twice that size, the number may be a code or another limit. If the number
// comes again, the server may have been started with a smaller window, so it is believed.
func (e *endpoint) plausible(window int) bool {
	e.learned.Lock()
	defer e.learned.Unlock()
	if e.learned.accepted[e.Model]/2 <= window {
		return true
	}
	delete(e.learned.accepted, e.Model)
	return false
}

// lower reports whether the endpoint has refused the limit of the response as too large. The
// target then has the limit that it named. If that is the limit of the model, later requests
// have it, too.
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

// overflow returns a refusal. If the request was too long, its kind is ErrOverflow, and the window
// is remembered: that of the message, else the estimated size of the request.
func (s *stream) overflow(e *endpoint, failed *model.Error) error {
	size := tokensOf(s.req)
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

// leastBound is the smallest estimate of a refused request that is taken for a window. A
// refusal of a smaller one has another cause.
const leastBound = 2000

// bytesPerToken is typical for English and code.
const bytesPerToken = 4

// tokensOf estimates the tokens of a request.
func tokensOf(req *model.Request) int {
	n := size(req)
	for i := range req.Messages {
		for _, c := range req.Messages[i].Calls() {
			n += len(c.Name) + len(c.Args)
		}
	}
	return n / bytesPerToken
}
