package delegate

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// Sweep takes away, in the background, the worktrees that dead servers have left in
// the repository around folder. [Children.Close] waits for it. Where there are none,
// no program is started.
func (x *Children) Sweep(folder string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	x.atWork.Go(func() {
		if left, err := filepath.Glob(filepath.Join(commonDir(folder), "worktrees", treePrefix+"*")); err == nil && len(left) > 0 {
			removeDead(x.ctx, folder)
		}
	})
}

// treePrefix begins the name of every worktree of ours.
const treePrefix = "hermes-"

// commonDir is what all worktrees of the repository around folder share; empty: there
// is no repository.
func commonDir(folder string) string {
	for {
		path := filepath.Join(folder, ".git")
		if info, err := os.Stat(path); err == nil {
			if info.IsDir() {
				return path
			}
			return linkedDir(folder, path)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return ""
		}
		folder = above
	}
}

// linkedDir follows the file that a worktree has in place of a .git folder.
func linkedDir(folder, file string) string {
	text, err := os.ReadFile(file)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(folder, dir)
	}
	common, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return dir
	}
	if path := strings.TrimSpace(string(common)); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, strings.TrimSpace(string(common)))
}

// removeDead takes away what servers that have died left: the folders, and git's
// memory of them. A worktree lies in a scratch folder of ours, which is there as long
// as its server lives.
func removeDead(ctx context.Context, top string) {
	scratch.Sweep()
	out, err := git(ctx, top, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return
	}
	for field := range strings.SplitSeq(string(out), "\x00") {
		path, ok := strings.CutPrefix(field, "worktree ")
		if !ok || !strings.HasPrefix(filepath.Base(path), treePrefix) {
			continue
		}
		if _, err := os.Lstat(filepath.Dir(path)); os.IsNotExist(err) {
			_, _ = git(ctx, top, nil, "worktree", "remove", "--force", "--force", path) // tried again next time
		}
	}
}
