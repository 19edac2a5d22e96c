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
)

// Store is the place of all checkpoints of a user. It is safe for concurrent use, by
// several processes too. Nothing is made before it is needed.
type Store struct {
	dir    string
	added  atomic.Int64 // bytes since the last look at what there is in all
	tidied atomic.Bool  // it was looked at once

	git gitReader

	mu      sync.Mutex
	owner   *lock // held as long as this process may have unfinished checkpoints
	ownerID string

	recent map[string]left // what sessions of this process have left lately

	shared sharedLock // held while something is written that nothing names yet
}

// left is how a session has left a path, when.
type left struct {
	session string
	state   State
	at      time.Time
}

// mostRecent is how many paths are remembered.
const mostRecent = 4096

// remember notes what a session has made of a path, so that it is not taken for
// another's work who looks at the same folders.
func (s *Store) remember(session, path string, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recent) >= mostRecent || s.recent == nil {
		s.recent = map[string]left{}
	}
	s.recent[path] = left{session, state, time.Now()}
}

// leftByOthers reports whether a path is as another session has left it since a time.
func (s *Store) leftByOthers(session string, since time.Time, path string, now State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.recent[path]
	return ok && l.session != session && !l.at.Before(since) && l.state.same(now)
}

// New is the store in $HERMES_HOME.
func New(home string) *Store {
	dir := filepath.Join(home, "checkpoints")
	return &Store{dir: dir, git: gitReader{dir: filepath.Join(dir, "git")}}
}

// writing keeps a clean-up, here or in another process, from taking what is written
// and not yet named. done must follow.
func (s *Store) writing() (done func(), err error) {
	if err := s.shared.enter(filepath.Join(s.dir, "lock")); err != nil {
		return nil, fmt.Errorf("opening the checkpoints' folder: %w", err)
	}
	return s.shared.leave, nil
}

// sharedLock is a lock that many in this process hold as one.
type sharedLock struct {
	mu   sync.Mutex
	held *lock
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
		if err := held.share(); err != nil {
			return errors.Join(err, held.close())
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
		_ = l.held.close() // gives the lock up
		l.held = nil
	}
}

// us names this process among those that have unfinished checkpoints.
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
		ok, err := held.tryAlone()
		if err != nil {
			return "", fmt.Errorf("beginning a checkpoint: %w", errors.Join(err, held.close()))
		}
		if ok {
			s.owner, s.ownerID = held, id
			return id, nil
		}
		_ = held.close() // a clean-up has looked at it in that moment
	}
}

func (s *Store) ownerFile(id string) string { return filepath.Join(s.dir, "owners", id) }

// lives tells whether the process with unfinished checkpoints is still there.
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
		return true // not to be known: leave it alone
	}
	defer held.close() // gives the lock up
	free, err := held.tryAlone()
	if err != nil || !free {
		return true
	}
	_ = os.Remove(s.ownerFile(owner)) // what is not there is dead, too
	return false
}

// Close lets go of what the process holds. Unfinished checkpoints are finished by
// whoever looks at them next.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		return nil
	}
	err := errors.Join(os.Remove(s.ownerFile(s.ownerID)), s.owner.close())
	s.owner = nil
	return err
}

// Forget removes the checkpoints of a session. What only they needed goes with the
// next clean-up.
func (s *Store) Forget(session string) error {
	if !isName(session) {
		return nil // nothing of ours
	}
	if err := os.RemoveAll(s.sessionDir(session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the checkpoints of session %s: %w", session, err)
	}
	s.added.Add(1 << 40) // the next clean-up has something to do
	return nil
}

// isName reports whether a session's id can be a file's name.
func isName(id string) bool {
	return id != "" && !strings.ContainsAny(id, `/\:`) && !strings.HasPrefix(id, ".")
}
