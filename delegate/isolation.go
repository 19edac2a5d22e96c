package delegate

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/tools"
)

// checkIsolation returns an error if a worktree is impossible.
func (x *Children) checkIsolation(ctx context.Context) error {
	if x.Bounds.Files == nil {
		return errors.New("this session has no workspace")
	}
	files := tools.Local(x.Bounds.Files)
	if files == nil {
		return errors.New("isolation \"worktree\" needs the files on this machine, and they are on another; do without it")
	}
	if err := worktree.Check(ctx, files, x.Bounds.Sandbox); err != nil {
		return fmt.Errorf("isolation \"worktree\" needs a git repository with a commit around %s; do without it: %w", files.Folders()[0], err)
	}
	return nil
}

// Sweep recovers, in the background, the worktrees left by dead servers of this store.
// [Children.Close] waits for it. Sweep also removes git's folders for removed worktrees, in the
// repository around folder.
func (x *Children) Sweep(folder string) {
	x.roster.unlessClosed(func() {
		x.atWork.Go(func() { x.recoverWorktrees(x.ctx, folder) })
	})
}

// recoverWorktrees recovers the worktrees of dead servers. Before it returns, the changes of
// their subagents are saved, and listed in their sessions.
func (x *Children) recoverWorktrees(ctx context.Context, folder string) {
	x.sweeping.Lock()
	defer x.sweeping.Unlock()
	worktree.Recovery{
		Records: worktree.RecordsOf(x.Store.Path()), Sandbox: x.Sandbox,
		Saved: func(ctx context.Context, id string, m *worktree.Merge) {
			x.archive.update(ctx, id, func(saved *origin) {
				if saved.Changes == nil {
					saved.Changes = m
				}
			})
		},
		Failed: func(folder string, err error) {
			x.Log.Warn("the changes of a subagent of a dead server were left on the disk", "folder", folder, "error", err)
		},
	}.Run(ctx)
	if r, err := gitrepo.Find(folder); err == nil {
		worktree.RemoveDead(r.Common)
	}
}

// recoverOwnWorktrees is recoverWorktrees around the first folder of the session, if its
// files are on this machine.
func (x *Children) recoverOwnWorktrees(ctx context.Context) {
	if files := tools.Local(x.Bounds.Files); files != nil {
		x.recoverWorktrees(ctx, files.Folders()[0])
	}
}
