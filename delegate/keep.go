package delegate

import (
	"context"
	"crypto/rand"
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

// keeper keeps what is not brought back, in the session's outputs, below a folder of the
// task. Names are of files in the worktree.
type keeper struct {
	path   string           // of the task's folder; empty: nothing is kept
	folder *safefile.Folder // nil: nothing was kept so far
	room   int64            // bytes that may still be kept
	files  int              // and files
}

// What of one worktree is kept at most.
const (
	keptBytes = 2 << 30
	keptFiles = 20_000
	keptDepth = 200 // folders in each other
)

func (t *tree) keeper() *keeper {
	k := &keeper{room: keptBytes, files: keptFiles}
	if dir := t.env.OutputDir; dir != "" {
		k.path = filepath.Join(dir, "worktree-"+t.task.ID)
	} else {
		k.path = filepath.Join(os.TempDir(), "hermes-conflicts-"+rand.Text())
	}
	return k
}

// open makes the task's folder when something is kept.
func (k *keeper) open() (err error) {
	if k.folder != nil {
		return nil
	}
	if err = os.MkdirAll(k.path, 0o700); err == nil {
		k.folder, err = safefile.OpenFolder(k.path)
	}
	return err
}

func (k *keeper) close() {
	if k.folder != nil {
		k.folder.Close() //nolint:errcheck // nothing is written through it later
	}
}

// text keeps a text and returns where.
func (k *keeper) text(name string, text []byte) (path string, err error) {
	if err := k.open(); err != nil {
		return "", err
	}
	if err := k.folder.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	return filepath.Join(k.path, name), k.folder.Write(name, text, 0o600)
}

// copy keeps a regular file of the folder from.
func (k *keeper) copy(from *safefile.Folder, name, to string) (path string, err error) {
	if err := k.open(); err != nil {
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
	if k.files--; k.files < 0 || info.Size() > k.room {
		return "", errTooMuch
	}
	if err := k.folder.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	out, err := k.folder.Create(to, 0o600)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(out, io.LimitReader(in, k.room))
	k.room -= n
	return filepath.Join(k.path, to), errors.Join(err, out.Close())
}

var errTooMuch = fmt.Errorf("there is more of it than %d GB or %d files", keptBytes>>30, keptFiles)

// tree keeps the files of a folder and of those in it. Links are left out: what they
// lead to is not what the subagent made.
func (k *keeper) tree(ctx context.Context, from *safefile.Folder, name, to string, depth int) error {
	entries, err := from.ReadDir(name, keptFiles)
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
			if err := k.tree(ctx, from, here, there, depth-1); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if _, err := k.copy(from, here, there); errors.Is(err, errTooMuch) {
				return err
			}
		}
	}
	return nil
}

// folders are what git knows as one thing: repositories of their own.
func (t *tree) folders(ctx context.Context, root *safefile.Folder, kept *keeper, names []string) (all []Conflict) {
	for _, name := range names {
		name = filepath.Clean(name)
		info, err := root.Lstat(name)
		if err != nil || !info.IsDir() {
			continue
		}
		if inside, err := root.ReadDir(name, 1); err == nil && len(inside) == 0 {
			continue // a submodule, which the copy has not got
		}
		c := Conflict{Path: filepath.ToSlash(name), Reason: "it is a git repository of its own, or a submodule; such are not brought back"}
		err = kept.tree(ctx, root, name, name, keptDepth)
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

// conflict keeps what was not brought back.
func (e *edit) conflict(why error, root *safefile.Folder, kept *keeper) Conflict {
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
