package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// saver saves unmerged files, in a folder of the task in [Config].Output. Names are of files in
// the worktree.
type saver struct {
	path   string           // of the task's folder
	folder *safefile.Folder // nil: nothing saved so far
	room   int64            // remaining bytes
	files  int              // and files
}

// Limits for saving the files of a worktree.
const (
	savedBytes = 2 << 30
	savedFiles = 20_000
	savedDepth = 200 // nested folders
)

func (t *Tree) saver() *saver {
	return &saver{path: filepath.Join(t.Output, "worktree-"+t.ID), room: savedBytes, files: savedFiles}
}

// open creates the task's folder if necessary.
func (s *saver) open() (err error) {
	if s.folder != nil {
		return nil
	}
	if err = os.MkdirAll(s.path, 0o700); err == nil {
		s.folder, err = safefile.OpenFolder(s.path)
	}
	return err
}

func (s *saver) close() {
	if s.folder != nil {
		s.folder.Close() // nothing is written after this
	}
}

// text saves a text and returns its path.
func (s *saver) text(name string, text []byte) (path string, err error) {
	if err := s.open(); err != nil {
		return "", err
	}
	if err := s.folder.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	return filepath.Join(s.path, name), s.folder.Write(name, text, 0o600)
}

// copy saves a regular file of the folder from.
func (s *saver) copy(from *safefile.Folder, name, to string) (path string, err error) {
	if err := s.open(); err != nil {
		return "", err
	}
	in, info, err := from.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if _, count, known := safefile.Links(info); known && count > 1 {
		return "", errors.New(otherNames)
	}
	if s.files--; s.files < 0 || info.Size() > s.room {
		return "", errTooMuch
	}
	if err := s.folder.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	out, err := s.folder.Create(to, 0o600)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(out, io.LimitReader(in, s.room))
	s.room -= n
	return filepath.Join(s.path, to), errors.Join(err, out.Close())
}

var errTooMuch = fmt.Errorf("there is more of it than %d GB or %d files", savedBytes>>30, savedFiles)

// tree saves the files of a folder and of the folders in it. It skips links, because they may
// lead to other files than the subagent's.
func (s *saver) tree(ctx context.Context, from *safefile.Folder, name, to string, depth int) error {
	entries, err := from.ReadDir(name, savedFiles)
	if err != nil {
		return err
	}
	if depth == 0 {
		return errTooMuch
	}
	for _, e := range entries {
		here, there := filepath.Join(name, e.Name()), filepath.Join(to, e.Name())
		if err := ctx.Err(); err != nil {
			return err
		}
		switch info, err := from.Lstat(here); {
		case err != nil:
		case info.IsDir():
			if err := s.tree(ctx, from, here, there, depth-1); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if _, err := s.copy(from, here, there); errors.Is(err, errTooMuch) {
				return err
			}
		}
	}
	return nil
}

// folders saves repositories inside the worktree, and returns them as conflicts.
func (t *Tree) folders(ctx context.Context, root *safefile.Folder, kept *saver, names []string) (all []Conflict) {
	for _, name := range names {
		name = filepath.Clean(name)
		info, err := root.Lstat(name)
		if err != nil || !info.IsDir() {
			continue
		}
		if inside, err := root.ReadDir(name, 1); err == nil && len(inside) == 0 {
			continue // a submodule, not copied
		}
		c := Conflict{Path: filepath.ToSlash(name), Reason: "it is a git repository of its own, or a submodule; such are not merged"}
		err = kept.tree(ctx, root, name, name, savedDepth)
		if _, gone := os.Lstat(filepath.Join(kept.path, name)); gone == nil {
			c.Kept = filepath.ToSlash(filepath.Join(kept.path, name))
		}
		if err != nil {
			c.Reason += "; not all of it was kept: " + err.Error()
		}
		all = append(all, c)
	}
	return all
}

// conflict saves an unmerged file.
func (e *edit) conflict(why error, root *safefile.Folder, kept *saver) Conflict {
	c := Conflict{Path: filepath.ToSlash(e.name), Reason: why.Error()}
	c.Diff = diff.Unified(c.Path, e.old, e.new)
	if e.is.Link {
		c.Diff += "it became a link to " + e.is.ID + "\n"
	} else if e.is.Exec && !e.was.Exec {
		c.Diff += "it became executable\n"
	}
	if len(c.Diff) > diffShown {
		c.Diff = strings.ToValidUTF8(c.Diff[:diffShown], "") + "\n[cut]"
	}
	path, err := "", error(fs.ErrNotExist)
	switch {
	case e.new != nil:
		path, err = kept.text(e.name, e.new)
	case e.is.Bad == tooLarge:
		path, err = kept.copy(root, e.name, e.name)
	}
	if err == nil {
		c.Kept = filepath.ToSlash(path)
	}
	return c
}
