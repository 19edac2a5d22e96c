package gate

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// CheckWrite asks the gate whether a file may be written. If it may, CheckWrite returns nil.
// Doing names the action, such as "merge ". The path and the target of its links are both
// judged, so .vscode is protected if it is a link to another folder, too.
func CheckWrite(ctx context.Context, env *tools.Env, bounds tools.Bounds, call tools.Call, doing, path string) error {
	abs, err := bounds.Files.Abs(path)
	if err != nil {
		return err
	}
	roots := bounds.Files.Folders()
	verdict := policy.Write(abs, roots, bounds.HermesHome)
	if named := workspace.FromURI(path); verdict.Level == policy.Runs {
		if !filepath.IsAbs(named) {
			named = filepath.Join(roots[0], named)
		}
		if named = filepath.Clean(named); named != abs {
			verdict = stricter(verdict, policy.Write(named, append(roots, filepath.Dir(named)), bounds.HermesHome))
		}
	}
	if verdict.Level == policy.Runs && bounds.Sandbox.ReadOnly() {
		verdict.Level, verdict.Keys = policy.Asks, slices.Clone(verdict.Commands)
		verdict.Reason = "writes a file, although the session is read-only (sandbox.mode)"
	}
	if env.Gate == nil {
		if verdict.Level == policy.Runs {
			return nil
		}
		return NoApproval(verdict)
	}
	return env.Gate.Check(ctx, env, call, tools.KindEdit, doing+bounds.Files.Name(abs), verdict)
}

func stricter(a, b policy.Verdict) policy.Verdict {
	if b.Level > a.Level {
		return b
	}
	return a
}
