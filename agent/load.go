package agent

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// page is the number of messages for each read.
const page = 200

// loadTail reads the totals, the plan and the end of the history. It may contain open calls.
func (s *Session) loadTail(ctx context.Context, totals store.Totals) error {
	tail, err := s.config.Store.Tail(ctx, s.id, int64(totals.Messages))
	if err != nil {
		return err
	}
	h, err := s.newHistory(ctx, totals)
	if err != nil {
		return err
	}
	for i := range tail {
		h.add(&tail[i])
	}
	s.setHistory(h, totals)
	return nil
}

// newHistory returns a history with totals and plan, but without messages.
func (s *Session) newHistory(ctx context.Context, totals store.Totals) (history, error) {
	h := history{planTool: s.config.Plan.Tool(), usage: totals.Usage, requests: totals.Requests, counted: int64(totals.Messages)}
	head := s.Head()
	h.gauge.ground(head.System, head.Tools)
	if _, err := s.editsOf().Load(ctx, editsKey, &h.edits); err != nil {
		return h, err
	}
	if h.planTool == "" {
		return h, nil
	}
	last, err := s.config.Store.LastResult(ctx, s.id, h.planTool)
	if err == nil {
		h.readTodos(&last)
	} else if !errors.Is(err, store.ErrNoMessage) {
		return h, err
	}
	return h, nil
}

func (s *Session) setHistory(h history, totals store.Totals) {
	s.historyMu.Lock()
	s.history, s.rewinds = h, totals.Rewinds
	s.historyMu.Unlock()
	s.config.Plan.Set(h.todos)
}

// sync reads messages added by other processes. If the history is not loaded, or was rewound,
// it loads the messages of the next request.
func (s *Session) sync(ctx context.Context) error {
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
	h, err := s.newHistory(ctx, totals)
	if err != nil {
		return err
	}
	// Skip messages replaced by a compaction.
	last, keeps, err := s.config.Store.LastCompaction(ctx, s.id)
	if err != nil {
		return err
	}
	h.unmeasured = last
	if err := s.readFrom(ctx, max(keeps-1, 0), h.add); err != nil {
		return err
	}
	s.setHistory(h, totals)
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

// ensureLoaded loads the history if necessary. If a turn runs, the turn does it.
func (s *Session) ensureLoaded(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return nil
	}
	defer s.running.Store(false)
	if s.read {
		return nil
	}
	return s.sync(ctx)
}

// compactedCall reports whether call id is in the part of the history not in memory. If the
// store cannot be read, it returns false, and the next write fails.
func (t *turn) compactedCall(id string) bool {
	if id == "" || t.history.unmeasured == 0 {
		return false
	}
	has, _ := t.config.Store.HasCall(t.storeCtx, t.id, id)
	return has
}
