package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// TestSpent checks the usage of days and sessions. It counts each request once, apart from
// forks. The usage of a session includes its subagents.
func TestSpent(t *testing.T) {
	t.Parallel()
	s := open(t)
	zone := time.FixedZone("", 5*3600+45*60)
	day := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, zone) }
	answer := func(id string, at time.Time, u model.Usage) {
		m := store.Message{Time: at, Message: model.ResponseMessage("", "Done."), Usage: &u}
		if err := s.Append(t.Context(), id, &m); err != nil {
			t.Fatal(err)
		}
	}
	top := create(t, s, store.Session{Title: "Top", Cwd: "/w", UpdatedAt: day(1, 0, 0), CreatedAt: day(1, 0, 0)})
	child := create(t, s, store.Session{Parent: top.ID, Origin: "{}", UpdatedAt: day(1, 0, 0), CreatedAt: day(1, 0, 0)})
	silent := create(t, s, store.Session{UpdatedAt: day(9, 0, 0), CreatedAt: day(9, 0, 0)})
	answer(top.ID, day(1, 23, 59), model.Usage{Input: 10, Output: 1, Cost: 0.5})
	answer(top.ID, day(2, 0, 0), model.Usage{Input: 20, Output: 2, Reasoning: 1, CachedRead: 3, CachedWrite: 4, Cost: 0.25})
	answer(child.ID, day(2, 0, 1), model.Usage{Input: 40, Output: 4})
	prompt := store.Message{Time: day(3, 0, 0), Message: model.NewMessage(model.User, "Hi")}
	if err := s.Append(t.Context(), top.ID, &prompt); err != nil {
		t.Fatal(err)
	}

	first := store.Spent{Requests: 1, Usage: model.Usage{Input: 10, Output: 1, Cost: 0.5}}
	second := store.Spent{Requests: 2, Unpriced: 1, Usage: model.Usage{Input: 60, Output: 6, Reasoning: 1, CachedRead: 3, CachedWrite: 4, Cost: 0.25}}
	both := store.Spent{Requests: 3, Unpriced: 1, Usage: first.Usage.Plus(second.Usage)}
	days, err := s.SpentByDay(t.Context(), day(1, 0, 0))
	if want := []store.SpentDay{{Date: "2026-03-02", Spent: second}, {Date: "2026-03-01", Spent: first}}; err != nil || !reflect.DeepEqual(days, want) {
		t.Errorf("days %+v, %v, want %+v", days, err, want)
	}
	if days, err := s.SpentByDay(t.Context(), day(2, 0, 0)); err != nil || len(days) != 1 {
		t.Errorf("days since the second: %+v, %v", days, err)
	}
	sessions, err := s.SpentBySession(t.Context(), day(1, 0, 0))
	if err != nil || len(sessions) != 1 || sessions[0].Session.ID != top.ID || sessions[0].Session.Title != "Top" || sessions[0].Spent != both {
		t.Errorf("sessions %+v, %v, want one with %+v", sessions, err, both)
	}
	if sessions, err := s.SpentBySession(t.Context(), day(8, 0, 0)); err != nil || len(sessions) != 0 {
		t.Errorf("sessions since the eighth: %+v, %v", sessions, err)
	}
	for id, want := range map[string]store.Spent{top.ID: both, silent.ID: {}, store.NewID(): {}} {
		if got, err := s.SpentIn(t.Context(), id); err != nil || got != want {
			t.Errorf("%s used %+v, %v, want %+v", id, got, err, want)
		}
	}
}
