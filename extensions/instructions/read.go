package instructions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/references"
	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// aboveLimit limits a file above the workspace folders, in bytes.
const aboveLimit = 1 << 20

// readBelow reads a file in a workspace folder, with the editor's unsaved buffers. A link must lead
// to a Markdown file in a workspace folder. An imported file can have another name, except at
// places for secrets.
func readBelow(ctx context.Context, files tools.Files, path string, imported bool) ([]byte, error) {
	if _, err := files.Stat(ctx, path); err != nil && tools.Local(files) == nil {
		return nil, err
	}
	abs, err := files.Abs(path)
	if err != nil {
		return nil, err
	}
	switch {
	case imported && (references.IsSecret(path) || references.IsSecret(abs)):
		return nil, errors.New("it is a place of secrets")
	case !imported && filepath.Ext(abs) != ".md":
		return nil, fmt.Errorf("%s leads to %s: %w", path, abs, fs.ErrPermission)
	}
	read := files.Read
	if local := tools.Local(files); local != nil {
		read = local.ReadIfThere
	}
	f, err := read(ctx, path)
	if err != nil {
		return nil, err
	}
	return f.Text, nil
}

// repository returns the directory of the git repository around a workspace folder, and a function
// that reads Markdown files in it. If there is no repository, it returns an error.
func repository(ctx context.Context, files tools.Files, folder string) (top string, read func(path string) ([]byte, error), err error) {
	if there, ok := files.(*backend.Files); ok {
		top, err = there.Repository(ctx)
		return top, func(path string) ([]byte, error) { return there.ReadAbove(ctx, top, path, aboveLimit) }, err
	}
	found, err := gitrepo.Find(folder)
	return found.Top, func(path string) ([]byte, error) { return readAbove(found.Top, path) }, err
}

// readAbove reads a Markdown file below top. A link must not lead out of top.
func readAbove(top, path string) ([]byte, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(top, target)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(name) != ".md" {
		return nil, fmt.Errorf("%s leads to %s: %w", path, target, fs.ErrPermission)
	}
	dir, err := safefile.OpenFolder(top)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read
	return dir.Read(name, aboveLimit)
}

// real returns a workspace folder without links.
func real(files tools.Files, folder string) string {
	if tools.Local(files) == nil {
		return folder // the other machine has resolved it
	}
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		return resolved
	}
	return folder
}

// between returns the directories from top, which is included, to folder, which is not. If
// folder is not below top, it returns none.
func between(top, folder string) (dirs []string) {
	if rel, err := filepath.Rel(top, folder); err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil
	}
	for dir := filepath.Dir(folder); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == top || dir == filepath.Dir(dir) {
			slices.Reverse(dirs)
			return dirs
		}
	}
}
