package delegate

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Merge says what became of edits in a worktree.
type Merge struct {
	Applied   []string   `json:"applied"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// Conflict is a file whose edits could not be brought back.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type tree struct{ workspace string }

func checkRepository(context.Context, *tools.Env) error          { return errors.New("not yet") }
func newTree(context.Context, *tools.Env, string) (*tree, error) { return nil, errors.New("not yet") }
func (t *tree) merge(context.Context) (*Merge, error)            { return nil, nil }
func (t *tree) remove(context.Context)                           {}
