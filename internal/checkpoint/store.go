package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Store holds all checkpoints of a user. It is safe for concurrent use, also by several processes.
// It creates files and folders when they are needed.
type Store struct {
	dir    string
	opened time.Time
	added  atomic.Int64 // bytes added since the last clean-up
	tidied atomic.Bool  // a clean-up ran

	git gitReader

	mu      sync.Mutex
	owner   *os.File // held while this process may have unfinished checkpoints
	ownerID string

	keepers map[*Keeper]struct{} // open in this process

	recent map[string]left // how sessions of this process left paths recently

	shared sharedLock // held while contents are written before their record
}

// left records the state in which a session left a path, and the time.
type left struct {
	session string
	state   State
	at      time.Time
}

// mostRecent is how many paths are remembered.
const mostRecent = 4096

// remember records that a session left path in the given state. Other sessions with the same
// folders then do not record the change.
func (s *Store) remember(session, path string, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recent) >= mostRecent || s.recent == nil {
		s.recent = map[string]left{}
	}
	s.recent[path] = left{session, state, time.Now()}
}

// leftByOthers reports whether another session left path in the state now, at the time since or
// later.
func (s *Store) leftByOthers(session string, since time.Time, path string, now State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.recent[path]
	return ok && l.session != session && !l.at.Before(since) && l.state.same(now)
}

// New returns the store in $HERMES_HOME. It does not touch the disk.
func New(home string) *Store {
	dir := filepath.Join(home, "checkpoints")
	return &Store{dir: dir, opened: time.Now(), git: gitReader{dir: filepath.Join(dir, "git")}}
}

// writing keeps clean-ups, in this process and in others, from removing contents not yet named in a
// record. The caller must call done.
func (s *Store) writing() (done func(), err error) {
	if err := s.shared.enter(filepath.Join(s.dir, "lock")); err != nil {
		return nil, fmt.Errorf("opening the checkpoints' folder: %w", err)
	}
	return s.shared.leave, nil
}

// sharedLock is a lock shared by several holders in this process.
type sharedLock struct {
	mu   sync.Mutex
	held *os.File
	n    int
}

func (l *sharedLock) enter(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		held, err := openLock(path)
		if err != nil {
			return err
		}
		if err := filelock.Wait(held, filelock.Shared); err != nil {
			return errors.Join(err, held.Close())
		}
		l.held = held
	}
	l.n++
	return nil
}

func (l *sharedLock) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n--; l.n == 0 {
		filelock.Release(l.held)
		l.held = nil
	}
}

// us returns the id of this process as an owner of unfinished checkpoints. The first call
// creates the owner file and locks it.
func (s *Store) us() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != nil {
		return s.ownerID, nil
	}
	for {
		id := newID()
		held, err := openLock(s.ownerFile(id))
		if err != nil {
			return "", fmt.Errorf("beginning a checkpoint: %w", err)
		}
		ok, err := filelock.Try(held, filelock.Exclusive)
		if err != nil {
			return "", fmt.Errorf("beginning a checkpoint: %w", errors.Join(err, held.Close()))
		}
		if ok {
			s.owner, s.ownerID = held, id
			return id, nil
		}
		filelock.Release(held) // a clean-up locked the file at the same moment
	}
}

func (s *Store) ownerFile(id string) string { return filepath.Join(s.dir, "owners", id) }

// lives reports whether the process of an owner is alive. If it cannot be determined, it returns
// true. It removes the file of a dead owner.
func (s *Store) lives(owner string) bool {
	s.mu.Lock()
	ours := owner == s.ownerID && s.owner != nil
	s.mu.Unlock()
	if ours {
		return true
	}
	if _, err := os.Lstat(s.ownerFile(owner)); err != nil {
		return false
	}
	held, err := openLock(s.ownerFile(owner))
	if err != nil {
		return true // unknown: assume it is alive
	}
	defer filelock.Release(held)
	free, err := filelock.Try(held, filelock.Exclusive)
	if err != nil || !free {
		return true
	}
	_ = os.Remove(s.ownerFile(owner)) // an owner without a file is dead too
	return false
}

// Close removes the owner file of this process. The next process to read unfinished checkpoints
// completes them.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		return nil
	}
	err := errors.Join(os.Remove(s.ownerFile(s.ownerID)), s.owner.Close())
	s.owner = nil
	return err
}

// Forget removes the checkpoints of a session. The next clean-up removes contents no other
// checkpoint needs. If the id cannot be the name of a file, Forget does nothing.
func (s *Store) Forget(session string) error {
	if !isName(session) {
		return nil // there are no checkpoints of such a session
	}
	if err := os.RemoveAll(s.sessionDir(session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the checkpoints of session %s: %w", session, err)
	}
	s.added.Add(1 << 40) // makes the next clean-up run
	return nil
}

// why returns an error of the disk in words for the user.
func (s *Store) why(err error) string {
	if full := safefile.NoRoom(err); full != "" {
		return full + " (" + s.dir + "); make room there, then go on"
	}
	return err.Error()
}

// isName reports whether the id of a session can be the name of a file.
func isName(id string) bool {
	return id != "" && !strings.ContainsAny(id, `/\:`) && !strings.HasPrefix(id, ".")
}
