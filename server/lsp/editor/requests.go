package editor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/tools"
)

// AnswerLimit is how long a request to the editor may stay without an answer if it asks the
// user nothing. Some editors never answer some requests.
const AnswerLimit = 5 * time.Second

// Call asks the editor, for at most limit. Result may be nil; null leaves it as
// it is. The time stops while a question to the user is open: some editors do
// nothing else meanwhile.
func (e *Editor) Call(ctx context.Context, limit time.Duration, name string, params, result any) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered, seen := make(chan struct{}), e.answers.Load()
	var clock sync.WaitGroup
	clock.Go(func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for ; ; timer.Reset(limit) {
			select {
			case <-answered:
				return
			case <-timer.C:
			}
			before := seen
			if seen = e.answers.Load(); e.questions.Load() == 0 && seen == before {
				cancel(context.DeadlineExceeded)
				return
			}
		}
	})
	err := e.Ask(limited, name, params, result)
	close(answered)
	clock.Wait()
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), context.DeadlineExceeded) {
		return fmt.Errorf("the editor did not answer %s: %w", name, context.DeadlineExceeded)
	}
	return err
}

// Question asks the user, who may think until ctx ends.
func (e *Editor) Question(ctx context.Context, name string, params, result any) error {
	e.questions.Add(1)
	defer func() {
		e.answers.Add(1) // before the other, so a reader sees at least one
		e.questions.Add(-1)
	}()
	return e.Ask(ctx, name, params, result)
}

// Ask asks the editor until ctx ends. Then it cancels the request at the editor.
func (e *Editor) Ask(ctx context.Context, name string, params, result any) error {
	answer, err := e.outgoing.ask(ctx, e.send, name, params)
	if err != nil {
		return err
	}
	if result == nil || len(answer) == 0 || string(answer) == "null" {
		return nil
	}
	if err := (Codec{}).Unmarshal(answer, result); err != nil {
		return fmt.Errorf("the editor's answer to %s: %w", name, err)
	}
	return nil
}

// outgoing holds the unanswered requests to the editor. The library has this too, but shares its
// channels between connections, which tests in virtual time do not survive.
type outgoing struct {
	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *jsonrpc2.Response
	nudged  bool // the client may be eglot
}

// nudgeEvery is how long a request stays without an answer before something follows it.
const nudgeEvery = time.Second

func (o *outgoing) ask(ctx context.Context, send func([]byte) error, name string, params any) (jsonrpc2.RawMessage, error) {
	body, err := Codec{}.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters: %w", err)
	}
	answer := make(chan *jsonrpc2.Response, 1)
	id := o.expect(answer)
	defer o.forget(id)
	if err := send(jsonrpc2.AppendCall(nil, jsonrpc2.NewNumberID(id), name, body)); err != nil {
		return nil, fmt.Errorf("sending %s: %w (%w)", name, tools.ErrClosing, err)
	}
	nudge := time.NewTicker(nudgeEvery)
	defer nudge.Stop()
	for nudges := 0; ; {
		select {
		case r := <-answer:
			return r.Result(), r.Err()
		case <-ctx.Done():
			note := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id)
			return nil, errors.Join(ctx.Err(), send(note))
		case <-nudge.C:
			if nudges++; o.nudged && nudges <= 3 {
				_ = send([]byte(`{"jsonrpc":"2.0","method":"$/hermes/nudge","params":{}}`)) // the next send reports the same error
			}
		}
	}
}

// expect makes an id and sends its response to answer, unless answer is full.
func (o *outgoing) expect(answer chan *jsonrpc2.Response) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = map[int64]chan *jsonrpc2.Response{}
	}
	o.last++
	o.waiting[o.last] = answer
	return o.last
}

func (o *outgoing) forget(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, id)
}

// deliver passes a response on. If no request waits for it, it is dropped.
func (o *outgoing) deliver(r *jsonrpc2.Response) {
	id, ok := r.ID().Number()
	o.mu.Lock()
	defer o.mu.Unlock()
	if answer := o.waiting[id]; ok && answer != nil {
		delete(o.waiting, id)
		select {
		case answer <- r:
		default:
		}
	}
}

// Notify sends a notification. If the connection has ended, its reader notices it.
func (e *Editor) Notify(name string, params any) {
	body, err := Codec{}.Marshal(params)
	if err == nil {
		err = e.send(jsonrpc2.AppendNotification(nil, name, body))
	}
	if err != nil {
		e.log.Debug("a notification was not sent", "method", name, "error", err)
	}
}

// Show shows a message. Characters are written as their code if they are invisible or control a
// terminal.
func (e *Editor) Show(kind lsp.MessageType, format string, args ...any) {
	e.Notify(lsp.MethodWindowShowMessage, &lsp.ShowMessageParams{Type: kind, Message: escape.Text(fmt.Sprintf(format, args...))})
}

// send sends a message, but no response.
func (e *Editor) send(m []byte) error {
	return e.out.message(func() error { return e.writer.Send(m) })
}
