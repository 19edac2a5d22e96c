package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
)

// Move moves the notes of projects with renamed folders. folders are the old paths known to
// sessions: the folder and folders below it. If the new folder has notes too, they come first. Move
// returns the number of moved note files. Notes for a git remote stay: they do not depend on the
// path.
func Move(ctx context.Context, home string, m folderpath.Move, folders []string) (moved int, err error) {
	for _, old := range folders {
		to, ok := m.Path(old)
		if !ok {
			continue
		}
		ids := []string{pathID(old), pathID(folderpath.Real(old))}
		for _, id := range slices.Compact(ids) {
			done, err := moveNotes(ctx, notesOf(home, id), notesOf(home, projectID(to)))
			if err != nil {
				return moved, err
			}
			if done {
				moved++
			}
		}
	}
	return moved, nil
}

func notesOf(home, id string) File {
	return File{Name: "the notes of this project", Path: filepath.Join(dir(home), "projects", id+".md"), Limit: maxFile}
}

// pathID returns the name of a project without a git remote.
func pathID(source string) string {
	sum := sha256.Sum256([]byte(source))
	return slug(source) + "-" + hex.EncodeToString(sum[:6])
}

func moveNotes(ctx context.Context, from, to File) (moved bool, err error) {
	if from.Path == to.Path {
		return false, nil
	}
	if _, err := os.Stat(from.Path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = to.locked(ctx, func() error {
		return from.locked(ctx, func() error {
			old, err := from.read()
			if err != nil {
				return err
			}
			there, err := to.read()
			if err != nil {
				return err
			}
			text := old.raw
			if there.raw != "" {
				both := there.entries
				for _, e := range old.entries {
					if !slices.Contains(both, e) {
						both = append(both, e)
					}
				}
				text = joined(both)
			}
			if err := to.write(text); err != nil {
				return err
			}
			return os.Remove(from.Path)
		})
	})
	if err == nil {
		_ = os.Remove(from.Path + ".lock") // nothing needs it anymore
	}
	return err == nil, err
}
