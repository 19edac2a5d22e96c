package acp

import (
	"context"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

// forkSession opens a new session with the first messages of another.
func (a *Agent) forkSession(ctx context.Context, p *acp.ForkSessionRequest) (*acp.NewSessionResponse, error) {
	if p.SessionID == "" {
		return nil, missing("sessionId")
	}
	place, err := a.place(p.Cwd, p.AdditionalDirectories, p.MCPServers)
	if err != nil {
		return nil, err
	}
	x, err := a.svc.Fork(ctx, p.SessionID, p.MessageID, place, a.host)
	if err != nil {
		return nil, err
	}
	return &acp.NewSessionResponse{SessionID: x.ID(), Modes: modesOf(x), ConfigOptions: optionsOf(x)}, nil
}

// rewindSession moves a session back to an earlier message, or to before a prompt. Later messages do
// not wait for it.
func (a *Agent) rewindSession(ctx context.Context, p *acp.RewindSessionRequest, next func()) (*acp.RewindSessionResponse, error) {
	x, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.MessageID != "" && p.Prompt != "" {
		return nil, acp.Errorf(acp.CodeInvalidParams, "messageId and prompt exclude each other: prompt is the first message to drop, messageId the last one to keep")
	}
	if p.Files && p.Prompt == "" {
		return nil, acp.Errorf(acp.CodeInvalidParams, "files needs prompt: files are restored to their state before it")
	}
	next()
	if p.Prompt == "" {
		branch, err := x.Rewind(ctx, p.MessageID)
		if err != nil {
			return nil, err
		}
		return &acp.RewindSessionResponse{SessionID: x.ID(), BranchID: branch}, nil
	}
	done, err := x.Undo(ctx, server.Undoing{Prompt: p.Prompt, Files: p.Files})
	if err != nil {
		return nil, err
	}
	return &acp.RewindSessionResponse{SessionID: x.ID(), BranchID: done.BranchID, Text: done.Text, Files: done.Files}, nil
}

func (a *Agent) describeSession(ctx context.Context, p *acp.DescribeSessionRequest) (*acp.DescribeSessionResponse, error) {
	x, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if err := x.Describe(ctx, p.Title, p.Notes); err != nil {
		return nil, err
	}
	head := x.Head()
	return &acp.DescribeSessionResponse{Title: head.Title, Notes: head.Notes}, nil
}

func (a *Agent) sessionTree(ctx context.Context, p *acp.SessionRequest) (*acp.SessionTree, error) {
	if p.SessionID == "" {
		return nil, missing("sessionId")
	}
	all, err := a.svc.Tree(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	tree := &acp.SessionTree{}
	for _, head := range all {
		tree.Sessions = append(tree.Sessions, acp.SessionBranch{SessionInfo: infoOf(head), ParentID: head.Parent, ForkedAt: head.ForkedAt})
	}
	return tree, nil
}

func (a *Agent) searchSessions(ctx context.Context, p *acp.SearchSessionsRequest) (*acp.SearchSessionsResponse, error) {
	hits, err := a.svc.Search(ctx, p.Cwd, p.Query, p.Limit)
	if err != nil {
		return nil, err
	}
	r := &acp.SearchSessionsResponse{}
	for _, h := range hits {
		r.Hits = append(r.Hits, acp.SessionHit{SessionInfo: infoOf(h.Session), MessageID: h.MessageID, Role: string(h.Role), Snippet: unmarked.Replace(h.Snippet)})
	}
	return r, nil
}

var unmarked = strings.NewReplacer(store.Mark, "", store.EndMark, "")

// infoOf returns a session for a list.
func infoOf(head store.Session) acp.SessionInfo {
	info := acp.SessionInfo{
		SessionID: head.ID, Cwd: head.Cwd, AdditionalDirectories: head.Folders,
		Title: head.Title, UpdatedAt: head.UpdatedAt.UTC().Format(time.RFC3339),
	}
	ours := map[string]any{}
	if head.Parent != "" {
		ours["parentId"] = head.Parent
	}
	if head.Origin != "" {
		ours["subagent"] = true
	}
	if head.Notes != "" {
		ours["notes"] = head.Notes
	}
	if len(ours) > 0 {
		info.Meta = acp.Meta{"hermes": ours}
	}
	return info
}
