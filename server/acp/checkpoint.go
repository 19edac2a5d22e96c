package acp

import (
	"context"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/checkpoints"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

func (a *Agent) listCheckpoints(ctx context.Context, p *protocol.CheckpointArgs) (*protocol.CheckpointListResult, error) {
	x, err := find[*checkpoints.Instance](a, p.SessionID)
	if err != nil {
		return nil, err
	}
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

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// checkpointOf returns the checkpoints of the session that a request names.
func (a *Agent) checkpointOf(p *protocol.CheckpointArgs) (*checkpoints.Instance, error) {
	if p.CheckpointID == "" {
		return nil, missing("checkpointId")
	}
	return find[*checkpoints.Instance](a, p.SessionID)
}

// find returns the extension of a session that is a T.
func find[T any](a *Agent, sessionID string) (found T, err error) {
	x, err := a.session(sessionID)
	if err != nil {
		return found, err
	}
	return server.Find[T](x)
}

func (a *Agent) checkpointDiff(ctx context.Context, p *protocol.CheckpointArgs, next func()) (*protocol.CheckpointDiffResult, error) {
	x, err := a.checkpointOf(p)
	if err != nil {
		return nil, err
	}
	next()
	text, err := x.Diff(ctx, p.CheckpointID, p.Files)
	if err != nil {
		return nil, err
	}
	return &protocol.CheckpointDiffResult{Diff: text}, nil
}

// restoreCheckpoint may send an approval request, so later messages do not wait for it.
func (a *Agent) restoreCheckpoint(ctx context.Context, p *protocol.CheckpointArgs, next func()) (*protocol.RestoreResult, error) {
	x, err := a.checkpointOf(p)
	if err != nil {
		return nil, err
	}
	next()
	r, err := x.Restore(ctx, p.CheckpointID, p.Files)
	if err != nil {
		return nil, err
	}
	return &protocol.RestoreResult{Restored: orEmpty(r.Restored), Kept: orEmpty(r.Kept)}, nil
}

func (a *Agent) checkpointFile(ctx context.Context, p *acp.CheckpointFileRequest, next func()) (*acp.CheckpointFileResponse, error) {
	switch {
	case p.CheckpointID == "":
		return nil, missing("checkpointId")
	case p.Path == "":
		return nil, missing("path")
	}
	x, err := find[*checkpoints.Instance](a, p.SessionID)
	if err != nil {
		return nil, err
	}
	next()
	text, err := x.File(ctx, p.CheckpointID, p.Path)
	if err != nil {
		return nil, err
	}
	return &acp.CheckpointFileResponse{Content: text}, nil
}
