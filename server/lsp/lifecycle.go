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
)

// life is where the connection stands between initialize and exit.
type life struct{ at atomic.Int32 }

const (
	fresh int32 = iota // initialize has not come
	up
	down // after shutdown
)

func (l *life) state() int32 { return l.at.Load() }

// initialize answers at once; nothing is opened yet. Only parameters that are no object
// are an error: see [readInitialize].
func (s *server) initialize(_ context.Context, params jsonrpc2.RawMessage, _ func()) (any, error) {
	if len(params) > 0 && string(params) != "null" && !isObject(json.RawMessage(params)) {
		return nil, invalidParams("the parameters of initialize must be an object")
	}
	if !s.life.at.CompareAndSwap(fresh, up) {
		return nil, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "initialize came a second time")
	}
	p, err := readInitialize(params)
	if err != nil {
		s.log.Warn("initialize has a part that is ignored", "error", err)
	}
	s.client = clientOf(p)
	s.outgoing.nudged = isEglot(s.client.name)
	s.out.holds.Store(s.client.name == lspMode)
	s.encoding = encodingOf(p.Capabilities.General.PositionEncodings)
	s.sessions.folders = p.folders()
	if len(p.Init) > 0 && !isEmptyList(p.Init) {
		s.service.SetInit(p.Init)
	}
	s.setAgentClient()
	if s.client.configuration {
		s.settings.expect()
	}
	if p.ProcessID > 0 {
		s.background("watching the editor", func() { s.watchEditor(p.ProcessID) })
	}
	return s.offer()
}

// offer returns the capabilities of the server.
func (s *server) offer() (any, error) {
	experimental, err := json.Marshal(map[string]any{"agentClientProtocol": map[string]any{
		"protocolVersion": 1, "agentCapabilities": s.agent.Capabilities(),
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding the capabilities: %w", err)
	}
	yes, incremental := true, lsp.TextDocumentSyncKindIncremental
	return &lsp.InitializeResult{
		ServerInfo: lsp.ServerInfo{Name: protocol.ServerName, Version: lsp.NewOptional(s.version)},
		Capabilities: lsp.ServerCapabilities{
			PositionEncoding:       lsp.PositionEncodingKind(s.encoding),
			TextDocumentSync:       &lsp.TextDocumentSyncOptions{OpenClose: &yes, Change: &incremental, Save: lsp.Boolean(true)},
			CodeActionProvider:     s.offerActions(),
			CodeLensProvider:       &lsp.CodeLensOptions{},
			ExecuteCommandProvider: s.offerCommands(),
			Workspace: &lsp.WorkspaceOptions{WorkspaceFolders: &lsp.WorkspaceFoldersServerCapabilities{
				Supported: &yes, ChangeNotifications: lsp.Boolean(true),
			}},
			Experimental: experimental,
		},
	}, nil
}

func (s *server) offerActions() lsp.CodeActionProvider {
	if !s.client.literals { // options are only for those who know literals
		return lsp.Boolean(true)
	}
	return &lsp.CodeActionOptions{CodeActionKinds: []lsp.CodeActionKind{lsp.CodeActionKindQuickFix, lsp.CodeActionKindRefactor}}
}

func (s *server) offerCommands() lsp.ExecuteCommandOptions {
	o := lsp.ExecuteCommandOptions{Commands: executable(s.service)}
	yes := true
	o.WorkDoneProgress = &yes
	return o
}

// initialized is the first moment at which the editor may be asked something.
func (s *server) initialized(context.Context) error {
	s.background("opening the store", s.service.Warm)
	if s.client.configuration {
		s.background("reading the editor's settings", func() {
			defer s.settings.known()
			s.readSettings()
		})
	}
	return nil
}

// readSettings asks for the editor's settings. They may be the repository's, so
// only harmless keys count; the service sees to that.
func (s *server) readSettings() {
	section, python := protocol.Section, "python"
	params := &lsp.ConfigurationParams{Items: []lsp.ConfigurationItem{{Section: &section}, {Section: &python}}}
	var answer jsonrpc2.RawMessage
	if err := s.call(s.ctx, answerLimit, lsp.MethodWorkspaceConfiguration, params, &answer); err != nil {
		s.log.Debug("no settings from the editor", "error", err)
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(answer, &list) != nil || len(list) == 0 {
		return
	}
	settings := list[0]
	if len(list) > 1 {
		settings = withPython(settings, list[1])
	}
	if string(settings) != "null" {
		s.service.SetEditor(settings)
	}
}

// withPython adds the interpreter that is selected in the editor's Python extension
// to our settings, unless they name one.
func withPython(settings, extension json.RawMessage) json.RawMessage {
	var python struct{ DefaultInterpreterPath, PythonPath string }
	ours := map[string]any{}
	if json.Unmarshal(extension, &python) != nil || json.Unmarshal(settings, &ours) != nil {
		return settings
	}
	if ours == nil { // there are none
		ours = map[string]any{}
	}
	path := orElse(python.DefaultInterpreterPath, python.PythonPath)
	if path == "" || path == "python" || path == "python3" { // the extension's own default: nothing was selected
		return settings
	}
	if _, named := ours["python"]; !named {
		ours["python"] = path
	}
	merged, err := json.Marshal(ours)
	if err != nil {
		return settings
	}
	return merged
}

func (s *server) didChangeConfiguration(context.Context) error {
	if s.client.configuration {
		s.background("reading the editor's settings", s.readSettings)
	}
	return nil
}

// shutdown cancels the running turns and responds at once: editors give up soon.
func (s *server) shutdown(context.Context) error {
	s.life.at.Store(down)
	s.sessions.cancelAll()
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

// watchEditor leaves when the editor's process is gone. Its pipe usually tells
// sooner; this is for a pipe that something else holds open.
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
