// Package fspath answers questions about paths: which lies in which, and where links lead.
package fspath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostLinks bounds the links on the way to a file.
const mostLinks = 40

// Follow resolves the links of an absolute path in order, as the kernel does: ".." starts from a
// link's target. links are the links on the way, with resolved parent folders. If the file is
// missing, real is its resolved path, and ok is false.
func Follow(path string) (real string, links []string, ok bool) {
	rest := strings.Split(path, "/")
	real = "/"
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, part)
		link, err := isLink(next)
		if err != nil {
			return filepath.Join(append([]string{next}, rest...)...), links, false
		}
		if !link {
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if links = append(links, next); err != nil || len(links) > mostLinks {
			return next, links, false
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return real, links, true
}

// Parents are the folders around a path, up to the innermost of roots and without it. It
// returns none if the path lies in no root.
func Parents(path string, roots []string) (dirs []string) {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, root := range roots {
			if dir == root {
				return dirs
			}
		}
		dirs = append(dirs, dir)
	}
	return nil
}

// Existing resolves the symbolic links of the existing paths.
func Existing(paths []string) (real []string) { return Resolver{}.Existing(paths) }

// Resolver follows links. It looks at each path and each shared folder once: it is for lists of
// paths needed at the same moment. It maps a path to its resolved path, or to "" if it does not
// exist. It is not safe for concurrent use.
type Resolver map[string]string

// Existing resolves the symbolic links of the existing paths.
func (r Resolver) Existing(paths []string) (real []string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		if path := r.resolve(path); path != "" {
			real = append(real, path)
		}
	}
	slices.Sort(real)
	return slices.Compact(real)
}

func (r Resolver) resolve(path string) (real string) {
	real, known := r[path]
	if !known {
		real = r.follow(path)
		r[path] = real
	}
	return real
}

func (r Resolver) follow(path string) (real string) {
	if dir := filepath.Dir(path); dir != path && filepath.Clean(path) == path { // a link before ".." decides where it leads
		at := r.resolve(dir)
		if at == "" {
			return ""
		}
		path = filepath.Join(at, filepath.Base(path))
		link, err := isLink(path)
		if err != nil {
			return ""
		}
		if !link {
			return path
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// Under reports whether path is dir or lies in it.
func Under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// UnderAny reports whether path is or lies in one of dirs.
func UnderAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Under(path, dir) })
}

// Real is a path without links; itself if there is nothing.
func Real(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	return path
}

// Expand replaces a leading ~ of a path by home.
func Expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}
