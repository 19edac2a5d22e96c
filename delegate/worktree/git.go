package worktree

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

// git runs git on repositories possibly changed by commands. The program is outside the
// workspace, runs in a read-only sandbox, and ignores the settings of the user and the system.
// Hooks, the monitor and fetches of the repository are off. The commands in use run no filters
// or external programs.
type git struct {
	program string
	env     []string
	box     *sandbox.Box // nil: no bounds
}

// newGit finds git for a session with these folders. The caller closes it.
func newGit(folders []string, box *sandbox.Box) (*git, error) {
	path, err := program.Find("git", folders)
	if err != nil {
		return nil, fmt.Errorf("git was not found on PATH outside of the workspace: %w", err)
	}
	return &git{path, program.Environ(gitEnviron(), folders), box}, nil
}

func (g *git) close() {
	if g != nil {
		g.box.Close()
	}
}

// gitLimit is the timeout of a git command, also in a large repository on a slow disk.
const gitLimit = 2 * time.Minute

// outputLimit bounds the output of git. It suffices for more than [mostFiles] names.
const outputLimit = 256 << 20

// gitCall is a git command.
type gitCall struct {
	gitrepo.Repo           // empty: none
	stdin        io.Reader // nil: nothing
	stdout       io.Writer // nil: it is returned
	writes       []string  // paths writable by git
	scratch      string    // a folder to work in without a repository
}

// run runs a git command. If it exceeds gitLimit, for example because it waits for a named
// pipe, run returns an error.
func (g *git) run(ctx context.Context, c gitCall, args ...string) ([]byte, error) {
	if path := gitWaitsFor(c.Common); path != "" {
		return nil, fmt.Errorf("git %s: %s is not a regular file, and git would wait for it", args[0], path)
	}
	limited, stop := context.WithTimeout(ctx, gitLimit)
	defer stop()
	out := &proc.Bounded{Limit: outputLimit}
	failure := &proc.Bounded{Limit: 64 << 10}
	cmd := proc.Cmd{Args: g.args(c, args), Dir: c.Top, Env: g.env, Stdin: c.stdin, Stdout: out, Stderr: failure, Scratch: c.scratch}
	if c.scratch != "" {
		cmd.Dir = c.scratch
		cmd.Env = append(g.env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.scratch))
	} else {
		cmd.Env = append(g.env, "GIT_COMMON_DIR="+c.Common)
	}
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	if err := g.box.ConfineOwn(limited, &cmd, sandbox.Own{Writes: c.writes}); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	exit, err := proc.Run(limited, cmd)
	switch {
	case ctx.Err() == nil && limited.Err() != nil:
		return nil, fmt.Errorf("git %s did not end within %v; the repository may be very slow, or have a named pipe where git reads a file", args[0], gitLimit)
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	case exit.Code != 0:
		return nil, fmt.Errorf("git %s: %s", args[0], orExit(strings.TrimSpace(failure.String()), exit.Code))
	case out.Over:
		return nil, fmt.Errorf("git %s: its output has more than %d MB", args[0], outputLimit>>20)
	}
	return out.Bytes(), nil
}

func (g *git) args(c gitCall, args []string) []string {
	all := []string{
		g.program, "--no-pager",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "safe.directory=*",
	}
	if path := ignore.ExcludesFile(); path != "" {
		all = append(all, "-c", "core.excludesFile="+path)
	}
	if c.GitDir != "" {
		all = append(all, "--git-dir="+c.GitDir, "--work-tree="+c.Top)
	}
	return append(all, args...)
}

// gitReads are files in a git folder read by every git command.
var gitReads = []string{
	"HEAD", "index", "config", "config.worktree", "commondir", "gitdir", "packed-refs", "shallow", "refs/heads/*",
	"info/exclude", "info/attributes", "info/grafts", "info/sparse-checkout", "worktrees/*/*",
	"objects/info/alternates", "objects/info/commit-graph", "objects/pack/*",
}

// gitWaitsFor returns the path of a file in the common git folder that would block git: a named
// pipe, a socket or a device. It checks the files that git always reads. If there is none, it
// returns "".
func gitWaitsFor(common string) string {
	if common == "" {
		return ""
	}
	for _, name := range gitReads {
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(common), filepath.FromSlash(name)))
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
				return path
			}
		}
	}
	return ""
}

// escapeGlob escapes the special characters of [filepath.Glob] in path.
func escapeGlob(path string) string {
	if filepath.Separator != '/' {
		return path // these names contain no *, ? or \
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func orExit(text string, code int) string {
	if text == "" {
		return fmt.Sprintf("exit code %d", code)
	}
	return text
}

// gitEnviron returns the server's environment without secrets. It drops variables that select
// another repository or another program for git.
func gitEnviron() []string {
	own, _ := proc.Environ(nil)
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
	}
	for _, kv := range own {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_ALL=") {
			env = append(env, kv)
		}
	}
	return env
}
