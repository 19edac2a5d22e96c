package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ripgrep itself opens ignore files. It waits forever for a named pipe, and reads all of
// /dev/zero into memory. So where such a thing may be, the built-in engine searches.

// suspectAfter is how long rg may search before anything below the start is looked at.
const suspectAfter = 500 * time.Millisecond

// badRulesAbove reports whether rg would wait for, or read without an end, a file of
// rules in dir, in the folders above it, or of the user.
func (c gitConfig) badRulesAbove(dir string) bool {
	for _, file := range []string{filepath.Join(c.home, ".gitconfig"), filepath.Join(c.xdg, "git", "config"), filepath.Join(c.xdg, "git", "ignore")} {
		if badRules(file) {
			return true
		}
	}
	for {
		if slices.ContainsFunc(ruleNames, func(name string) bool { return badRulesIn(dir, name) }) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// ruleNames are the entries of a folder that rg takes rules from.
var ruleNames = append([]string{".git"}, ignoreNames[:]...)

// badRulesBelow is badRulesAbove for all folders below dir. It ends early with ctx.
func badRulesBelow(ctx context.Context, dir string) (bad bool) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil: // not ours to read
			return nil
		case slices.Contains(ruleNames, d.Name()) && badRulesIn(filepath.Dir(path), d.Name()):
			bad = true
			return fs.SkipAll
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		}
		return nil
	})
	return bad
}

// badRulesIn judges an entry of a folder. A file .git names another folder.
func badRulesIn(folder, name string) bool {
	path := filepath.Join(folder, name)
	if badRules(path) {
		return true
	}
	if name != ".git" {
		return false
	}
	dirs := []string{path}
	if dir, ok := strings.CutPrefix(string(readRules(path)), "gitdir:"); ok {
		dir = inFolder(folder, strings.TrimSpace(dir))
		dirs = []string{dir}
		if badRules(filepath.Join(dir, "commondir")) {
			return true
		}
		if common := strings.TrimSpace(string(readRules(filepath.Join(dir, "commondir")))); common != "" {
			dirs = append(dirs, inFolder(dir, common))
		}
	}
	return slices.ContainsFunc(dirs, func(dir string) bool { return badRules(filepath.Join(dir, "info", "exclude")) })
}

// badRules reports whether something is at path that is neither a folder nor a file of
// reasonable length.
func badRules(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > maxIgnoreFile)
}

// suspect calls stop if rg, which reads rules below dir, has not ended for a while and
// there are some that it should not read. It returns when done has been closed.
func suspect(ctx context.Context, dir string, stop func(), done <-chan struct{}) {
	timer := time.NewTimer(suspectAfter)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with done
		<-done
		cancel()
	}()
	if badRulesBelow(ctx, dir) {
		stop()
	}
	<-done
}
