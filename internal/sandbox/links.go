package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// mostLinks bounds the links that are followed on the way to a file.
const mostLinks = 40

// follow resolves the links of an absolute path, one by one and as the kernel does: ".." leads
// out of where a link has led. links are those that it met, by their own paths, whose folders
// have no links in them. If the end is missing, real is where it would be, and ok is false.
func follow(path string) (real string, links []string, ok bool) {
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
		info, err := os.Lstat(next)
		if err != nil {
			return filepath.Join(append([]string{next}, rest...)...), links, false
		}
		if info.Mode()&os.ModeSymlink == 0 {
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

// parents are the folders around a path, up to the innermost of roots and without it. It
// returns none if the path lies in no root.
func parents(path string, roots []string) (dirs []string) {
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
