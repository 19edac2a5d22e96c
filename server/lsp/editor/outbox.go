package editor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol/wire"
)

// outbox gives messages to the connection's one writer, in the order in which it gets
// them. Messages after a response are given to it after that response.
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
func (e *Editor) prove() bool {
	ctx, cancel := context.WithTimeout(e.Ctx, probeLimit)
	defer cancel()
	answered := make(chan *jsonrpc2.Response, 1)
	for pause := probeFirst; ; pause *= 2 {
		id := e.outgoing.expect(answered)
		defer e.outgoing.forget(id)
		if e.writer.Send(jsonrpc2.AppendCall(nil, jsonrpc2.NewNumberID(id), lsp.MethodWorkspaceWorkspaceFolders, nil)) != nil {
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
