package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol/wire"
)

// outbox gives messages to the connection's one writer, in the order in which it gets
// them. Messages after a response are given to it after that response: see [followed].
//
// For lsp-mode it holds messages that follow a response until lsp-mode has read that response.
// When lsp-mode has waited for a response, it leaves its process filter with a throw and
// loses the messages that it has read together with the response. Its answer to a request
// that was sent behind the response shows that it has read on.
type outbox struct {
	writer *wire.Writer
	holds  atomic.Bool  // the client is lsp-mode
	prove  func() bool  // returns when the client has answered a request that was sent meanwhile; false: it has not
	start  func(func()) // runs a function on a goroutine of its own

	mu     sync.Mutex
	last   int            // how many responses have been sent
	unread bool           // the last of them may not have been read
	held   []func() error // in order
}

// response sends a response. It never waits for the client.
func (o *outbox) response(m []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	o.unread = o.holds.Load()
	return o.writer.Send(m)
}

// message sends a message that is not a response, or holds it. The error of a held message is
// dropped: the reader notices that the connection has ended.
func (o *outbox) message(send func() error) error {
	if !o.holds.Load() {
		return send()
	}
	o.mu.Lock()
	if !o.unread {
		defer o.mu.Unlock()
		return send()
	}
	o.held = append(o.held, send)
	first := len(o.held) == 1
	o.mu.Unlock()
	if first {
		o.start(o.release)
	}
	return nil
}

// release sends the held messages once the last response was read. If the client does
// not answer, it sends it all the same.
func (o *outbox) release() {
	for {
		o.mu.Lock()
		last := o.last
		o.mu.Unlock()
		proved := o.prove()
		o.mu.Lock()
		if proved && last != o.last { // there is a later response
			o.mu.Unlock()
			continue
		}
		for _, send := range o.held {
			_ = send()
		}
		o.held, o.unread = nil, false
		o.mu.Unlock()
		return
	}
}

const (
	probeFirst = 10 * time.Millisecond // a probe that is lost is sent again after this time, then after twice as long
	probeLimit = 5 * time.Second
)

// prove asks the client something that it answers at once, again and again until it does:
// a request that it reads together with a response is lost. If the client does not answer
// within probeLimit, prove returns false.
func (s *server) prove() bool {
	ctx, cancel := context.WithTimeout(s.ctx, probeLimit)
	defer cancel()
	answered := make(chan *jsonrpc2.Response, 1)
	for pause := probeFirst; ; pause *= 2 {
		id := s.outgoing.expect(answered)
		defer s.outgoing.forget(id)
		if s.writer.Send(jsonrpc2.AppendCall(nil, jsonrpc2.NewNumberID(id), lsp.MethodWorkspaceWorkspaceFolders, nil)) != nil {
			return false
		}
		again := time.NewTimer(pause)
		select {
		case <-answered:
			again.Stop()
			return true
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return false
		}
	}
}

// followed is a result with a function for messages after its response. Then is called once the
// response has been given to the writer, or could not be.
type followed struct {
	result any
	then   func()
}

// respond answers a request.
func (s *server) respond(id jsonrpc2.ID, result any, err error) {
	then := func() {}
	if f, ok := result.(followed); ok {
		result, then = f.result, f.then
	}
	body := jsonrpc2.RawMessage("null")
	if err == nil && result != nil {
		var failed error
		if body, failed = (codec{}).Marshal(result); failed != nil {
			err = jsonrpc2.Errorf(jsonrpc2.InternalError, "encoding the result: %v", failed)
		}
	}
	if failed := s.out.response(jsonrpc2.AppendResponse(nil, id, body, err)); failed != nil {
		s.log.Debug("a response was not sent", "error", failed)
	}
	then()
}

// raw encodes a result of ours, which the codec then passes as it is.
func raw(v any) (any, error) {
	if f, ok := v.(followed); ok {
		encoded, err := raw(f.result)
		return followed{encoded, f.then}, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	return jsonrpc2.RawMessage(b), nil
}
