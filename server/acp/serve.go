package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
)

// ServeOptions are the settings of a connection. Service is required; [Serve] closes it.
type ServeOptions struct {
	Service *server.Service
	Log     *slog.Logger
	// Inspect receives a function for the sizes of the queues. It may be nil.
	Inspect func(func() wire.Queues)
}

// settleLimit limits the handling of messages received before the end of a connection. With the
// limits of the service and the writer, the sum is below a second.
const settleLimit = 400 * time.Millisecond

// Serve runs a connection until in ends, out fails, or ctx ends. Then Serve responds to earlier
// requests, cancels all turns, and returns within a second. If in and out can be closed, Serve
// closes them, to unblock their reader and writer.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o ServeOptions) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c := newConn(requests, in, out, o)
	if o.Inspect != nil {
		o.Inspect(c.queues)
	}
	return c.run(ctx, cancel)
}

// queues returns the sizes of the queues.
func (c *conn) queues() (q wire.Queues) {
	q.Messages, q.Bytes = c.out.Waiting()
	c.runningMu.Lock()
	defer c.runningMu.Unlock()
	q.Requests = len(c.running)
	return q
}

// run is [Serve] for a connection. cancel ends its requests.
func (c *conn) run(ctx context.Context, cancel func()) error {
	c.rpc = jsonrpc2.NewConn(c.ctx, c.lines, c, jsonrpc2.SetLogger(c))
	go c.serve()

	select {
	case <-c.rpc.DisconnectNotify():
	case <-c.out.Done():
	case <-ctx.Done():
	}
	close(c.stop)
	c.agent.svc.Stop()
	within(settleLimit, c.left)
	cancel()
	err := c.agent.svc.Close()
	_ = c.rpc.Close() // closed already, unless out failed or ctx ended
	closeIfCloser(c.in)
	err = errors.Join(err, c.out.Close())
	closeIfCloser(c.to)
	return err
}

func newConn(ctx context.Context, in io.Reader, out io.Writer, o ServeOptions) *conn {
	c := &conn{
		log: o.Log, ctx: ctx, in: in, to: out, out: wire.NewWriter(out, wire.LineFraming),
		queue: make(chan *request, maxQueued), stop: make(chan struct{}), left: make(chan struct{}),
		running: map[string]*request{},
	}
	c.lines = wire.NewLineStream(in, c.out)
	c.agent = NewAgent(o.Service, c, Options{Log: o.Log})
	return c
}

func within(limit time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func closeIfCloser(v any) {
	if c, ok := v.(io.Closer); ok {
		_ = c.Close() // everything was written
	}
}
