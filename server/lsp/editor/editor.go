// Package editor is the language client of a connection: its capabilities, its open documents,
// requests and notifications to it, and their order.
package editor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
)

// Config contains the parts of the connection for an editor. All are required.
type Config struct {
	Ctx    context.Context // ends with the connection
	Writer *wire.Writer
	Log    *slog.Logger
	// Go runs a function that outlives its request. The name is for the log.
	Go func(name string, f func())
	// ShowAnswers makes the chats show their answers so far.
	ShowAnswers func(context.Context)
	// Unresolved returns a path below the workspace folder as the editor names it, which
	// may be a link.
	Unresolved func(path string) string
}

// Editor is the client of a connection.
type Editor struct {
	Ctx       context.Context  // ends with the connection
	Client    Client           // set by Begin
	Encoding  textenc.Encoding // of positions
	Documents *Documents

	writer      *wire.Writer
	log         *slog.Logger
	showAnswers func(context.Context)
	unresolved  func(string) string

	outgoing  outgoing
	out       outbox
	questions atomic.Int64 // open questions
	answers   atomic.Int64 // answers by users
	edits     editGate
	blind     atomic.Bool // the editor does not answer showDocument
	warned    sync.Map    // subjects of WarnOnce
}

// New makes the editor of a connection.
func New(c Config) *Editor {
	e := &Editor{
		Encoding: textenc.UTF16, Ctx: c.Ctx, writer: c.Writer, log: c.Log, showAnswers: c.ShowAnswers, unresolved: c.Unresolved,
	}
	e.out.writer, e.out.prove = c.Writer, e.prove
	e.out.start = func(f func()) { c.Go("sending held messages", f) }
	e.Documents = newDocuments(e)
	return e
}

// Begin sets the capabilities of the editor.
func (e *Editor) Begin(p Params) {
	e.Client = clientOf(p)
	e.outgoing.nudged = isEglot(e.Client.Name)
	e.out.holds.Store(e.Client.Name == lspMode)
	e.Encoding = encodingOf(p.Capabilities.General.PositionEncodings)
}

// Respond sends an encoded response.
func (e *Editor) Respond(m []byte) {
	if err := e.out.response(m); err != nil {
		e.log.Debug("a response was not sent", "error", err)
	}
}

// Deliver passes a response of the editor to the waiting request.
func (e *Editor) Deliver(r *jsonrpc2.Response) { e.outgoing.deliver(r) }

// Post sends a notification. While it waits, it may be merged with others of its key.
func (e *Editor) Post(key string, n wire.Note) error {
	return e.out.message(func() error { return e.writer.Post(key, n) })
}

// Drain waits until little is queued; see [wire.Writer.Drain].
func (e *Editor) Drain(ctx context.Context, most int) error { return e.writer.Drain(ctx, most) }

// Edit waits until no question is open, as some editors do nothing else meanwhile, or until
// ctx ends. The caller must call sent when the change of its edit has come.
func (e *Editor) Edit(ctx context.Context) (sent func(), err error) { return e.edits.edit(ctx) }

// Reopen lets edits be sent although questions are open. The caller calls it when the user
// sends a command, which must not wait for them.
func (e *Editor) Reopen() { e.edits.reopen() }

// Queues adds the sizes of the queues.
func (e *Editor) Queues(q *wire.Queues) {
	q.Messages, q.Bytes = e.writer.Waiting()
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	q.Held = len(e.out.held)
}

// ShowDocument opens a document for the user; at may be nil. If the editor rejects the place,
// because it still shows an earlier text, the document is shown without it. If the editor cannot
// show the document, a message names the path, and the result is false. If the editor does not
// answer, it is not asked again.
func (e *Editor) ShowDocument(path, name string, at *lsp.Range) bool {
	if e.Client.ShowDocument && !e.blind.Load() {
		shown, err := e.show(path, at)
		var rejected *jsonrpc2.Error
		if at != nil && errors.As(err, &rejected) && !UnknownMethod(err) {
			shown, err = e.show(path, nil)
		}
		if shown {
			return true
		}
		e.blind.Store(errors.Is(err, context.DeadlineExceeded))
		e.log.Debug("the editor did not show a document", "path", path, "error", err)
	}
	e.WarnOnce("show "+path, "Hermes writes to %s: open it to read and to answer.", name)
	return false
}

func (e *Editor) show(path string, at *lsp.Range) (bool, error) {
	focus := true
	var result lsp.ShowDocumentResult
	params := &lsp.ShowDocumentParams{URI: e.Documents.URI(path), TakeFocus: &focus, Selection: at}
	err := e.Call(e.Ctx, AnswerLimit, lsp.MethodWindowShowDocument, params, &result)
	return err == nil && result.Success, err
}

// OpenAddress lets the editor open an address in the user's browser. If it does not, the result
// is false.
func (e *Editor) OpenAddress(ctx context.Context, address string) bool {
	if !e.Client.ShowDocument || e.blind.Load() {
		return false
	}
	external := true
	var result lsp.ShowDocumentResult
	err := e.Call(ctx, AnswerLimit, lsp.MethodWindowShowDocument, &lsp.ShowDocumentParams{URI: uri.URI(address), External: &external}, &result)
	return err == nil && result.Success
}

// WarnOnce shows a message once for each subject.
func (e *Editor) WarnOnce(subject, format string, args ...any) {
	if _, again := e.warned.LoadOrStore(subject, true); !again {
		e.Show(lsp.MessageTypeInfo, format, args...)
	}
}

// UnknownMethod reports whether an editor has answered a request with "unknown method". Editors
// without questions do so.
func UnknownMethod(err error) bool {
	var said *jsonrpc2.Error
	var carried *acp.Error // the same, through the agent
	return errors.As(err, &said) && said.Code == jsonrpc2.MethodNotFound ||
		errors.As(err, &carried) && carried.Code == acp.CodeMethodNotFound
}
