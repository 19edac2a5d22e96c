package agent

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// page is how many messages are read at once.
const page = 200

// glance reads of a log what is to be known without reading it: its sums, the plan,
// and the end, where calls may be open.
func (s *Session) glance(ctx context.Context, totals store.Totals) error {
	tail, err := s.config.Store.Tail(ctx, s.id, int64(totals.Messages))
	if err != nil {
		return err
	}
	h, err := s.blank(ctx, totals)
	if err != nil {
		return err
	}
	for i := range tail {
		h.add(&tail[i])
	}
	s.take(h, totals)
	return nil
}

// blank is a history without messages, but with what the sums say.
func (s *Session) blank(ctx context.Context, totals store.Totals) (history, error) {
	h := history{usage: totals.Usage, requests: totals.Requests, counted: int64(totals.Messages)}
	head := s.Head()
	h.gauge.ground(head.System, head.Tools)
	todos, err := s.config.Store.LastTodo(ctx, s.id)
	if err == nil {
		h.readTodos(&todos)
	} else if !errors.Is(err, store.ErrNoMessage) {
		return h, err
	}
	return h, nil
}

func (s *Session) take(h history, totals store.Totals) {
	s.historyMu.Lock()
	s.history, s.rewinds = h, totals.Rewinds
	s.historyMu.Unlock()
	if s.config.Env.Todos != nil {
		s.config.Env.Todos.Set(h.todos)
	}
}

// catchUp brings the history up to the log: at first, and when the log has lost its
// end, all that the next request needs of it; else what another window has added.
func (s *Session) catchUp(ctx context.Context) error {
	totals, err := s.config.Store.Totals(ctx, s.id)
	if err != nil {
		return err
	}
	if s.read && totals.Rewinds == s.rewinds {
		if int64(totals.Messages) == s.history.seq {
			return nil
		}
		return s.readFrom(ctx, s.history.seq, s.remember)
	}
	h, err := s.blank(ctx, totals)
	if err != nil {
		return err
	}
	// What a compaction stands for need not be read.
	last, keeps, err := s.config.Store.LastCompaction(ctx, s.id)
	if err != nil {
		return err
	}
	h.unmeasured = last
	if err := s.readFrom(ctx, max(keeps-1, 0), h.add); err != nil {
		return err
	}
	s.take(h, totals)
	s.read = true
	return nil
}

func (s *Session) readFrom(ctx context.Context, after int64, add func(*store.Message)) error {
	for {
		news, err := s.config.Store.Messages(ctx, s.id, after, page)
		if err != nil {
			return err
		}
		for i := range news {
			add(&news[i])
			after = news[i].Seq
		}
		if len(news) < page {
			return nil
		}
	}
}

// readUp reads the history if nobody has yet. A turn that runs has.
func (s *Session) readUp(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return nil
	}
	defer s.running.Store(false)
	if s.read {
		return nil
	}
	return s.catchUp(ctx)
}

// compactedCall tells whether a call of that id is in the part of the log that is not
// in memory. Where the store cannot say, what follows will fail in any case.
func (t *turn) compactedCall(id string) bool {
	if id == "" || t.history.unmeasured == 0 {
		return false
	}
	has, _ := t.config.Store.HasCall(t.keeping, t.id, id)
	return has
}
