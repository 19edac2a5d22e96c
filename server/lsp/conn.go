package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// LSP's additions to the codes of JSON-RPC.
const codeCancelled jsonrpc2.Code = -32800

// method handles a message. It runs inside the reader, and later messages wait until it calls free.
// By then, the parameters must have been decoded or copied.
type method func(ctx context.Context, params jsonrpc2.RawMessage, free func()) (any, error)

// typed decodes the parameters for f.
func typed[P any](f func(ctx context.Context, p *P, free func()) (any, error)) method {
	return func(ctx context.Context, params jsonrpc2.RawMessage, free func()) (any, error) {
		p := new(P)
		if len(params) > 0 {
			if err := lsp.Unmarshal(params, p); err != nil {
				return nil, jsonrpc2.Errorf(jsonrpc2.InvalidParams, "the parameters are not understood: %v", err)
			}
		}
		return f(ctx, p, free)
	}
}

// short is typed for requests answered inside the reader.
func short[P any](f func(context.Context, *P) (any, error)) method {
	return typed(func(ctx context.Context, p *P, _ func()) (any, error) { return f(ctx, p) })
}

// noted is typed for notifications, which have no result.
func noted[P any](f func(context.Context, *P) error) method {
	return typed(func(ctx context.Context, p *P, _ func()) (any, error) { return nil, f(ctx, p) })
}

// didOpen also keeps how the editor writes the URI.
func (s *server) didOpen(ctx context.Context, params jsonrpc2.RawMessage, free func()) (any, error) {
	s.editor.Documents.Spelling(params)
	return noted(func(_ context.Context, p *lsp.DidOpenTextDocumentParams) error { return s.editor.Documents.DidOpen(p) })(ctx, params, free)
}

// bare is a message whose parameters are none or do not matter.
func bare(f func(context.Context) error) method {
	return func(ctx context.Context, _ jsonrpc2.RawMessage, _ func()) (any, error) { return nil, f(ctx) }
}

// handle receives all messages. It contains panics and errors of notifications, and gives every
// error a code. It sends the response directly, so later messages reach the writer after the
// response. Its results are not used: see [stream.Write].
func (s *server) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	name := strings.Clone(req.Method())
	// The library reuses its context for another request after this request has returned, so
	// nothing may keep it.
	base, free := jsonrpc2.DetachContext(ctx), func() { jsonrpc2.Async(ctx) }
	if !req.IsCall() {
		_, err := s.guarded(name, func() (any, error) { return nil, s.notification(base, name, req.Params(), free) })
		if err != nil {
			s.log.Warn("a notification failed", "method", name, "error", err)
		}
		return nil, nil
	}
	id := req.ID()
	base, done := s.requests.begin(base, id)
	began := time.Now()
	result, err := s.guarded(name, func() (any, error) { return s.request(base, name, req.Params(), free) })
	acp.LogHandled(s.log, name, began, err)
	done() // before the response: the client may use the id again
	s.respond(id, result, coded(err))
	return nil, nil
}

// guarded makes an error of a panic.
func (s *server) guarded(name string, f func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a handler panicked", "method", name, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, jsonrpc2.Errorf(jsonrpc2.InternalError, "%s failed inside hermes-ls: %v", name, p)
		}
	}()
	return f()
}

func (s *server) request(ctx context.Context, name string, params jsonrpc2.RawMessage, free func()) (any, error) {
	switch s.life.state() {
	case fresh:
		if name != lsp.MethodInitialize {
			return nil, jsonrpc2.Errorf(jsonrpc2.ServerNotInitialized, "%s before initialize", name)
		}
	case down:
		return nil, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "%s after shutdown", name)
	}
	m := s.methods[name]
	if m == nil {
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "hermes-ls knows no method %q", name)
	}
	return m(ctx, params, free)
}

// notification handles a notification. As LSP requires, it drops unknown notifications, and all
// notifications before initialize or after shutdown.
func (s *server) notification(ctx context.Context, name string, params jsonrpc2.RawMessage, free func()) error {
	m := s.notes[name]
	if m == nil || (s.life.state() != up && name != lsp.MethodExit) {
		return nil
	}
	_, err := m(ctx, params, free)
	return err
}

// coded gives an error the code of its kind.
func coded(err error) error {
	var rpc *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rpc):
		short := *rpc
		short.Message = acp.ErrorText(rpc.Message)
		return &short
	case errors.Is(err, context.Canceled):
		return jsonrpc2.NewError(codeCancelled, "cancelled")
	}
	said := acp.Error(err)
	rpc = jsonrpc2.NewError(jsonrpc2.Code(said.Code), said.Message)
	if said.Data != nil {
		rpc.Data, _ = json.Marshal(said.Data) // for programs; the user sees the message
	}
	return rpc
}

func invalidParams(format string, args ...any) error {
	return jsonrpc2.Errorf(jsonrpc2.InvalidParams, format, args...)
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
		if body, failed = (editor.Codec{}).Marshal(result); failed != nil {
			err = jsonrpc2.Errorf(jsonrpc2.InternalError, "encoding the result: %v", failed)
		}
	}
	s.editor.Respond(jsonrpc2.AppendResponse(nil, id, body, err))
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

// requests holds the cancel functions of running requests.
type requests struct {
	mu      sync.Mutex
	cancels map[jsonrpc2.ID]context.CancelFunc
}

func (r *requests) begin(ctx context.Context, id jsonrpc2.ID) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancels == nil {
		r.cancels = map[jsonrpc2.ID]context.CancelFunc{}
	}
	r.cancels[id] = cancel
	return ctx, func() {
		r.mu.Lock()
		delete(r.cancels, id)
		r.mu.Unlock()
		cancel()
	}
}

func (r *requests) cancel(id jsonrpc2.ID) {
	r.mu.Lock()
	cancel := r.cancels[id]
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
