package tools

import (
	"context"
	"io/fs"

	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools/backend"
)

// Files are the files for the file tools: a [workspace.Workspace], or the files of the machine that
// runs the session's commands ([backend.Files]). The methods are those of Workspace.
type Files interface {
	Folders() []string
	Name(abs string) string
	Abs(path string) (string, error)
	Readings(path string) []string
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	List(ctx context.Context, dir string) ([]fs.DirEntry, error)
	Read(ctx context.Context, path string) (*workspace.File, error)
	Lines(ctx context.Context, path string, offset, limit int) (*workspace.Window, error)
	Search(ctx context.Context, q search.Query) (*search.Found, error)
	Unsaved(ctx context.Context) []string
	Upwards(ctx context.Context, path, name string, limit int64) []workspace.Upward
	Write(ctx context.Context, path string, text []byte) (*workspace.Written, error)
	Edit(ctx context.Context, path string, change func(old []byte) ([]byte, error)) (*workspace.Written, error)
	EditPresent(ctx context.Context, path string, change func(old []byte, since workspace.Since) ([]byte, error)) (*workspace.Written, error)
	Batch(ctx context.Context, actions []workspace.Action) ([]*workspace.Written, error)
	BatchIf(ctx context.Context, actions []workspace.Action, agree func(planned []*workspace.Written) error) ([]*workspace.Written, error)
	Close() error
}

// ForkFiles returns the same files for another caller, such as a subagent, which records its own
// reads.
func ForkFiles(files Files) (Files, error) {
	if there, ok := files.(*backend.Files); ok {
		return there.Fork(), nil
	}
	return Local(files).Fork()
}

// Local is the workspace on this machine's disk; nil: the files are elsewhere.
func Local(files Files) *workspace.Workspace {
	w, _ := files.(*workspace.Workspace)
	return w
}
