package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// gitState is the state of a repository.
type gitState struct {
	branch                                string // a branch, or a commit; empty: there is no repository
	known                                 bool   // the numbers below are known
	changed, staged, untracked, conflicts int
	commits                               []string
}

// String returns the branch and the numbers of changed files.
func (g gitState) String() string {
	if g.branch == "" {
		return ""
	}
	parts := []string{"branch " + quoted(g.branch)}
	for _, n := range []struct {
		count int
		what  string
	}{{g.conflicts, "in conflict"}, {g.staged, "staged"}, {g.changed, "changed"}, {g.untracked, "untracked"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if g.known && len(parts) == 1 {
		parts = append(parts, "no changes")
	}
	return strings.Join(parts, ", ")
}

const longestSubject = 60 // characters of a commit's first line

func (g gitState) log() string {
	var list []string
	for _, c := range g.commits {
		if r := []rune(printable(c)); len(r) > longestSubject {
			c = string(r[:longestSubject]) + "…"
		} else {
			c = string(r)
		}
		list = append(list, c)
	}
	return joined(list, most[factCommits])
}

// repository reads the state of a repository. It runs git with a git folder of its own, which
// names the objects and the index of the repository, so that the repository's settings,
// hooks, filters and monitors do not apply. git only reads.
type repository struct {
	confine func(ctx context.Context, c *proc.Cmd, reads ...string) error

	mu  sync.Mutex
	dir *scratch.Dir // the git folder; nil: not made yet
}

func (r *repository) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir != nil {
		r.dir.Remove()
	}
}

// branch returns the branch of the first folder, or its commit. It starts nothing. If there
// is no repository, it returns "".
func (r *repository) branch(folders []string) string {
	found, err := gitrepo.Find(folders[0])
	if err != nil {
		return ""
	}
	branch, _ := head(found)
	return branch
}

// read returns the state of the repository of the first folder, as far as it can be read in
// time.
func (r *repository) read(ctx context.Context, folders []string) (g gitState) {
	found, err := gitrepo.Find(folders[0])
	if err != nil {
		return g
	}
	branch, commit := head(found)
	g.branch = branch
	if commit == "" || r.confine == nil {
		return g
	}
	path, err := program.Find("git", folders)
	if err != nil {
		return g
	}
	dir, err := r.own(found, commit)
	if err != nil {
		return g
	}
	git := ownGit{program: path, dir: dir, repo: found, folders: folders, confine: r.confine}
	if out, err := git.run(ctx, "log", "-3", "--format=%h %s", "--no-show-signature", "--no-decorate", commit); err == nil {
		g.commits = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	out, err := git.run(ctx, "status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames", "--", folders[0])
	if err == nil {
		g.known = true
		g.count(out)
	}
	return g
}

// count counts the files in the output of git status.
func (g *gitState) count(out []byte) {
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if len(entry) < 3 {
			continue
		}
		switch xy := string(entry[:2]); {
		case xy == "??":
			g.untracked++
		case strings.Contains(xy, "U"), xy == "AA", xy == "DD":
			g.conflicts++
		case xy[1] != ' ':
			g.changed++
		default:
			g.staged++
		}
	}
}

// own writes the git folder.
func (r *repository) own(repo gitrepo.Repo, commit string) (string, error) {
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
	for name, text := range map[string]string{"HEAD": commit + "\n", "config": settings, "info/exclude": string(exclude), "refs/x/y": "", "objects/x": ""} {
		path := r.dir.Path(filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return "", err
		}
	}
	return r.dir.Path(), nil
}

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

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
	program string
	dir     string
	repo    gitrepo.Repo
	folders []string
	confine func(ctx context.Context, c *proc.Cmd, reads ...string) error
}

const (
	mostOutput = 1 << 20 // bytes of git's output
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
	out := &bounded{limit: mostOutput}
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
	}
	return out.Bytes(), nil
}

// bounded is a buffer that drops all bytes after its limit.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.limit-b.Len()))])
	return len(p), nil
}
