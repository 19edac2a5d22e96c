package editor

import (
	"context"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// flushLimit is the time for the chats to show the text before a question.
const flushLimit = 10 * time.Second

// editGate keeps edits and questions apart: no edit is sent while a question is open, and no
// question is sent before the changes of the edits have come. While a question is open, some
// editors do nothing else, and eglot applies edits but does not send the changes. Several
// edits may be open together, and several questions, too.
type editGate struct {
	mu        sync.Mutex
	edits     int
	questions map[*int]struct{} // open questions, which hold edits
	moved     chan struct{}     // closed at the next change; nil: nothing waits
}

// edit waits until no question keeps edits back, or until ctx ends. The caller must call
// sent when the change of its edit has come.
func (f *editGate) edit(ctx context.Context) (sent func(), err error) {
	if err = f.when(ctx, func() bool { return len(f.questions) == 0 }, func() { f.edits++ }); err != nil {
		return nil, err
	}
	return func() { f.change(func() { f.edits-- }) }, nil
}

// question holds edits from now on, and waits for the sent edits to finish, or until ctx ends. The
// caller must call done when the question is closed.
func (f *editGate) question(ctx context.Context) (done func(), err error) {
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

// asked waits for a question that holds edits, or until ctx ends.
func (f *editGate) asked(ctx context.Context) {
	_ = f.when(ctx, func() bool { return len(f.questions) > 0 }, func() {}) // both are an answer
}

// reopen lets edits be sent although questions are open. It is called when the user sends a
// command, which must not wait for them.
func (f *editGate) reopen() { f.change(func() { clear(f.questions) }) }

func (f *editGate) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	if f.moved != nil {
		close(f.moved)
		f.moved = nil
	}
}

// when calls then as soon as ok returns true. It holds the lock during both calls.
func (f *editGate) when(ctx context.Context, ok func() bool, then func()) error {
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

// Choose asks the user with window/showMessageRequest. Characters are written as their code if they
// are invisible or control a terminal. Before the question, the chats show the answers so far.
func (e *Editor) Choose(ctx context.Context, params *lsp.ShowMessageRequestParams, chosen *lsp.MessageActionItem) error {
	e.flush(ctx)
	done, err := e.edits.question(ctx)
	defer done()
	if err != nil {
		return err
	}
	shown := lsp.ShowMessageRequestParams{Type: params.Type, Message: escape.Text(params.Message)}
	for _, a := range params.Actions {
		shown.Actions = append(shown.Actions, lsp.MessageActionItem{Title: escape.Text(a.Title)})
	}
	if err := e.Question(ctx, lsp.MethodWindowShowMessageRequest, &shown, chosen); err != nil {
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

// flush waits until the chats show all answers so far, another question is open, or flushLimit has
// passed.
func (e *Editor) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		defer cancel()
		e.edits.asked(ctx)
	})
	e.showAnswers(ctx)
	cancel()
}
