package delegate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
)

// git runs a git command that obeys nothing of the repository's: no hook, no monitor,
// no filter (none of the commands used here checks out or adds), no fetch. If git does
// not end within gitLimit, as when it waits for a named pipe, git returns an error.
func git(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	if path := gitWaitsFor(dir); path != "" {
		return nil, fmt.Errorf("git %s: %s is not a regular file, and git would wait for it", args[0], path)
	}
	limited, stop := context.WithTimeout(ctx, gitLimit)
	defer stop()
	var out, failure bytes.Buffer
	path, err := program.Find("git", []string{dir})
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	settings := []string{path, "--no-pager",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false"}
	exit, err := proc.Run(limited, proc.Cmd{
		Args: append(settings, args...), Dir: dir, Env: program.Environ(gitEnviron(), []string{dir}),
		Stdin: stdin, Stdout: &out, Stderr: &failure,
	})
	switch {
	case ctx.Err() == nil && limited.Err() != nil:
		return nil, fmt.Errorf("git %s did not end within %v; the repository may be very slow, or have a named pipe where git reads a file", args[0], gitLimit)
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	case exit.Code != 0:
		return nil, fmt.Errorf("git %s: %s", args[0], orExit(strings.TrimSpace(failure.String()), exit.Code))
	}
	if args[0] == "rev-parse" {
		return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
	}
	return out.Bytes(), nil
}

// gitLimit is how long one git command may take, also in a large repository on a slow disk.
const gitLimit = 2 * time.Minute

// gitReads are files that git reads in a git folder, whatever it is asked for.
var gitReads = []string{
	"HEAD", "index", "config", "config.worktree", "commondir", "gitdir", "packed-refs", "shallow", "refs/heads/*",
	"info/exclude", "info/attributes", "info/grafts", "info/sparse-checkout", "worktrees/*/*",
	"objects/info/alternates", "objects/info/commit-graph", "objects/pack/*",
}

// gitWaitsFor returns the path of a file that git would read for the worktree dir, and
// wait for: a named pipe, a socket or a device. It looks at those that git reads always;
// if none of them is such, it returns "".
func gitWaitsFor(dir string) string {
	common := commonDir(dir)
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

// escapeGlob has [filepath.Glob] take path as it is.
func escapeGlob(path string) string {
	if filepath.Separator != '/' {
		return path // no name has *, ? or \ there
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// gitWorktree runs git worktree. If another process adds a worktree at this moment, git
// cannot read that one yet and fails; then gitWorktree tries again, for some seconds.
func gitWorktree(ctx context.Context, dir string, args ...string) ([]byte, error) {
	for deadline, pause := time.Now().Add(worktreePatience), 10*time.Millisecond; ; pause *= 2 {
		out, err := git(ctx, dir, nil, append([]string{"worktree"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), "failed to read") || time.Now().Add(pause).After(deadline) {
			return out, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// worktreePatience is far more than git needs to write down a new worktree.
const worktreePatience = 5 * time.Second

func orExit(text string, code int) string {
	if text == "" {
		return fmt.Sprintf("exit code %d", code)
	}
	return text
}

// gitEnviron is our own environment without what would lead git elsewhere.
func gitEnviron() []string {
	own, _ := proc.Environ(nil)
	env := []string{"GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, kv := range own {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_ALL=") {
			env = append(env, kv)
		}
	}
	return env
}
