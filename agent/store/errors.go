package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

var (
	// ErrNotFound: no session with the id.
	ErrNotFound = errors.New("no such session")
	// ErrNoMessage: no message with the id in the session.
	ErrNoMessage = errors.New("the session has no such message")
	// ErrAmbiguous: several ids begin with the prefix.
	ErrAmbiguous = errors.New("several sessions have an id that begins so; give more of it")
	// ErrID: the id is not valid for a session.
	ErrID = errors.New(`the id is not valid: it needs 1 to 128 letters, digits, ".", "_" and "-", and begins with a letter or a digit; the session was not added`)
	// ErrExists: a session with the id exists already.
	ErrExists = errors.New("there is a session of that id already")
	// ErrConflict: another process has added to the session's log.
	ErrConflict = errors.New("the session was continued in another window; load it again")
	// ErrClaimed: another process, or another holder in this process, runs a turn in the
	// session.
	ErrClaimed = errors.New("the session is at work in another window; wait for it or cancel it there")
	// ErrNewer: a newer hermes-ls wrote the file.
	ErrNewer = errors.New("it was written by a newer hermes-ls: update this one; nothing was changed")
	// ErrDamaged: the file is damaged or is not a hermes-ls database.
	ErrDamaged = errors.New("the file is damaged, cannot be read from its disk, or is not a hermes-ls store; nothing was changed: look at the disk, restore a backup, see what can be read with hermes-ls sessions export --all, or move it away with hermes-ls sessions set-aside")
	// ErrClosed: [Store.Close] was called.
	ErrClosed = errors.New("the store is closed")
	// ErrCursor: the cursor is not from [Store.List].
	ErrCursor = errors.New("not a cursor of this list; start from the beginning")
)

// explain adds to an error the file, the operation, and advice for the user. If err is nil, it
// returns nil.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if hasCode(err, sqlite3.SQLITE_FULL) || hasCode(err, sqlite3.SQLITE_IOERR) && hasNoRoom(filepath.Dir(s.path)) {
		advice := "then try again"
		if doing == "opening" {
			advice += "; nothing was changed"
		}
		return fmt.Errorf("the disk is full, so this was not stored. Make room on the disk of %s, %s (%s: %w)", s.path, advice, doing, err)
	}
	return fmt.Errorf("session store %s: %s: %w", s.path, doing, advise(err))
}

// hasNoRoom reports whether the disk of a folder is full. SQLite has other errors if it finds no room
// for the file that processes share. hasNoRoom writes as many bytes as that needs, and removes them.
func hasNoRoom(folder string) bool {
	f, err := os.CreateTemp(folder, ".room-*")
	if err != nil {
		return safefile.NoRoom(err) != ""
	}
	_, err = f.Write(make([]byte, 64<<10))
	_ = f.Close()
	_ = os.Remove(f.Name())
	return safefile.NoRoom(err) != ""
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
