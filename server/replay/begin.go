package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// RestoreStart restores the files changed by the session's turns, in a copy of its directory, to
// their state before the first turn. It returns their number. If there is no checkpoint, it returns
// 0. It changes only the copy.
func RestoreStart(ctx context.Context, home, session, folder, copied string) (files int, err error) {
	ws, err := workspace.Open([]string{folder}, nil)
	if err != nil {
		return 0, fmt.Errorf("opening the session's folder: %w", err)
	}
	defer ws.Close() // it was only read
	kept := checkpoint.New(home)
	defer kept.Close() // it was only read
	keeper := kept.Keeper(checkpoint.Config{Session: session, Files: ws, Limits: func() checkpoint.Limits { return checkpoint.Limits{} }})
	defer keeper.Close(ctx) // nothing was begun
	all, err := keeper.List(ctx)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	into, err := os.OpenRoot(copied)
	if err != nil {
		return 0, fmt.Errorf("opening the copy: %w", err)
	}
	defer into.Close() // the copy is temporary
	first, done := all[len(all)-1].ID, map[string]bool{}
	for _, c := range all {
		for _, path := range c.Files {
			name, err := filepath.Rel(ws.Folders()[0], path)
			if done[path] || err != nil || strings.HasPrefix(name, "..") {
				continue // another folder's
			}
			done[path] = true
			text, _, err := keeper.File(ctx, first, path)
			if err != nil {
				return len(done), err
			}
			if err := put(into, name, text); err != nil {
				return len(done), fmt.Errorf("bringing %s back: %w", name, err)
			}
		}
	}
	return len(done), nil
}

// put makes text the content of a file; nil: there is none.
func put(into *os.Root, name string, text []byte) error {
	if text == nil {
		if err := into.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := into.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return into.WriteFile(name, text, 0o644)
}
