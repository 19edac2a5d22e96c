package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrNotFound: there is no session of that id.
	ErrNotFound = errors.New("no such session")
	// ErrNoMessage: the session has no message of that id.
	ErrNoMessage = errors.New("the session has no such message")
	// ErrAmbiguous: several sessions' ids begin so.
	ErrAmbiguous = errors.New("several sessions have an id that begins so; give more of it")
	// ErrID: the id of a session cannot be one.
	ErrID = errors.New(`the id is not valid: it needs 1 to 128 letters, digits, ".", "_" and "-", and begins with a letter or a digit; the session was not added`)
	// ErrExists: there is a session of that id already.
	ErrExists = errors.New("there is a session of that id already")
	// ErrConflict: the session's log has grown by another hand meanwhile.
	ErrConflict = errors.New("the session was continued in another window; load it again")
	// ErrClaimed: another process, or another holder in this one, has a turn running in the session.
	ErrClaimed = errors.New("the session is at work in another window; wait for it or cancel it there")
	// ErrNewer: the file was written by a newer hermes-ls.
	ErrNewer = errors.New("it was written by a newer hermes-ls: update this one; nothing was changed")
	// ErrDamaged: the file is no database of ours, or a broken one.
	ErrDamaged = errors.New("the file is damaged, cannot be read from its disk, or is not a hermes-ls store; nothing was changed: look at the disk, restore it from a backup, see what can be read with hermes-ls sessions export --all, or move it away with hermes-ls sessions set-aside")
	// ErrClosed: [Store.Close] has been called.
	ErrClosed = errors.New("the store is closed")
	// ErrCursor: a cursor that [Store.List] did not give.
	ErrCursor = errors.New("not a cursor of this list; start from the beginning")
)

// explain says which file failed, doing what, and what a person can do about it.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session store %s: %s: %w", s.path, doing, advise(err))
}

const adviceHome = "check the permissions of the file and its folder, or set HERMES_HOME to a folder that can be written"

func advise(err error) error {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Code() & 0xff { // the low byte is the primary code
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk is full; make room and try again (%w)", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("it cannot be written: %w; "+adviceHome, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the disk refused; check its space and health (%w)", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("another process keeps it locked; try again (%w)", err)
	}
	return err
}

func hasCode(err error, codes ...int) bool {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return false
	}
	for _, code := range codes {
		if failure.Code() == code || failure.Code()&0xff == code {
			return true
		}
	}
	return false
}
