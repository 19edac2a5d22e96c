package delegate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// repository is where git keeps what belongs to a working folder. Commands can write
// the files that say so; so a repository outside of its working folder counts only if it
// names the folder, too.
type repository struct {
	top    string // the working folder, with its links resolved
	gitDir string // of this working folder
	common string // what all its worktrees share
}

var errNoRepository = errors.New("there is no git repository")

// findRepository finds the repository around folder. If there is none, the error is
// errNoRepository.
func findRepository(folder string) (repository, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return repository{}, err
	}
	for top := folder; ; top = filepath.Dir(top) {
		path := filepath.Join(top, ".git")
		info, err := os.Lstat(path)
		switch {
		case err != nil && top == filepath.Dir(top):
			return repository{}, errNoRepository
		case err != nil:
		case top != folder && !sameOwner(info, folder):
			return repository{}, fmt.Errorf("%s belongs to another user", path)
		case info.IsDir():
			return repository{top, path, path}, nil
		case info.Mode().IsRegular():
			return linked(top, path)
		default:
			return repository{}, fmt.Errorf("%s: %w", path, &safefile.KindError{Mode: info.Mode()})
		}
	}
}

// linked is the repository of a worktree or a submodule, whose .git is a file.
func linked(top, file string) (repository, error) {
	dir, ok := pointer(file, "gitdir:", top)
	if !ok {
		return repository{}, fmt.Errorf("%s names no git repository", file)
	}
	r := repository{top, dir, dir}
	if folder := filepath.Dir(dir); filepath.Base(folder) == "worktrees" {
		if back, ok := pointer(filepath.Join(dir, "gitdir"), "", dir); ok && back == file {
			r.common = filepath.Dir(folder)
			return r, nil
		}
	}
	if rel, err := filepath.Rel(top, dir); err == nil && filepath.IsLocal(rel) || worksIn(dir) == top {
		return r, nil
	}
	return repository{}, fmt.Errorf("%s names the repository %s, which does not know it", file, dir)
}

// pointer reads a path, relative to a folder, from a file of one line.
func pointer(file, prefix, folder string) (path string, ok bool) {
	text, err := safefile.Read(file, safefile.Line)
	line, found := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if line = strings.TrimSpace(line); err != nil || !found || line == "" {
		return "", false
	}
	path, err = filepath.EvalSymlinks(absolute(folder, filepath.FromSlash(line)))
	return path, err == nil
}

func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// worksIn is the working folder that the repository of a submodule names.
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
