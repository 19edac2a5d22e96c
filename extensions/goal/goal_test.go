package goal

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/extension"
)

// state is a State in memory. If closed is set, it stores nothing, like an unstored session.
type state struct {
	closed bool
	values map[string]string
}

func (s *state) Load(_ context.Context, key string, v any) (bool, error) {
	text, ok := s.values[key]
	if ok {
		*v.(*string) = text
	}
	return ok, nil
}

func (s *state) Save(_ context.Context, key string, v any) error {
	if s.closed {
		return errors.New("the session is not stored")
	}
	if v == nil {
		delete(s.values, key)
	} else {
		s.values[key] = v.(string)
	}
	return nil
}

func open(t *testing.T, st *state, judge func() (string, error)) *Instance {
	t.Helper()
	x, err := New().Open(t.Context(), &extension.Session{
		ID: "one", New: st.closed, State: st, Redact: func(s string) string { return s },
		Models: extension.Models{Complete: func(context.Context, string, string) (string, error) { return judge() }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return x.(*Instance)
}

func run(t *testing.T, x *Instance, args string) string {
	t.Helper()
	text, err := x.run(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A judgment continues the turn at most 20 times. It requires a goal, a normal end of the turn, and
// no waiting prompt of the user.
func TestAfterTurn(t *testing.T) {
	t.Parallel()
	answer, failed := "", error(nil)
	for _, test := range []struct {
		name, goal, answer string
		failed             error
		end                extension.TurnEnd
		more, notice       string
		stays              bool
	}{
		{name: "no goal", end: extension.TurnEnd{Stop: "end_turn"}},
		{name: "missing", goal: "g", answer: `{"verdict":"continue","reason":"x"}`, end: extension.TurnEnd{Stop: "end_turn"}, more: "Goal: g\n\nMissing: x.", notice: "(1 of 20): x.", stays: true},
		{name: "requests used up", goal: "g", answer: `{"verdict":"continue","reason":"x"}`, end: extension.TurnEnd{Stop: "max_turn_requests", Continued: 19}, more: "Goal: g", notice: "(20 of 20)", stays: true},
		{name: "limit", goal: "g", answer: `{"verdict":"continue","reason":"x"}`, end: extension.TurnEnd{Stop: "end_turn", Continued: 20}, notice: "continued 20 times and ends", stays: true},
		{name: "reached", goal: "g", answer: `{"verdict":"reached","reason":"x"}`, end: extension.TurnEnd{Stop: "end_turn"}, notice: "reached: x."},
		{name: "user", goal: "g", answer: `{"verdict":"user","reason":"Which one?"}`, end: extension.TurnEnd{Stop: "end_turn"}, notice: "needs you: Which one?", stays: true},
		{name: "prompt waits", goal: "g", end: extension.TurnEnd{Stop: "end_turn", Waiting: true}, stays: true},
		{name: "canceled", goal: "g", end: extension.TurnEnd{Stop: "cancelled"}, stays: true},
		{name: "failed", goal: "g", end: extension.TurnEnd{}, stays: true},
		{name: "refused", goal: "g", end: extension.TurnEnd{Stop: "refusal"}, stays: true},
		{name: "unreadable", goal: "g", answer: "yes", end: extension.TurnEnd{Stop: "end_turn"}, notice: "not readable", stays: true},
		{name: "request fails", goal: "g", failed: errors.New("no network"), end: extension.TurnEnd{Stop: "end_turn"}, notice: "no network", stays: true},
	} {
		answer, failed = test.answer, test.failed
		st := &state{values: map[string]string{}}
		x := open(t, st, func() (string, error) { return answer, failed })
		if test.goal != "" {
			run(t, x, test.goal)
		}
		d, err := x.afterTurn(t.Context(), test.end)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if (d.Continue == "") != (test.more == "") || !strings.Contains(d.Continue, test.more) {
			t.Errorf("%s: continues with %q, want %q", test.name, d.Continue, test.more)
		}
		if (d.Notice == "") != (test.notice == "") || !strings.Contains(d.Notice, test.notice) {
			t.Errorf("%s: notice %q, want %q", test.name, d.Notice, test.notice)
		}
		if stays := st.values[stateKey] != ""; stays != test.stays {
			t.Errorf("%s: the goal is stored: %t, want %t", test.name, stays, test.stays)
		}
	}
}

// If the goal is removed during its judgment, the turn does not continue.
func TestClearedDuringJudgment(t *testing.T) {
	t.Parallel()
	var x *Instance
	x = open(t, &state{values: map[string]string{}}, func() (string, error) {
		run(t, x, "clear")
		return `{"verdict":"continue","reason":"x"}`, nil
	})
	run(t, x, "g")
	if d, err := x.afterTurn(t.Context(), extension.TurnEnd{Stop: "end_turn"}); !reflect.DeepEqual(d, extension.TurnDecision{}) || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// A goal set before the session is stored is stored with the first request.
func TestGoalOfNewSession(t *testing.T) {
	t.Parallel()
	st := &state{closed: true, values: map[string]string{}}
	x := open(t, st, nil)
	run(t, x, "g")
	st.closed = false
	x.Notices(t.Context(), extension.WithPrompt)
	if st.values[stateKey] != "" {
		t.Error("it is stored before the prompt")
	}
	x.Notices(t.Context(), extension.WithRequest)
	x = open(t, st, nil)
	if text := run(t, x, ""); !strings.Contains(text, "> g") {
		t.Errorf("the next server shows %q", text)
	}
	if name, text := x.status(t.Context()); name != "Goal" || text != "g" {
		t.Errorf("status: %s: %s", name, text)
	}
}
