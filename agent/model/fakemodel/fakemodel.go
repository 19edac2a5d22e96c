// Package fakemodel is a model moved by hand, for tests: each request waits until
// the test says what comes back.
//
//	m := fakemodel.New()
//	go session.Turn(ctx, input, sink)
//	x := m.Next()              // blocks until the session asks
//	x.Text("Let me look. ")
//	x.Call("1", "read_file", `{"path":"main.go"}`)
//	x.End()
//
// [Script] is the same with the answers given beforehand. Everything waits on
// channels only, so it works inside testing/synctest: make the model inside the
// bubble.
package fakemodel

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Model is a [model.Model] that a test moves. It is safe for concurrent use.
type Model struct {
	// WindowSize is what Window answers; 0 stands for 128000.
	WindowSize int

	waiting chan *Exchange
	script  func(n int, x *Exchange) // nil: moved by hand

	requestsMu sync.Mutex // never held while waiting
	requests   []*model.Request
}

// New returns a model that waits to be moved with [Model.Next].
func New() *Model { return &Model{waiting: make(chan *Exchange)} }

// Script returns a model that answers its first request with the first reply, its
// second with the second, and fails when it is asked more often.
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

// Func returns a model that has answer say what comes back, for requests at once too.
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

// Requests returns all requests so far, in order.
func (m *Model) Requests() []*model.Request {
	m.requestsMu.Lock()
	defer m.requestsMu.Unlock()
	return append([]*model.Request(nil), m.requests...)
}

// Window answers the model's context window in tokens.
func (m *Model) Window() int {
	if m.WindowSize > 0 {
		return m.WindowSize
	}
	return 128000
}

// Stream records req, hands it to the test, and yields what the test pushes.
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

// played runs the script's reply number n, pushing straight into yield.
func (m *Model) played(ctx context.Context, n int, x *Exchange, yield func(model.Delta, error) bool) {
	over := false // the consumer has the end, or has broken off
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

// byHand yields what the test pushes, until the end, an error, or the end of ctx.
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

// record keeps a copy whose message slice later appends cannot reach.
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

// Exchange is one request and the answer to it. Its methods block until the
// session has taken what they push; once the exchange is over they do nothing.
// They are for one goroutine at a time.
type Exchange struct {
	Request *model.Request

	ctx     context.Context
	done    chan struct{}
	push    func(event) bool
	calls   int
	usage   *model.Usage
	stopped bool
}

// Gone is closed when the session has taken the end, broken off, or been cancelled.
func (x *Exchange) Gone() <-chan struct{} { return x.done }

// Context is the context of the request.
func (x *Exchange) Context() context.Context { return x.ctx }

// Delta pushes any delta.
func (x *Exchange) Delta(d model.Delta) { x.send(event{delta: d}) }

// Text pushes a piece of the answer.
func (x *Exchange) Text(s string) { x.Delta(model.Delta{Text: s}) }

// Thought pushes a piece of reasoning.
func (x *Exchange) Thought(s string) { x.Delta(model.Delta{Reasoning: s}) }

// Call pushes a whole tool call.
func (x *Exchange) Call(id, name, args string) {
	x.Delta(model.Delta{Call: &model.CallDelta{Index: x.calls, ID: id, Name: name, Args: args}})
	x.calls++
}

// Usage sets what the end will report.
func (x *Exchange) Usage(u model.Usage) { x.usage = &u }

// End ends the reply as a model would: with calls if there were any.
func (x *Exchange) End() {
	if x.calls > 0 {
		x.Finish(model.FinishCalls)
		return
	}
	x.Finish(model.FinishStop)
}

// Finish ends the reply with a reason.
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
