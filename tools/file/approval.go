package file

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// errPlanned stops an edit after its planning, before it is made.
var errPlanned = errors.New("only planned")

// approval binds an edit to the version shown to the user. The zero approval belongs to an edit
// without a request.
type approval struct {
	asked bool
	shown []*workspace.Written
}

// record returns show, and notes its result.
func (a *approval) record(show func(context.Context) ([]*workspace.Written, error)) func(context.Context) ([]*workspace.Written, error) {
	return func(ctx context.Context) ([]*workspace.Written, error) {
		shown, err := show(ctx)
		a.asked, a.shown = true, shown
		return shown, err
	}
}

// agrees returns nil if the planned edit changes the same lines as the shown edit. Files can change
// during the request.
func (a *approval) agrees(planned []*workspace.Written) error {
	if !a.asked {
		return nil
	}
	for _, p := range planned {
		if !a.has(p) {
			return fmt.Errorf("%s was changed while the user was being asked about the edit, which would now change other lines. Nothing was changed. Read the file again, then edit it: %w", p.Name, workspace.ErrStale)
		}
	}
	return nil
}

func (a *approval) has(p *workspace.Written) bool {
	for _, s := range a.shown {
		if s.Path == p.Path {
			return gate.SameChange(s, p)
		}
	}
	return false
}

// presentChange changes a single file, as for [workspace.Workspace.EditPresent].
type presentChange = func(old []byte, since workspace.Since) ([]byte, error)

// edited returns a change of a single file. It is made only if it equals the shown change.
func (a *approval) edited(env *callEnv, path string, change presentChange) presentChange {
	return func(old []byte, since workspace.Since) ([]byte, error) {
		text, err := change(old, since)
		if err != nil {
			return nil, err
		}
		planned, err := plannedEdit(env, path, append([]byte{}, old...), text)
		if err == nil {
			err = a.agrees(planned)
		}
		return text, err
	}
}

// plan returns a function that computes a change to the current text of a file without making it.
func plan(env *callEnv, path string, change presentChange) func(context.Context) ([]*workspace.Written, error) {
	return func(ctx context.Context) (planned []*workspace.Written, err error) {
		_, err = env.Files.EditPresent(ctx, path, noted(env, path, change, &planned))
		if errors.Is(err, errPlanned) || errors.Is(err, errUnchanged) {
			err = nil
		}
		return planned, err
	}
}

// planWrite is plan for a whole text, which must not replace text changed since it was read. If the
// file does not exist, it is created.
func planWrite(env *callEnv, path string, change func(old []byte) ([]byte, error), text []byte) func(context.Context) ([]*workspace.Written, error) {
	return func(ctx context.Context) (planned []*workspace.Written, err error) {
		note := noted(env, path, func(old []byte, _ workspace.Since) ([]byte, error) { return change(old) }, &planned)
		_, err = env.Files.Edit(ctx, path, func(old []byte) ([]byte, error) { return note(old, workspace.Since{}) })
		switch {
		case errors.Is(err, errPlanned), errors.Is(err, errUnchanged):
			return planned, nil
		case errors.Is(err, workspace.ErrNotFound):
			return plannedEdit(env, path, nil, text)
		}
		return nil, err
	}
}

// noted returns a change that records its edit and then stops.
func noted(env *callEnv, path string, change presentChange, into *[]*workspace.Written) presentChange {
	return func(old []byte, since workspace.Since) ([]byte, error) {
		text, err := change(old, since)
		if err == nil {
			*into, err = plannedEdit(env, path, append([]byte{}, old...), text)
		}
		if err == nil {
			err = errPlanned
		}
		return nil, err
	}
}

// plannedEdit describes the edit of a single file. If old is nil, the file does not exist yet.
func plannedEdit(env *callEnv, path string, old, text []byte) ([]*workspace.Written, error) {
	abs, err := env.Files.Abs(path)
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte{}
	}
	return []*workspace.Written{{Path: abs, Name: env.Files.Name(abs), Old: old, New: text, Created: old == nil}}, nil
}
