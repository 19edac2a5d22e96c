package skills

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Tap is a repository in which skills are searched, in .hub/taps.json. The file is shared with Hermes Agent: unknown fields stay.
type Tap struct {
	Repo string `json:"repo"` // owner/repo of GitHub, or a git URL
	Path string `json:"path"` // of the directory with skills; may be empty

	rest map[string]json.RawMessage
}

// Same reports whether another tap is of the same repository and path.
func (t Tap) Same(other Tap) bool { return t.Repo == other.Repo && t.Path == other.Path }

// UnmarshalJSON keeps unknown fields.
func (t *Tap) UnmarshalJSON(data []byte) error {
	type plain Tap
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	return json.Unmarshal(data, &t.rest)
}

// MarshalJSON writes the unknown fields, too.
func (t Tap) MarshalJSON() ([]byte, error) {
	type plain Tap
	return withRest(plain(t), t.rest)
}

func tapsPath(home string) string { return filepath.Join(home, "skills", ".hub", "taps.json") }

// Taps returns the repositories in which skills are searched.
func Taps(home string) ([]Tap, error) {
	_, all, err := readTaps(home)
	return all, err
}

func readTaps(home string) (file map[string]json.RawMessage, all []Tap, err error) {
	file = map[string]json.RawMessage{}
	data, err := safefile.Read(tapsPath(home), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil, nil
	}
	if err != nil {
		return file, nil, err
	}
	if err = json.Unmarshal(data, &file); err == nil && file["taps"] != nil {
		err = json.Unmarshal(file["taps"], &all)
	}
	if err != nil {
		return file, nil, fmt.Errorf("%s: %w", tapsPath(home), err)
	}
	return file, all, nil
}

// ChangeTaps edits the list of repositories.
func ChangeTaps(ctx context.Context, home string, edit func([]Tap) ([]Tap, error)) error {
	hub := filepath.Dir(tapsPath(home))
	if err := os.MkdirAll(hub, 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(ctx, tapsPath(home)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	file, all, err := readTaps(home)
	if err != nil {
		return err
	}
	if all, err = edit(all); err != nil {
		return err
	}
	if file["taps"], err = json.Marshal(append([]Tap{}, all...)); err != nil {
		return err
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(hub)
	if err != nil {
		return err
	}
	return errors.Join(dir.Write("taps.json", data, 0o600), dir.Close())
}

// Remote is an installable skill.
type Remote struct {
	Source      string // for install
	Description string
}

// Search returns the skills of the repository, and the skills elsewhere listed in its marketplace
// file.
func (t Tap) Search(ctx context.Context, home, query string) (found []Remote, err error) {
	work, err := quarantine(home)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work) // the next search uses another directory
	root, _, _, err := Download(ctx, work, At(t.Repo), "")
	if err != nil {
		return nil, err
	}
	dir := root
	if t.Path != "" {
		if !filepath.IsLocal(filepath.FromSlash(t.Path)) {
			return nil, fmt.Errorf("%q leaves the repository", t.Path)
		}
		dir = filepath.Join(root, filepath.FromSlash(t.Path))
	}
	w := newWalker(newCache())
	w.search(dir, Workspace, "")
	all := w.found.Skills
	if query != "" {
		all = Search(all, query)
	}
	for _, s := range all {
		rel, err := filepath.Rel(root, s.Dir)
		if err != nil {
			continue
		}
		source := t.Repo + "/" + filepath.ToSlash(rel)
		if !ofGitHub.MatchString(t.Repo) {
			source = t.Repo + "#" + filepath.ToSlash(rel)
		}
		found = append(found, Remote{Source: source, Description: s.Description})
	}
	return append(found, marketplace(root, query)...), nil
}

// marketplace returns the plugins of other repositories listed in .claude-plugin/marketplace.json.
func marketplace(root, query string) (found []Remote) {
	data, err := textfile.Read(filepath.Join(root, ".claude-plugin", "marketplace.json"), 1<<20)
	if err != nil {
		return nil
	}
	var file struct {
		Plugins []struct {
			Name, Description string
			Source            json.RawMessage
		}
	}
	if json.Unmarshal(textfile.PlainJSON(data), &file) != nil {
		return nil
	}
	for _, p := range file.Plugins {
		var at struct{ Repo, URL, Path, Ref string }
		if json.Unmarshal(p.Source, &at) != nil || at.Repo == "" && at.URL == "" {
			continue // a path: its skills were found
		}
		source := at.Repo
		if source == "" {
			source = at.URL
		}
		switch {
		case at.Repo != "" && at.Path != "":
			source += "/" + strings.Trim(at.Path, "/")
		case at.Path != "":
			source += "#" + strings.Trim(at.Path, "/")
		}
		if at.Repo != "" && at.Ref != "" {
			source += "@" + at.Ref
		}
		text := strings.ToLower(p.Name + " " + p.Description)
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(query)), func(word string) bool { return !strings.Contains(text, word) }) {
			found = append(found, Remote{Source: source, Description: p.Description})
		}
	}
	return found
}

// Publish adds a skill to a branch of a repository and pushes the branch with the user's git. It returns the branch.
func Publish(ctx context.Context, home, dir, name, to string) (branch string, err error) {
	if strings.HasPrefix(to, "-") || strings.Contains(to, "::") {
		return "", fmt.Errorf("%q is no address of a repository", to)
	}
	if ofGitHub.MatchString(to) {
		to = "https://github.com/" + to + ".git"
	}
	work, err := quarantine(home)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) // the next update uses another directory
	clone := filepath.Join(work, "clone")
	if _, err := userGit(ctx, work, "clone", "-q", "--depth=1", "--no-recurse-submodules", "--end-of-options", to, clone); err != nil {
		return "", err
	}
	branch = "add-skill-" + name
	heads, err := userGit(ctx, clone, "ls-remote", "--heads", "origin", "refs/heads/"+branch)
	if err != nil {
		return "", err
	}
	begin := []string{"checkout", "-q", "-B", branch}
	if heads != "" { // an earlier version, which is not merged
		if _, err := userGit(ctx, clone, "fetch", "-q", "--depth=1", "origin", branch); err != nil {
			return "", err
		}
		begin = append(begin, "FETCH_HEAD")
	}
	if _, err := userGit(ctx, clone, begin...); err != nil {
		return "", err
	}
	if err := putSkill(clone, dir, name); err != nil {
		return "", err
	}
	if _, err := userGit(ctx, clone, "add", "--", "skills/"+name); err != nil {
		return "", err
	}
	if changes, err := userGit(ctx, clone, "status", "--porcelain"); err != nil || changes == "" {
		return "", cmp.Or(err, fmt.Errorf("the repository has this version of %s already. Nothing was published", name))
	}
	for _, args := range [][]string{{"commit", "-q", "-m", "Add skill " + name}, {"push", "-q", "origin", branch}} {
		if _, err := userGit(ctx, clone, args...); err != nil {
			return "", err
		}
	}
	return branch, nil
}

// putSkill replaces a skill in a clone. A link in its place may leave the clone, so it is an error.
func putSkill(clone, dir, name string) error {
	target := clone
	for _, part := range []string{"skills", name} {
		target = filepath.Join(target, part)
		if info, err := os.Lstat(target); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no directory in the repository. Nothing was published", part)
		}
	}
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	_, err := copySkill(dir, target)
	return err
}
