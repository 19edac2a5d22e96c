package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// answerLimit is how long a request to the editor may stay without an answer when
// no person has to think about it. Some editors never answer some requests.
const answerLimit = 5 * time.Second

// client has the capabilities of the editor from initialize.
type client struct {
	name          string
	applyEdit     bool
	progress      bool
	showDocument  bool
	overtakes     bool // changes of a document may come in another order than they were made
	configuration bool
	literals      bool            // code actions, not only commands
	acp           json.RawMessage // its part of the Agent Client Protocol; nil: it has no plugin
}

func clientOf(p initializeParams) client {
	can := p.Capabilities
	c := client{
		name:          p.ClientInfo.Name,
		applyEdit:     can.Workspace.ApplyEdit,
		configuration: can.Workspace.Configuration,
		progress:      can.Window.WorkDoneProgress,
		showDocument:  can.Window.ShowDocument.Support,
		literals:      len(can.TextDocument.CodeAction.LiteralSupport.Kind.ValueSet) > 0,
	}
	if c.name == "helix" { // it does show documents, but says so only from 2026 on
		c.showDocument, c.overtakes = true, true
	}
	if acp := can.Experimental.ACP; isObject(acp) || isEmptyList(acp) {
		c.acp = can.Experimental.ACP
	}
	return c
}

// lspMode is the name that lsp-mode gives in initialize.
const lspMode = "emacs"

// isEglot reports whether a client may be eglot, which gives no name in version 1.9. After it
// has waited for a response, it handles messages that follow only when more arrive.
func isEglot(name string) bool { return name == "" || strings.Contains(strings.ToLower(name), "eglot") }

// call asks the editor, for at most limit. Result may be nil; null leaves it as
// it is. While a person thinks about a question the time stands still: some editors do
// nothing else meanwhile.
func (s *server) call(ctx context.Context, limit time.Duration, name string, params, result any) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered, seen := make(chan struct{}), s.answers.Load()
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
			if seen = s.answers.Load(); s.questions.Load() == 0 && seen == before {
				cancel(context.DeadlineExceeded)
				return
			}
		}
	})
	err := s.ask(limited, name, params, result)
	close(answered)
	clock.Wait()
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), context.DeadlineExceeded) {
		return fmt.Errorf("the editor did not answer %s: %w", name, context.DeadlineExceeded)
	}
	return err
}

// question asks the person at the editor, who may think until ctx ends.
func (s *server) question(ctx context.Context, name string, params, result any) error {
	s.questions.Add(1)
	defer func() {
		s.answers.Add(1) // before the other, so that a reader sees at least one
		s.questions.Add(-1)
	}()
	return s.ask(ctx, name, params, result)
}

// ask asks the editor until ctx ends; then the editor is told that the answer is
// not wanted any more.
func (s *server) ask(ctx context.Context, name string, params, result any) error {
	answer, err := s.outgoing.ask(ctx, s.send, name, params)
	if err != nil {
		return err
	}
	if result == nil || len(answer) == 0 || string(answer) == "null" {
		return nil
	}
	if err := (codec{}).Unmarshal(answer, result); err != nil {
		return fmt.Errorf("the editor's answer to %s: %w", name, err)
	}
	return nil
}

// outgoing are the requests to the editor that have no answer yet. The library has
// this too, but shares its channels between connections, which tests in virtual
// time do not survive.
type outgoing struct {
	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *jsonrpc2.Response
	nudged  bool // the client may be eglot
}

// nudgeEvery is how long a request stays without an answer before something follows it.
const nudgeEvery = time.Second

func (o *outgoing) ask(ctx context.Context, send func([]byte) error, name string, params any) (jsonrpc2.RawMessage, error) {
	body, err := codec{}.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters: %w", err)
	}
	answer := make(chan *jsonrpc2.Response, 1)
	id := o.expect(answer)
	defer o.forget(id)
	if err := send(jsonrpc2.AppendCall(nil, jsonrpc2.NewNumberID(id), name, body)); err != nil {
		return nil, err
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
				_ = send([]byte(`{"jsonrpc":"2.0","method":"$/hermes/nudge","params":{}}`)) // the next one says the same
			}
		}
	}
}

// expect makes an id whose response is sent to answer, unless that is full.
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

// notify tells the editor something. A connection that is gone is noticed by its
// reader.
func (s *server) notify(name string, params any) {
	body, err := codec{}.Marshal(params)
	if err == nil {
		err = s.send(jsonrpc2.AppendNotification(nil, name, body))
	}
	if err != nil {
		s.log.Debug("a notification was not sent", "method", name, "error", err)
	}
}

// show puts a message before the user, in which characters that a screen hides or obeys
// are written out.
func (s *server) show(kind lsp.MessageType, format string, args ...any) {
	s.notify(lsp.MethodWindowShowMessage, &lsp.ShowMessageParams{Type: kind, Message: policy.Shown(fmt.Sprintf(format, args...))})
}

// send sends a message that is no response.
func (s *server) send(m []byte) error {
	return s.out.message(func() error { return s.writer.Send(m) })
}

// peer is the Agent Client Protocol's way to the editor on this connection.
type peer struct{ s *server }

func (p peer) Call(ctx context.Context, name string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	var answer jsonrpc2.RawMessage
	ask := p.s.ask
	if name == acp.MethodRequestPermission || name == acp.MethodElicit {
		ask = p.s.question
	}
	err = ask(ctx, name, jsonrpc2.RawMessage(body), &answer)
	var said *jsonrpc2.Error
	if errors.As(err, &said) {
		return acp.Errorf(int(said.Code), "%s", said.Message)
	}
	if err != nil {
		return err
	}
	if result == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decoding the answer to %s: %w", name, err)
	}
	return nil
}

// Post sends a notification of the agent's, which may be merged while it waits.
func (p peer) Post(key string, n wire.Note) error {
	return p.s.out.message(func() error { return p.s.writer.Post(key, n) })
}

func (p peer) Drain(ctx context.Context, most int) error { return p.s.writer.Drain(ctx, most) }
