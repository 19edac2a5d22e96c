package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Approve judges a command or code, asks the gate whether it may run, and returns the opening of
// the sandbox for it. An approval is for exactly the shown content: if an executed file changes
// during the request, Approve returns an error. After approval, the files are frozen, so their
// judged content runs. title is the command or the code.
func Approve(ctx context.Context, env *tools.Env, bounds tools.Bounds, call tools.Call, title string, remote bool, place policy.Scope, judge func(policy.Scope) policy.Verdict) (sandbox.Opening, error) {
	judged := scripts{roots: bounds.Files.Folders(), temp: bounds.Sandbox.TempFolder()}
	if judged.temp != "" {
		judged.temps = place.Temp
	}
	if !remote {
		place.Read, place.Repository = judged.read, repositoryOf
	}
	verdict := judge(place)
	opening := openingOf(verdict)
	if env.Gate == nil {
		if verdict.Level != policy.Runs {
			return sandbox.Opening{}, NoApproval(verdict)
		}
		return opening, nil
	}
	if !remote {
		judged.add(verdict)
		judged.bind(&verdict)
	}
	if err := env.Gate.Check(ctx, env, call, tools.KindExecute, title, verdict); err != nil {
		return sandbox.Opening{}, err
	}
	if changed := judged.changed(); changed != "" {
		return sandbox.Opening{}, errors.New("the command was rejected: " + escape.Line(bounds.Files.Name(changed)) + " was changed while the user was being asked about it; call again")
	}
	opening.Frozen = judged.frozen(verdict)
	return opening, nil
}

// BoxOf returns the sandbox of a process in the session's mode.
func BoxOf(box *sandbox.Box, g tools.Approver) *sandbox.Box {
	if g != nil && g.Planning() {
		return sandbox.Planning(box)
	}
	return box
}

// repositoryOf returns git's directories for dir: the nearest .git in it or above, or the target of
// a .git file and the common directory of its worktree. If git would accept a directory on the way
// as a bare repository, repositoryOf returns nil: nothing protects its settings.
func repositoryOf(dir string) []string {
	for ; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		info, err := os.Lstat(path)
		switch {
		case err == nil && info.Mode().IsRegular():
			own := pointerIn(path, "gitdir: ", dir)
			if own == "" {
				return nil
			}
			if common := pointerIn(filepath.Join(own, "commondir"), "", own); common != "" {
				return []string{own, common}
			}
			return []string{own}
		case err == nil:
			return []string{FollowLinks(path)}
		case dir == filepath.Dir(dir) || isBareRepository(dir):
			return nil
		}
	}
}

// isBareRepository reports whether git treats dir as a bare repository.
func isBareRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// pointerIn returns the path named by a single-line file, relative to folder. It reads the file as
// git does: only line ends are removed, and spaces belong to the path.
func pointerIn(file, prefix, folder string) string {
	text, err := safefile.Read(file, safefile.Line)
	line, found := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if err != nil || !found || line == "" || strings.Contains(line, "\x00") {
		return ""
	}
	if !filepath.IsAbs(line) {
		line = filepath.Join(folder, line)
	}
	return FollowLinks(line)
}

// NoApproval returns the error for an action that requires approval in a session without a gate.
func NoApproval(v policy.Verdict) error {
	return rejection(v, fmt.Sprintf("Blocked: it %s, and no user can approve it here. Nothing was done. Go on without it, and say what is left to do.", v.Reason))
}

// CheckCommand asks the gate whether an action with the verdict v may run. If env has no gate, it
// allows only actions that run without approval.
func CheckCommand(ctx context.Context, env *tools.Env, call tools.Call, title string, v policy.Verdict) error {
	if env.Gate != nil {
		return env.Gate.Check(ctx, env, call, tools.KindExecute, title, v)
	}
	if v.Level != policy.Runs {
		return NoApproval(v)
	}
	return nil
}

// followLinks resolves the symbolic links of an absolute path, of which the end
// need not exist.
func FollowLinks(path string) string {
	rest := ""
	for dir, links := path, 0; links < 40; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if target, err := os.Readlink(dir); err == nil { // to nowhere yet
			links++
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(dir), target)
			}
			dir = target
			continue
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
	}
	return path
}
