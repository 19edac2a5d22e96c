package skills

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Candidate is a skill in quarantine: it was fetched, and is not installed.
type Candidate struct {
	Skill
	Source   string // git or directory
	From     string // as the user named it
	Commit   string // of git
	Ref      string // of git, as the user named it; update fetches it again
	Files    []string
	Findings []Finding
	dir      string // in quarantine
}

// Fetch copies a skill into quarantine. Nothing of it runs. Discard removes it.
func Fetch(ctx context.Context, home string, from Source, ref string) (c Candidate, err error) {
	work, err := quarantine(home)
	if err != nil {
		return c, err
	}
	c = Candidate{Source: from.Kind, From: from.Address, Ref: ref, dir: work}
	defer func() {
		if err != nil {
			c.Discard()
		}
	}()
	dir, sub, commit, err := Download(ctx, work, from, ref)
	if err != nil {
		return c, err
	}
	c.Commit = commit
	if dir, err = skillDir(dir, sub); err != nil {
		return c, err
	}
	name := filepath.Base(dir)
	if dir == filepath.Join(work, "clone") {
		name = NameOf(from.Address)
	}
	target := filepath.Join(work, "skill")
	if c.Files, err = copySkill(dir, target); err != nil {
		return c, err
	}
	data, err := safefile.Read(skillFile(target), largestSkill)
	if err != nil {
		return c, err
	}
	if c.Skill, _, err = parse(data, name); err != nil {
		return c, fmt.Errorf("SKILL.md cannot be used: %w", err)
	}
	c.Dir, c.Path, c.Place = target, skillFile(target), User
	if c.Findings, err = Scan(dir); err != nil {
		return c, err
	}
	c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool { return strings.HasPrefix(f.File, ".git/") })
	return c, nil
}

// Discard removes a candidate from quarantine.
func (c Candidate) Discard() {
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// clone fetches a single commit, without submodules, filters and hooks, and without the user's
// settings.
func clone(ctx context.Context, url, ref, dir string) (commit string, err error) {
	if strings.HasPrefix(url, "-") || strings.HasPrefix(ref, "-") || strings.Contains(url, "::") {
		return "", fmt.Errorf("%q is no address of a skill", url)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if ref == "" {
		ref = "HEAD"
	}
	for _, args := range [][]string{
		{"init", "-q", "--template="}, {"fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--end-of-options", url, ref},
		{"checkout", "-q", "--detach", "FETCH_HEAD"},
	} {
		if _, err := git(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	return git(ctx, dir, "rev-parse", "HEAD")
}

// certificates is the prefix of git's variables for certificate authorities.
const certificates = "GIT_SSL_CA"

// git runs git without the user's settings.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, certificates)
	})
	env = append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_ALLOW_PROTOCOL=https:ssh:git:file")
	return runGit(ctx, dir, env, []string{"git", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.symlinks=true"}, args)
}

// userGit runs git with the user's settings, such as names and credentials. It asks nothing.
func userGit(ctx context.Context, dir string, args ...string) (string, error) {
	return runGit(ctx, dir, append(os.Environ(), "GIT_TERMINAL_PROMPT=0"), []string{"git"}, args)
}

func runGit(ctx context.Context, dir string, env, program, args []string) (string, error) {
	var out, errs bytes.Buffer
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	exit, err := proc.Run(ctx, proc.Cmd{Args: slices.Concat(program, args), Dir: dir, Env: env, Stdout: &out, Stderr: &errs})
	if err != nil && ctx.Err() == nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("git %s did not end: %w", args[0], ctx.Err())
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("git %s failed: %s", args[0], cmp.Or(strings.TrimSpace(errs.String()), strings.TrimSpace(out.String())))
	}
	return strings.TrimSpace(out.String()), nil
}

// skillDir returns the directory of the skill: dir itself, sub below it, or the only skill's.
func skillDir(dir, sub string) (string, error) {
	if sub != "" {
		if !filepath.IsLocal(filepath.FromSlash(sub)) {
			return "", fmt.Errorf("%q leaves the repository", sub)
		}
		for _, base := range []string{"", "skills"} {
			if found := filepath.Join(dir, base, filepath.FromSlash(sub)); hasSkill(found) {
				return Below(dir, found)
			}
		}
		return "", fmt.Errorf("there is no SKILL.md in %s", sub)
	}
	if hasSkill(dir) {
		return dir, nil
	}
	w := newWalker(newCache())
	w.search(dir, Workspace, "")
	switch len(w.found.Skills) {
	case 0:
		return "", errors.New("there is no SKILL.md")
	case 1:
		return w.found.Skills[0].Dir, nil
	}
	var names []string
	for _, s := range w.found.Skills {
		if rel, err := filepath.Rel(dir, s.Dir); err == nil {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	slices.Sort(names)
	return "", fmt.Errorf("there are %d skills; name the path of one: %s", len(names), strings.Join(names[:min(len(names), 30)], ", "))
}

func hasSkill(dir string) bool {
	info, err := os.Lstat(skillFile(dir))
	return err == nil && info.Mode().IsRegular()
}

// copySkill copies the files of a skill.
func copySkill(from, to string) (files []string, err error) {
	return CopyFiles(from, to, scanFiles, scanBytes)
}

// CopyFiles copies the regular files of a directory. Links, .git and other files are left out.
func CopyFiles(from, to string, mostFiles, mostBytes int) (files []string, err error) {
	all, err := filesOf(from)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, name := range all {
		if name == ".git" || strings.HasPrefix(name, ".git/") || strings.Contains(name, "/.git/") {
			continue
		}
		data, err := safefile.Read(filepath.Join(from, filepath.FromSlash(name)), int64(mostBytes))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if files, total = append(files, name), total+len(data); len(files) > mostFiles || total > mostBytes {
			return nil, fmt.Errorf("it has more than %d files or %d MB", mostFiles, mostBytes>>20)
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		mode := fs.FileMode(0o644)
		if info, err := os.Stat(filepath.Join(from, filepath.FromSlash(name))); err == nil && info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Install moves a candidate to the user's skills and stores it in the lock file. An installed skill of the same name is
// replaced if the user has not edited it; any other skill is not. If the lock file cannot be written, nothing changes.
func Install(ctx context.Context, home, name string, c Candidate) (dir string, err error) {
	if bad, ok := Blocked(c.Findings); ok {
		return "", fmt.Errorf("%s. It is not installed", bad)
	}
	if !validName.MatchString(name) || slices.Contains(notSearched, name) {
		return "", fmt.Errorf("the name %q must have 1 to 64 lower-case letters, digits and hyphens. --name gives another one", name)
	}
	sum, err := Hash(c.Dir)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(home, "skills", name)
	x := exchange{dir: dir, fresh: c.Dir, old: filepath.Join(c.dir, "old")}
	e, action := Entry{}, "INSTALL"
	err = changeLock(ctx, home, func(all map[string]Entry) error {
		old, had := all[name]
		if e = old; had {
			action = "UPDATE"
		}
		if err := replaceable(home, name, old, had); err != nil {
			return err
		}
		e.of(c, name, sum)
		all[name] = e
		return x.do()
	}, x.undo)
	if err != nil {
		return "", err
	}
	return dir, audit(home, action, name, e)
}

// replaceable returns an error if another skill has the name, or if the user has edited the
// installed skill.
func replaceable(home, name string, old Entry, had bool) error {
	dir := filepath.Join(home, "skills", name)
	if had && filepath.Clean(filepath.FromSlash(old.InstallPath)) != name {
		return fmt.Errorf("a skill of this name is installed in skills/%s. --name gives another name", old.InstallPath)
	}
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	if !had {
		return fmt.Errorf("%s exists and was not installed from here. --name gives another name", dir)
	}
	if err := Unedited(home, old); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// of sets the fields determined by a candidate.
func (e *Entry) of(c Candidate, name, sum string) {
	now := time.Now().UTC().Format(time.RFC3339)
	e.InstalledAt = cmp.Or(e.InstalledAt, now)
	e.Source, e.Identifier, e.TrustLevel, e.ScanVerdict = c.Source, c.From, "community", verdict(c.Findings)
	e.ContentHash, e.InstallPath, e.Files, e.UpdatedAt = "sha256:"+sum[:16], name, c.Files, now
	if e.Metadata = maps.Clone(e.Metadata); e.Metadata == nil {
		e.Metadata = map[string]any{}
	}
	e.Metadata["commit"], e.Metadata["sha256"] = c.Commit, sum
	if e.Metadata["ref"] = c.Ref; c.Ref == "" {
		delete(e.Metadata, "ref")
	}
}

// exchange replaces a directory with another.
type exchange struct {
	dir, fresh, old string
	had, done       bool
}

func (x *exchange) do() error {
	err := os.Rename(x.dir, x.old)
	if x.had = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(x.fresh, x.dir); err != nil {
		x.undo()
		return err
	}
	x.done = true
	return nil
}

// undo brings the old directory back.
func (x *exchange) undo() {
	if x.done {
		_ = os.Rename(x.dir, x.fresh) // if this fails, the next rename does, too
	}
	if x.had {
		_ = os.Rename(x.old, x.dir)
	}
}

// verdict is Hermes' word for findings.
func verdict(found []Finding) string {
	if len(found) > 0 {
		return "caution"
	}
	return "safe"
}

// ErrEdited means that the user has changed an installed skill.
var ErrEdited = errors.New("it was edited here and is not changed")

// ErrGone means that the directory of an installed skill was removed.
var ErrGone = errors.New("its directory is gone. Install it again, or run hermes-ls skills uninstall to remove its entry")

// Unedited returns an error if an installed skill is not as it was installed.
func Unedited(home string, e Entry) error {
	if !filepath.IsLocal(filepath.FromSlash(e.InstallPath)) {
		return fmt.Errorf("its path %q in the lock file leaves skills", e.InstallPath)
	}
	dir := filepath.Join(home, "skills", filepath.FromSlash(e.InstallPath))
	sum, err := Hash(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	if "sha256:"+sum[:16] != e.ContentHash || hasMore(dir) {
		return ErrEdited
	}
	return nil
}

// hasMore reports whether a directory contains links, empty directories or other files. [Hash]
// leaves them out, and no installation makes them.
func hasMore(dir string) (more bool) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			below, err := os.ReadDir(path)
			more = more || err == nil && len(below) == 0
		} else {
			more = more || err != nil || !e.Type().IsRegular()
		}
		return nil
	})
	return more
}

// Asks returns the reason for asking the user about a new version: findings or variables missing in
// the installed version. If there is no reason, it returns "".
func Asks(home string, installed Entry, c Candidate) string {
	dir := filepath.Join(home, "skills", filepath.FromSlash(installed.InstallPath))
	before, err := Scan(dir)
	if err != nil {
		return "the installed version cannot be read: " + err.Error()
	}
	for _, f := range c.Findings {
		if !slices.ContainsFunc(before, func(b Finding) bool { return b.What == f.What && b.File == f.File }) {
			return f.String()
		}
	}
	data, err := safefile.Read(skillFile(dir), largestSkill)
	if err != nil {
		return "the installed version cannot be read: " + err.Error()
	}
	old, _, _ := parse(data, filepath.Base(dir)) // if it cannot be parsed, all variables are new
	for _, name := range c.Meta.Environment {
		if !slices.Contains(old.Meta.Environment, name) {
			return "the new version uses the variable " + name
		}
	}
	return ""
}

// Uninstall moves an installed skill to .archive and removes it from the lock file.
func Uninstall(ctx context.Context, home, name string) error {
	installed, err := Installed(home)
	if err != nil {
		return err
	}
	e, ok := installed[name]
	if !ok || !filepath.IsLocal(filepath.FromSlash(e.InstallPath)) {
		return fmt.Errorf("no skill %q was installed", name)
	}
	archive := filepath.Join(home, "skills", ".archive")
	if err := os.MkdirAll(archive, 0o700); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(home, "skills", filepath.FromSlash(e.InstallPath)), filepath.Join(archive, name+"-"+time.Now().UTC().Format("20060102-150405")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return changeLock(ctx, home, func(all map[string]Entry) error {
		delete(all, name)
		return audit(home, "UNINSTALL", name, e)
	}, nil)
}

// Search returns the skills that match a query, the best first.
func Search(all []*Skill, query string) (found []*Skill) {
	for _, hit := range search(all, query) {
		if s, ok := find(all, hit.Name); ok {
			found = append(found, s)
		}
	}
	return found
}

// Check returns the reasons why the SKILL.md in dir cannot be loaded. With strict, it also returns
// violations of agentskills.io.
func Check(dir string, strict bool) (problems []string) {
	data, err := safefile.Read(skillFile(dir), largestSkill)
	if err != nil {
		return []string{err.Error()}
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if _, _, err := parse(data, filepath.Base(dir)); err != nil {
		problems = append(problems, err.Error())
	}
	if strict {
		problems = append(problems, Strict(data, filepath.Base(dir))...)
	}
	return slices.Compact(problems)
}
