// Package gitread reads the state of a repository with git, without running anything of the
// repository.
//
// git receives a private git directory with the paths of the repository's objects and index.
// Settings, hooks, filters and monitors of the repository do not apply. git runs in the sandbox, and
// only reads.
package gitread

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// State is the state of a repository.
type State struct {
	Branch                                string // a branch, or a commit; empty: there is no repository
	Known                                 bool   // the numbers below are known
	Changed, Staged, Untracked, Conflicts int
	Commits                               []string // the last three: id and first line
}

// Reader reads the repository of a session's first folder. Confine is required; it bounds git.
// The caller closes it.
type Reader struct {
	Confine func(ctx context.Context, c *proc.Cmd, reads ...string) error

	mu  sync.Mutex
	dir *scratch.Dir // the git folder; nil: not made yet
}

// Close removes the git folder.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir != nil {
		r.dir.Remove()
	}
}

// Branch returns the branch of the first folder, or its commit. It starts nothing. If there
// is no repository, it returns "".
func (r *Reader) Branch(folders []string) string {
	found, err := gitrepo.Find(folders[0])
	if err != nil {
		return ""
	}
	branch, _ := head(found)
	return branch
}

// State returns the state of the repository, as far as it can be read in time.
func (r *Reader) State(ctx context.Context, folders []string) (g State) {
	git, err := r.git(folders)
	if git.branch == "" || err != nil {
		return State{Branch: git.branch}
	}
	g.Branch = git.branch
	if git.commit == "" {
		return g
	}
	if out, err := git.run(ctx, "log", "-3", "--format=%h %s", "--no-show-signature", "--no-decorate", git.commit); err == nil {
		g.Commits = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	out, err := git.run(ctx, "status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames", "--", folders[0])
	if err == nil {
		g.Known = true
		g.count(out)
	}
	return g
}

// Diff returns the changes of the first folder that are not staged, or those that are.
func (r *Reader) Diff(ctx context.Context, folders []string, staged bool) (string, error) {
	git, err := r.git(folders)
	if err != nil {
		return "", err
	}
	args := append([]string{"diff"}, plainDiff...)
	if staged {
		args = append(args, "--cached")
	}
	out, err := git.run(ctx, append(args, "--", folders[0])...)
	return string(out), err
}

// Log returns the last n commits with their changes.
func (r *Reader) Log(ctx context.Context, folders []string, n int) (string, error) {
	git, err := r.git(folders)
	if err != nil {
		return "", err
	}
	if git.commit == "" {
		return "", errors.New("there is no commit yet")
	}
	args := append([]string{"log", "-" + strconv.Itoa(n), "-p", "--no-show-signature", "--no-decorate"}, plainDiff...)
	out, err := git.run(ctx, append(args, git.commit)...)
	return string(out), err
}

var plainDiff = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"}

// git prepares git for the repository of the first folder.
func (r *Reader) git(folders []string) (g ownGit, err error) {
	if g.repo, err = gitrepo.Find(folders[0]); err != nil {
		return g, err
	}
	g.branch, g.commit = head(g.repo)
	if g.program, err = program.Find("git", folders); err != nil {
		return g, errors.New("git was not found on PATH outside of the workspace")
	}
	g.folders, g.confine = folders, r.Confine
	g.dir, err = r.own(g.repo, g.commit)
	return g, err
}

// count counts the files in the output of git status.
func (g *State) count(out []byte) {
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if len(entry) < 3 {
			continue
		}
		switch xy := string(entry[:2]); {
		case xy == "??":
			g.Untracked++
		case strings.Contains(xy, "U"), xy == "AA", xy == "DD":
			g.Conflicts++
		case xy[1] != ' ':
			g.Changed++
		default:
			g.Staged++
		}
	}
}

// own writes the git folder.
func (r *Reader) own(repo gitrepo.Repo, commit string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == nil {
		dir, err := scratch.New("git")
		if err != nil {
			return "", err
		}
		r.dir = dir
	}
	settings := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if len(commit) == 64 {
		settings = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
	}
	exclude, _ := safefile.Read(filepath.Join(repo.Common, "info", "exclude"), safefile.Settings) // there may be none
	for name, text := range map[string]string{"HEAD": cmp.Or(commit, "ref: refs/heads/none") + "\n", "config": settings, "info/exclude": string(exclude), "refs/x/y": "", "objects/x": ""} {
		path := r.dir.Path(filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return "", err
		}
	}
	return r.dir.Path(), nil
}

var commitID = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// head returns the branch and the commit that are checked out. If there is no branch, branch
// is the start of the commit. If the commit is not known, it is "".
func head(repo gitrepo.Repo) (branch, commit string) {
	text, err := safefile.Read(filepath.Join(repo.GitDir, "HEAD"), safefile.Line)
	line := strings.TrimSpace(string(text))
	ref, onBranch := strings.CutPrefix(line, "ref: ")
	switch {
	case err != nil:
		return "", ""
	case !onBranch && commitID.MatchString(line):
		return "none, at commit " + line[:10], line
	case !onBranch || !filepath.IsLocal(filepath.FromSlash(ref)):
		return "", ""
	}
	return strings.TrimPrefix(ref, "refs/heads/"), commitOf(repo, ref)
}

func commitOf(repo gitrepo.Repo, ref string) string {
	for _, dir := range []string{repo.GitDir, repo.Common} {
		text, err := safefile.Read(filepath.Join(dir, filepath.FromSlash(ref)), safefile.Line)
		if id := strings.TrimSpace(string(text)); err == nil && commitID.MatchString(id) {
			return id
		}
	}
	packed, _ := safefile.Read(filepath.Join(repo.Common, "packed-refs"), mostPacked) // there may be none
	for line := range strings.Lines(string(packed)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref && commitID.MatchString(id) {
			return id
		}
	}
	return ""
}

const mostPacked = 16 << 20 // bytes of packed-refs

// ownGit runs git in a git folder of the server's own.
type ownGit struct {
	branch  string
	commit  string // empty: there is none yet
	program string
	dir     string
	repo    gitrepo.Repo
	folders []string
	confine func(ctx context.Context, c *proc.Cmd, reads ...string) error
}

const (
	mostOutput = 8 << 20 // bytes of git's output
	gitMemory  = 1024    // megabytes
)

func (g ownGit) run(ctx context.Context, args ...string) ([]byte, error) {
	own, _ := proc.Environ(nil)
	env := []string{
		"GIT_DIR=" + g.dir, "GIT_WORK_TREE=" + g.repo.Top, "GIT_INDEX_FILE=" + filepath.Join(g.repo.GitDir, "index"),
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(g.repo.Common, "objects"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
	}
	for _, kv := range own {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_ALL=") {
			env = append(env, kv)
		}
	}
	all := []string{g.program, "--no-pager", "-c", "safe.directory=*", "-c", "core.untrackedCache=false"}
	if path := ignore.ExcludesFile(); path != "" {
		all = append(all, "-c", "core.excludesFile="+path)
	}
	out := &proc.Bounded{Limit: mostOutput}
	c := proc.Cmd{
		Args: append(all, args...), Dir: g.folders[0], Env: program.Environ(env, g.folders), Stdout: out,
		Limits: proc.Limits{MemoryMB: gitMemory},
	}
	if err := g.confine(ctx, &c, g.dir); err != nil {
		return nil, err
	}
	exit, err := proc.Run(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case exit.Code != 0:
		return nil, fmt.Errorf("git %s: exit code %d", args[0], exit.Code)
	case out.Over:
		return nil, fmt.Errorf("git %s: its output has more than %d MB", args[0], mostOutput>>20)
	}
	return out.Bytes(), nil
}
