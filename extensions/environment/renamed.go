package environment

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
)

// Name is the name of the extension.
const Name = "environment"

const renamedKey = "renamed"

// Renamed makes the next prompt of a session report a renamed folder. The session's messages keep
// the old paths.
func Renamed(ctx context.Context, state extension.State, m folderpath.Move) error {
	var moves []folderpath.Move
	if _, err := state.Load(ctx, renamedKey, &moves); err != nil {
		return err
	}
	if n := len(moves); n > 0 && moves[n-1].New == m.Old {
		m.Old, moves = moves[n-1].Old, moves[:n-1]
	} else if n > 0 && moves[n-1] == m {
		return nil // the command was repeated
	}
	if m.Old != m.New {
		moves = append(moves, m)
	}
	if len(moves) == 0 {
		return state.Save(ctx, renamedKey, nil)
	}
	return state.Save(ctx, renamedKey, moves)
}

// loadRenamed returns the folders renamed since the last prompt. If they cannot be read, it returns
// none.
func (x *instance) loadRenamed(ctx context.Context) (moves []folderpath.Move) {
	if x.session.New || x.session.State == nil {
		return nil
	}
	_, _ = x.session.State.Load(ctx, renamedKey, &moves)
	return moves
}

// renamedText describes renamed folders to the model.
func renamedText(moves []folderpath.Move) string {
	var lines []string
	for _, m := range moves {
		lines = append(lines, fmt.Sprintf("folder: %s was renamed to %s; earlier messages have the old path", word(m.Old), word(m.New)))
	}
	return strings.Join(lines, "\n")
}
