// Package worktree gives a subagent its own git worktree, and merges its changes into the
// workspace.
//
// A [Tree] starts as a copy of the user's files, including uncommitted and unsaved changes. Its
// commands can write everything in it, and its folder in the git folder. The server therefore
// accesses it only through a [safefile.Folder], or with a read-only git. [Tree.Merge] writes
// the changes to the workspace. Conflicts, and all changes of an incomplete subagent, are saved
// in [Config].Output.
//
// A [record] beside the store describes each worktree. If the server dies, [Recovery.Run] saves
// the changes in it. A Tree is not safe for concurrent use.
//
//	tree, err := worktree.New(ctx, worktree.Config{ID: id, Files: files, Output: dir, Records: worktree.RecordsOf(storePath)})
package worktree

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
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Change is a subagent's change of a file, with its absolute path. Old is nil for a created
// file, New for a removed file. The target of a link counts as its text.
type Change struct {
	Path     string
	Old, New []byte
}

// Config is the subagent of a worktree, and the user's files.
type Config struct {
	ID   string // of the subagent's session
	Task string // its text; file names in it are copied with unsaved changes
	// Files is the workspace. Its first folder is in a git repository.
	Files   *workspace.Workspace
	Sandbox *sandbox.Box // of the session; bounds git
	Output  string       // the folder where conflicts are saved; required
	Records string       // the folder of records; see [RecordsOf]
	// Allow reports whether a merge may write a file. If not, the error is for the model.
	Allow func(ctx context.Context, c Change) error
}

// Tree is the worktree of a subagent.
type Tree struct {
	gitrepo.Repo // of the user's files
	Config
	git      *git
	dir      *scratch.Dir
	root     string // of the worktree
	record   *record
	before   map[string]state // of each file when the task started
	commit   string           // the commit at the start of the worktree
	unlisted bool             // the editor does not list its open documents
}

// Check returns an error if a worktree of the first folder of files is impossible.
func Check(ctx context.Context, files *workspace.Workspace, box *sandbox.Box) error {
	t := &Tree{Config: Config{Files: files, Sandbox: box}}
	defer func() { t.git.close() }()
	return t.find(ctx)
}

// find finds the repository around the first folder, and its commit.
func (t *Tree) find(ctx context.Context) (err error) {
	if t.Repo, err = gitrepo.Find(t.Files.Folders()[0]); err != nil {
		return err
	}
	if t.git, err = newGit(t.Files.Folders(), t.Sandbox.In(t.Top, t.GitDir, t.Common)); err != nil {
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

// call returns a git command in a repository.
func (t *Tree) call(r gitrepo.Repo) gitCall { return gitCall{Repo: r} }

// own returns the repository as seen from the worktree.
func (t *Tree) own() gitrepo.Repo {
	return gitrepo.Repo{Top: t.root, GitDir: t.gitDir(), Common: t.Common}
}

// New creates a worktree of the user's files. The caller removes it.
func New(ctx context.Context, c Config) (_ *Tree, err error) {
	if !safefile.IsName(c.ID) {
		return nil, fmt.Errorf("%q is no id of a session", c.ID)
	}
	if c.Output == "" {
		return nil, errors.New("there is no folder where conflicts could be saved")
	}
	t := &Tree{Config: c, unlisted: c.Files.HasUnlistedBuffers()}
	defer func() {
		if err != nil {
			t.Remove()
		}
	}()
	if err = t.find(ctx); err != nil {
		return nil, err
	}
	RemoveDead(t.Common)
	name := prefix + c.ID + "-" + strings.ToLower(rand.Text()[:6])
	if t.record, err = newRecord(c.Records, name); err != nil {
		return nil, err
	}
	if t.dir, err = scratch.New(kind); err != nil {
		return nil, err
	}
	t.root = t.dir.Path(name)
	if err = t.register(); err != nil {
		return nil, fmt.Errorf("making the worktree: %w", err)
	}
	if err = t.fill(ctx); err != nil {
		return nil, err
	}
	return t, t.writeRecord()
}

// register creates the worktree's folder and its folder in the git folder, like git worktree
// add --no-checkout --detach.
func (t *Tree) register() error {
	common, err := safefile.OpenFolder(t.Common)
	if err != nil {
		return err
	}
	defer common.Close() // nothing is written after this
	own, making := filepath.Join("worktrees", filepath.Base(t.root)), filepath.Base(t.root)
	if err := errors.Join(common.MkdirAll("worktrees", 0o755), common.Mkdir(making, 0o755)); err != nil {
		return err
	}
	defer common.RemoveAll(making) // usually moved away
	for name, text := range map[string]string{
		"HEAD": t.commit, "commondir": "../..", "gitdir": filepath.ToSlash(filepath.Join(t.root, ".git")),
	} {
		if err := common.Write(filepath.Join(making, name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	// Atomically, because a concurrent git reads all folders here.
	if err := common.Rename(making, own); err != nil {
		return err
	}
	if err := os.Mkdir(t.root, 0o755); err != nil {
		return err
	}
	return t.point()
}

// fill copies the user's files into the worktree and records their states.
func (t *Tree) fill(ctx context.Context) error {
	call := t.call(t.own())
	call.writes = []string{t.gitDir()}
	if _, err := t.git.run(ctx, call, "read-tree", "HEAD"); err != nil {
		return err
	}
	names, err := t.listFiles(ctx, t.Repo)
	if err != nil {
		return err
	}
	hidden := t.Sandbox.Hidden()
	names = slices.DeleteFunc(names, func(name string) bool { return !usable(name) || hidden(filepath.Join(t.Top, name)) })
	if names, err = t.Files.CopyOut(ctx, t.Top, names, t.root); err != nil {
		return err
	}
	if err := os.MkdirAll(t.Workspace(), 0o755); err != nil {
		return fmt.Errorf("making the worktree: %w", err)
	}
	if t.before, err = t.states(ctx, names); err != nil {
		return err
	}
	if err := t.copyUnlisted(ctx, names); err != nil {
		return err
	}
	return t.saveTexts(ctx, names)
}

// Workspace returns the folder in the worktree for the session's first folder.
func (t *Tree) Workspace() string {
	folder, err := filepath.EvalSymlinks(t.Files.Folders()[0])
	if err != nil {
		return t.root
	}
	rel, err := filepath.Rel(t.Top, folder)
	if err != nil || !filepath.IsLocal(rel) {
		return t.root
	}
	return filepath.Join(t.root, rel)
}

// copyUnlisted copies unsaved buffers from an editor that does not list its open documents: of
// files differing from git's index, of files read in the session, and of files named in the
// task. It does not ask for all files, because some editors would open them.
func (t *Tree) copyUnlisted(ctx context.Context, names []string) error {
	if !t.unlisted {
		return nil
	}
	staged, err := t.staged(ctx)
	if err != nil {
		return err
	}
	named := namesIn(t.Task)
	names, err = t.Files.CopyUnlisted(ctx, t.Top, names, t.root, func(name string) bool {
		return staged[name] != t.before[name].ID || named[filepath.Base(name)]
	})
	if err != nil {
		return err
	}
	now, err := t.states(ctx, names)
	maps.Copy(t.before, now)
	return err
}

// namesIn returns the words of text that may be file names, without their folders.
func namesIn(text string) map[string]bool {
	named := map[string]bool{}
	separates := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`'\"()[]{}<>,;:|*@", r) }
	for word := range strings.FieldsFuncSeq(text, separates) {
		named[path.Base(filepath.ToSlash(strings.TrimRight(word, ".!?")))] = true
	}
	return named
}

// gitDir returns git's folder for this worktree alone.
func (t *Tree) gitDir() string { return filepath.Join(t.Common, "worktrees", filepath.Base(t.root)) }

// Box returns a sandbox for the subagent's commands: the session's, with the worktree in
// place of the workspace. The caller closes it.
func (t *Tree) Box() *sandbox.Box {
	return t.Sandbox.In(t.root, t.gitDir(), filepath.Join(t.Common, "objects"))
}

// Remove removes the worktree with all files, and its folder in the git folder.
func (t *Tree) Remove() {
	if t.root != "" {
		_ = forget(t.Common, filepath.Base(t.root)) // after a failure, the next RemoveDead does it
	}
	if t.dir != nil {
		t.dir.Remove()
	}
	t.git.close()
	t.record.remove()
}

// forget removes git's folder for a worktree.
func forget(common, name string) error {
	folder, err := safefile.OpenFolder(common)
	if err != nil {
		return err
	}
	defer folder.Close() // nothing is written after this
	if err := folder.RemoveAll(filepath.Join("worktrees", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = folder.Remove("worktrees") // like git, if it is empty
	return nil
}
