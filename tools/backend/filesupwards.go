package backend

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/pkg/sftp"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Upwards is [workspace.Workspace.Upwards] on the other machine.
func (f *Files) Upwards(ctx context.Context, name, wanted string, limit int64) (found []workspace.Upward) {
	// If the path is outside the folder, or the machine is unreachable, the write reports it.
	_ = f.at(ctx, "finding", name, func(c *sftp.Client, p string) error {
		top, err := f.top(c)
		if err != nil {
			return err
		}
		dir := p
		for n := 0; n < workspace.MaxUpwards && dir != top && ctx.Err() == nil; n++ {
			dir = path.Dir(dir)
			if text, err := f.readIn(c, path.Join(dir, wanted), limit); err == nil {
				found = append(found, workspace.Upward{Path: strings.TrimPrefix(p[len(dir):], "/"), Text: text})
			}
		}
		return nil
	})
	return found
}

// readIn reads a regular file of at most limit bytes in the folder.
func (f *Files) readIn(c *sftp.Client, name string, limit int64) ([]byte, error) {
	if _, err := c.Lstat(name); err != nil { // missing in most directories, found with a single request
		return nil, err
	}
	p, err := f.locate(c, name)
	if err != nil {
		return nil, err
	}
	file, info, err := openFile(c, name, p)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	if info.Size() > limit {
		return nil, workspace.ErrTooLarge
	}
	return io.ReadAll(io.LimitReader(file, limit))
}
