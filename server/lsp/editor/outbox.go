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

// outbox gives messages to the connection's writer, in the order in which it receives them.
// Messages after a response reach the writer after it.
//
// For lsp-mode, it holds messages after a response until lsp-mode has read the response. When
// lsp-mode has waited for a response, it leaves its process filter with a throw. It then loses
// messages read together with the response. Its answer to a request sent behind the response proves
// that it has read on.
type outbox struct {
	writer *wire.Writer
	holds  atomic.Bool  // the client is lsp-mode
	prove  func() bool  // returns true when the client has answered a probe; false: no answer
	start  func(func()) // runs a function on a separate goroutine

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

// message sends or holds a message that is not a response. The error of a held message is dropped:
// the reader notices the end of the connection.
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
	probeFirst = 10 * time.Millisecond // a lost probe is sent again after this time, then after twice as long
	probeLimit = 5 * time.Second
)

// prove sends the client a request until it answers. The client answers it at once, unless it reads
// the request together with a response and loses it. If there is no answer within probeLimit, prove
// returns false.
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
