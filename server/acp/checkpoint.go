package acp

import (
	"context"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/checkpoints"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

func (a *Agent) listCheckpoints(ctx context.Context, p *protocol.CheckpointArgs, next func()) (*protocol.CheckpointListResult, error) {
	x, release, err := a.checkpointsOf(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	next()
	list, err := x.List(ctx)
	if err != nil {
		return nil, err
	}
	return CheckpointList(list), nil
}

// CheckpointList converts a list of checkpoints.
func CheckpointList(list []checkpoints.Checkpoint) *protocol.CheckpointListResult {
	r := &protocol.CheckpointListResult{Checkpoints: make([]protocol.CheckpointInfo, len(list))}
	for i, c := range list {
		r.Checkpoints[i] = protocol.CheckpointInfo{ID: c.ID, CreatedAt: c.CreatedAt.UTC().Format(time.RFC3339), Title: c.Title, Files: orEmpty(c.Files), Restore: c.Restore}
	}
	return r
}

// listChanges lists the changes of all sessions of the client's workspace.
func (a *Agent) listChanges(ctx context.Context, p *protocol.ChangesArgs, next func()) (*protocol.ChangesResult, error) {
	if p.Cwd == "" {
		return nil, missing("cwd")
	}
	if a.o.InWorkspace != nil && !a.o.InWorkspace(p.Cwd) {
		return nil, extension.BadInput("cwd", "%s is not a folder of this workspace", p.Cwd)
	}
	next()
	return Changes(ctx, a.svc, server.Place{Cwd: p.Cwd, Folders: p.AdditionalDirectories}, a.host)
}

// Changes lists the pending changes of all sessions of a workspace, neither accepted nor reverted
// by the user.
func Changes(ctx context.Context, svc *server.Service, p server.Place, h server.Host) (*protocol.ChangesResult, error) {
	x, release, err := server.AtFolder[*checkpoints.Instance](ctx, svc, p, h)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := x.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	missed, err := x.WaitingMissed(ctx)
	if err != nil {
		return nil, err
	}
	r := &protocol.ChangesResult{Changes: make([]protocol.TurnChanges, len(list))}
	for i, c := range list {
		r.Changes[i] = protocol.TurnChanges{SessionID: c.SessionID, CheckpointID: c.ID, CreatedAt: c.CreatedAt.UTC().Format(time.RFC3339), Title: c.Title, Files: orEmpty(c.Files)}
	}
	for _, m := range missed {
		r.Missed = append(r.Missed, protocol.MissedChanges{
			TurnChanges: protocol.TurnChanges{SessionID: m.SessionID, CheckpointID: m.ID, CreatedAt: m.At.UTC().Format(time.RFC3339), Title: m.Title, Files: orEmpty(m.Files)},
			Commands:    m.Commands, Why: m.Why,
		})
	}
	return r, nil
}

func (a *Agent) acceptChanges(ctx context.Context, p *protocol.CheckpointArgs, next func()) (*protocol.AcceptResult, error) {
	x, release, err := a.checkpointOf(ctx, p)
	if err != nil {
		return nil, err
	}
	defer release()
	next()
	accepted, err := x.Accept(ctx, p.CheckpointID, p.Files)
	if err != nil {
		return nil, err
	}
	return &protocol.AcceptResult{Accepted: orEmpty(accepted)}, nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// checkpointsOf returns the checkpoints of a session, open or not. The caller must call release.
func (a *Agent) checkpointsOf(ctx context.Context, sessionID string) (x *checkpoints.Instance, release func(), err error) {
	if sessionID == "" {
		return nil, nil, missing("sessionId")
	}
	return StoredCheckpoints(ctx, a.svc, sessionID, a.host, a.o.InWorkspace)
}

// StoredCheckpoints returns the checkpoints of a session, open or not. If it is closed and
// inWorkspace rejects its folder, StoredCheckpoints returns an error. A nil inWorkspace allows all
// folders. The caller must call release.
func StoredCheckpoints(ctx context.Context, svc *server.Service, id string, h server.Host, inWorkspace func(cwd string) bool) (x *checkpoints.Instance, release func(), err error) {
	if inWorkspace != nil && svc.Opened(id) == nil {
		head, err := svc.StoredHead(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if err := server.FolderGone(head.Cwd, ""); err != nil {
			return nil, nil, extension.BadInput("sessionId", "%v", err)
		}
		if !inWorkspace(head.Cwd) {
			return nil, nil, extension.BadInput("sessionId", "session %q belongs to %s, which is not a folder of this workspace; nothing was changed. Open that folder", id, head.Cwd)
		}
	}
	return server.Stored[*checkpoints.Instance](ctx, svc, id, h)
}

// checkpointOf returns the checkpoints of the session named by a request. The request must name a
// checkpoint, too.
func (a *Agent) checkpointOf(ctx context.Context, p *protocol.CheckpointArgs) (x *checkpoints.Instance, release func(), err error) {
	if p.CheckpointID == "" {
		return nil, nil, missing("checkpointId")
	}
	return a.checkpointsOf(ctx, p.SessionID)
}

// find returns a session's extension of type T.
func find[T extension.Instance](a *Agent, sessionID string) (found T, err error) {
	x, err := a.session(sessionID)
	if err != nil {
		return found, err
	}
	return server.Find[T](x)
}

func (a *Agent) checkpointDiff(ctx context.Context, p *protocol.CheckpointArgs, next func()) (*protocol.CheckpointDiffResult, error) {
	x, release, err := a.checkpointOf(ctx, p)
	if err != nil {
		return nil, err
	}
	defer release()
	next()
	text, err := x.Diff(ctx, p.CheckpointID, p.Files)
	if err != nil {
		return nil, err
	}
	return &protocol.CheckpointDiffResult{Diff: text}, nil
}

// restoreCheckpoint may send an approval request, so later messages do not wait for it.
func (a *Agent) restoreCheckpoint(ctx context.Context, p *protocol.CheckpointArgs, next func()) (*protocol.RestoreResult, error) {
	x, release, err := a.checkpointOf(ctx, p)
	if err != nil {
		return nil, err
	}
	defer release()
	next()
	r, err := x.Restore(ctx, p.CheckpointID, p.Files)
	if err != nil {
		return nil, err
	}
	return RestoreResult(r), nil
}

// RestoreResult converts the outcome of a restore.
func RestoreResult(r checkpoints.Restored) *protocol.RestoreResult {
	result := &protocol.RestoreResult{Restored: orEmpty(r.Restored), Kept: orEmpty(r.Kept), Why: r.Why, Overwritable: r.Others}
	for _, u := range r.Unsaved {
		result.Unsaved = append(result.Unsaved, protocol.UnsavedFile{Path: u.Path, Why: u.Why})
	}
	return result
}

func (a *Agent) checkpointFile(ctx context.Context, p *acp.CheckpointFileRequest, next func()) (*acp.CheckpointFileResponse, error) {
	switch {
	case p.CheckpointID == "":
		return nil, missing("checkpointId")
	case p.Path == "":
		return nil, missing("path")
	}
	x, release, err := a.checkpointsOf(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	next()
	was, left, err := x.File(ctx, p.CheckpointID, p.Path)
	if err != nil {
		return nil, err
	}
	return &acp.CheckpointFileResponse{Content: was, After: left}, nil
}
