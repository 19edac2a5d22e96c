// Package fakemodel is a model for tests. Each request waits until the test sends its
// response.
//
//	m := fakemodel.New()
//	go session.Turn(ctx, input, sink)
//	x := m.Next()              // blocks until the session sends a request
//	x.Text("Let me look. ")
//	x.Call("1", "read_file", `{"path":"main.go"}`)
//	x.End()
//
// [Script] uses prepared responses. All waits use only channels, so the model works in
// testing/synctest. Create it inside of the bubble.
package fakemodel

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Model is a [model.Model] controlled by a test. It is safe for concurrent use.
type Model struct {
	// WindowSize is the result of Window. 0 means 128000.
	WindowSize int

	waiting chan *Exchange
	script  func(n int, x *Exchange) // nil: the test uses Next

	requestsMu sync.Mutex // not held during a wait
	requests   []*model.Request
}

// New returns a model whose requests wait for [Model.Next].
func New() *Model { return &Model{waiting: make(chan *Exchange)} }

// Script returns a model with prepared replies, in order. If there is no reply left, a request
// fails.
func Script(replies ...func(*Exchange)) *Model {
	m := New()
	m.script = func(n int, x *Exchange) {
		if n >= len(replies) {
			x.Fail(fmt.Errorf("fakemodel: request %d, but only %d replies are scripted", n+1, len(replies)))
			return
		}
		replies[n](x)
		x.End()
	}
	return m
}

// Func returns a model that calls answer for each request, possibly concurrently.
func Func(answer func(*Exchange)) *Model {
	m := New()
	m.script = func(_ int, x *Exchange) {
		answer(x)
		x.End()
	}
	return m
}

// Next blocks until a request arrives and returns it.
func (m *Model) Next() *Exchange { return <-m.waiting }

// Arrived returns the channel that [Model.Next] reads. A test can wait for something else, too.
func (m *Model) Arrived() <-chan *Exchange { return m.waiting }

// Requests returns all requests so far, in order.
func (m *Model) Requests() []*model.Request {
	m.requestsMu.Lock()
	defer m.requestsMu.Unlock()
	return append([]*model.Request(nil), m.requests...)
}

// Window returns the context window in tokens.
func (m *Model) Window() int {
	if m.WindowSize > 0 {
		return m.WindowSize
	}
	return 128000
}

// Stream records req, passes it to the test, and yields the test's deltas.
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		n, kept := m.record(req)
		x := &Exchange{Request: kept, ctx: ctx, done: make(chan struct{})}
		defer close(x.done)
		if m.script != nil {
			m.played(ctx, n, x, yield)
			return
		}
		m.byHand(ctx, x, yield)
	}
}

// played runs reply n of the script. Its deltas go directly to yield.
func (m *Model) played(ctx context.Context, n int, x *Exchange, yield func(model.Delta, error) bool) {
	over := false // the consumer got the end or stopped reading
	x.push = func(e event) bool {
		if ctx.Err() != nil {
			return false
		}
		over = !yield(e.delta, e.err) || e.err != nil || e.delta.Finish != ""
		return !over
	}
	m.script(n, x)
	if err := ctx.Err(); err != nil && !over {
		yield(model.Delta{}, err)
	}
}

// byHand yields the test's deltas until the end, an error, or the end of ctx.
func (m *Model) byHand(ctx context.Context, x *Exchange, yield func(model.Delta, error) bool) {
	events := make(chan event)
	x.push = func(e event) bool {
		select {
		case events <- e:
			return true
		case <-x.done:
			return false
		}
	}
	select {
	case m.waiting <- x:
	case <-ctx.Done():
		yield(model.Delta{}, ctx.Err())
		return
	}
	for {
		select {
		case e := <-events:
			if !yield(e.delta, e.err) || e.err != nil || e.delta.Finish != "" {
				return
			}
		case <-ctx.Done():
			yield(model.Delta{}, ctx.Err())
			return
		}
	}
}

// record stores a copy of req. Later appends to the messages do not change the copy.
func (m *Model) record(req *model.Request) (int, *model.Request) {
	kept := *req
	kept.Messages = kept.Messages[:len(kept.Messages):len(kept.Messages)]
	m.requestsMu.Lock()
	defer m.requestsMu.Unlock()
	m.requests = append(m.requests, &kept)
	return len(m.requests) - 1, &kept
}

type event struct {
	delta model.Delta
	err   error
}

// Exchange is a request and its response. Its methods block until the session has read the
// delta. After the end of the exchange, they do nothing. They are not safe for concurrent use.
type Exchange struct {
	Request *model.Request

	ctx     context.Context
	done    chan struct{}
	push    func(event) bool
	calls   int
	usage   *model.Usage
	stopped bool
}

// Gone returns a channel. It is closed when the session gets the end, stops reading, or cancels
// the request.
func (x *Exchange) Gone() <-chan struct{} { return x.done }

// Context returns the context of the request.
func (x *Exchange) Context() context.Context { return x.ctx }

// Delta sends any delta.
func (x *Exchange) Delta(d model.Delta) { x.send(event{delta: d}) }

// Text sends a piece of the answer.
func (x *Exchange) Text(s string) { x.Delta(model.Delta{Text: s}) }

// Thought sends a piece of reasoning.
func (x *Exchange) Thought(s string) { x.Delta(model.Delta{Reasoning: s}) }

// Call sends a complete tool call.
func (x *Exchange) Call(id, name, args string) {
	x.Delta(model.Delta{Call: &model.CallDelta{Index: x.calls, ID: id, Name: name, Args: args}})
	x.calls++
}

// Usage sets the usage in the last delta.
func (x *Exchange) Usage(u model.Usage) { x.usage = &u }

// End ends the response. After calls, the finish is FinishCalls, otherwise FinishStop.
func (x *Exchange) End() {
	if x.calls > 0 {
		x.Finish(model.FinishCalls)
		return
	}
	x.Finish(model.FinishStop)
}

// Finish ends the response with a finish.
func (x *Exchange) Finish(f model.Finish) {
	x.send(event{delta: model.Delta{Finish: f, Usage: x.usage, Model: "fake"}})
}

// Fail ends the stream with an error.
func (x *Exchange) Fail(err error) { x.send(event{err: err}) }

func (x *Exchange) send(e event) {
	if x.stopped {
		return
	}
	if !x.push(e) || e.err != nil || e.delta.Finish != "" {
		x.stopped = true
	}
}
