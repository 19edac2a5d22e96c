package replay

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// errEnd is where the record of a turn ends without an answer: it was cancelled then,
// or the model failed.
var errEnd = errors.New("the record of this turn ends here")

// turn is a prompt and the model's replies to it.
type turn struct {
	prompt  store.Message
	replies []store.Message
}

// turnsOf splits a history into turns. It omits messages added by the agent: the replay adds them
// again.
func turnsOf(log []store.Message) (turns []turn) {
	for _, m := range log {
		switch {
		case m.Role == model.User && !m.Note && m.Keeps == 0:
			turns = append(turns, turn{prompt: m})
		case m.Role == model.Assistant && len(turns) > 0 && fromModel(&m):
			last := &turns[len(turns)-1]
			last.replies = append(last.replies, m)
		}
	}
	return turns
}

// fromModel reports whether m is a complete response of the model.
func fromModel(m *store.Message) bool { return m.Usage != nil || len(m.Calls()) > 0 }

// results are the log's results by their call.
func results(log []store.Message) map[string]string {
	found := map[string]string{}
	for _, m := range log {
		if m.Role == model.ToolRole {
			found[m.CallID()] = m.Text()
		}
	}
	return found
}

// recorded is a model that returns the recorded responses.
type recorded struct {
	replies  []store.Message
	from, to string // the workspace's name then and now
}

func (r *recorded) load(replies []store.Message, from, to string) {
	r.replies, r.from, r.to = replies, from, to
}

// Stream gives the next reply, whatever it is asked.
func (r *recorded) Stream(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if len(r.replies) == 0 {
			yield(model.Delta{}, &model.Error{Kind: model.ErrCut, Message: errEnd.Error(), Err: errEnd})
			return
		}
		m := r.replies[0]
		r.replies = r.replies[1:]
		text := m.Text()
		if m.Note {
			text = "" // stands for an empty response
		}
		if !yield(model.Delta{Reasoning: m.Reasoning(), Text: text}, nil) {
			return
		}
		finish := model.FinishStop
		for i, c := range m.Calls() {
			finish = model.FinishCalls
			args := strings.ReplaceAll(c.Args, r.from, r.to)
			if !yield(model.Delta{Call: &model.CallDelta{Index: i, ID: c.ID, Name: c.Name, Args: args}}, nil) {
				return
			}
		}
		yield(model.Delta{Finish: finish, Usage: m.Usage}, nil)
	}
}
