// Package program finds the programs that the server starts for itself, such as git for a diff or
// rg for a search.
//
// An editor is often started from an activated environment, so its PATH begins with
// WORKSPACE/.venv/bin or ./node_modules/.bin. Commands of the agent write there. A program started
// by the server without an approval request must never come from such a directory:
//
//	git, err := program.Find("git", session.Folders())
//	cmd.Env = program.Environ(env, session.Folders())
//
// Commands and scripts of the model are different: they use the user's PATH.
//
// All functions are safe for concurrent use.
package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Find returns the absolute path of the program name. It searches the directories of the server's
// PATH, except directories excluded by [Path], and programs that link to, or through, such a
// directory. If it finds none, the error is [exec.ErrNotFound].
func Find(name string, workspace []string) (string, error) {
	return FindIn(os.Getenv("PATH"), name, workspace)
}

// FindIn is Find for another value of PATH.
func FindIn(path, name string, workspace []string) (string, error) {
	if name == "" || strings.ContainsAny(name, `/\`) {
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return find(path, name, func(folder, found string) bool {
		r := rules(workspace)
		return r.trusts(folder) && r.trustsFile(found)
	})
}

// FindTool is FindIn for a program installed by the user as a tool of the editor. It may be in a
// Python environment, where pipx and uv install programs, but neither in the workspace nor in a
// node_modules/.bin.
func FindTool(path, name string, workspace []string) (string, error) {
	if name == "" || strings.ContainsAny(name, `/\`) {
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return find(path, name, func(folder, found string) bool {
		r := rules(workspace)
		real, ok := r.follow(found)
		return ok && r.shared(folder) && r.shared(filepath.Dir(real))
	})
}

// find returns the first trusted program in the directories of a value of PATH.
func find(path, name string, trusted func(folder, found string) bool) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		found, err := exec.LookPath(filepath.Join(folder, name))
		if err != nil {
			continue // most folders: to ask whether they are trusted takes ten times as long
		}
		if trusted(folder, found) {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// In reports whether the program at path, which exists, is in the workspace, or is reached through
// it.
func In(path string, workspace []string) bool {
	r := rules(workspace)
	if r.within(path) {
		return true
	}
	_, ok := r.follow(path)
	return !ok
}

// Path returns the directories of a value of PATH to which commands of the agent cannot write. They
// are absolute, outside of the workspace folders and of project environments (.venv/bin,
// node_modules/.bin), and not world-writable. Links are followed.
func Path(path string, workspace []string) string {
	r := rules(workspace)
	var kept []string
	for _, folder := range filepath.SplitList(path) {
		if r.trusts(folder) {
			kept = append(kept, folder)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// Environ returns env with its PATH filtered by [Path], so a program found by the server starts no
// other program from the workspace.
func Environ(env, workspace []string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			kv = name + "=" + Path(value, workspace)
		}
		out[i] = kv
	}
	return out
}

// rule is a folder written by commands: as spelled, and with its links resolved.
type rule []string

func rules(workspace []string) rule {
	var all rule
	for _, folder := range workspace {
		all = append(all, filepath.Clean(folder))
		if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder {
			all = append(all, real)
		}
	}
	return all
}

// trusts reports whether programs in a folder may be started.
func (r rule) trusts(folder string) bool {
	real, ok := r.follow(folder)
	return ok && !inEnvironment(folder) && !inEnvironment(real) && r.shared(folder)
}

// shared reports whether a directory is outside of the workspace, is no node_modules/.bin, and is
// not world-writable.
func (r rule) shared(folder string) bool {
	if !filepath.IsAbs(folder) || ofPackages(folder) {
		return false
	}
	real, ok := r.follow(folder)
	if !ok || ofPackages(real) {
		return false
	}
	info, err := os.Stat(real)
	return err == nil && info.IsDir() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o002 == 0)
}

// trustsFile reports whether the program at path may be started, wherever it is a link to.
func (r rule) trustsFile(path string) bool {
	real, ok := r.follow(path)
	return ok && r.trusts(filepath.Dir(real))
}

// mostLinks is how many links a path may have, as for the system.
const mostLinks = 40

// follow resolves the links of an absolute path one after another. If the path or a link leads
// through a directory that commands write, or does not exist, ok is false.
func (r rule) follow(path string) (real string, ok bool) {
	start := filepath.VolumeName(path) + string(filepath.Separator)
	real, rest := start, strings.TrimPrefix(path, start)
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, string(filepath.Separator))
		if part == "" || part == "." {
			continue
		}
		next := filepath.Join(real, part)
		info, err := os.Lstat(next)
		if err != nil || r.within(next) {
			return "", false
		}
		if info.Mode()&os.ModeSymlink == 0 {
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > mostLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			real, target = start, strings.TrimPrefix(target, start)
		}
		rest = target + string(filepath.Separator) + rest
	}
	return real, true
}

func (r rule) within(path string) bool {
	path = filepath.Clean(path)
	for _, folder := range r {
		if folder == filepath.VolumeName(folder)+string(filepath.Separator) {
			if writable(path) { // everything is in the workspace: read-only files are the system's
				return true
			}
			continue
		}
		rel, err := filepath.Rel(folder, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// ofPackages reports whether a directory contains the programs installed by npm for a project,
// which may be the workspace of another session.
func ofPackages(folder string) bool {
	return filepath.Base(folder) == ".bin" && filepath.Base(filepath.Dir(folder)) == "node_modules"
}

// inEnvironment reports whether a directory contains the programs of a Python environment, which
// may belong to a project.
func inEnvironment(folder string) bool {
	_, err := os.Lstat(filepath.Join(filepath.Dir(folder), "pyvenv.cfg"))
	return err == nil
}
