package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// A claim can outlive its process. If a process is killed while it starts a child, the child
// holds the lock until it runs its program. On a busy machine this takes seconds. inherited is
// the wait for a claim if the file names a dead process, brief the wait otherwise.
const (
	brief     = 300 * time.Millisecond
	inherited = 10 * time.Second
)

// claims are the locks of sessions in use. Each is a file in dir.
type claims struct {
	dir string
	mu  sync.Mutex // held while lock files are created or removed
}

// Claim reserves a session for a turn, so no other window works in it at the same time. If
// another window holds the session, Claim returns [ErrClaimed]. The claim is a lock of the
// operating system, so it ends with the process in any case. On a file system without locks,
// every Claim succeeds, and only [ErrConflict] protects the session.
func (s *Store) Claim(id string) (release func(), err error) {
	release, err = s.claims.take(id, true)
	if err != nil && !errors.Is(err, ErrClaimed) {
		err = s.explain("claiming session "+id, fmt.Errorf("%w; "+adviceHome, err))
	}
	return release, err
}

// take locks the file of a session. If another process holds it and wait is set, take retries
// while the lock may belong to a dead process.
func (c *claims) take(id string, wait bool) (release func(), err error) {
	path := filepath.Join(c.dir, url.PathEscape(id)+".lock")
	began := time.Now()
	for range 100 {
		f, err := c.open(path)
		if err != nil {
			return nil, err
		}
		locked, unlockable := filelock.Try(f, filelock.Exclusive)
		for !locked && unlockable == nil && wait && time.Since(began) < longestWait(f) {
			time.Sleep(10 * time.Millisecond)
			locked, unlockable = filelock.Try(f, filelock.Exclusive)
		}
		if !locked && unlockable == nil {
			return nil, errors.Join(fmt.Errorf("session %s: %w", id, ErrClaimed), f.Close())
		}
		if sameFile(f, path) {
			sign(f)
			return func() { c.release(f, path) }, nil
		}
		_ = f.Close() // its last holder removed it between our open and our lock
	}
	return nil, fmt.Errorf("%s is never the same file twice", path)
}

// sign writes this process into the file of a claim. Without this note, others wait less for
// its end.
func sign(f *os.File) {
	space, _ := os.Readlink(processes)
	note := fmt.Sprintf("%d %s\n", os.Getpid(), space)
	if _, err := f.WriteAt([]byte(note), 0); err == nil {
		_ = f.Truncate(int64(len(note))) // the rest of a longer note is harmless
	}
}

// processes names the namespace of this process's id, on Linux: another container's ids mean
// nothing here.
const processes = "/proc/self/ns/pid"

// longestWait returns how long to wait for the claim of the process named in the file.
func longestWait(f *os.File) time.Duration {
	note := make([]byte, 64)
	n, _ := f.ReadAt(note, 0)
	line, _, _ := strings.Cut(string(note[:n]), "\n")
	id, theirs, _ := strings.Cut(line, " ")
	space, _ := os.Readlink(processes)
	if pid, err := strconv.Atoi(id); err == nil && pid > 0 && theirs == space && scratch.Dead(pid) {
		return inherited
	}
	return brief
}

// open creates and opens the file of a claim, one at a time. If many threads create files in a
// directory at once, as many subagents do, the kernel spends most of the time waiting for
// locks.
func (c *claims) open(path string) (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := filelock.Open(path, os.O_CREATE)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	return filelock.Open(path, os.O_CREATE)
}

func (c *claims) release(f *os.File, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unlockFile(f, path)
}

func sameFile(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(here, there)
}
