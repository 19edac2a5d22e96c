package lsp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	protocolacp "github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
)

// idleLimit is the time that the goroutines of a connection have to end after its turns
// have ended.
const idleLimit = 100 * time.Millisecond

// Options has the settings of a connection. Service is required; [Serve] closes it.
type Options struct {
	Service *service.Service
	Version string // serverInfo.version
	Log     *slog.Logger
	// Inspect gets a function that returns the sizes of the queues. It may be nil.
	Inspect func(func() wire.Queues)
}

// Serve runs one connection until exit, the end of in, the death of the editor's
// process, or the end of ctx. It answers the exit code that LSP asks for: 0 after
// a shutdown, else 1. In and out are closed if they can be, which frees a reader
// and a writer that are blocked.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) (exitCode int, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	writer := wire.NewWriter(out, wire.HeaderFraming)
	s := newServer(ctx, o, writer)
	s.leave = cancel
	s.rpc = jsonrpc2.NewConn(&stream{wire.NewHeaderStream(in, writer), s, cancel}, jsonrpc2.WithCodec(codec{}))
	if o.Inspect != nil {
		o.Inspect(s.queues)
	}
	s.rpc.Go(ctx, s.handle)

	select {
	case <-ctx.Done():
	case <-writer.Done():
		cancel(errors.New("the editor does not read"))
	}
	free(in)
	err = o.Service.Close()
	s.waitIdle()
	err = errors.Join(err, writer.Close())
	free(out)
	s.chats.Close()
	if cause := context.Cause(ctx); !errors.Is(cause, errLeave) && !errors.Is(cause, io.EOF) && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	if s.life.state() == down {
		return 0, err
	}
	return 1, err
}

// queues returns the sizes of the queues.
func (s *server) queues() (q wire.Queues) {
	q.Messages, q.Bytes = s.writer.Waiting()
	s.requests.mu.Lock()
	q.Requests = len(s.requests.cancels)
	s.requests.mu.Unlock()
	s.out.mu.Lock()
	q.Held = len(s.out.held)
	s.out.mu.Unlock()
	return q
}

// errLeave ends a connection as agreed: exit, or the editor's process is gone.
var errLeave = errors.New("the editor has left")

// stream passes responses to the requests that wait for them. At the end of the input it ends
// the connection, so that running requests end at once.
type stream struct {
	*wire.HeaderStream
	s   *server
	end context.CancelCauseFunc
}

func (x *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		msg, n, err := x.HeaderStream.Read(ctx)
		if err != nil {
			x.end(err)
			return nil, 0, err
		}
		answer, ok := msg.(*jsonrpc2.Response)
		if !ok {
			return msg, n, nil
		}
		x.s.outgoing.deliver(answer)
	}
}

// Write drops the messages of the library, which are responses to requests that
// [server.handle] has responded to.
func (x *stream) Write(context.Context, jsonrpc2.Message) (int64, error) { return 0, nil }

// server is one connection.
type server struct {
	log      *slog.Logger
	version  string
	service  *service.Service
	agent    *acp.Agent
	writer   *wire.Writer
	rpc      jsonrpc2.Conn
	methods  map[string]method // requests
	commands map[string]handler
	notes    map[string]method // notifications

	ctx   context.Context // the connection's life
	leave context.CancelCauseFunc

	workMu  sync.Mutex
	work    sync.WaitGroup // that outlives its request
	closing bool

	life      life
	settings  settings
	requests  requests
	outgoing  outgoing
	out       outbox
	questions atomic.Int64 // that a person thinks about
	answers   atomic.Int64 // that persons have given
	edits     editGate
	queue     queue
	client    client
	encoding  textenc.Encoding
	documents *documents
	progress  progresses
	sessions  sessions
	chats     *chat.Set
	blind     atomic.Bool // the editor does not answer showDocument
	warned    sync.Map    // subjects of warnOnce
}

func newServer(ctx context.Context, o Options, w *wire.Writer) *server {
	s := &server{log: o.Log, version: o.Version, service: o.Service, writer: w, ctx: ctx, encoding: "utf-16"}
	s.out.writer, s.out.prove = w, s.prove
	s.out.start = func(f func()) { s.background("sending what was held", f) }
	s.documents = newDocuments(s)
	s.chats = chat.NewSet(s.chatEditor())
	s.agent = acp.NewAgent(o.Service, peer{s}, acp.Options{Host: host{s}, Log: o.Log, Preset: preset, Turn: s.acpTurn})
	s.commands = handlers(s)
	s.methods = map[string]method{
		lsp.MethodInitialize:              s.initialize,
		lsp.MethodShutdown:                bare(s.shutdown),
		lsp.MethodWorkspaceExecuteCommand: typed(s.executeCommand),
		lsp.MethodTextDocumentCodeAction:  short(s.codeAction),
		lsp.MethodTextDocumentCodeLens:    short(s.codeLens),
	}
	s.notes = map[string]method{
		lsp.MethodInitialized:                        bare(s.initialized),
		lsp.MethodExit:                               bare(s.exit),
		lsp.MethodTextDocumentDidOpen:                s.documents.opened,
		lsp.MethodTextDocumentDidChange:              noted(s.documents.didChange),
		lsp.MethodTextDocumentDidClose:               noted(s.documents.didClose),
		lsp.MethodTextDocumentDidSave:                noted(s.documents.didSave),
		lsp.MethodWorkspaceDidChangeWorkspaceFolders: noted(s.didChangeFolders),
		lsp.MethodWorkspaceDidChangeConfiguration:    bare(s.didChangeConfiguration),
		lsp.MethodWindowWorkDoneProgressCancel:       noted(s.cancelProgress),
		lsp.MethodCancelRequest:                      s.cancelRequest,
		protocolacp.MethodSessionCancel:              s.cancelSession,
	}
	for _, name := range []string{
		protocolacp.MethodSessionNew, protocolacp.MethodSessionLoad, protocolacp.MethodSessionResume, protocolacp.MethodSessionList,
		protocolacp.MethodSessionPrompt, protocolacp.MethodSessionSetMode, protocolacp.MethodSessionSetValue,
		protocolacp.MethodSessionClose, protocolacp.MethodSessionDelete,
		protocolacp.MethodSessionFork, protocolacp.MethodSessionRewind, protocolacp.MethodSessionDescribe, protocolacp.MethodSessionTree,
		protocolacp.MethodCheckpointList, protocolacp.MethodCheckpointDiff, protocolacp.MethodCheckpointRestore, protocolacp.MethodCheckpointFile,
		protocolacp.MethodSubagentList, protocolacp.MethodSubagentMessage, protocolacp.MethodSubagentStop,
	} {
		s.methods[name] = s.agentMethod(name)
	}
	return s
}

// background runs f, which outlives its request, in a goroutine that [Serve] waits for.
// Once Serve waits, f runs at once and finds its context ended.
func (s *server) background(name string, f func()) {
	s.workMu.Lock()
	if s.closing {
		s.workMu.Unlock()
		f()
		return
	}
	s.work.Add(1)
	s.workMu.Unlock()
	go func() {
		defer s.work.Done()
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("background work panicked", "what", name, "panic", p, "stack", string(debug.Stack()))
				s.show(lsp.MessageTypeError, "hermes-ls failed inside, in %s: %v", name, p)
			}
		}()
		f()
	}()
}

// finishWork waits for the background work.
func (s *server) finishWork() {
	s.workMu.Lock()
	s.closing = true
	s.workMu.Unlock()
	s.work.Wait()
}

// waitIdle waits, at most idleLimit, for the goroutines of the connection to end.
func (s *server) waitIdle() {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.finishWork()
		<-s.rpc.Done()
	}()
	limit := time.NewTimer(idleLimit)
	defer limit.Stop()
	select {
	case <-gone:
	case <-limit.C:
		s.log.Warn("some work has not ended with the connection")
	}
}

// free closes an end, so that no goroutine stays blocked in it.
func free(end any) {
	if c, ok := end.(io.Closer); ok {
		_ = c.Close() // it is over in any case
	}
}
