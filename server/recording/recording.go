// Package recording writes the responses of a model in the format of the scripts in
// server/testdata. A trace can then be played without the model.
package recording

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Recorder records the responses of models. It is safe for concurrent use.
type Recorder struct {
	write func(goal string, items []byte)

	mu    sync.Mutex
	goals map[string]bool // of subagents
}

// New returns a recorder. It passes each response to write: the goal of the answered subagent, or
// "", and a JSON list of items.
func New(write func(goal string, items []byte)) *Recorder {
	return &Recorder{write: write, goals: map[string]bool{}}
}

// Model returns a model that sends requests to m and records the responses.
func (r *Recorder) Model(m model.Model) model.Model { return &recorded{m, r} }

// recorded is a model whose responses are recorded.
type recorded struct {
	model.Model
	r *Recorder
}

var _ model.Wrapper = (*recorded)(nil)

// Unwrap implements [model.Wrapper].
func (m *recorded) Unwrap() model.Model { return m.Model }

// item is a piece of a response, as server/testdata/README.md has it.
type item struct {
	Text    string       `json:"text,omitempty"`
	Thought string       `json:"thought,omitempty"`
	Call    *call        `json:"call,omitempty"`
	Sleep   string       `json:"sleep,omitempty"`
	Hold    bool         `json:"hold,omitempty"`
	Fail    string       `json:"fail,omitempty"`
	Error   *model.Error `json:"error,omitempty"` // in place of fail
}

type call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Raw  string          `json:"raw,omitempty"` // the arguments if they are no JSON
}

func (m *recorded) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		response := &response{last: time.Now()}
		var failed error
		defer func() {
			response.end(ctx, failed)
			m.r.record(req, response)
		}()
		for d, err := range m.Model.Stream(ctx, req) {
			response.add(d)
			failed = err
			if !yield(d, err) {
				return
			}
		}
	}
}

// record writes a response down.
func (r *Recorder) record(req *model.Request, x *response) {
	first := ""
	if len(req.Messages) > 0 {
		first = req.Messages[0].Text()
	}
	r.mu.Lock()
	if !r.goals[first] {
		first = ""
	}
	r.mu.Unlock()
	items, err := json.Marshal(x.items)
	if err != nil {
		return // the arguments are JSON
	}
	r.write(first, items)
}

// Event remembers the goals of subagents, whose responses are recorded under them.
func (r *Recorder) Event(_ string, e agent.Event) {
	if inner, ok := e.(agent.ChildEvent); ok {
		e = inner.Event
	}
	if started, ok := e.(agent.ChildStarted); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.goals[started.Goal] = true
	}
}

// response is the response so far.
type response struct {
	items    []item
	calls    []*call
	index    []int     // of the calls, as the model numbers them
	last     time.Time // when the last piece came
	finished bool
}

// pause is the shortest recorded time between two pieces.
const pause = 100 * time.Millisecond

// wait adds the time since the last piece.
func (x *response) wait() {
	now := time.Now()
	if gap := now.Sub(x.last).Round(time.Millisecond); gap >= pause {
		x.items = append(x.items, item{Sleep: gap.String()})
	}
	x.last = now
}

func (x *response) add(d model.Delta) {
	x.wait()
	last := len(x.items) - 1
	if d.Text != "" {
		if last >= 0 && x.items[last].Text != "" {
			x.items[last].Text += d.Text
		} else {
			x.items = append(x.items, item{Text: d.Text})
		}
	}
	if d.Reasoning != "" {
		if last >= 0 && x.items[last].Thought != "" {
			x.items[last].Thought += d.Reasoning
		} else {
			x.items = append(x.items, item{Thought: d.Reasoning})
		}
	}
	if d.Call != nil {
		x.addCall(d.Call)
	}
	x.finished = x.finished || d.Finish != ""
}

// addCall merges the pieces of a call. A piece with another id begins another call.
func (x *response) addCall(d *model.CallDelta) {
	i := len(x.calls) - 1
	for d.Index >= 0 && i >= 0 && x.index[i] != d.Index {
		i--
	}
	if i < 0 || d.ID != "" && x.calls[i].ID != "" && d.ID != x.calls[i].ID {
		c := &call{}
		x.calls, x.index = append(x.calls, c), append(x.index, d.Index)
		x.items = append(x.items, item{Call: c})
		i = len(x.calls) - 1
	}
	c := x.calls[i]
	if d.ID != "" {
		c.ID = d.ID
	}
	if d.Name != "" {
		c.Name = d.Name
	}
	c.Raw += d.Args
}

// end adds how the response ended: by an error, by a cancel, or as it should.
func (x *response) end(ctx context.Context, err error) {
	for _, c := range x.calls {
		if json.Valid([]byte(c.Raw)) {
			c.Args, c.Raw = json.RawMessage(c.Raw), ""
		}
	}
	switch {
	case ctx.Err() != nil && !x.finished:
		x.items = append(x.items, item{Hold: true})
	case err != nil && !errors.Is(err, context.Canceled):
		x.items = append(x.items, failureOf(err))
	}
	if x.items == nil {
		x.items = []item{}
	}
}

// failureOf returns the item of a failure. The session shows the fields of a model's error.
func failureOf(err error) item {
	if failed, ok := err.(*model.Error); ok { // a wrapped error has another text
		return item{Error: failed}
	}
	return item{Fail: err.Error()}
}
