//go:build unix

package debug

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

// longestPath is the longest name of a socket on all systems.
const longestPath = 103

// Listen creates a socket with mode 0600 in a directory that only this user can enter. It replaces
// a socket left there by an ended server. If another server uses it, or if the directory is not
// safe, Listen returns an error and changes nothing.
func Listen(path string) (*Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%w; make a directory of your own with mkdir -m 700", err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	if len(path) > longestPath {
		return nil, fmt.Errorf("%s has %d bytes; the name of a socket has at most %d", path, len(path), longestPath)
	}
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	made, err := os.Lstat(path)
	if err = errors.Join(err, os.Chmod(path, 0o600)); err != nil {
		_ = l.Close()
		return nil, err
	}
	return &Listener{l, func() { removeOwn(path, made) }}, nil
}

// checkDirectory returns an error unless only this user can enter the directory and change
// the way to it.
func checkDirectory(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.IsDir() {
			return fmt.Errorf("%s is not a directory", at)
		}
		mode := info.Mode()
		switch {
		case at == dir && int(stat.Uid) != os.Geteuid():
			return fmt.Errorf("%s belongs to another user; make a directory of your own with mkdir -m 700", at)
		case at == dir && mode.Perm()&0o077 != 0:
			return fmt.Errorf("others can enter %s (mode %04o); make a directory of your own with mkdir -m 700", at, mode.Perm())
		case at != dir && int(stat.Uid) != os.Geteuid() && stat.Uid != 0,
			at != dir && mode.Perm()&0o022 != 0 && mode&fs.ModeSticky == 0:
			return fmt.Errorf("others can replace %s, on the way to the socket; use another directory", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// lock keeps two servers from replacing the same socket at once.
func lock(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for range 100 {
		locked, err := filelock.Try(d, filelock.Exclusive)
		if locked {
			return func() { filelock.Release(d) }, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), d.Close())
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = d.Close()
	return nil, fmt.Errorf("another process holds the lock of %s", dir)
}

// removeStale removes a socket of this user without a listener.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; it was not changed", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another server uses %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("another server may use %s: %w", path, err)
	}
	return os.Remove(path)
}

// removeOwn removes the socket if it has not been replaced.
func removeOwn(path string, made fs.FileInfo) {
	unlock, err := lock(filepath.Dir(path))
	if err != nil {
		return // the next server replaces it
	}
	defer unlock()
	if now, err := os.Lstat(path); err == nil && os.SameFile(now, made) {
		_ = os.Remove(path) // else the next server replaces it
	}
}
