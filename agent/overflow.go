package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/amount"
)

// Sizes of context windows in tokens.
const (
	// LeastWindow is the smallest window for a session of hermes-ls.
	LeastWindow = 4096
	// SmallWindow is the window size for the choice of a profile: below it, the small profile
	// applies. The window of such a model is known, so a request too long for it is not sent.
	SmallWindow = 24_000
)

// Enlarge describes how to enlarge the window of a model on the user's server.
const Enlarge = "Enlarge the window (OLLAMA_CONTEXT_LENGTH=16384 for Ollama, llama-server -c 16384 for llama.cpp, the context length of the model in LM Studio), " +
	"or choose a model with a larger one."

// SizeError is an error about the size of a request.
type SizeError struct {
	Text  string // for the user: the part that does not fit, and the next step
	Cause error  // the endpoint's refusal, or nil
}

func (e *SizeError) Error() string { return e.Text }
func (e *SizeError) Unwrap() error { return e.Cause }

func overflowed(err error) bool {
	var failure *model.Error
	return errors.As(err, &failure) && failure.Kind == model.ErrOverflow
}

// learn records the context window named in a refusal. If the refusal names none, the window is
// assumed to be below the estimate of the request.
func (t *turn) learn(err error) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != model.ErrOverflow {
		return
	}
	window := failure.Window
	if used := t.history.gauge.used(); window == 0 && used > LeastWindow && (t.window() == 0 || used < t.window()) {
		window = used
	}
	if window > 0 {
		t.bound.Store(&bound{window, t.believedWindow()})
	}
}

// modelName names the model for a message.
func (t *turn) modelName() string { return cmp.Or(t.head.Model, "the model") }

func count(n int) string { return amount.Comma(n) }

// tooSmall returns an error if the model's context window is too small for any session. Then
// nothing is sent.
func (s *Session) tooSmall() error {
	window := s.window()
	if window <= 0 || window >= s.config.LeastWindow {
		return nil
	}
	return &SizeError{Text: fmt.Sprintf("the context window of %s has %s tokens, and hermes-ls needs at least %s. Nothing was sent. %s",
		cmp.Or(s.Head().Model, "the model"), count(window), count(s.config.LeastWindow), Enlarge)}
}

// fits returns an error if the next request exceeds a small context window. Some servers would
// cut it silently.
func (t *turn) fits() error {
	window := t.window()
	if window <= 0 || window >= SmallWindow || t.config.LeastWindow <= 0 || t.history.gauge.used() <= window {
		return nil
	}
	return t.doesNotFit(nil)
}

// doesNotFit returns the error for a request longer than the context window after every
// possible compaction. If the prompt of the turn is the reason, it is left out of later
// requests.
func (t *turn) doesNotFit(cause error) error {
	g := &t.history.gauge
	window, fixed := t.window(), g.fixed()
	if window <= 0 {
		return cause
	}
	h := &t.history
	if i := len(h.messages) - 1; t.isNewest(t.prompt) {
		text := h.messages[i].Text()
		if tokens := g.scaled(weight(&h.messages[i])); fixed < window && tokens > (window-fixed)/2 {
			tooLong := &SizeError{Cause: cause, Text: fmt.Sprintf("the prompt does not fit: it has %s (about %s tokens), and the context window of %s has %s tokens, of which the system prompt and the tools take %s. "+
				"It was left out of the session, which goes on without it. Send a shorter prompt, or put the text into a file and name the file.",
				amount.Bytes(len(text)), count(tokens), t.modelName(), count(window), count(fixed))}
			if err := t.leaveOut(); err != nil {
				return errors.Join(tooLong, err)
			}
			return tooLong
		}
	}
	if fixed >= window/2 {
		return &SizeError{Cause: cause, Text: fmt.Sprintf("the system prompt and the tools have %s tokens, and the context window of %s has %s. "+
			"Set model.profile to small, or enlarge the window. %s", count(fixed), t.modelName(), count(window), Enlarge)}
	}
	if cause == nil {
		return &SizeError{Text: fmt.Sprintf("the session has %s tokens, and the context window of %s has %s. Compact the session (/compact), or start a new one. %s",
			count(g.used()), t.modelName(), count(window), Enlarge)}
	}
	return cause
}

// afterOverflow compacts the history and repeats the request, after the endpoint refused it as
// too long.
func (t *turn) afterOverflow(ctx context.Context, id string, reply *model.Reply, refusal error) (*model.Reply, error) {
	t.learn(refusal)
	if t.promptAlone() {
		return reply, t.doesNotFit(refusal)
	}
	fixed := t.history.gauge.fixed()
	err := t.compact(ctx, "")
	if errors.Is(err, errNothingToCompact) {
		// A smaller window may select another profile, with a shorter prefix.
		if t.renew() == nil && t.history.gauge.fixed() < fixed {
			err = nil
		}
	}
	if err != nil || ctx.Err() != nil {
		return reply, t.doesNotFit(refusal)
	}
	again, err := t.ask(ctx, id)
	if overflowed(err) {
		t.learn(err)
		return again, t.doesNotFit(err)
	}
	return again, err
}

// promptAlone reports whether the prompt of the turn exceeds the context window even without
// the messages before it.
func (t *turn) promptAlone() bool {
	window := t.window()
	if window <= 0 {
		return false
	}
	h := &t.history
	return t.isNewest(t.prompt) && h.gauge.fixed() < window &&
		h.gauge.scaled(weight(&h.messages[len(h.messages)-1]))+h.gauge.fixed() > window
}

// isNewest reports whether a stored message is the newest.
func (t *turn) isNewest(m *store.Message) bool {
	n := len(t.history.origins)
	return n > 0 && m.Seq > 0 && t.history.origins[n-1].seq == m.Seq
}
