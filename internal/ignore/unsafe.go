package ignore

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rg opens ignore files directly: it waits forever for a named pipe, and reads all of /dev/zero
// into memory. The functions of this file find such ignore files.

// UnsafeAbove reports whether rg would wait for, or read without end, an ignore file in
// dir, in the directories above it, or of the user.
func (c GitConfig) UnsafeAbove(dir string) bool {
	for _, file := range []string{filepath.Join(c.Home, ".gitconfig"), filepath.Join(c.XDG, "git", "config"), filepath.Join(c.XDG, "git", "ignore")} {
		if unsafeFile(file) {
			return true
		}
	}
	for {
		if slices.ContainsFunc(ruleNames, func(name string) bool { return unsafeIn(dir, name) }) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// ruleNames are the entries of a directory from which rg reads rules.
var ruleNames = append([]string{".git"}, ignoreNames[:]...)

// UnsafeBelow reports whether rg would wait for, or read without end, an ignore file below
// dir. It returns early if ctx ends.
func UnsafeBelow(ctx context.Context, dir string) (unsafe bool) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil: // not ours to read
			return nil
		case slices.Contains(ruleNames, d.Name()) && unsafeIn(filepath.Dir(path), d.Name()):
			unsafe = true
			return fs.SkipAll
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		}
		return nil
	})
	return unsafe
}

// unsafeIn is unsafeFile for an entry of a directory. If .git is a file, it checks the files of the
// repository it names.
func unsafeIn(parent, name string) bool {
	path := filepath.Join(parent, name)
	if unsafeFile(path) {
		return true
	}
	if name != ".git" {
		return false
	}
	dirs := []string{path}
	if dir, ok := strings.CutPrefix(string(readRules(path)), "gitdir:"); ok {
		dir = inDir(parent, strings.TrimSpace(dir))
		dirs = []string{dir}
		if unsafeFile(filepath.Join(dir, "commondir")) {
			return true
		}
		if common := strings.TrimSpace(string(readRules(filepath.Join(dir, "commondir")))); common != "" {
			dirs = append(dirs, inDir(dir, common))
		}
	}
	return slices.ContainsFunc(dirs, func(dir string) bool { return unsafeFile(filepath.Join(dir, "info", "exclude")) })
}

// unsafeFile reports whether path is neither a directory nor a regular file of at most
// maxIgnoreFile bytes.
func unsafeFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > maxIgnoreFile)
}
