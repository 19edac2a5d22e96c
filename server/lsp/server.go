package lsp

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	protocolacp "github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// Options are the settings of a connection. Service is required; [Serve] closes it.
type Options struct {
	Service *service.Service
	Version string // serverInfo.version
	Log     *slog.Logger
	// Inspect receives a function for the sizes of the queues. It may be nil.
	Inspect func(func() wire.Queues)
}

// Serve runs a connection until exit, the end of in, the death of the editor's process, or the end
// of ctx. It returns LSP's exit code: 0 after a shutdown, otherwise 1. If in and out can be closed,
// Serve closes them, to unblock their reader and writer.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) (exitCode int, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	writer := wire.NewWriter(out, wire.HeaderFraming)
	s := newServer(ctx, o, writer)
	s.leave = cancel
	s.rpc = jsonrpc2.NewConn(&stream{wire.NewHeaderStream(in, writer), s, cancel}, jsonrpc2.WithCodec(editor.Codec{}))
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
	if !s.work.finish(s.rpc.Done()) {
		s.log.Warn("some work has not ended with the connection")
	}
	err = errors.Join(err, writer.Close())
	free(out)
	s.chats.set.Close()
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
	s.editor.Queues(&q)
	s.requests.mu.Lock()
	q.Requests = len(s.requests.cancels)
	s.requests.mu.Unlock()
	return q
}

// errLeave ends a connection as agreed: exit, or the editor's process is gone.
var errLeave = errors.New("the editor has left")

// stream passes responses to the waiting requests. At the end of the input it ends the connection,
// so running requests end at once.
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
		x.s.editor.Deliver(answer)
	}
}

// Write drops the messages of the library: these responses were already sent by [server.handle].
func (x *stream) Write(context.Context, jsonrpc2.Message) (int64, error) { return 0, nil }

// server is a connection. Its parts know each other, not the server.
type server struct {
	log      *slog.Logger
	version  string
	service  *service.Service
	agent    *acp.Agent
	writer   *wire.Writer
	rpc      jsonrpc2.Conn
	methods  map[string]method // requests
	notes    map[string]method // notifications
	commands map[string]handler

	ctx   context.Context // the connection's life
	leave context.CancelCauseFunc

	life     lifecycle
	requests requests
	queue    queue
	work     work
	editor   *editor.Editor
	settings settings
	progress progresses
	sessions sessions
	quotes   quotes
	chats    chats
	prompts  prompts
}

func newServer(ctx context.Context, o Options, w *wire.Writer) *server {
	s := &server{log: o.Log, version: o.Version, service: o.Service, writer: w, ctx: ctx}
	s.editor = editor.New(editor.Config{
		Ctx: ctx, Writer: w, Log: o.Log, Go: s.work.start, Unresolved: s.sessions.unresolved, ShowAnswers: s.chats.showAnswers,
	})
	h := host{s}
	s.work.log, s.work.failed = o.Log, func(text string) { s.editor.Show(lsp.MessageTypeError, "%s", text) }
	s.settings.editor, s.settings.service, s.settings.work, s.settings.log = s.editor, o.Service, &s.work, o.Log
	s.progress.editor, s.progress.log = s.editor, o.Log
	s.sessions.service, s.sessions.editor, s.sessions.settings, s.sessions.host = o.Service, s.editor, &s.settings, h
	s.quotes = quotes{s.editor, &s.sessions}
	s.chats = chats{editor: s.editor, sessions: &s.sessions, quotes: &s.quotes, prompts: &s.prompts}
	s.chats.set = chat.NewSet(s.chats.view(o.Service.Home, o.Log))
	s.agent = acp.NewAgent(o.Service, peer{s.editor}, acp.Options{Host: h, Log: o.Log, Preset: preset, Turn: s.prompts.acpTurn, InWorkspace: s.sessions.inWorkspace})
	s.prompts = prompts{o.Log, s.editor, s.agent, &s.work, &s.progress, &s.sessions, &s.quotes, &s.chats}
	actions, docs := actions{s.editor, &s.sessions, &s.chats}, s.editor.Documents
	s.commands = handlers(s)
	s.methods = map[string]method{
		lsp.MethodInitialize:              s.initialize,
		lsp.MethodShutdown:                bare(s.shutdown),
		lsp.MethodWorkspaceExecuteCommand: typed(s.executeCommand),
		lsp.MethodTextDocumentCodeAction:  short(actions.codeAction),
		lsp.MethodTextDocumentCodeLens:    short(actions.codeLens),
		lsp.MethodTextDocumentCompletion:  short(completions{&s.chats}.complete),
	}
	s.notes = map[string]method{
		lsp.MethodInitialized:                        bare(s.initialized),
		lsp.MethodExit:                               bare(s.exit),
		lsp.MethodTextDocumentDidOpen:                s.didOpen,
		lsp.MethodTextDocumentDidChange:              noted(func(_ context.Context, p *lsp.DidChangeTextDocumentParams) error { return docs.DidChange(p) }),
		lsp.MethodTextDocumentDidClose:               noted(func(_ context.Context, p *lsp.DidCloseTextDocumentParams) error { return docs.DidClose(p) }),
		lsp.MethodTextDocumentDidSave:                noted(func(_ context.Context, p *lsp.DidSaveTextDocumentParams) error { return docs.DidSave(p) }),
		lsp.MethodWorkspaceDidChangeWorkspaceFolders: noted(s.sessions.foldersChanged),
		lsp.MethodWorkspaceDidChangeConfiguration:    bare(s.settings.changed),
		lsp.MethodWindowWorkDoneProgressCancel:       noted(s.cancelProgress),
		lsp.MethodCancelRequest:                      s.cancelRequest,
		protocolacp.MethodSessionCancel:              s.cancelSession,
		protocolacp.MethodEditor:                     noted(s.setEditor),
	}
	for _, name := range []string{
		protocolacp.MethodSessionNew, protocolacp.MethodSessionLoad, protocolacp.MethodSessionResume, protocolacp.MethodSessionList,
		protocolacp.MethodSessionPrompt, protocolacp.MethodSessionSetMode, protocolacp.MethodSessionSetValue,
		protocolacp.MethodSessionClose, protocolacp.MethodSessionDelete,
		protocolacp.MethodSessionFork, protocolacp.MethodSessionRewind, protocolacp.MethodSessionDescribe, protocolacp.MethodSessionTree, protocolacp.MethodSessionSearch,
		protocolacp.MethodCheckpointList, protocolacp.MethodCheckpointDiff, protocolacp.MethodCheckpointRestore, protocolacp.MethodCheckpointFile,
		protocolacp.MethodCheckpointChanges, protocolacp.MethodCheckpointAccept,
		protocolacp.MethodModelList, protocolacp.MethodSubagentList, protocolacp.MethodSubagentMessage, protocolacp.MethodSubagentStop,
	} {
		s.methods[name] = s.agentMethod(name)
	}
	return s
}

// free closes an end, so no goroutine stays blocked in it.
func free(end any) {
	if c, ok := end.(io.Closer); ok {
		_ = c.Close() // it is over in any case
	}
}
