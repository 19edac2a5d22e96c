// Package testdir creates directories for tests that do not long outlive their run: if the test
// binary is killed, the next run removes its directories.
package testdir

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Make creates a directory in parent that only this user can enter. Its name begins with prefix and
// the id of this process. First, Make removes directories of ended processes with the same prefix.
func Make(parent, prefix string) (string, error) {
	sweep(parent, prefix)
	for {
		name := prefix + strconv.FormatInt(int64(os.Getpid()), base) + "-" + strconv.FormatUint(uint64(rand.Uint32()), base)
		err := os.Mkdir(filepath.Join(parent, name), 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return filepath.Join(parent, name), err
		}
	}
}

// Keep creates the directory parent/name, which only this user can enter, and holds it until this
// process ends or removes it. An ended process's directory is emptied. If another process holds the
// directory, or it is another user's, Keep returns false.
func Keep(parent, name string) (dir string, ok bool) {
	dir = filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", false
	}
	if !hold(dir) {
		return "", false
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, Remove(filepath.Join(dir, e.Name())))
	}
	return dir, err == nil
}

// base is the base of the numbers in names: they are short, since a socket path has at most 108
// bytes.
const base = 36

// sweep removes directories of ended processes. If a directory is another user's, it stays.
func sweep(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, named := strings.Cut(rest, "-")
		pid, err := strconv.ParseInt(number, base, 32)
		if ours && named && err == nil && pid > 0 && e.IsDir() && ended(int(pid)) {
			Remove(filepath.Join(parent, e.Name())) // another user's, or another process removes it
		}
	}
}

// Remove removes a folder, also if folders in it are read-only.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error { // the removal reports errors
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700) // as above
		}
		return nil
	})
	return os.RemoveAll(dir)
}
