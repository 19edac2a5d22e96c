package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// patchFiles applies a V4A patch, all of it or nothing.
func patchFiles(ctx context.Context, env *callEnv, call tools.Call, text string) (tools.Result, error) {
	p, err := planPatch(ctx, env, text)
	if err != nil {
		return tools.Result{}, err
	}
	known, written, err := p.apply(ctx, env, call)
	if err != nil {
		if p.failed != "" {
			err = readAgain(ctx, env, p.failed, "", err)
		}
		return tools.Result{}, err
	}
	return p.result(ctx, env, written, known, p.idle, 0), nil
}

// planPatch reads a V4A patch.
func planPatch(ctx context.Context, env *callEnv, text string) (*filesPatch, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("patch is empty. " + patchFormat)
	}
	ops, err := parsePatch(text)
	if err != nil {
		return nil, err
	}
	p := &filesPatch{replaced: map[int]replaced{}}
	for _, op := range ops {
		if op.idle() {
			p.idle.add(op.path + ": no line begins with + or -; it stays as it is")
		}
	}
	for i, op := range slices.DeleteFunc(ops, fileOp.idle) {
		p.actions = append(p.actions, p.action(ctx, i, op))
	}
	p.follow(ctx, env)
	return p, nil
}

// Apply makes changes computed by a program, like patch makes the model's: all of them or none,
// with its approvals and its result. replaced is the number of replaced places.
func Apply(ctx context.Context, c Config, env *tools.Env, call tools.Call, actions []workspace.Action, replaced int) (tools.Result, error) {
	x := &callEnv{env, c}
	p := &filesPatch{actions: slices.Clone(actions)}
	p.follow(ctx, x)
	known, written, err := p.apply(ctx, x, call)
	if err != nil {
		return tools.Result{}, err
	}
	return p.result(ctx, x, written, known, nil, replaced), nil
}

// apply asks the gate about all files of the patch, and makes it.
func (p *filesPatch) apply(ctx context.Context, env *callEnv, call tools.Call) (*diagnosis, []*workspace.Written, error) {
	asked := &approval{}
	if err := gate.CheckEdit(ctx, env.Env, env.Bounds, call, p.changes(), asked.record(p.plan(env))); err != nil {
		return nil, nil, err
	}
	known := diagnose(ctx, env, p.paths()...)
	written, err := env.Files.BatchIf(ctx, p.actions, asked.agrees)
	return known, written, err
}

// plan returns a function that computes the patch without making it.
func (p *filesPatch) plan(env *callEnv) func(context.Context) ([]*workspace.Written, error) {
	return func(ctx context.Context) (planned []*workspace.Written, err error) {
		_, err = env.Files.BatchIf(ctx, p.actions, func(all []*workspace.Written) error {
			planned = all
			return errPlanned
		})
		if errors.Is(err, errPlanned) {
			err = nil
		}
		return planned, err
	}
}

// changes returns the files of the patch for the gate.
func (p *filesPatch) changes() (changes []gate.Change) {
	for _, a := range p.actions {
		doing := "Edit "
		switch {
		case a.Text != nil:
			doing = "Add "
		case a.Remove:
			doing = "Delete "
		}
		changes = append(changes, gate.Change{Doing: doing, Path: a.Path})
		if a.MoveTo != "" {
			changes = append(changes, gate.Change{Doing: "Move a file to ", Path: a.MoveTo})
		}
	}
	return changes
}

// OnText converts a change of a file's text into a change of its bytes. Encoding and byte order
// mark of the file stay.
func OnText(change func(old string) (string, error)) func([]byte) ([]byte, error) {
	return onText(change)
}

// filesPatch is a patch on its way into the files.
type filesPatch struct {
	actions  []workspace.Action
	replaced map[int]replaced // the result of each update; a change may be made twice
	failed   string           // the file whose change failed
	idle     notes            // files named but not changed
	added    notes            // how new files differ from their given texts
}

// paths returns the files left after the patch.
func (p *filesPatch) paths() (paths []string) {
	for _, a := range p.actions {
		if !a.Remove {
			paths = append(paths, cmp.Or(a.MoveTo, a.Path))
		}
	}
	return paths
}

func (p *filesPatch) action(ctx context.Context, i int, op fileOp) workspace.Action {
	a := workspace.Action{Path: op.path, MoveTo: op.moveTo}
	switch {
	case op.kind == opAdd:
		a.Text = []byte(op.text)
	case op.kind == opDelete:
		a.Remove = true
	case len(op.hunks) > 0:
		a.ChangePresent = onPresent(func(old string, since sinceRead) (string, error) {
			done, err := applyHunks(ctx, old, op.hunks)
			done.since = since.note()
			if err = since.explain(err); err != nil {
				p.failed = op.path
				return "", fmt.Errorf("%s: %w; nothing was changed", op.path, singleFileError(err))
			}
			p.replaced[i] = done
			return done.text, nil
		})
	case op.moveTo != "": // all of the text stays
		a.ChangePresent = func(old []byte, _ workspace.Since) ([]byte, error) { return old, nil }
	}
	return a
}

// singleFileError removes the statement about a single file: the end of the message makes it for
// all.
func singleFileError(err error) error {
	return errors.New(strings.NewReplacer("; nothing was changed.", ".", "; nothing was changed", "").Replace(err.Error()))
}

// follow makes the new files follow the project's .editorconfig files.
func (p *filesPatch) follow(ctx context.Context, env *callEnv) {
	for i, a := range p.actions {
		if a.Text == nil || ctx.Err() != nil { // the gate returns the error of ctx
			continue
		}
		text, how := newText(ctx, env, a.Path, string(a.Text))
		if p.actions[i].Text = text; how != "" {
			p.added.add(a.Path + ": " + how)
		}
	}
}

func (p *filesPatch) result(ctx context.Context, env *callEnv, written []*workspace.Written, known *diagnosis, said notes, count int) tools.Result {
	out := patchOut{Success: true, FilesModified: []string{}, Replacements: count}
	var shown []tools.Content
	var diff strings.Builder
	for _, w := range written {
		diff.WriteString(briefDiff(shownDiff(w)))
		out.FilesModified = append(out.FilesModified, w.Name)
		shown = append(shown, shownEdit(w)...)
		if w.Note != "" {
			said.add(w.Note)
		}
		out.SyntaxErrors = append(out.SyntaxErrors, afterwards(ctx, env, w)...)
	}
	out.Diff, out.problems = diff.String(), known.notice(ctx, written...)
	fuzzy := false
	for i := range p.actions {
		done := p.replaced[i]
		out.Replacements += done.count
		if done.note != "" {
			fuzzy = true
			said.add(p.actions[i].Path + ": " + done.note)
		}
		if done.since != "" {
			said.add(p.actions[i].Path + ": " + done.since)
		}
	}
	said = append(said, p.added...)
	if len(written) == 0 {
		said.add("nothing was changed")
	}
	out.Note = said.String()
	brief := out.brief(fuzzy, written...)
	brief.Replacements = count // the model knows its own patch
	return tools.OK(out).Brief(brief).With(shown...)
}

// afterwards returns the notes on a changed file: its new syntax errors.
func afterwards(ctx context.Context, env *callEnv, w *workspace.Written) []string {
	env.Recall.edited(w.Path)
	if w.New == nil {
		return nil
	}
	old, new := texts(w)
	return newSyntaxErrors(ctx, env, w.Name, old, new)
}
