package file

import (
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// savedOutputs returns the files with the whole outputs of the session's results, if path is
// below their directory. They can be read and searched, but not changed. Close them.
func savedOutputs(env *callEnv, path string) (kept *workspace.Workspace, ok bool) {
	path = workspace.FromURI(path)
	if env.OutputDir == "" || !filepath.IsAbs(path) {
		return nil, false
	}
	rel, err := filepath.Rel(env.OutputDir, filepath.Clean(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil, false
	}
	kept, err = workspace.Open([]string{env.OutputDir}, nil)
	return kept, err == nil
}

// onOutputs returns env for a call that reads a saved output at path; done closes it. For other
// paths it returns env unchanged.
func onOutputs(env *callEnv, path string) (reads *callEnv, done func()) {
	kept, ok := savedOutputs(env, path)
	if !ok {
		return env, func() {}
	}
	inner := env.Config
	inner.Files = kept
	return &callEnv{env.Env, inner}, func() { _ = kept.Close() }
}
