package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// nestedLimit bounds the folders of a root in which a repository is looked for.
const nestedLimit = 200

// repository is the folder in which git keeps one, with its hooks and settings.
type repository string

func (r repository) hooks() string { return filepath.Join(string(r), "hooks") }
func (r repository) configs() []string {
	return []string{filepath.Join(string(r), "config"), filepath.Join(string(r), "config.worktree")}
}

// repositories are those that the roots hold: their own, one folder further down,
// those around them and of their worktrees, and the submodules of all these.
func repositories(roots []string) (all []repository) {
	seen := map[string]bool{}
	add := func(dir string) {
		if dir != "" && !seen[dir] && isRepository(dir) {
			seen[dir] = true
			all = append(all, repository(dir))
		}
	}
	for _, root := range roots {
		add(around(root))
		for _, dir := range gitDirs(root) {
			add(dir)
		}
		entries, _ := os.ReadDir(root)
		for _, e := range entries[:min(len(entries), nestedLimit)] {
			if e.IsDir() && e.Name() != ".git" {
				for _, dir := range gitDirs(filepath.Join(root, e.Name())) {
					add(dir)
				}
			}
		}
	}
	for _, r := range all {
		for _, pattern := range []string{"modules/*", "modules/*/*"} {
			modules, _ := filepath.Glob(filepath.Join(string(r), pattern))
			for _, dir := range modules {
				add(dir)
			}
		}
	}
	return all
}

// gitDirs are where git keeps the repository of a working folder: .git, or what a
// file of that name says, with what a worktree shares.
func gitDirs(folder string) (dirs []string) {
	path := filepath.Join(folder, ".git")
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if !info.Mode().IsRegular() {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return []string{path}
	}
	dir, ok := pointer(path, "gitdir:", folder)
	if !ok {
		return nil
	}
	dirs = []string{dir}
	if common, ok := pointer(filepath.Join(dir, "commondir"), "", dir); ok {
		dirs = append(dirs, common)
	}
	return dirs
}

// pointer reads a path, relative to a folder, from a file of one line.
func pointer(file, prefix, folder string) (path string, ok bool) {
	text, err := safefile.Read(file, safefile.Line)
	line, found := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	line = strings.TrimSpace(line)
	if err != nil || !found || line == "" || len(line) > 4096 {
		return "", false
	}
	if !filepath.IsAbs(line) {
		line = filepath.Join(folder, line)
	}
	real, err := filepath.EvalSymlinks(line)
	return real, err == nil
}

func isRepository(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	for _, name := range []string{"HEAD", "config", "hooks"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// around is the repository that a root is a folder of; empty: none, or the root's
// own.
func around(root string) string {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		return ""
	}
	for dir := filepath.Dir(root); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		if info, err := os.Lstat(path); err == nil {
			if info.IsDir() && sameOwner(dir, root) && complete(path) {
				return path
			}
			return ""
		}
	}
	return ""
}

// complete reports whether git itself would take a folder for a repository.
func complete(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// outside are the repositories of roots that lie outside of them, and that git
// has to write when something is committed. A file .git is part of the workspace,
// and could name any folder: what it names counts only if it names the file, too.
func outside(roots []string) (dirs []string) {
	for _, root := range roots {
		if dir := around(root); dir != "" {
			dirs = append(dirs, dir)
		}
		file := filepath.Join(root, ".git")
		dir, ok := pointer(file, "gitdir:", root)
		if !ok || underAny(dir, roots) {
			continue
		}
		if back, ok := pointer(filepath.Join(dir, "gitdir"), "", dir); ok && back == file {
			dirs = append(dirs, dir)
			if common, ok := pointer(filepath.Join(dir, "commondir"), "", dir); ok && complete(common) {
				dirs = append(dirs, common)
			}
		}
	}
	return dirs
}
