// Package gitrepo finds the git directory of a directory, without git.
//
// Commands of the agent can change its sources: a file .git can name any directory, and so
// can commondir in a directory .git. So a repository outside of its working directory is
// used only if it names the working directory too, as git itself does for worktrees and
// submodules.
//
//	r, err := gitrepo.Find(folder)
//	cmd.Env = append(env, "GIT_COMMON_DIR="+r.Common)
package gitrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Repo holds the git directories of a working directory. Paths are absolute and have no links,
// apart from Top of [At].
type Repo struct {
	Top    string // the working folder
	GitDir string // of this working folder
	Common string // shared by all its worktrees
}

// ErrNone reports a directory outside of any git repository.
var ErrNone = errors.New("there is no git repository")

// Find finds the repository around folder. If there is none, the error is [ErrNone].
func Find(folder string) (Repo, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return Repo{}, err
	}
	for top := folder; ; top = filepath.Dir(top) {
		path := filepath.Join(top, ".git")
		info, err := os.Lstat(path)
		switch {
		case err == nil && top != folder && !sameOwner(info, folder):
			return Repo{}, fmt.Errorf("%s belongs to another user", path)
		case err == nil:
			return At(top)
		case top == filepath.Dir(top):
			return Repo{}, ErrNone
		}
	}
}

// At returns the repository with the working directory top. If top has no .git, the error is
// [ErrNone].
func At(top string) (Repo, error) {
	path := filepath.Join(top, ".git")
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return Repo{}, ErrNone
	case info.Mode().IsRegular():
		return linked(top, path)
	case !info.IsDir():
		return Repo{}, fmt.Errorf("%s: %w", path, &safefile.KindError{Mode: info.Mode()})
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		path = filepath.Join(real, ".git")
	}
	return Repo{top, path, path}, nil
}

// linked is the repository of a worktree or a submodule, whose .git is a file.
func linked(top, file string) (Repo, error) {
	dir, ok := pointer(file, "gitdir: ", top)
	if !ok {
		return Repo{}, fmt.Errorf("%s names no git repository", file)
	}
	r := Repo{top, dir, dir}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return Repo{}, err
	}
	if folder := filepath.Dir(dir); filepath.Base(folder) == "worktrees" {
		if back, ok := pointer(filepath.Join(dir, "gitdir"), "", dir); ok && back == filepath.Join(real, ".git") {
			r.Common = filepath.Dir(folder)
			return r, nil
		}
	}
	if rel, err := filepath.Rel(real, dir); err == nil && filepath.IsLocal(rel) || worksIn(dir) == real {
		return r, nil
	}
	return Repo{}, fmt.Errorf("%s names the repository %s, which does not know it", file, dir)
}

// pointer reads a path, relative to a folder, from a single-line file.
func pointer(file, prefix, folder string) (path string, ok bool) {
	text, err := safefile.Read(file, safefile.Line)
	line, found := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix) // git keeps spaces
	if err != nil || !found || line == "" || strings.ContainsRune(line, 0) {
		return "", false
	}
	path, err = filepath.EvalSymlinks(absolute(folder, filepath.FromSlash(line)))
	return path, err == nil
}

// absolute does not clean the path: there may be links before "..".
func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return folder + string(filepath.Separator) + path
}

// worksIn returns the working directory named by a submodule's repository.
func worksIn(dir string) string {
	text, err := safefile.Read(filepath.Join(dir, "config"), safefile.Settings)
	if err != nil {
		return ""
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(line)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "[core]" && strings.EqualFold(strings.TrimSpace(key), "worktree") {
			path, _ := filepath.EvalSymlinks(absolute(dir, strings.Trim(strings.TrimSpace(value), `"`))) // nowhere: no folder is ""
			return path
		}
	}
	return ""
}

// sameOwner reports whether a file belongs to whom the folder belongs to, or to us.
func sameOwner(file fs.FileInfo, folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return false
	}
	owner, known := ownerOf(file)
	other, _ := ownerOf(info)
	return !known || owner == other || owner == os.Geteuid()
}
