package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extensions/checkpoints"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
)

// checkpointCommands has hermes.checkpoint.*.
type checkpointCommands struct{ sessions *sessions }

// list is hermes.checkpoint.list. Where there is no session, there are none.
func (c checkpointCommands) list(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	id, err := c.sessionOf(ctx, a)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return acp.CheckpointList(nil), nil
	}
	kept, release, err := c.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := kept.List(ctx)
	if err != nil {
		return nil, err
	}
	return acp.CheckpointList(list), nil
}

// diff is hermes.checkpoint.diff.
func (c checkpointCommands) diff(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	kept, release, err := c.of(ctx, protocol.CommandCheckpointDiff, a)
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := kept.Diff(ctx, a.CheckpointID, a.Files)
	if err != nil {
		return nil, checkpointError(protocol.CommandCheckpointDiff, err)
	}
	return protocol.CheckpointDiffResult{Diff: text}, nil
}

// restore is hermes.checkpoint.restore. The result is shown to the user of an
// editor without a plugin, who sees no results.
func (c checkpointCommands) restore(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	kept, release, err := c.of(ctx, protocol.CommandRestore, a)
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := kept.Restore(ctx, a.CheckpointID, a.Files)
	if err != nil {
		return nil, checkpointError(protocol.CommandRestore, err)
	}
	if c.sessions.editor.Client.ACP == nil {
		c.sessions.editor.Show(lsp.MessageTypeInfo, "%s", restoredText(r))
	}
	return acp.RestoreResult(r), nil
}

// restoredText describes the result of a restore.
func restoredText(r checkpoints.Restored) string {
	const most = 5
	text := "No file had to be restored."
	if n := len(r.Restored); n > 0 {
		text = fmt.Sprintf("Restored %d %s.", n, plural(n, "file"))
	}
	for i, name := range r.Kept {
		if i == most {
			text += fmt.Sprintf(" … and %d more.", len(r.Kept)-most)
			break
		}
		text += fmt.Sprintf(" Kept %s: %s.", name, strings.TrimSuffix(r.Why[i], "."))
	}
	unsaved := checkpoints.UnsavedText(r.Unsaved[:min(len(r.Unsaved), most)], func(names []string) string { return strings.Join(names, ", ") })
	if unsaved != "" {
		text += " " + unsaved
	}
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// changes is hermes.checkpoint.changes.
func (c checkpointCommands) changes(ctx context.Context, a protocol.ChangesArgs) (any, error) {
	p := c.sessions.place()
	if a.Cwd != "" {
		if !c.sessions.inWorkspace(a.Cwd) {
			return nil, invalidParams("%s: %s is not a folder of this workspace", protocol.CommandChanges, a.Cwd)
		}
		p.Cwd, p.Folders = a.Cwd, a.AdditionalDirectories
	}
	list, err := acp.Changes(ctx, c.sessions.service, p, c.sessions.host)
	if err != nil {
		return nil, checkpointError(protocol.CommandChanges, err)
	}
	return list, nil
}

// accept is hermes.checkpoint.accept.
func (c checkpointCommands) accept(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	kept, release, err := c.of(ctx, protocol.CommandAccept, a)
	if err != nil {
		return nil, err
	}
	defer release()
	accepted, err := kept.Accept(ctx, a.CheckpointID, a.Files)
	if err != nil {
		return nil, checkpointError(protocol.CommandAccept, err)
	}
	return protocol.AcceptResult{Accepted: append([]string{}, accepted...)}, nil
}

// sessionOf returns the session for a command: the named session, or else the current session. If
// there is none, as after a restart, it returns the workspace's session with the checkpoint, or
// with the newest checkpoint.
func (c checkpointCommands) sessionOf(ctx context.Context, a protocol.CheckpointArgs) (string, error) {
	if id := orElse(a.SessionID, c.sessions.currentID()); id != "" {
		return id, nil
	}
	kept, release, err := service.AtFolder[*checkpoints.Instance](ctx, c.sessions.service, c.sessions.place(), c.sessions.host)
	if err != nil {
		return "", err
	}
	defer release()
	return kept.Holder(a.CheckpointID)
}

// stored returns the checkpoints of a session of the workspace, open or not. The caller must call release.
func (c checkpointCommands) stored(ctx context.Context, id string) (*checkpoints.Instance, func(), error) {
	kept, release, err := acp.StoredCheckpoints(ctx, c.sessions.service, id, c.sessions.host, c.sessions.inWorkspace)
	var input *service.InputError
	if errors.As(err, &input) {
		return nil, nil, invalidParams("%v", err)
	}
	if err != nil {
		return nil, nil, sessionError(id, err)
	}
	return kept, release, nil
}

func (c checkpointCommands) of(ctx context.Context, command string, a protocol.CheckpointArgs) (*checkpoints.Instance, func(), error) {
	if a.CheckpointID == "" {
		return nil, nil, invalidParams("%s: checkpointId is missing; %s names those there are", command, protocol.CommandCheckpoints)
	}
	id, err := c.sessionOf(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if id == "" {
		return nil, nil, invalidParams("%s: there is no session yet, and so no checkpoint", command)
	}
	return c.stored(ctx, id)
}

// checkpointError describes a problem with a command's checkpoint.
func checkpointError(command string, err error) error {
	var input *service.InputError
	if errors.As(err, &input) || errors.Is(err, service.ErrRunning) || errors.Is(err, store.ErrClaimed) {
		return invalidParams("%s: %v", command, err)
	}
	return err
}
