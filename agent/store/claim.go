package store

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Claim takes a session for a turn, so that no other window works in it at the
// same time; whoever comes second gets [ErrClaimed]. The claim is a lock of the
// operating system and so ends with the process, however it ends. A file system
// that knows no locks lets everybody in: then [ErrConflict] is what is left.
func (s *Store) Claim(id string) (release func(), err error) {
	path := filepath.Join(s.claims(), url.PathEscape(id)+".lock")
	if err := os.MkdirAll(s.claims(), 0o700); err != nil {
		return nil, s.unclaimable(id, err)
	}
	for range 100 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, s.unclaimable(id, err)
		}
		if err := lockFile(f); errors.Is(err, errLocked) {
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
