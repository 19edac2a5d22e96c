package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Merge is the result of [Tree.Merge].
type Merge struct {
	Applied   []string   `json:"applied"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Ignored   []string   `json:"not_brought_back,omitempty"` // made in the worktree, but git ignores it
	Commit    string     `json:"commit,omitempty"`           // the subagent's last commit; the files were merged without it
	Note      string     `json:"note,omitempty"`
}

// Conflict is a file whose changes were not merged.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Kept   string `json:"kept,omitempty"` // path of the subagent's whole text; empty: there is none
	Diff   string `json:"diff,omitempty"` // of the subagent's change, cut
}

const (
	diffShown    = 4000 // bytes of a conflict for the parent's model
	ignoredShown = 20
)

const unlistedNote = "This editor does not tell what it has open: the copy began with its text of the files that are changed in git, were read in this session or are named by the task, and with the saved text of all others."

// Merge writes the subagent's changes to the workspace, as edits. It saves conflicting files as
// conflicts. If complete is false, it saves all changed files.
func (t *Tree) Merge(ctx context.Context, complete bool) (*Merge, error) {
	names, strange, err := t.namesNow(ctx)
	if err != nil {
		return nil, err
	}
	now, err := t.states(ctx, names)
	if err != nil {
		return nil, err
	}
	differ := changed(t.before, now)
	if err := t.fetchTexts(ctx, differ); err != nil {
		return nil, err
	}
	var files *workspace.Workspace
	if complete {
		if files, err = t.Files.Fork(); err != nil {
			return nil, err
		}
		defer files.Close()
	}
	root, err := safefile.OpenFolder(t.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	kept := t.saver()
	defer kept.close()
	m := &Merge{Applied: []string{}, Conflicts: strange}
	for _, name := range differ {
		e := &edit{Tree: t, files: files, name: name, path: filepath.Join(t.Top, name), was: t.before[name], is: now[name]}
		err := e.read(root)
		if err == nil && !complete {
			err = errors.New("the subagent did not complete; its changes were not merged")
		}
		if err == nil {
			err = e.apply(ctx)
		}
		if err != nil {
			m.Conflicts = append(m.Conflicts, e.conflict(err, root, kept))
			continue
		}
		m.Applied = append(m.Applied, filepath.ToSlash(name))
	}
	m.Conflicts = append(m.Conflicts, t.folders(ctx, root, kept, names)...)
	t.rest(ctx, m)
	return m, nil
}

// namesNow returns the names of the files that are or were in the worktree. Names impossible
// for a file of the worktree are conflicts.
func (t *Tree) namesNow(ctx context.Context) (names []string, strange []Conflict, err error) {
	if names, err = t.listFiles(ctx, t.own()); err != nil {
		return nil, nil, err
	}
	for name := range t.before { // also files now ignored by git
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		if usable(name) {
			return false
		}
		if len(strange) < strangeShown {
			strange = append(strange, Conflict{Path: strconv.Quote(name), Reason: "no file of a worktree can have this name; it was not looked at"})
		}
		return true
	})
	return names, strange, nil
}

// strangeShown limits the list of impossible names.
const strangeShown = 20

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

// rest adds ignored files, the last commit and the note to m.
func (t *Tree) rest(ctx context.Context, m *Merge) {
	out, err := t.git.run(ctx, t.call(t.own()), "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	for _, name := range fields(out) {
		if _, known := t.before[name]; err == nil && !known {
			m.Ignored = append(m.Ignored, filepath.ToSlash(name))
		}
	}
	if n := len(m.Ignored); n > ignoredShown {
		m.Ignored = append(m.Ignored[:ignoredShown], fmt.Sprintf("and %d more", n-ignoredShown))
	}
	out, err = t.git.run(ctx, t.call(t.own()), "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if commit := strings.TrimSpace(string(out)); err == nil && isHex(commit) && commit != t.commit {
		m.Commit = commit
	}
	if t.unlisted {
		m.Note = unlistedNote
	}
}

// edit is a subagent's change of a file.
type edit struct {
	*Tree
	files    *workspace.Workspace // the user's
	name     string
	path     string
	was, is  state
	old, new []byte // the texts; nil: no file
}

func (e *edit) read(root *safefile.Folder) (err error) {
	if e.old, err = e.textBefore(e.was); err != nil {
		return err
	}
	e.new, err = e.textNow(root, e.name, e.is)
	return err
}

// apply applies the change to the workspace.
func (e *edit) apply(ctx context.Context) error {
	asked := Change{e.path, e.old, e.new}
	if e.was.Link {
		asked.Old = []byte(e.was.ID)
	}
	if e.is.Link {
		asked.New = []byte(e.is.ID)
	}
	if err := e.Allow(ctx, asked); err != nil {
		return err
	}
	link, err := e.files.LinkTarget(e.path)
	switch {
	case err != nil:
		return err
	case e.is.Link:
		return e.link(ctx, link)
	case e.was.Link && link != e.was.ID:
		return errors.New("it was a link, and was changed meanwhile")
	case e.was.Link:
		return e.unlink(ctx)
	}
	if err := e.writeAgain(ctx); err != nil || e.is.Exec == e.was.Exec || e.new == nil {
		return err
	}
	return e.files.Executable(ctx, e.path, e.is.Exec)
}

// link creates a link, if the user has not changed the file meanwhile or has created the same
// link.
func (e *edit) link(ctx context.Context, is string) error {
	target := e.is.ID
	if rest, inside := strings.CutPrefix(target, e.root+string(filepath.Separator)); inside {
		target = filepath.Join(e.Top, rest)
	}
	if is == target {
		return nil
	}
	if e.was.Link {
		if is != e.was.ID {
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

// replace replaces a file with a link. If this fails, it writes the file again.
func (e *edit) replace(ctx context.Context, target string) error {
	if err := e.files.Remove(ctx, e.path); err != nil {
		return err
	}
	err := e.files.Link(ctx, e.path, target)
	if err == nil {
		return nil
	}
	_, undo := e.files.Write(context.WithoutCancel(ctx), e.path, e.old)
	if undo == nil && e.was.Exec {
		undo = e.files.Executable(context.WithoutCancel(ctx), e.path, true)
	}
	return errors.Join(err, undo)
}

// unlink removes a link, and writes the file in its place, if any.
func (e *edit) unlink(ctx context.Context) error {
	if err := e.files.Remove(ctx, e.path); err != nil || e.new == nil {
		return err
	}
	_, err := e.files.Write(ctx, e.path, e.new)
	if err != nil {
		return errors.Join(err, e.files.Link(context.WithoutCancel(ctx), e.path, e.was.ID))
	}
	if e.is.Exec {
		err = e.files.Executable(ctx, e.path, true)
	}
	return err
}

// mostWrites limits how often a change is merged again because the file changed meanwhile.
const mostWrites = 10

// writeAgain is write, with retries if the file changes between its read and its write, for
// example because another subagent merges its own change.
func (e *edit) writeAgain(ctx context.Context) (err error) {
	for range mostWrites {
		if err = e.write(ctx); !errors.Is(err, workspace.ErrStale) {
			break
		}
	}
	return err
}

// write creates, changes or removes a file.
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
		if bytes.Equal(e.old, e.new) { // only the mode differs
			return ours, nil
		}
		return e.threeWay(ctx, ours)
	})
	return err
}

// threeWay merges the subagent's change and the user's. If both change the same lines, it
// returns an error.
func (e *edit) threeWay(ctx context.Context, ours []byte) ([]byte, error) {
	dir, err := scratch.New("merge")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	for name, text := range map[string][]byte{"ours": ours, "base": e.old, "theirs": e.new} {
		if err := os.WriteFile(dir.Path(name), text, 0o600); err != nil {
			return nil, fmt.Errorf("merging: %w", err)
		}
	}
	out, err := e.git.run(ctx, gitCall{scratch: dir.Path()}, "merge-file", "--stdout", "--quiet", "ours", "base", "theirs")
	if err != nil {
		return nil, errors.New("it was changed meanwhile in the same place")
	}
	return out, nil
}
