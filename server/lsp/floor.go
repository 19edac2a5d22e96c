package lsp

import (
	"context"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// flushLimit is how long a question waits for the chats to show what comes before it.
const flushLimit = 10 * time.Second

// floor keeps edits and questions apart: an edit is not sent while a question is open,
// and a question is not sent before the changes of the edits have come. Some editors do
// nothing but ask while a question is open. eglot applies edits then, but does not send
// the changes. Several edits, and several questions, go together.
type floor struct {
	mu        sync.Mutex
	edits     int
	questions map[*int]struct{} // that keep edits back
	moved     chan struct{}     // closed at the next change; nil: nobody waits
}

// edit waits until no question keeps edits back, or until ctx ends. The caller must call
// sent when the change of its edit has come.
func (f *floor) edit(ctx context.Context) (sent func(), err error) {
	if err = f.when(ctx, func() bool { return len(f.questions) == 0 }, func() { f.edits++ }); err != nil {
		return nil, err
	}
	return func() { f.change(func() { f.edits-- }) }, nil
}

// question keeps edits back from now on, and waits for those that have been sent, or
// until ctx ends. The caller must call done when the question is closed.
func (f *floor) question(ctx context.Context) (done func(), err error) {
	id := new(int)
	f.change(func() {
		if f.questions == nil {
			f.questions = map[*int]struct{}{}
		}
		f.questions[id] = struct{}{}
	})
	err = f.when(ctx, func() bool { return f.edits == 0 }, func() {})
	return func() { f.change(func() { delete(f.questions, id) }) }, err
}

// asked waits for a question that keeps edits back, or until ctx ends.
func (f *floor) asked(ctx context.Context) {
	_ = f.when(ctx, func() bool { return len(f.questions) > 0 }, func() {}) // both are an answer
}

// goOn lets edits be sent though questions are open: a user who has sent a command is not
// held up by them.
func (f *floor) goOn() { f.change(func() { clear(f.questions) }) }

func (f *floor) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	if f.moved != nil {
		close(f.moved)
		f.moved = nil
	}
}

// when calls then as soon as ok returns true. Both are called with the lock held.
func (f *floor) when(ctx context.Context, ok func() bool, then func()) error {
	for {
		f.mu.Lock()
		if ok() {
			then()
			f.mu.Unlock()
			return nil
		}
		if f.moved == nil {
			f.moved = make(chan struct{})
		}
		moved := f.moved
		f.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// showQuestion asks with window/showMessageRequest, in which characters that a screen
// hides or obeys are written out. The chats show before it what the answers say so far.
func (s *server) showQuestion(ctx context.Context, params *lsp.ShowMessageRequestParams, chosen *lsp.MessageActionItem) error {
	s.flushChats(ctx)
	done, err := s.floor.question(ctx)
	defer done()
	if err != nil {
		return err
	}
	shown := lsp.ShowMessageRequestParams{Type: params.Type, Message: approval.Shown(params.Message)}
	for _, a := range params.Actions {
		shown.Actions = append(shown.Actions, lsp.MessageActionItem{Title: approval.Shown(a.Title)})
	}
	if err := s.question(ctx, lsp.MethodWindowShowMessageRequest, &shown, chosen); err != nil {
		return err
	}
	for i, a := range shown.Actions {
		if a.Title == chosen.Title {
			*chosen = params.Actions[i]
			break
		}
	}
	return nil
}

// flushChats has all answers written as far as they are known. It waits until that is
// done, until another question is open, or for flushLimit.
func (s *server) flushChats(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		defer cancel()
		s.floor.asked(ctx)
	})
	for _, a := range s.chats.answers() {
		a.flush(ctx)
	}
	cancel()
}
