package delegate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Merge says what became of edits in a worktree.
type Merge struct {
	Applied   []string   `json:"applied"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// Conflict is a file whose edits were not brought back.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Kept   string `json:"kept,omitempty"` // where the subagent's whole text is; empty: it deleted the file
	Diff   string `json:"diff,omitempty"` // what it changed, cut
}

// diffShown bounds what the parent's model reads of a conflict.
const diffShown = 4000

// tree is a git worktree of a subagent's own. It begins as the user's files are,
// uncommitted and unsaved ones included.
type tree struct {
	env       *tools.Env // the parent's
	task      *Task
	dir       *scratch.Dir
	top       string            // of the user's files
	root      string            // of the worktree
	workspace string            // what in it stands for the main folder
	gitDir    string            // what all worktrees share
	began     map[string]string // what each file was: a blob's id
}

// checkRepository says why there can be no worktree.
func checkRepository(ctx context.Context, env *tools.Env) error {
	if env.Files == nil {
		return errors.New("this session has no workspace")
	}
	folder := env.Files.Folders()[0]
	if _, err := git(ctx, folder, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return fmt.Errorf("isolation \"worktree\" needs a git repository with a commit around %s; do without it: %w", folder, err)
	}
	return nil
}

func newTree(ctx context.Context, env *tools.Env, task *Task) (_ *tree, err error) {
	out, err := git(ctx, env.Files.Folders()[0], nil, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--show-prefix")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(out)+"\n\n", "\n")
	t := &tree{env: env, task: task, top: filepath.FromSlash(lines[0]), gitDir: filepath.FromSlash(lines[1])}
	if t.dir, err = scratch.New("tree"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.remove(context.WithoutCancel(ctx))
		}
	}()
	removeDead(ctx, t.top)
	t.root = t.dir.Path("hermes-" + task.ID)
	t.workspace = filepath.Join(t.root, filepath.FromSlash(lines[2]))
	if _, err = git(ctx, t.top, nil, "worktree", "add", "--quiet", "--no-checkout", "--detach", t.root, "HEAD"); err != nil {
		return nil, err
	}
	if _, err = git(ctx, t.root, nil, "read-tree", "HEAD"); err != nil {
		return nil, err
	}
	names, err := listFiles(ctx, t.top)
	if err != nil {
		return nil, err
	}
	if names, err = env.Files.CopyOut(ctx, t.top, names, t.root); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(t.workspace, 0o755); err != nil {
		return nil, fmt.Errorf("making the worktree: %w", err)
	}
	t.began, err = t.ids(ctx, names)
	return t, err
}

// listFiles are the files of a worktree that git does not ignore, those that it does
// not know yet included.
func listFiles(ctx context.Context, dir string) ([]string, error) {
	out, err := git(ctx, dir, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" && !strings.Contains(name, "\n") {
			names = append(names, filepath.FromSlash(name))
		}
	}
	return names, nil
}

// ids tells what files of the worktree are: the id of a blob that git now has, or
// where a link goes. No filter of the repository's runs.
func (t *tree) ids(ctx context.Context, names []string) (map[string]string, error) {
	ids := make(map[string]string, len(names))
	var regular []string
	var in bytes.Buffer
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(t.root, name))
		switch {
		case err != nil || info.IsDir():
		case info.Mode().IsRegular():
			regular = append(regular, name)
			in.WriteString(name + "\n")
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(filepath.Join(t.root, name))
			if err == nil {
				ids[name] = linkMark + target
			}
		}
	}
	out, err := git(ctx, t.root, &in, "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	for i, id := range strings.Fields(string(out)) {
		ids[regular[i]] = id
	}
	return ids, nil
}

const linkMark = "link to "

// merge brings the subagent's edits back into the workspace, by the way that all
// edits go. What cannot be brought back is kept, and so is everything of a subagent
// that did not complete.
func (t *tree) merge(ctx context.Context, complete bool) (*Merge, error) {
	names, err := listFiles(ctx, t.root)
	if err != nil {
		return nil, err
	}
	now, err := t.ids(ctx, names)
	if err != nil {
		return nil, err
	}
	files, err := t.env.Files.Fork()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	m := &Merge{Applied: []string{}}
	for _, name := range changed(t.began, now) {
		before, after, err := t.texts(ctx, name, now)
		if err == nil && !complete {
			err = errors.New("the subagent did not complete; its edits were not brought back")
		}
		if err == nil {
			err = t.apply(ctx, files, name, before, after)
		}
		if err != nil {
			m.Conflicts = append(m.Conflicts, t.conflict(name, before, after, err))
			continue
		}
		m.Applied = append(m.Applied, filepath.ToSlash(name))
	}
	return m, nil
}

func changed(before, after map[string]string) []string {
	var names []string
	for name, id := range after {
		if before[name] != id {
			names = append(names, name)
		}
	}
	for name := range before {
		if after[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// texts are a file as it began and as it is; nil: it was, or is, not there.
func (t *tree) texts(ctx context.Context, name string, now map[string]string) (before, after []byte, err error) {
	if strings.HasPrefix(t.began[name], linkMark) || strings.HasPrefix(now[name], linkMark) {
		return nil, nil, errors.New("it is a link, or was one; links are not brought back")
	}
	if before, err = t.blob(ctx, t.began[name]); err != nil {
		return nil, nil, err
	}
	after, err = t.blob(ctx, now[name])
	return before, after, err
}

func (t *tree) blob(ctx context.Context, id string) ([]byte, error) {
	if id == "" {
		return nil, nil
	}
	text, err := git(ctx, t.root, nil, "cat-file", "blob", id)
	if text == nil {
		text = []byte{}
	}
	return text, err
}

// apply makes one file's change in the workspace.
func (t *tree) apply(ctx context.Context, files *workspace.Workspace, name string, before, after []byte) error {
	path := filepath.Join(t.top, name)
	if err := t.allowed(ctx, path); err != nil {
		return err
	}
	theirs, err := files.Read(ctx, path)
	missing := errors.Is(err, workspace.ErrNotFound)
	switch {
	case err != nil && !missing:
		return err
	case after == nil && missing:
		return nil
	case after == nil && !bytes.Equal(theirs.Text, before):
		return errors.New("it was changed meanwhile, so it was not deleted")
	case after == nil:
		return files.Remove(ctx, path)
	case missing && before != nil:
		return errors.New("it was deleted meanwhile")
	case missing:
		_, err = files.Write(ctx, path, after)
		return err
	case before == nil && !bytes.Equal(theirs.Text, after):
		return errors.New("a file of this name was made meanwhile")
	}
	_, err = files.Edit(ctx, path, func(old []byte) ([]byte, error) {
		if bytes.Equal(old, before) || bytes.Equal(old, after) {
			return after, nil
		}
		return threeWay(ctx, old, before, after)
	})
	return err
}

// allowed asks for what asks whoever writes it, in the subagent's name.
func (t *tree) allowed(ctx context.Context, path string) error {
	env := *t.env
	env.Owner, env.SessionID, env.For = cmp.Or(t.env.Owner, t.env.SessionID), t.task.ID, oneLine(t.task.Goal, 200)
	return tools.MayWrite(ctx, &env, tools.Call{ID: "merge", Name: ToolName}, "merge ", path)
}

// threeWay joins two changes of one text, or says that they touch the same lines.
func threeWay(ctx context.Context, ours, base, theirs []byte) ([]byte, error) {
	dir, err := scratch.New("merge")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	for name, text := range map[string][]byte{"ours": ours, "base": base, "theirs": theirs} {
		if err := os.WriteFile(dir.Path(name), text, 0o600); err != nil {
			return nil, fmt.Errorf("merging: %w", err)
		}
	}
	out, err := git(ctx, dir.Path(), nil, "merge-file", "--stdout", "--quiet", "ours", "base", "theirs")
	if err != nil {
		return nil, errors.New("it was changed meanwhile in the same place")
	}
	return out, nil
}

// conflict keeps what was not brought back.
func (t *tree) conflict(name string, before, after []byte, why error) Conflict {
	c := Conflict{Path: filepath.ToSlash(name), Reason: why.Error()}
	c.Diff = workspace.UnifiedDiff(c.Path, before, after)
	if len(c.Diff) > diffShown {
		c.Diff = strings.ToValidUTF8(c.Diff[:diffShown], "") + "\n[cut]"
	}
	if after == nil {
		return c
	}
	dir := t.env.OutputDir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "hermes-conflicts")
	}
	path := filepath.Join(dir, "worktree-"+t.task.ID, name)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil && os.WriteFile(path, after, 0o600) == nil {
		c.Kept = filepath.ToSlash(path)
	}
	return c
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
		_, _ = git(ctx, t.top, nil, "worktree", "remove", "--force", "--force", t.root) // else the next one does
	}
	t.dir.Remove()
}

// removeDead takes away what servers that have died left: the folders, and git's
// memory of them.
func removeDead(ctx context.Context, top string) {
	scratch.Sweep()
	out, err := git(ctx, top, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return
	}
	for field := range strings.SplitSeq(string(out), "\x00") {
		path, ok := strings.CutPrefix(field, "worktree ")
		if !ok || !strings.HasPrefix(filepath.Base(path), "hermes-") {
			continue
		}
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			_, _ = git(ctx, top, nil, "worktree", "remove", "--force", "--force", path) // tried again next time
		}
	}
}
