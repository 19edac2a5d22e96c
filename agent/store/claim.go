package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// inherited is how long a claim may outlive its process: a child that it was just
// starting when it was killed has the lock until it runs its own program.
const inherited = 300 * time.Millisecond

// Claim takes a session for a turn, so that no other window works in it at the
// same time; whoever comes second gets [ErrClaimed]. The claim is a lock of the
// operating system and so ends with the process, however it ends. A file system
// that knows no locks lets everybody in: then [ErrConflict] is what is left.
func (s *Store) Claim(id string) (release func(), err error) { return s.claim(id, inherited) }

func (s *Store) claim(id string, patience time.Duration) (release func(), err error) {
	path := filepath.Join(s.claims(), url.PathEscape(id)+".lock")
	deadline := time.Now().Add(patience)
	for range 100 {
		f, err := s.openClaim(path)
		if err != nil {
			return nil, s.unclaimable(id, err)
		}
		err = lockFile(f)
		for errors.Is(err, errLocked) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			err = lockFile(f)
		}
		if errors.Is(err, errLocked) {
			return nil, errors.Join(fmt.Errorf("session %s: %w", id, ErrClaimed), f.Close())
		}
		if sameFile(f, path) {
			return func() { s.unclaim(f, path) }, nil
		}
		_ = f.Close() // its last holder removed it between our opening and our locking
	}
	return nil, s.unclaimable(id, fmt.Errorf("%s is never the same file twice", path))
}

// openClaim makes and opens a claim's file. One at a time: a kernel spins where many
// threads make files in one folder at once, as many subagents would.
func (s *Store) openClaim(path string) (*os.File, error) {
	s.claimsMu.Lock()
	defer s.claimsMu.Unlock()
	const flags = os.O_CREATE | os.O_RDWR
	f, err := os.OpenFile(path, flags, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(s.claims(), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

func (s *Store) unclaim(f *os.File, path string) {
	s.claimsMu.Lock()
	defer s.claimsMu.Unlock()
	unlockFile(f, path)
}

func (s *Store) unclaimable(id string, err error) error {
	return s.explain("claiming session "+id, fmt.Errorf("%w; "+adviceHome, err))
}

func sameFile(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(here, there)
}
