package spending

import (
	"cmp"
	"context"
	"iter"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Model returns a model whose requests stay below the limits of l. If l is nil, it returns m.
func (l *Ledger) Model(m model.Model) model.Model {
	if l == nil || m == nil {
		return m
	}
	return limited{m, l, true}
}

// Quiet is Model for requests not worth a question, or made during another question to the user. If
// a request could pass a limit, it fails.
func (l *Ledger) Quiet(m model.Model) model.Model {
	if l == nil || m == nil {
		return m
	}
	return limited{m, l, false}
}

// limited is a model whose requests count.
type limited struct {
	model.Model
	ledger *Ledger
	asks   bool
}

// Unwrap implements [model.Wrapper].
func (m limited) Unwrap() model.Model { return m.Model }

// Stream implements [model.Model].
func (m limited) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		own := input{tokens: req.Tokens(), of: req.SessionID + "\x00" + req.Model, stored: req.SessionID != ""}
		end, err := m.ledger.admit(ctx, m.Model, own, m.asks)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		defer end()
		for d, err := range m.Model.Stream(ctx, req) {
			if d.Usage != nil {
				_, priced := model.PriceOf(m.Model)
				m.ledger.add(*d.Usage, own, cmp.Or(d.Answered, d.Model, req.Model, "the model"), priced)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// input is our own count of a request's input.
type input struct {
	tokens int
	of     string // the session, which may be a subagent's, and the model
	stored bool   // it is the history of a session
}
