package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/tools"
)

// maxQueued limits the messages in the queue. Further requests get an error.
const maxQueued = 1000

// conn is a connection with one message per line. One goroutine reads: it delivers responses,
// handles $/cancel_request and session/cancel at once, and queues all other messages. A second
// goroutine handles the queue in order.
type conn struct {
	agent *Agent
	log   *slog.Logger
	in    io.Reader // behind lines
	to    io.Writer // behind out
	lines *wire.LineStream
	out   *wire.Writer
	rpc   *jsonrpc2.Conn
	ctx   context.Context // of the requests; ends with the connection
	ids   atomic.Uint64   // of our own requests
	queue chan *request
	ready bool // initialize was handled; handlers read it before they call next

	stop chan struct{} // closed: the queue gets no more messages
	left chan struct{} // closed when the queue is empty

	runningMu sync.Mutex
	running   map[string]*request // and queued, by the id as the client wrote it
}

// request is a queued or running message.
type request struct {
	method string
	id     json.RawMessage // nil: a notification
	params json.RawMessage
	ctx    context.Context
	cancel context.CancelFunc
}

// Handle queues a message of the reader. It never waits.
func (c *conn) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	id, params := c.lines.Request()
	if r.Method == acp.MethodCancelRequest {
		c.cancelRequest(params)
		return
	}
	q := &request{method: r.Method, id: id, params: params}
	q.ctx, q.cancel = context.WithCancel(c.ctx)
	if r.Method == acp.MethodSessionCancel {
		c.cancelSession(q)
		return
	}
	c.admit(q)
	select {
	case c.queue <- q:
	default:
		c.answer(q, nil, acp.Errorf(acp.CodeInternal, "more than %d messages are waiting; %s was not handled", maxQueued, q.method))
	}
}

func (c *conn) cancelRequest(params json.RawMessage) {
	var p acp.CancelRequestNotification
	if json.Unmarshal(params, &p) != nil {
		return // cancels nothing
	}
	c.runningMu.Lock()
	q := c.running[string(p.RequestID)]
	c.runningMu.Unlock()
	if q != nil {
		q.cancel()
	}
}

// cancelSession cancels the turns of a session, and its prompts still waiting behind other
// messages.
func (c *conn) cancelSession(q *request) {
	result, err := c.agent.Handle(q.ctx, q.method, q.params, func() {})
	var p acp.CancelNotification
	if err == nil && json.Unmarshal(q.params, &p) == nil {
		for _, prompt := range c.promptsOf(p.SessionID) {
			prompt.cancel()
		}
	}
	c.answer(q, result, err)
}

func (c *conn) promptsOf(session string) (prompts []*request) {
	c.runningMu.Lock()
	defer c.runningMu.Unlock()
	for _, q := range c.running {
		var p struct {
			SessionID string `json:"sessionId"`
		}
		if q.method == acp.MethodSessionPrompt && json.Unmarshal(q.params, &p) == nil && p.SessionID == session {
			prompts = append(prompts, q)
		}
	}
	return prompts
}

func (c *conn) admit(q *request) {
	if q.id == nil {
		return
	}
	c.runningMu.Lock()
	defer c.runningMu.Unlock()
	c.running[string(q.id)] = q
}

// serve handles messages in order. After the end of the input, it handles the remaining messages.
func (c *conn) serve() {
	defer close(c.left)
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for {
		select {
		case q := <-c.queue:
			c.release(&handlers, q)
			continue
		case <-c.stop:
		}
		select {
		case q := <-c.queue:
			c.release(&handlers, q)
		default:
			return
		}
	}
}

// release starts to handle a message. It returns when the next message may be handled.
func (c *conn) release(handlers *sync.WaitGroup, q *request) {
	released := make(chan struct{})
	next := sync.OnceFunc(func() { close(released) })
	handlers.Go(func() {
		defer next()
		c.handle(q, next)
	})
	<-released
}

func (c *conn) handle(q *request, next func()) {
	if err := c.refusal(q); err != nil {
		c.answer(q, nil, err)
		return
	}
	began := time.Now()
	result, err := c.agent.Handle(q.ctx, q.method, q.params, next)
	LogHandled(c.log, q.method, began, err)
	if q.method == acp.MethodInitialize && err == nil {
		c.ready = true // before next, so later messages see it
	}
	c.answer(q, result, err)
	if err == nil && q.id != nil {
		c.agent.Answered(q.method, q.params, result)
	}
}

// LogHandled logs a handled message, with err if it is not nil.
func LogHandled(log *slog.Logger, method string, began time.Time, err error) {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	line := log.With("method", method, "took", time.Since(began).Round(time.Microsecond))
	if err != nil {
		line = line.With("error", err)
	}
	line.Debug("handled a message")
}

// refusal returns the error of a message that is not handled.
func (c *conn) refusal(q *request) error {
	switch {
	case q.ctx.Err() != nil && q.id != nil && q.method != acp.MethodSessionPrompt:
		return acp.Errorf(acp.CodeCancelled, "cancelled")
	case !c.agent.Handles(q.method):
		return nil // unknown before as after
	case c.ready || q.method == acp.MethodInitialize:
		return nil
	}
	return acp.Errorf(acp.CodeInvalidRequest, "%s came before initialize", q.method)
}

func (c *conn) answer(q *request, result any, err error) {
	q.cancel()
	if q.id == nil {
		if err != nil {
			c.log.Warn("a notification could not be handled", "method", q.method, "error", err)
		}
		return
	}
	c.runningMu.Lock()
	delete(c.running, string(q.id))
	c.runningMu.Unlock()
	if err := c.out.Send(response(q.id, result, err)); err != nil {
		c.log.Debug("a response was not sent", "method", q.method, "error", err)
	}
}

func response(id json.RawMessage, result any, err error) []byte {
	if err == nil {
		var body []byte
		if body, err = json.Marshal(result); err == nil {
			return wire.AppendResult(nil, id, body)
		}
		err = fmt.Errorf("encoding the result: %w", err)
	}
	e := Error(err)
	var data json.RawMessage
	if e.Data != nil {
		if data, err = json.Marshal(e.Data); err != nil {
			data = nil // the message matters more
		}
	}
	return wire.AppendError(nil, id, e.Code, e.Message, data)
}

// Call sends a request to the client. If ctx ends first, Call cancels the request.
func (c *conn) Call(ctx context.Context, method string, params, result any) error {
	id := jsonrpc2.ID{Num: c.ids.Add(1)}
	call, err := c.rpc.DispatchCall(ctx, method, params, jsonrpc2.PickID(id))
	if errors.Is(err, jsonrpc2.ErrClosed) {
		err = tools.ErrClosing
	}
	if err != nil {
		return fmt.Errorf("sending %s: %w", method, err)
	}
	err = call.Wait(ctx, result)
	var refused *jsonrpc2.Error
	switch {
	case errors.As(err, &refused):
		answered := acp.Errorf(int(refused.Code), "%s", refused.Message)
		if refused.Data != nil {
			answered.Data = *refused.Data
		}
		return answered
	case err != nil && ctx.Err() != nil:
		_ = c.Post("", wire.Notification(acp.MethodCancelRequest, acp.CancelRequestNotification{RequestID: json.RawMessage(id.String())}))
		return ctx.Err()
	case errors.Is(err, jsonrpc2.ErrClosed):
		return fmt.Errorf("%s: %w", method, tools.ErrClosing)
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Post queues a notification.
func (c *conn) Post(key string, n wire.Note) error { return c.out.Post(key, n) }

// Drain waits until little is queued.
func (c *conn) Drain(ctx context.Context, most int) error { return c.out.Drain(ctx, most) }

// Printf logs messages of the library.
func (c *conn) Printf(format string, a ...any) { c.log.Debug(fmt.Sprintf(format, a...)) }
