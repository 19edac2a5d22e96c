package shell

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// open gives the command its sandbox with an opening, and returns a note for the model. An opening
// is for known programs. An earlier command may have set PATH or other variables to make a name
// start another program. So a command with an opening finds programs only in directories that no
// command can write. If another variable makes programs load something, nothing is opened.
func (c *Command) open(env *callEnv, o sandbox.Opening) (note string) {
	defer func() { c.box = env.Sandbox.With(o) }()
	if len(o.Open) == 0 && !o.Git {
		return ""
	}
	if name := env.Shell.changedLoader(c.from.env); name != "" {
		if len(o.Open) > 0 {
			note = fmt.Sprintf("%s was set by an earlier command and makes programs load something else, so protected places stay closed: unset it first", name)
		}
		o = sandbox.Opening{Frozen: o.Frozen}
		return note
	}
	path := c.from.exports()["PATH"]
	safe := program.Path(path, env.Sandbox.Changeable())
	if len(o.Open) > 0 && safe != path {
		c.from = &shellState{dir: c.from.dir, env: override(c.from.env, []string{"PATH=" + safe})}
		c.path = &path
	}
	o.Git = o.Git && finds(path, "git") == finds(safe, "git")
	return note
}

// changedLoader returns a variable that makes programs run or load something and has changed since
// the session began. If there is none, it returns "".
func (s *Shell) changedLoader(env []string) string {
	began, now := shellState{env: s.began}.exports(), shellState{env: env}.exports()
	for _, kv := range slices.Concat(env, s.began) {
		name, _, _ := strings.Cut(kv, "=")
		if name != "PATH" && policy.Loads(name, now[name]) && began[name] != now[name] {
			return name
		}
	}
	return ""
}

// finds returns the file started by a name, or "".
func finds(path, name string) string {
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			return "" // it depends on the program's working directory
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found
		}
	}
	return ""
}
