package delegate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/tools"
)

// tree is a git worktree of a subagent's own. It begins as the user's files are,
// uncommitted and unsaved ones included. Its commands write everything in it, and git's
// memory of it: what the server does there, it does through a [safefile.Folder], or by a
// git that can only read.
type tree struct {
	gitrepo.Repo            // of the user's files
	env          *tools.Env // the parent's
	task         *Task
	git          *git
	dir          *scratch.Dir
	root         string // of the worktree
	note         *treeNote
	began        map[string]state // what each file was
	commit       string           // that it began at
	untold       bool             // the editor does not tell what it has open
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
	t := &tree{env: env}
	err := t.find(ctx, folder)
	t.git.close()
	if err != nil {
		return fmt.Errorf("isolation \"worktree\" needs a git repository with a commit around %s; do without it: %w", folder, err)
	}
	return nil
}

// find finds the repository around folder and its commit.
func (t *tree) find(ctx context.Context, folder string) (err error) {
	if t.Repo, err = gitrepo.Find(folder); err != nil {
		return err
	}
	if t.git, err = newGit(t.env.Files.Folders(), t.env.Sandbox.In(t.Top, t.GitDir, t.Common)); err != nil {
		return err
	}
	out, err := t.git.run(ctx, t.call(t.Repo), "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return err
	}
	if t.commit = strings.TrimSpace(string(out)); !isHex(t.commit) {
		return fmt.Errorf("git answered %q for HEAD", t.commit)
	}
	return nil
}

// call is a command of git in a repository.
func (t *tree) call(r gitrepo.Repo) gitCall { return gitCall{Repo: r} }

// own is the repository as the worktree sees it.
func (t *tree) own() gitrepo.Repo {
	return gitrepo.Repo{Top: t.root, GitDir: t.memory(), Common: t.Common}
}

func newTree(ctx context.Context, env *tools.Env, task *Task, storePath string) (_ *tree, err error) {
	if !safefile.IsName(task.ID) {
		return nil, fmt.Errorf("%q is no id of a task", task.ID)
	}
	t := &tree{env: env, task: task, untold: tools.Local(env.Files).HasUnlistedBuffers()}
	defer func() {
		if err != nil {
			t.remove()
		}
	}()
	if err = t.find(ctx, env.Files.Folders()[0]); err != nil {
		return nil, err
	}
	removeDead(t.Common)
	name := treePrefix + task.ID + "-" + strings.ToLower(rand.Text()[:6])
	if t.note, err = newTreeNote(storePath, name); err != nil {
		return nil, err
	}
	if t.dir, err = scratch.New(treeKind); err != nil {
		return nil, err
	}
	t.root = t.dir.Path(name)
	if err = t.register(); err != nil {
		return nil, fmt.Errorf("making the worktree: %w", err)
	}
	if err = t.fill(ctx); err != nil {
		return nil, err
	}
	return t, t.writeNote(storePath)
}

// register makes the worktree's folder and tells git of it, as git worktree add
// --no-checkout --detach does.
func (t *tree) register() error {
	common, err := safefile.OpenFolder(t.Common)
	if err != nil {
		return err
	}
	defer common.Close() //nolint:errcheck // nothing is written through it later
	own, making := filepath.Join("worktrees", filepath.Base(t.root)), filepath.Base(t.root)
	if err := errors.Join(common.MkdirAll("worktrees", 0o755), common.Mkdir(making, 0o755)); err != nil {
		return err
	}
	defer common.RemoveAll(making) //nolint:errcheck // mostly gone: it was moved
	for name, text := range map[string]string{
		"HEAD": t.commit, "commondir": "../..", "gitdir": filepath.ToSlash(filepath.Join(t.root, ".git")),
	} {
		if err := common.Write(filepath.Join(making, name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	// In one step, since a git that runs at this moment reads all of what is there.
	if err := common.Rename(making, own); err != nil {
		return err
	}
	if err := os.Mkdir(t.root, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.root, ".git"), []byte("gitdir: "+filepath.ToSlash(t.memory())+"\n"), 0o644)
}

// fill copies the user's files into the worktree and notes what they are.
func (t *tree) fill(ctx context.Context) error {
	call := t.call(t.own())
	call.writes = []string{t.memory()}
	if _, err := t.git.run(ctx, call, "read-tree", "HEAD"); err != nil {
		return err
	}
	names, err := t.listFiles(ctx, t.Repo)
	if err != nil {
		return err
	}
	hidden := t.env.Sandbox.Hidden()
	names = slices.DeleteFunc(names, func(name string) bool { return !usable(name) || hidden(filepath.Join(t.Top, name)) })
	if names, err = tools.Local(t.env.Files).CopyOut(ctx, t.Top, names, t.root); err != nil {
		return err
	}
	if err := os.MkdirAll(t.workspace(), 0o755); err != nil {
		return fmt.Errorf("making the worktree: %w", err)
	}
	if t.began, err = t.states(ctx, names); err != nil {
		return err
	}
	if err := t.askFor(ctx, names); err != nil {
		return err
	}
	return t.keepTexts(ctx, names)
}

// workspace is what in the worktree stands for the session's first folder.
func (t *tree) workspace() string {
	folder, err := filepath.EvalSymlinks(t.env.Files.Folders()[0])
	if err != nil {
		return t.root
	}
	rel, err := filepath.Rel(t.Top, folder)
	if err != nil || !filepath.IsLocal(rel) {
		return t.root
	}
	return filepath.Join(t.root, rel)
}

// askFor takes over the text of an editor that does not tell what it has open: of
// those files that git has otherwise, those that the session has looked at, and those
// that the task names. To ask for all would have some editors open them all.
func (t *tree) askFor(ctx context.Context, names []string) error {
	if !t.untold {
		return nil
	}
	staged, err := t.staged(ctx)
	if err != nil {
		return err
	}
	named := namesOf(t.task)
	names, err = tools.Local(t.env.Files).CopyUnlisted(ctx, t.Top, names, t.root, func(name string) bool {
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

// memory is where git keeps what belongs to this worktree alone.
func (t *tree) memory() string { return filepath.Join(t.Common, "worktrees", filepath.Base(t.root)) }

// box is the sandbox of the subagent's commands: the parent's, with the worktree in place
// of the workspace.
func (t *tree) box() *sandbox.Box {
	return t.env.Sandbox.In(t.root, t.memory(), filepath.Join(t.Common, "objects"))
}

// remove takes the worktree away, whatever is in it, and git's memory of it.
func (t *tree) remove() {
	if t.root != "" {
		_ = forget(t.Common, filepath.Base(t.root)) // else the next one does
	}
	if t.dir != nil {
		t.dir.Remove()
	}
	t.git.close()
	t.note.remove()
}

// forget removes git's memory of a worktree.
func forget(common, name string) error {
	folder, err := safefile.OpenFolder(common)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // nothing is written through it later
	if err := folder.RemoveAll(filepath.Join("worktrees", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = folder.Remove("worktrees") // as git does, if it is empty
	return nil
}
