package delegate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// git runs a git command that obeys nothing of the repository's: no hook, no monitor,
// no filter (none of the commands used here checks out or adds), no fetch.
func git(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	var out, failure bytes.Buffer
	settings := []string{"git", "--no-pager",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false"}
	exit, err := proc.Run(ctx, proc.Cmd{
		Args: append(settings, args...), Dir: dir, Env: gitEnviron(),
		Stdin: stdin, Stdout: &out, Stderr: &failure,
	})
	switch {
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
