package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Move updates the worktrees left by dead servers after their repository was renamed, so the
// next server saves the changes of their subagents. records is the folder of records. Move
// returns the number of moved worktrees.
func Move(records string, m folderpath.Move) (moved int, err error) {
	m = folderpath.Move{Old: folderpath.Real(m.Old), New: folderpath.Real(m.New)}
	for _, left := range deadRecords(records) {
		did, err := left.move(m)
		left.leave()
		if err != nil {
			return moved, fmt.Errorf("moving the worktree of a subagent: %w", err)
		}
		if did {
			moved++
		}
	}
	return moved, nil
}

func (n *record) move(m folderpath.Move) (moved bool, err error) {
	content, err := n.read()
	if err != nil {
		return false, nil // its server died before the subagent started
	}
	for _, path := range []*string{&content.Top, &content.GitDir, &content.Common, &content.Output} {
		next, ok := m.Below(*path)
		*path, moved = next, moved || ok
	}
	if !moved {
		return false, nil
	}
	t := &Tree{root: content.Root}
	t.Common = content.Common
	err = t.point()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // its folder was removed
	}
	if err == nil {
		err = n.write(content)
	}
	return err == nil, err
}

// point writes the file with the path of the worktree's repository.
func (t *Tree) point() error {
	folder, err := safefile.OpenFolder(t.root)
	if err != nil {
		return err
	}
	defer folder.Close() // nothing is written after this
	return folder.Write(".git", []byte("gitdir: "+filepath.ToSlash(t.gitDir())+"\n"), 0o644)
}
