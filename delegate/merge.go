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

	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Merge says what became of edits in a worktree.
type Merge struct {
	Applied   []string   `json:"applied"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Ignored   []string   `json:"not_brought_back,omitempty"` // made there, but git ignores it
	Commit    string     `json:"commit,omitempty"`           // what the subagent committed last; the files came back without it
	Note      string     `json:"note,omitempty"`
}

// Conflict is a file whose edits were not brought back.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Kept   string `json:"kept,omitempty"` // where the subagent's whole text is; empty: there is none
	Diff   string `json:"diff,omitempty"` // what it changed, cut
}

const (
	diffShown    = 4000 // bytes of a conflict that the parent's model reads
	ignoredShown = 20
)

const untoldNote = "This editor does not tell what it has open: the copy began with its text of the files that are changed in git, were read in this session or are named by the task, and with the saved text of all others."

// state is what a file is; the zero value: it is not there.
type state struct {
	ID   string `json:"id"` // the blob of its text, or where a link leads
	Link bool   `json:"link,omitempty"`
	Exec bool   `json:"exec,omitempty"` // it may be run
}

// states tells what files of the worktree are; git has their texts afterwards. No
// filter of the repository's runs.
func (t *tree) states(ctx context.Context, names []string) (map[string]state, error) {
	all := make(map[string]state, len(names))
	var regular []string
	var in bytes.Buffer
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(t.root, name))
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(filepath.Join(t.root, name)); err == nil {
				all[name] = state{ID: target, Link: true}
			}
		case info.Mode().IsRegular() && strings.ContainsAny(name, "\n\""):
			id, err := git(ctx, t.root, nil, "hash-object", "-w", "--no-filters", "--", name)
			if err != nil {
				return nil, err
			}
			all[name] = state{ID: strings.TrimSpace(string(id)), Exec: info.Mode()&0o100 != 0}
		case info.Mode().IsRegular():
			regular = append(regular, name)
			in.WriteString(name + "\n")
			all[name] = state{Exec: info.Mode()&0o100 != 0}
		}
	}
	out, err := git(ctx, t.root, &in, "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	for i, id := range strings.Fields(string(out)) {
		s := all[regular[i]]
		s.ID = id
		all[regular[i]] = s
	}
	return all, nil
}

// merge brings the subagent's edits back into the workspace, by the way that all
// edits go. What cannot be brought back is kept, and so is everything of a subagent
// that did not complete.
func (t *tree) merge(ctx context.Context, complete bool) (*Merge, error) {
	names, err := listFiles(ctx, t.root)
	if err != nil {
		return nil, err
	}
	for name := range t.began { // also what git would ignore by now
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	now, err := t.states(ctx, names)
	if err != nil {
		return nil, err
	}
	var files *workspace.Workspace
	if complete {
		if files, err = tools.Local(t.env.Files).Fork(); err != nil {
			return nil, err
		}
		defer files.Close()
	}
	m := &Merge{Applied: []string{}}
	for _, name := range changed(t.began, now) {
		e := &edit{tree: t, files: files, name: name, path: filepath.Join(t.top, name), before: t.began[name], after: now[name]}
		err := e.read(ctx)
		if err == nil && !complete {
			err = errors.New("the subagent did not complete; its edits were not brought back")
		}
		if err == nil {
			err = e.apply(ctx)
		}
		if err != nil {
			m.Conflicts = append(m.Conflicts, e.conflict(err))
			continue
		}
		m.Applied = append(m.Applied, filepath.ToSlash(name))
	}
	m.Conflicts = append(m.Conflicts, t.folders(names)...)
	t.rest(ctx, m)
	return m, nil
}

func changed(before, after map[string]state) []string {
	var names []string
	for name, s := range after {
		if before[name] != s {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rest tells of what is no edit of a file.
func (t *tree) rest(ctx context.Context, m *Merge) {
	out, err := git(ctx, t.root, nil, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	for _, name := range fields(out) {
		if _, known := t.began[name]; err == nil && !known {
			m.Ignored = append(m.Ignored, filepath.ToSlash(name))
		}
	}
	if n := len(m.Ignored); n > ignoredShown {
		m.Ignored = append(m.Ignored[:ignoredShown], fmt.Sprintf("and %d more", n-ignoredShown))
	}
	if out, err := git(ctx, t.root, nil, "rev-parse", "HEAD"); err == nil && string(out) != t.commit {
		m.Commit = string(out)
	}
	if t.untold {
		m.Note = untoldNote
	}
}

// folders are what git knows as one thing: repositories of their own.
func (t *tree) folders(names []string) (all []Conflict) {
	for _, name := range names {
		path := filepath.Join(t.root, name)
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if inside, err := os.ReadDir(path); err != nil || len(inside) == 0 {
			continue // a submodule, which the copy has not got
		}
		kept := t.keepAt(name)
		c := Conflict{Path: filepath.ToSlash(filepath.Clean(name)), Reason: "it is a git repository of its own, or a submodule; such are not brought back"}
		if os.MkdirAll(filepath.Dir(kept), 0o700) == nil && os.CopyFS(kept, os.DirFS(path)) == nil {
			c.Kept = filepath.ToSlash(kept)
		}
		all = append(all, c)
	}
	return all
}

// edit is what a subagent has made of one file.
type edit struct {
	*tree
	files         *workspace.Workspace // the user's
	name          string
	path          string
	before, after state
	old, new      []byte // the texts; nil: there is none
}

func (e *edit) read(ctx context.Context) (err error) {
	if e.old, err = e.text(ctx, e.before); err != nil {
		return err
	}
	e.new, err = e.text(ctx, e.after)
	return err
}

func (t *tree) text(ctx context.Context, s state) ([]byte, error) {
	if s.ID == "" || s.Link {
		return nil, nil
	}
	text, err := git(ctx, t.root, nil, "cat-file", "blob", s.ID)
	if text == nil {
		text = []byte{}
	}
	return text, err
}

// apply makes the change in the workspace.
func (e *edit) apply(ctx context.Context) error {
	if err := e.allowed(ctx, e.path); err != nil {
		return err
	}
	link, err := e.files.LinkTarget(e.path)
	switch {
	case err != nil:
		return err
	case e.after.Link:
		return e.link(ctx, link)
	case e.before.Link && link != e.before.ID:
		return errors.New("it was a link, and was changed meanwhile")
	case e.before.Link:
		return e.unlink(ctx)
	}
	if err := e.write(ctx); err != nil || e.after.Exec == e.before.Exec || e.new == nil {
		return err
	}
	return e.files.Executable(ctx, e.path, e.after.Exec)
}

// link puts a link where the user still has what was there before, or the same link.
func (e *edit) link(ctx context.Context, is string) error {
	target := e.after.ID
	if rest, inside := strings.CutPrefix(target, e.root+string(filepath.Separator)); inside {
		target = filepath.Join(e.top, rest)
	}
	if is == target {
		return nil
	}
	if e.before.Link {
		if is != e.before.ID {
			return errors.New("it was a link, and was changed meanwhile")
		}
		return e.files.Link(ctx, e.path, target)
	}
	theirs, err := e.files.Read(ctx, e.path)
	switch {
	case err != nil && !errors.Is(err, workspace.ErrNotFound):
		return err
	case is != "" || (err == nil) != (e.old != nil) || err == nil && !bytes.Equal(theirs.Text, e.old):
		return errors.New("it was changed meanwhile, so it was not made a link")
	case err == nil:
		return e.replace(ctx, target)
	}
	return e.files.Link(ctx, e.path, target)
}

// replace puts a link in the place of a file, which comes back if that fails.
func (e *edit) replace(ctx context.Context, target string) error {
	if err := e.files.Remove(ctx, e.path); err != nil {
		return err
	}
	err := e.files.Link(ctx, e.path, target)
	if err == nil {
		return nil
	}
	_, undo := e.files.Write(context.WithoutCancel(ctx), e.path, e.old)
	if undo == nil && e.before.Exec {
		undo = e.files.Executable(context.WithoutCancel(ctx), e.path, true)
	}
	return errors.Join(err, undo)
}

// unlink puts a file, or nothing, in the place of a link.
func (e *edit) unlink(ctx context.Context) error {
	if err := e.files.Remove(ctx, e.path); err != nil || e.new == nil {
		return err
	}
	_, err := e.files.Write(ctx, e.path, e.new)
	if err != nil {
		return errors.Join(err, e.files.Link(context.WithoutCancel(ctx), e.path, e.before.ID))
	}
	if e.after.Exec {
		err = e.files.Executable(ctx, e.path, true)
	}
	return err
}

// write makes, changes or removes a file.
func (e *edit) write(ctx context.Context) error {
	theirs, err := e.files.Read(ctx, e.path)
	missing := errors.Is(err, workspace.ErrNotFound)
	switch {
	case err != nil && !missing:
		return err
	case e.new == nil && missing:
		return nil
	case e.new == nil && !bytes.Equal(theirs.Text, e.old):
		return errors.New("it was changed meanwhile, so it was not deleted")
	case e.new == nil:
		return e.files.Remove(ctx, e.path)
	case missing && e.old != nil:
		return errors.New("it was deleted meanwhile")
	case missing:
		_, err = e.files.Write(ctx, e.path, e.new)
		return err
	case e.old == nil && !bytes.Equal(theirs.Text, e.new):
		return errors.New("a file of this name was made meanwhile")
	}
	_, err = e.files.Edit(ctx, e.path, func(ours []byte) ([]byte, error) {
		if bytes.Equal(ours, e.old) || bytes.Equal(ours, e.new) {
			return e.new, nil
		}
		if bytes.Equal(e.old, e.new) { // only its mode is another
			return ours, nil
		}
		return threeWay(ctx, ours, e.old, e.new)
	})
	return err
}

// allowed asks for what asks whoever writes it, in the subagent's name.
func (t *tree) allowed(ctx context.Context, path string) error {
	env := *t.env
	env.Owner, env.SessionID, env.For = cmp.Or(t.env.Owner, t.env.SessionID), t.task.ID, headline(t.task.Goal, 200)
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
func (e *edit) conflict(why error) Conflict {
	c := Conflict{Path: filepath.ToSlash(e.name), Reason: why.Error()}
	c.Diff = workspace.UnifiedDiff(c.Path, e.old, e.new)
	if e.after.Link {
		c.Diff += "it became a link to " + e.after.ID + "\n"
	} else if e.after.Exec && !e.before.Exec {
		c.Diff += "it became executable\n"
	}
	if len(c.Diff) > diffShown {
		c.Diff = strings.ToValidUTF8(c.Diff[:diffShown], "") + "\n[cut]"
	}
	if e.new == nil {
		return c
	}
	path := e.keepAt(e.name)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil && os.WriteFile(path, e.new, 0o600) == nil {
		c.Kept = filepath.ToSlash(path)
	}
	return c
}

// keepAt is where a file is kept that was not brought back.
func (t *tree) keepAt(name string) string {
	dir := t.env.OutputDir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "hermes-conflicts")
	}
	return filepath.Join(dir, "worktree-"+t.task.ID, name)
}
