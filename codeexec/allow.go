package codeexec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// interpreterSize is the maximum size of an interpreter in the workspace.
const interpreterSize = 256 << 20

// allow asks the user whether an interpreter in the workspace may start: it is code of the
// workspace, and so are the modules it imports at its start. In a sandbox it needs no approval,
// unless its path comes only from a file of the workspace: language servers get that path too. An
// approval applies to this session, until the interpreter or its environment settings change. If
// the interpreter must not start, allow returns an error.
func (r *Runner) allow(ctx context.Context, env *tools.Env, call tools.Call, path string) error {
	inside := program.In(path, r.cfg.Files.Folders())
	if inside && r.box(env).Enforced(ctx) {
		return nil
	}
	key, err := contentOf(path, r.cfg.Files.Folders())
	if err != nil {
		return err
	}
	r.allowedMu.Lock()
	allowed := r.allowed[key]
	r.allowedMu.Unlock()
	if allowed {
		return nil
	}
	name := escape.Line(r.cfg.Files.Name(path))
	verdict := policy.Verdict{
		Level: policy.Asks, Keys: []string{"run " + name + " " + key[:16]},
		Reason: "runs a Python of the workspace without a sandbox",
	}
	if !inside {
		verdict.Reason = "runs a Python that only a file of the workspace names"
	}
	if env.Gate == nil {
		return errors.New("there is no user to ask whether it may run")
	}
	if err := env.Gate.Check(ctx, env, call, tools.KindExecute, "start "+name+" for scripts", verdict); err != nil {
		return err
	}
	if now, err := contentOf(path, r.cfg.Files.Folders()); err != nil || now != key {
		return errors.New("it was changed while the user was being asked about it")
	}
	r.allowedMu.Lock()
	defer r.allowedMu.Unlock()
	if r.allowed == nil {
		r.allowed = map[string]bool{}
	}
	r.allowed[key] = true
	return nil
}

// contentOf returns a hash of an interpreter's path, of the settings of its environment, and
// of its content. If the path leads outside the workspace, the target replaces the content.
func contentOf(path string, workspace []string) (string, error) {
	sum := sha256.New()
	sum.Write([]byte(path)) // never fails
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	text := []byte(real)
	if program.In(real, workspace) {
		if text, err = safefile.Read(path, interpreterSize); err != nil {
			return "", err
		}
	}
	settings, _ := textfile.Read(filepath.Join(filepath.Dir(path), "..", "pyvenv.cfg"), safefile.Line) // without settings it is no environment
	for _, part := range [][]byte{text, settings} {
		one := sha256.Sum256(part)
		sum.Write(one[:]) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
