package store

import (
	"errors"
	"fmt"
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
func (s *Store) Claim(id string) (release func(), err error) {
	path := filepath.Join(s.claims(), url.PathEscape(id)+".lock")
	if err := os.MkdirAll(s.claims(), 0o700); err != nil {
		return nil, s.unclaimable(id, err)
	}
	patience := time.Now().Add(inherited)
	for range 100 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, s.unclaimable(id, err)
		}
		err = lockFile(f)
		for errors.Is(err, errLocked) && time.Now().Before(patience) {
			time.Sleep(10 * time.Millisecond)
			err = lockFile(f)
		}
		if errors.Is(err, errLocked) {
			return nil, errors.Join(fmt.Errorf("session %s: %w", id, ErrClaimed), f.Close())
		}
		if sameFile(f, path) {
			return func() { unlockFile(f, path) }, nil
		}
		_ = f.Close() // its last holder removed it between our opening and our locking
	}
	return nil, s.unclaimable(id, fmt.Errorf("%s is never the same file twice", path))
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
