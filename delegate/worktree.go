package delegate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// tree is a git worktree of a subagent's own. It begins as the user's files are,
// uncommitted and unsaved ones included.
type tree struct {
	env       *tools.Env // the parent's
	task      *Task
	store     string // that knows the task's session
	dir       *scratch.Dir
	top       string           // of the user's files
	root      string           // of the worktree
	workspace string           // what in it stands for the main folder
	gitDir    string           // what all worktrees share
	began     map[string]state // what each file was
	commit    string           // that it began at
	untold    bool             // the editor does not tell what it has open
}

// checkRepository says why there can be no worktree.
func checkRepository(ctx context.Context, env *tools.Env) error {
	if env.Files == nil {
		return errors.New("this session has no workspace")
	}
	if tools.Local(env.Files) == nil {
		return errors.New("isolation \"worktree\" needs the files on this machine, and they are on another; do without it")
	}
	folder := env.Files.Folders()[0]
	if _, err := git(ctx, folder, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return fmt.Errorf("isolation \"worktree\" needs a git repository with a commit around %s; do without it: %w", folder, err)
	}
	return nil
}

func newTree(ctx context.Context, env *tools.Env, task *Task, storePath string) (_ *tree, err error) {
	out, err := git(ctx, env.Files.Folders()[0], nil, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--show-prefix", "HEAD")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(out)+"\n\n\n", "\n")
	t := &tree{env: env, task: task, store: storePath, top: filepath.FromSlash(lines[0]), gitDir: filepath.FromSlash(lines[1]), commit: lines[3], untold: tools.Local(env.Files).Untold()}
	if t.dir, err = scratch.New(treeKind); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.remove(context.WithoutCancel(ctx))
		}
	}()
	removeDead(ctx, t.top)
	t.root = t.dir.Path(treePrefix + task.ID)
	t.workspace = filepath.Join(t.root, filepath.FromSlash(lines[2]))
	if _, err = gitWorktree(ctx, t.top, "add", "--quiet", "--no-checkout", "--detach", t.root, "HEAD"); err != nil {
		return nil, err
	}
	if _, err = git(ctx, t.root, nil, "read-tree", "HEAD"); err != nil {
		return nil, err
	}
	names, err := listFiles(ctx, t.top)
	if err != nil {
		return nil, err
	}
	if names, err = tools.Local(env.Files).CopyOut(ctx, t.top, names, t.root); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(t.workspace, 0o755); err != nil {
		return nil, fmt.Errorf("making the worktree: %w", err)
	}
	if t.began, err = t.states(ctx, names); err != nil {
		return nil, err
	}
	if err = t.askFor(ctx, names); err != nil {
		return nil, err
	}
	return t, t.note()
}

// listFiles are the files of a worktree that git does not ignore, those that it does
// not know yet included.
func listFiles(ctx context.Context, dir string) ([]string, error) {
	out, err := git(ctx, dir, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, err
	}
	return fields(out), nil
}

// askFor takes over the text of an editor that does not tell what it has open: of
// those files that git has otherwise, those that the session has looked at, and those
// that the task names. To ask for all would have some editors open them all.
func (t *tree) askFor(ctx context.Context, names []string) error {
	if !t.untold {
		return nil
	}
	out, err := git(ctx, t.top, nil, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	staged := map[string]string{} // the blob of each file
	for _, entry := range fields(out) {
		info, name, _ := strings.Cut(entry, "\t")
		if words := strings.Fields(info); len(words) == 3 {
			staged[name] = words[1]
		}
	}
	named := namesOf(t.task)
	names, err = tools.Local(t.env.Files).CopyUntold(ctx, t.top, names, t.root, func(name string) bool {
		return staged[name] != t.began[name].ID || named[filepath.Base(name)]
	})
	if err != nil {
		return err
	}
	now, err := t.states(ctx, names)
	maps.Copy(t.began, now)
	return err
}

// namesOf are the words of a task that may be names of files, without their folders.
func namesOf(t *Task) map[string]bool {
	named := map[string]bool{}
	apart := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`'\"()[]{}<>,;:|*@", r) }
	for word := range strings.FieldsFuncSeq(t.Goal+" "+t.Context, apart) {
		named[path.Base(filepath.ToSlash(strings.TrimRight(word, ".!?")))] = true
	}
	return named
}

// fields are what git has ended with NUL characters.
func fields(out []byte) (names []string) {
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			names = append(names, filepath.FromSlash(name))
		}
	}
	return names
}

// memory is where git keeps what belongs to this worktree alone.
func (t *tree) memory() string { return filepath.Join(t.gitDir, "worktrees", filepath.Base(t.root)) }

// removeLimit is how long the removal of a worktree may take.
const removeLimit = 10 * time.Second

// remove takes the worktree away, whatever is in it.
func (t *tree) remove(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer stop()
	if t.root != "" {
		_, _ = gitWorktree(ctx, t.top, "remove", "--force", "--force", t.root) // else the next one does
	}
	t.dir.Remove()
}
