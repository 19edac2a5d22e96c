package acp

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

func (a *Agent) newSession(ctx context.Context, p *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	place, err := a.place(p.Cwd, p.AdditionalDirectories, p.MCPServers)
	if err != nil {
		return nil, err
	}
	x, err := a.svc.NewSession(ctx, place, a.host)
	if err != nil {
		return nil, err
	}
	return &acp.NewSessionResponse{SessionID: x.ID(), Modes: modesOf(x), ConfigOptions: optionsOf(x)}, nil
}

func (a *Agent) place(cwd string, further []string, servers []acp.MCPServer) (server.Place, error) {
	p := server.Place{Cwd: cwd, Folders: further, Preset: a.o.Preset, Editor: *a.Client.name.Load()}
	list, err := serversOf(servers)
	if list != nil {
		p.Given = []any{mcp.Given(list)}
	}
	return p, err
}

// loadSession responds after sending the whole history. Meanwhile, prompts wait in the queue.
func (a *Agent) loadSession(ctx context.Context, p *acp.LoadSessionRequest, next func()) (*acp.LoadSessionResponse, error) {
	x, err := a.reopen(ctx, p.SessionID, p.Cwd, p.AdditionalDirectories, p.MCPServers)
	if err != nil {
		return nil, err
	}
	replay, err := x.StartReplay(a.Client.replaySink(x.ID()))
	if err != nil {
		return nil, err
	}
	next()
	stop, err := replay.Run(ctx)
	if err != nil {
		return nil, err
	}
	if stop == agent.Cancelled {
		return nil, acp.Errorf(acp.CodeCancelled, "loading the session was cancelled")
	}
	return &acp.LoadSessionResponse{Modes: modesOf(x), ConfigOptions: optionsOf(x)}, nil
}

func (a *Agent) resumeSession(ctx context.Context, p *acp.ResumeSessionRequest) (*acp.ResumeSessionResponse, error) {
	x, err := a.reopen(ctx, p.SessionID, p.Cwd, p.AdditionalDirectories, p.MCPServers)
	if err != nil {
		return nil, err
	}
	return &acp.ResumeSessionResponse{Modes: modesOf(x), ConfigOptions: optionsOf(x)}, nil
}

func (a *Agent) reopen(ctx context.Context, id, cwd string, further []string, servers []acp.MCPServer) (*server.Session, error) {
	if id == "" {
		return nil, missing("sessionId")
	}
	if cwd == "" {
		return nil, missing("cwd")
	}
	place, err := a.place(cwd, further, servers)
	if err != nil {
		return nil, err
	}
	return a.svc.LoadSession(ctx, id, place, a.host)
}

func (a *Agent) listSessions(ctx context.Context, p *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	page, next, err := a.svc.List(ctx, p.Cwd, p.Cursor)
	if err != nil {
		return nil, err
	}
	r := &acp.ListSessionsResponse{NextCursor: next}
	for _, head := range page {
		r.Sessions = append(r.Sessions, infoOf(head))
	}
	return r, nil
}

// closeSession cancels the turn and waits for it. Later messages do not wait.
func (a *Agent) closeSession(ctx context.Context, p *acp.CloseSessionRequest, next func()) (*acp.CloseSessionResponse, error) {
	if p.SessionID == "" {
		return nil, missing("sessionId")
	}
	if x, err := a.svc.Session(p.SessionID); err == nil && x.Cancel() {
		next()
	}
	a.Client.known.Delete(p.SessionID)
	return &acp.CloseSessionResponse{}, a.svc.CloseSession(ctx, p.SessionID)
}

// deleteSession succeeds for an unknown session, as the protocol requires.
func (a *Agent) deleteSession(ctx context.Context, p *acp.DeleteSessionRequest, next func()) (*acp.DeleteSessionResponse, error) {
	if p.SessionID == "" {
		return nil, missing("sessionId")
	}
	if x, err := a.svc.Session(p.SessionID); err == nil && x.Cancel() {
		next()
	}
	if err := a.svc.Delete(ctx, p.SessionID); err != nil && !errors.Is(err, server.ErrNoSession) {
		return nil, err
	}
	return &acp.DeleteSessionResponse{}, nil
}
