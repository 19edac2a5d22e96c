package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// lifecycle is the state of the connection between initialize and exit.
type lifecycle struct{ at atomic.Int32 }

const (
	fresh int32 = iota // initialize has not come
	up
	down // after shutdown
)

func (l *lifecycle) state() int32 { return l.at.Load() }

// initialize answers at once; nothing is opened yet. Only parameters that are no object are an
// error: see [editor.ReadInitialize].
func (s *server) initialize(_ context.Context, params jsonrpc2.RawMessage, _ func()) (any, error) {
	if len(params) > 0 && string(params) != "null" && !editor.IsObject(json.RawMessage(params)) {
		return nil, invalidParams("the parameters of initialize must be an object")
	}
	if !s.life.at.CompareAndSwap(fresh, up) {
		return nil, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "initialize came a second time")
	}
	p, err := editor.ReadInitialize(params)
	if err != nil {
		s.log.Warn("initialize has a part that is ignored", "error", err)
	}
	s.editor.Begin(p)
	s.sessions.folders = p.Folders()
	if len(p.Init) > 0 && !editor.IsEmptyList(p.Init) {
		s.service.SetInit(p.Init)
	}
	s.setAgentClient()
	if s.editor.Client.Configuration {
		s.settings.expect()
	}
	if p.ProcessID > 0 {
		s.work.start("watching the editor", func() { s.watchEditor(p.ProcessID) })
	}
	return s.offer()
}

// offer returns the capabilities of the server.
func (s *server) offer() (any, error) {
	experimental, err := json.Marshal(map[string]any{"agentClientProtocol": map[string]any{
		"protocolVersion": 1, "agentCapabilities": acp.Capabilities(),
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding the capabilities: %w", err)
	}
	yes, incremental := true, lsp.TextDocumentSyncKindIncremental
	return &lsp.InitializeResult{
		ServerInfo: lsp.ServerInfo{Name: protocol.ServerName, Version: lsp.NewOptional(s.version)},
		Capabilities: lsp.ServerCapabilities{
			PositionEncoding:       lsp.PositionEncodingKind(s.editor.Encoding),
			TextDocumentSync:       &lsp.TextDocumentSyncOptions{OpenClose: &yes, Change: &incremental, Save: lsp.Boolean(true)},
			CodeActionProvider:     s.offerActions(),
			CodeLensProvider:       &lsp.CodeLensOptions{},
			CompletionProvider:     s.offerCompletion(),
			ExecuteCommandProvider: s.offerCommands(),
			Workspace: &lsp.WorkspaceOptions{WorkspaceFolders: &lsp.WorkspaceFoldersServerCapabilities{
				Supported: &yes, ChangeNotifications: lsp.Boolean(true),
			}},
			Experimental: experimental,
		},
	}, nil
}

func (s *server) offerActions() lsp.CodeActionProvider {
	if !s.editor.Client.Literals { // clients without literals ignore options
		return lsp.Boolean(true)
	}
	return &lsp.CodeActionOptions{CodeActionKinds: []lsp.CodeActionKind{lsp.CodeActionKindQuickFix, lsp.CodeActionKindRefactor}}
}

// offerCompletion offers to complete references in chat documents. A plugin completes them in
// its own chat.
func (s *server) offerCompletion() *lsp.CompletionOptions {
	if s.editor.Client.ACP != nil {
		return nil
	}
	return &lsp.CompletionOptions{TriggerCharacters: []string{"@", ":", "/"}}
}

func (s *server) offerCommands() lsp.ExecuteCommandOptions {
	o := lsp.ExecuteCommandOptions{Commands: executable(s.service)}
	yes := true
	o.WorkDoneProgress = &yes
	return o
}

// initialized is the first moment at which the editor may be asked something.
func (s *server) initialized(context.Context) error {
	s.work.start("opening the store", s.service.Warm)
	if s.editor.Client.Configuration {
		s.work.start("reading the editor's settings", func() {
			defer s.settings.known()
			s.settings.read()
		})
	}
	return nil
}

// shutdown cancels the running turns and responds at once: editors give up soon.
func (s *server) shutdown(context.Context) error {
	s.life.at.Store(down)
	s.service.Stop()
	return nil
}

func (s *server) exit(context.Context) error {
	s.leave(errLeave)
	return nil
}

func (s *server) cancelRequest(_ context.Context, params jsonrpc2.RawMessage, _ func()) (any, error) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("reading what to cancel: %w", err)
	}
	var number int64
	if json.Unmarshal(p.ID, &number) == nil {
		s.requests.cancel(jsonrpc2.NewNumberID(number))
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(p.ID, &text); err != nil {
		return nil, fmt.Errorf("reading what to cancel: %w", err)
	}
	s.requests.cancel(jsonrpc2.NewStringID(text))
	return nil, nil
}

// watchEditor ends the server when the editor's process is gone. Usually the pipe ends sooner, but
// another process may hold it open.
func (s *server) watchEditor(pid int) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			if !processAlive(pid) {
				s.leave(errLeave)
				return
			}
		}
	}
}
