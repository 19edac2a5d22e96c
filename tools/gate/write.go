package gate

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Change is a file to edit. Doing names the action, such as "Edit ".
type Change struct{ Doing, Path string }

// CheckEdit asks the gate whether an edit may be made, with a single request for all of its files.
// If it may, CheckEdit returns nil. show computes the edit without making it; it is called only if
// the user is asked, and its error is returned. A path and its link target are both judged, so a
// .vscode that links to another directory is protected, too.
func CheckEdit(ctx context.Context, env *tools.Env, bounds tools.Bounds, call tools.Call, changes []Change, show func(context.Context) ([]*workspace.Written, error)) error {
	e, err := EditOf(ctx, bounds, changes, show)
	switch {
	case err != nil:
		return err
	case env.Gate != nil:
		return env.Gate.CheckEdit(ctx, env, call, e)
	case e.Verdict.Level != policy.Runs:
		return NoApproval(e.Verdict)
	}
	return nil
}

// EditOf returns the edit of files for [tools.Approver]; see [CheckEdit]. An edit can have many files.
// If ctx is canceled, it returns its error.
func EditOf(ctx context.Context, bounds tools.Bounds, changes []Change, show func(context.Context) ([]*workspace.Written, error)) (tools.Edit, error) {
	var e tools.Edit
	var verdicts []policy.Verdict
	var title []string
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		abs, v, err := judgeWrite(bounds, c.Path)
		if err != nil {
			return e, err
		}
		name, doing := bounds.Files.Name(abs), c.Doing
		v.Commands = append(v.Commands, doing+name) // deny rules match the titles of single edits
		if i > 0 {
			doing = strings.ToLower(doing[:1]) + doing[1:]
		}
		verdicts, title = append(verdicts, v), append(title, doing+name)
		if !slices.Contains(e.Paths, abs) {
			e.Paths, e.Names = append(e.Paths, abs), append(e.Names, name)
		}
	}
	e.Title, e.Verdict = strings.Join(title, ", "), strictest(verdicts)
	if show != nil {
		e.Show = func(ctx context.Context) ([]tools.FileEdit, error) {
			written, err := show(ctx)
			return Shown(bounds, written), err
		}
	}
	return e, nil
}

// CheckRead asks the gate about reading a path hidden from commands, such as ~/.ssh in a session
// whose workspace is the home directory. Other paths need no approval. title is the action.
func CheckRead(ctx context.Context, env *tools.Env, bounds tools.Bounds, call tools.Call, kind tools.Kind, title, path string) error {
	abs, err := bounds.Files.Abs(path)
	if err != nil || !bounds.Sandbox.Private(abs) {
		return nil // the read returns the error
	}
	key := "read " + abs
	v := policy.Verdict{Level: policy.Asks, Reason: "reads a private place of your home, which commands cannot see", Keys: []string{key}, Commands: []string{key}, EveryMode: true}
	if env.Gate == nil {
		return NoApproval(v)
	}
	return env.Gate.Check(ctx, env, call, kind, title, v)
}

// judgeWrite judges the writing of a file, and returns its absolute path.
func judgeWrite(bounds tools.Bounds, path string) (abs string, v policy.Verdict, err error) {
	if abs, err = bounds.Files.Abs(path); err != nil {
		return "", v, err
	}
	roots := bounds.Files.Folders()
	var importer func(string) string
	if tools.Local(bounds.Files) != nil {
		importer = Importer(bounds.Sandbox, roots)
	}
	v = policy.Write(abs, roots, bounds.HermesHome, importer)
	if named := workspace.FromURI(path); v.Level == policy.Runs {
		if !filepath.IsAbs(named) {
			named = filepath.Join(roots[0], named)
		}
		if named = filepath.Clean(named); named != abs {
			v = stricter(v, policy.Write(named, append(roots, filepath.Dir(named)), bounds.HermesHome, importer))
		}
	}
	for _, read := range bounds.Files.Readings(path) { // at the time of the write it may resolve to another path
		if read != abs {
			v = stricter(v, policy.Write(read, roots, bounds.HermesHome, importer))
		}
	}
	if v.Level == policy.Runs && bounds.Sandbox.ReadOnly() {
		v.Level, v.Keys = policy.Asks, slices.Clone(v.Commands)
		v.Reason = "writes a file, although the session is read-only (sandbox.mode)"
	}
	return abs, v, nil
}

// Importer returns a function for [policy.Scope] that reads the instructions on this machine.
func Importer(box *sandbox.Box, roots []string) func(path string) string {
	return func(path string) string { return box.Importer(path, roots) }
}

func stricter(a, b policy.Verdict) policy.Verdict {
	if b.Level > a.Level {
		return b
	}
	return a
}

// strictest sums up the verdicts on the files of an edit: the highest level, with its reasons
// and keys.
func strictest(verdicts []policy.Verdict) policy.Verdict {
	var sum policy.Verdict
	for _, v := range verdicts {
		sum.Level = max(sum.Level, v.Level)
	}
	var reasons []string
	for _, v := range verdicts {
		sum.Commands = append(sum.Commands, v.Commands...)
		if v.Level != sum.Level {
			continue
		}
		sum.EveryMode = sum.EveryMode || v.EveryMode
		if v.Reason != "" && !slices.Contains(reasons, v.Reason) {
			reasons = append(reasons, v.Reason)
		}
		for _, key := range v.Keys {
			if !slices.Contains(sum.Keys, key) {
				sum.Keys = append(sum.Keys, key)
			}
		}
	}
	sum.Reason = strings.Join(reasons, "; ")
	return sum
}
