package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

// refusedHistory returns the refusal of a request if another form of the history may help.
// Otherwise it returns nil.
func refusedHistory(err error) *model.Error {
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Shown > 0 || ofTools(failed.Message) {
		return nil
	}
	switch status := failed.Status; {
	case failed.Kind == model.ErrState,
		failed.Kind == model.ErrRequest && (status == 0 || status == http.StatusBadRequest || status == http.StatusUnprocessableEntity),
		failed.Kind == model.ErrRequest && status >= 500, // of a chat template
		failed.Kind == model.ErrModel && status == http.StatusBadRequest && strings.Contains(strings.ToLower(failed.Message), "call"): // “tool call x not found”
		return failed
	}
	return nil
}

// ofTools reports whether a refusal names an offered tool. Tools are not part of the history.
func ofTools(message string) bool {
	return strings.Contains(message, "tools.") || strings.Contains(message, "tools[")
}

const maxPlain = 4 // responses to try in plain form, before all at once

// askPlainly repeats a refused request. If it is refused again, askPlainly sends the response
// named in the refusal, else the newest, in plain form: its calls and results as text. If this
// does not help, it sends all responses in plain form. If a request is accepted, the form is
// kept, see keepPlain. Otherwise the history stays unchanged, and askPlainly returns the first error.
func (t *turn) askPlainly(ctx context.Context, id string, reply *model.Reply, first *model.Error) (*model.Reply, error) {
	if t.refusedPart(first) == "" {
		return reply, first // no response in the history could be the cause
	}
	again, err := t.ask(ctx, id)
	failed := refusedHistory(err)
	if failed == nil {
		return again, err
	}
	t.historyMu.Lock()
	before := t.history
	t.historyMu.Unlock()
	for n := 0; n <= maxPlain; n++ {
		part := t.refusedPart(failed)
		if part == "" {
			break
		}
		parts := []string{part}
		if n == maxPlain {
			parts = t.plainable()
		}
		t.sendPlain(parts)
		if again, err = t.ask(ctx, id); err == nil {
			return again, t.keepPlain(first, before.edits.Plain)
		}
		if failed = refusedHistory(err); failed == nil || ctx.Err() != nil {
			break
		}
	}
	t.historyMu.Lock()
	t.history.messages, t.history.origins, t.history.pairs = before.messages, before.origins, before.pairs
	t.history.edits.Plain, t.history.gauge.own = before.edits.Plain, before.gauge.own
	t.historyMu.Unlock()
	if failed == nil {
		return again, err // another kind of failure
	}
	return reply, first
}

// keepPlain stores which responses are in plain form, and shows the user a notice. before are those that
// had it before. If the refusal can be a fault of the server, the form is kept for the turn only: if
// a later turn is refused, too, the history is the cause, and the form is stored.
func (t *turn) keepPlain(refused *model.Error, before []string) error {
	why := shorten.OneLine(strings.TrimRight(refused.Message, ". \n"), 200)
	if refused.Unsure && !t.doubted {
		t.historyMu.Lock()
		t.history.trial = append(slices.Clone(t.history.trial), t.history.edits.Plain[len(before):]...)
		t.historyMu.Unlock()
		t.notice("%s failed twice with the history (%s). A part of it is sent as plain text in this turn. The next turn sends it whole again.", refused.Model, why)
		return nil
	}
	t.notice("%s refused the history twice (%s). The part that it refused is now sent as plain text, and the session goes on. Nothing else was changed.", refused.Model, why)
	return t.saveEdits(t.storeCtx)
}

// refusedPart returns the id of the likely cause of a refusal: the response that it names, else
// the newest response not yet in plain form. If there is none, it returns "".
func (t *turn) refusedPart(failed *model.Error) string {
	h := &t.history
	if i := h.named(failed); i >= 0 {
		for ; i >= 0; i-- {
			if h.messages[i].Role != model.Assistant || len(h.messages[i].Parts) == 0 {
				continue
			}
			if h.isPlainable(i) {
				return h.origins[i].id
			}
			break
		}
	}
	if ids := t.plainable(); len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}

// named returns the index of the message that a refusal names: by its index, or by the id or
// the name of a call. If there is none, it returns -1.
func (h *history) named(failed *model.Error) int {
	if i := failed.Named - 1; i >= 0 && i < len(h.messages) {
		return i
	}
	for i := range slices.Backward(h.messages) {
		for _, c := range h.messages[i].Calls() {
			if h.isPlainable(i) && len(c.ID) > 3 && strings.Contains(failed.Message, c.ID) {
				return i
			}
		}
	}
	for i := range slices.Backward(h.messages) {
		for _, c := range h.messages[i].Calls() {
			if h.isPlainable(i) && slices.ContainsFunc([]string{"'%s'", `"%s"`, "`%s`", ":%s`"}, func(quote string) bool {
				return strings.Contains(failed.Message, fmt.Sprintf(quote, c.Name))
			}) {
				return i
			}
		}
	}
	return -1
}

// isPlainable reports whether message i is a response with more than text in it.
func (h *history) isPlainable(i int) bool {
	m := &h.messages[i]
	if m.Role != model.Assistant || h.origins[i].id == "" || slices.Contains(h.edits.Plain, h.origins[i].id) {
		return false
	}
	return len(m.Parts) > 0
}

// plainable returns the ids of all responses not yet in plain form. Responses with calls or
// state come last, because they are more often the cause.
func (t *turn) plainable() []string {
	var texts, others []string
	for i := range t.history.messages {
		if !t.history.isPlainable(i) {
			continue
		}
		m := &t.history.messages[i]
		id := t.history.origins[i].id
		if m.Has(model.CallType) || slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.State != nil }) {
			others = append(others, id)
		} else {
			texts = append(texts, id)
		}
	}
	return append(texts, others...)
}

// sendPlain writes responses and their results in plain form in later requests.
func (t *turn) sendPlain(ids []string) {
	t.historyMu.Lock()
	defer t.historyMu.Unlock()
	h := &t.history
	messages, origins := h.messages, h.origins
	h.edits.Plain = append(slices.Clone(h.edits.Plain), ids...)
	h.messages, h.origins, h.pairs = nil, nil, paired{}
	bytes := h.gauge.own
	for i := range messages {
		h.put(messages[i], origins[i])
	}
	h.gauge.own = bytes // the estimate is close enough
}

// leastSuspect is the smallest size of a session for which a refusal may be about the length,
// in tokens without its fixed part.
const leastSuspect = 2000

// unexplained reports whether err is a refusal without a hint at its cause, so the length may
// be the cause.
func unexplained(err error) bool {
	failed := refusedHistory(err)
	return failed != nil && failed.Kind == model.ErrRequest && failed.Named == 0 && failed.Status != 0
}

// askShorter compacts the history if the endpoint refuses all its forms without a reason, but
// accepts a short request. Then the length is the likely cause.
func (t *turn) askShorter(ctx context.Context, id string, reply *model.Reply, refusal error) (*model.Reply, error) {
	g := &t.history.gauge
	if g.used()-g.fixed() < leastSuspect || !acceptsShort(ctx, t) {
		return reply, refusal
	}
	tooLong := *refusedHistory(refusal)
	tooLong.Kind = model.ErrOverflow
	again, err := t.afterOverflow(ctx, id, reply, &tooLong)
	if err == error(&tooLong) {
		return again, refusal
	}
	return again, err
}

// acceptsShort sends a request with the same prefix and a short prompt, and reports whether the
// endpoint accepts it. The response is not used.
func acceptsShort(ctx context.Context, t *turn) bool {
	request := &model.Request{
		Model: t.head.Model, System: t.head.System, Tools: t.head.Tools, Effort: t.effort, SessionID: t.id, Turn: t.prompt.ID,
		Messages: []model.Message{model.NewMessage(model.User, "Reply with OK.")},
	}
	for delta, err := range t.config.Model.Stream(ctx, request) {
		if err != nil {
			return false
		}
		if delta.Text != "" || delta.Reasoning != "" || delta.Call != nil || delta.Finish != "" {
			return true
		}
	}
	return false
}
