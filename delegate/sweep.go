package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Sweep looks, in the background, for the worktrees that dead servers have left in the
// repository around folder. [Children.Close] waits for it. Where there are none, no
// program is started.
func (x *Children) Sweep(folder string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.atWork.Go(func() { x.rescue(x.ctx, folder) })
	}
}

// rescue takes away what dead servers have left in the repository around folder. What
// their subagents had changed is kept, and known to their sessions, before it returns.
func (x *Children) rescue(ctx context.Context, folder string) {
	x.sweeping.Lock()
	defer x.sweeping.Unlock()
	left, err := filepath.Glob(filepath.Join(commonDir(folder), "worktrees", treePrefix+"*"))
	if err != nil || len(left) == 0 {
		return
	}
	for _, dir := range scratch.Left(treeKind, x.keeps) {
		x.rescueFrom(ctx, dir)
	}
	removeDead(ctx, folder)
}

// keeps tells whether a tree's subagent is one of our store's. What another's has
// changed is for servers of that store to bring to its session.
func (x *Children) keeps(dir string) bool {
	n, err := readNote(dir)
	return err == nil && n.Store == x.Store.Path()
}

// rescueIn is rescue around the main folder of a session whose files are here.
func (x *Children) rescueIn(ctx context.Context, env *tools.Env) {
	if files := tools.Local(env.Files); files != nil {
		x.rescue(ctx, files.Folders()[0])
	}
}

// rescueFrom keeps what a dead server's subagent had changed.
func (x *Children) rescueFrom(ctx context.Context, dir *scratch.Dir) {
	n, err := readNote(dir.Path())
	if err != nil {
		dir.Leave() // it is removed when it is old
		return
	}
	t := &tree{
		env: &tools.Env{OutputDir: n.Output}, task: &Task{ID: n.Task}, dir: dir, top: n.Top, gitDir: n.GitDir,
		root: dir.Path(treePrefix + n.Task), began: n.Began, commit: n.Commit,
	}
	m, err := t.merge(ctx, false)
	if err != nil {
		if _, gone := os.Stat(n.Top); gone == nil {
			x.Log.Warn("what a subagent of a dead server had changed was left where it is", "folder", t.root, "error", err)
			dir.Leave()
			return
		}
	} else {
		x.update(ctx, n.Task, func(kept *origin) {
			if kept.Changes == nil {
				kept.Changes = m
			}
		})
	}
	t.remove(ctx)
}

// note is what has to be known of a worktree when its server is gone.
type note struct {
	Store  string           `json:"store"` // that knows the subagent
	Task   string           `json:"task"`
	Top    string           `json:"top"`
	GitDir string           `json:"git_dir"`
	Commit string           `json:"commit"`
	Output string           `json:"output"`
	Began  map[string]state `json:"began"`
}

const noteName = "note.json"

// noteLimit bounds a note, which names every file that was changed when the task began.
const noteLimit = 64 << 20

func readNote(dir string) (n note, err error) {
	data, err := safefile.ReadBelow(dir, noteName, noteLimit)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err
}

// note writes down what a later server needs to keep the work in here.
func (t *tree) note() error {
	data, err := json.Marshal(note{t.store, t.task.ID, t.top, t.gitDir, t.commit, t.env.OutputDir, t.began})
	if err == nil {
		err = os.WriteFile(t.dir.Path(noteName), data, 0o600)
	}
	if err == nil {
		err = t.dir.Keep()
	}
	if err != nil {
		return fmt.Errorf("noting what the worktree began as: %w", err)
	}
	return nil
}

// treeKind is the kind of scratch folder that worktrees lie in.
const treeKind = "tree"

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
	text, err := safefile.Read(file, safefile.Line)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(folder, dir)
	}
	common, err := safefile.Read(filepath.Join(dir, "commondir"), safefile.Line)
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
	out, err := gitWorktree(ctx, top, "list", "--porcelain", "-z")
	if err != nil {
		return
	}
	for field := range strings.SplitSeq(string(out), "\x00") {
		path, ok := strings.CutPrefix(field, "worktree ")
		if !ok || !strings.HasPrefix(filepath.Base(path), treePrefix) {
			continue
		}
		if _, err := os.Lstat(filepath.Dir(path)); os.IsNotExist(err) {
			_, _ = gitWorktree(ctx, top, "remove", "--force", "--force", path) // tried again next time
		}
	}
}
