package codeexec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stagingPrefix names our folders in the temp folder.
const stagingPrefix = "hermes-exec-"

// scriptName is what a script's file is called in tracebacks.
const scriptName = "script.py"

// sweepAge spares folders that are being made at this moment.
const sweepAge = time.Minute

// staging is the private folder of a script: the script, our module, the socket.
// A lock that its server holds tells others that it is in use.
type staging struct {
	dir  string
	lock *os.File
}

// tempDir is where ours go. The path of a socket has room for about 100 bytes.
func tempDir() string {
	if dir := os.TempDir(); len(dir) <= 64 {
		return dir
	}
	return "/tmp"
}

// newStaging makes a folder that only this user can enter. It is new: a name that
// exists, be it a link that somebody has planted, is not used.
func newStaging() (*staging, error) {
	dir, err := os.MkdirTemp(tempDir(), stagingPrefix) // 0700
	if err != nil {
		return nil, fmt.Errorf("making a folder for the script: %w", err)
	}
	s := &staging{dir: dir}
	if s.dir, err = filepath.EvalSymlinks(dir); err == nil {
		s.lock, err = lockFile(s.path("lock"))
	}
	for _, name := range []string{"lib", "boot", "work"} {
		if err == nil {
			err = os.Mkdir(s.path(name), 0o700)
		}
	}
	if err != nil {
		os.RemoveAll(dir) //nolint:errcheck // the error that counts is there
		return nil, fmt.Errorf("making a folder for the script: %w", err)
	}
	return s, nil
}

func (s *staging) path(name string) string { return filepath.Join(s.dir, name) }

// write puts a file there.
func (s *staging) write(name, text string) error {
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the script's files: %w", err)
	}
	return nil
}

// fill puts there what a script needs. Only hermes_tools lies where imports look: a
// workspace may have modules of its own called start and kernel.
func (s *staging) fill(names []string) error {
	if err := s.write("lib/hermes_tools.py", stub(names)); err != nil {
		return err
	}
	if err := s.write("boot/kernel.py", kernelSource); err != nil {
		return err
	}
	return s.write("boot/start.py", startSource)
}

// remove takes everything away. A script may have made folders that cannot be
// entered; they get their permissions back.
func (s *staging) remove() {
	if os.RemoveAll(s.dir) != nil {
		_ = filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700) // as far as it goes
			}
			return nil
		})
		os.RemoveAll(s.dir) //nolint:errcheck // the next server tries again
	}
	s.lock.Close() //nolint:errcheck // gives the lock up
}

// Sweep removes the folders of servers that are dead.
func Sweep() {
	entries, err := os.ReadDir(tempDir())
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) && e.IsDir() {
			sweep(filepath.Join(tempDir(), e.Name()))
		}
	}
}

func sweep(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !mine(info) {
		return
	}
	lock, err := tryLock(filepath.Join(dir, "lock"))
	switch {
	case err == nil:
		(&staging{dir: dir, lock: lock}).remove()
	case os.IsNotExist(err) && time.Since(info.ModTime()) > sweepAge: // its server died while it was made
		os.RemoveAll(dir) //nolint:errcheck // the next server tries again
	}
}
