package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/pkg/sftp"
)

// ErrNoRepository reports that no parent directory contains a git repository.
var ErrNoRepository = errors.New("there is no git repository")

// Repository returns the directory of the git repository around the folder of f. If another
// user owns it, or if there is none, the error is [ErrNoRepository].
func (f *Files) Repository(ctx context.Context) (top string, err error) {
	err = f.at(ctx, "finding the repository of", ".", func(c *sftp.Client, p string) error {
		folder, err := c.Stat(p)
		if err != nil {
			return err
		}
		for top = p; ; top = path.Dir(top) {
			git, err := c.Lstat(path.Join(top, ".git"))
			switch {
			case err == nil && top != p && owner(git) != owner(folder):
				return ErrNoRepository
			case err == nil:
				return nil
			case top == "/":
				return ErrNoRepository
			}
		}
	})
	return top, err
}

func owner(info fs.FileInfo) uint32 {
	if stat, ok := info.Sys().(*sftp.FileStat); ok {
		return stat.UID
	}
	return 0
}

// ReadAbove returns the content of a regular Markdown file of at most limit bytes in the
// directory top, which is above the folder of f. A link must not lead out of top.
func (f *Files) ReadAbove(ctx context.Context, top, name string, limit int64) (text []byte, err error) {
	err = f.ssh.withFiles(ctx, func(c *sftp.Client) error {
		p, err := c.RealPath(name)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(p, strings.TrimSuffix(top, "/")+"/") || path.Ext(p) != ".md" {
			return fmt.Errorf("%s leads to %s: %w", name, p, fs.ErrPermission)
		}
		file, info, err := openFile(c, name, p)
		if err != nil {
			return err
		}
		defer file.Close() // only read
		if info.Size() > limit {
			return fmt.Errorf("%s has %d bytes, the limit is %d", name, info.Size(), limit)
		}
		text, err = io.ReadAll(io.LimitReader(file, limit))
		return err
	})
	return text, err
}
