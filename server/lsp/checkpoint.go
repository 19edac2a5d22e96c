package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/extensions/checkpoints"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
)

// checkpointCommands has hermes.checkpoint.*.
type checkpointCommands struct{ sessions *sessions }

// list is hermes.checkpoint.list. Where there is no session, there are none.
func (c checkpointCommands) list(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	session, err := c.sessions.ofSession(a.SessionID)
	if err != nil || session == nil {
		return acp.CheckpointList(nil), err
	}
	kept, err := service.Find[*checkpoints.Instance](session)
	if err != nil {
		return nil, err
	}
	list, err := kept.List(ctx)
	if err != nil {
		return nil, err
	}
	return acp.CheckpointList(list), nil
}

// diff is hermes.checkpoint.diff.
func (c checkpointCommands) diff(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	kept, err := c.of(protocol.CommandCheckpointDiff, a)
	if err != nil {
		return nil, err
	}
	text, err := kept.Diff(ctx, a.CheckpointID, a.Files)
	if err != nil {
		return nil, checkpointError(protocol.CommandCheckpointDiff, err)
	}
	return protocol.CheckpointDiffResult{Diff: text}, nil
}

// restore is hermes.checkpoint.restore. The result is shown to the user of an
// editor without a plugin, who sees no results.
func (c checkpointCommands) restore(ctx context.Context, a protocol.CheckpointArgs) (any, error) {
	kept, err := c.of(protocol.CommandRestore, a)
	if err != nil {
		return nil, err
	}
	r, err := kept.Restore(ctx, a.CheckpointID, a.Files)
	if err != nil {
		return nil, checkpointError(protocol.CommandRestore, err)
	}
	if c.sessions.editor.Client.ACP == nil {
		c.sessions.editor.Show(lsp.MessageTypeInfo, "%s", restoredText(r))
	}
	return protocol.RestoreResult{Restored: append([]string{}, r.Restored...), Kept: append([]string{}, r.Kept...)}, nil
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
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func (c checkpointCommands) of(command string, a protocol.CheckpointArgs) (*checkpoints.Instance, error) {
	if a.CheckpointID == "" {
		return nil, invalidParams("%s: checkpointId is missing; %s names those there are", command, protocol.CommandCheckpoints)
	}
	session, err := c.sessions.ofSession(a.SessionID)
	if err == nil && session == nil {
		err = invalidParams("%s: there is no session yet, and so no checkpoint", command)
	}
	if err != nil {
		return nil, err
	}
	return service.Find[*checkpoints.Instance](session)
}

// checkpointError describes a problem with the checkpoint that a command names.
func checkpointError(command string, err error) error {
	var input *service.InputError
	if errors.As(err, &input) || errors.Is(err, service.ErrRunning) {
		return invalidParams("%s: %v", command, err)
	}
	return err
}
