package models

import (
	"context"
	"iter"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// OfSubagent returns a model whose requests yield to the user's turns.
func OfSubagent(m model.Model) model.Model { return ofSubagent{m} }

type ofSubagent struct{ model.Model }

func (m ofSubagent) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	r := *req
	r.Background = true
	return m.Model.Stream(ctx, &r)
}

// Unwrap implements [model.Wrapper].
func (m ofSubagent) Unwrap() model.Model { return m.Model }
