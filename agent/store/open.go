package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// database is the open file. It holds a connection for writes and a few for reads, so a long
// listing does not delay a turn.
type database struct {
	writer, reader *sql.DB
	indexNext      atomic.Int64 // key of the message that triggers the next update of the search index
	sweeper        *sweeper
	sharing        sharing
	statements
}

// statements are prepared once, because every message uses them.
type statements struct {
	insertSession, insertHead, insertLog, insertPiece *sql.Stmt // writer
	end, insertMessage, countMessage, setOrigin       *sql.Stmt // writer
	messages, session, totals, tail                   *sql.Stmt // reader
}

// lockTimeout is how long a writer waits for the transaction of another process.
const lockTimeout = 10 * time.Second

// database opens the file on first use. If the store is closed, it returns [ErrClosed].
func (s *Store) database(ctx context.Context) (*database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.explain("opening", ErrClosed)
	}
	if s.open != nil {
		return s.open, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// All callers share the opening. It ends with the store, not with the first caller.
	db, err := s.openFile(s.closing)
	if err != nil && s.closing.Err() != nil {
		return nil, s.explain("opening", ErrClosed)
	}
	if err != nil {
		return nil, s.explain("opening", err)
	}
	s.open = db
	return db, nil
}

func (s *Store) openFile(ctx context.Context) (_ *database, err error) {
	db := &database{sweeper: newSweeper(s)}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.close())
		}
	}()
	if db.writer, db.reader, err = sessionFormat.open(ctx, s.path, s.synchronous); err != nil {
		return nil, err
	}
	if err := db.prepare(ctx); err != nil {
		return nil, err
	}
	return db, db.sweepLeft(ctx)
}

// open creates the file if it does not exist, checks it, and migrates it. It returns a
// connection for writes and a pool for reads. If it fails, both are closed.
func (f format) open(ctx context.Context, path, synchronous string) (writer, reader *sql.DB, err error) {
	if err := createPrivate(path); err != nil {
		return nil, nil, err
	}
	if err := f.prepareFile(ctx, path); err != nil {
		return nil, nil, err
	}
	if synchronous != "full" {
		synchronous = "normal"
	}
	if writer, err = connect(path, 1, lockTimeout, "foreign_keys(1)", "synchronous("+synchronous+")"); err != nil {
		return nil, nil, err
	}
	reader, err = connect(path, 3, lockTimeout, "query_only(1)")
	if err == nil {
		if err = f.migrate(ctx, writer); err == nil {
			return writer, reader, nil
		}
		err = errors.Join(err, reader.Close())
	}
	return nil, nil, errors.Join(err, writer.Close())
}

// prepareFile checks the file before it changes anything, and then enables write-ahead logging.
func (f format) prepareFile(ctx context.Context, path string) error {
	db, err := connect(path, 1, 0)
	if err != nil {
		return err
	}
	err = untilUnlocked(ctx, func() error { return f.recognize(ctx, db) })
	if err == nil {
		err = untilUnlocked(ctx, func() error { return enableWAL(ctx, db) })
	}
	return errors.Join(err, db.Close())
}

// untilUnlocked calls try until the file is not locked, lockTimeout has passed, or ctx ends.
// busy_timeout is not sufficient: if two processes convert a new file at the same time, they do
// not wait for each other. Also, a context cannot cancel its wait.
func untilUnlocked(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(lockTimeout); ; {
		err := try()
		if !hasCode(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func enableWAL(ctx context.Context, db *sql.DB) error {
	var mode string
	err := db.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode)
	if err == nil && mode != "wal" {
		err = fmt.Errorf("write-ahead logging is not possible on this file system (journal mode %q)", mode)
	}
	return err
}

// connect opens connections. They wait at most busy for the locks of other processes.
func connect(path string, connections int, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()))
	for _, pragma := range pragmas {
		query.Add("_pragma", pragma)
	}
	db, err := sql.Open("sqlite", "file:"+uriPath(path)+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

func uriPath(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" && filepath.IsAbs(path) {
		path = "/" + path // file:/C:/…
	}
	return (&url.URL{Path: path}).EscapedPath()
}

func (db *database) prepare(ctx context.Context) (err error) {
	stmt := func(from *sql.DB, text string) (st *sql.Stmt) {
		if err == nil {
			st, err = from.PrepareContext(ctx, text)
		}
		return st
	}
	db.insertSession = stmt(db.writer, insertSession)
	db.insertHead = stmt(db.writer, insertHead)
	db.insertLog = stmt(db.writer, insertLog)
	db.insertPiece = stmt(db.writer, insertPiece)
	db.setOrigin = stmt(db.writer, setOrigin)
	db.end = stmt(db.writer, selectEnd)
	db.insertMessage = stmt(db.writer, insertMessage)
	db.countMessage = stmt(db.writer, countMessage)
	db.messages = stmt(db.reader, selectMessages)
	db.totals = stmt(db.reader, "SELECT "+totalColumns+" FROM sessions WHERE id = ?")
	db.tail = stmt(db.reader, selectTail)
	db.session = stmt(db.reader, selectSession)
	return err
}

func (db *database) close() error {
	db.sweeper.close()
	var errs []error
	for _, pool := range []*sql.DB{db.reader, db.writer} { // the last closed connection removes the log
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// write runs change in a transaction. Transactions of other writers do not run at the same time.
func (db *database) write(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		_ = tx.Rollback() // the first error matters more
		return err
	}
	return tx.Commit()
}

// createPrivate creates an empty file before SQLite does, because SQLite would let other users
// read it. SQLite gives its log files the same mode.
//
// createPrivate never opens an existing file: by the rules of POSIX, closing it would release
// all locks held on it by SQLite in this process.
func createPrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making its folder: %w; "+adviceHome, err)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createEmpty(path)
	}
	if err != nil {
		return fmt.Errorf("looking at it: %w; "+adviceHome, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is a %s, not a file", info.Mode().Type())
	}
	if info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // fails if another user owns the file
	}
	return nil
}

// createEmpty creates the file under another name first, so this process never opens the
// visible file.
func createEmpty(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*.db") // with mode 0600
	if err != nil {
		return fmt.Errorf("making it: %w; "+adviceHome, err)
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return fmt.Errorf("making it: %w", err)
	}
	err = os.Link(f.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	// The file system does not support hard links. If two processes create the file at the same
	// time, one of them may wait in vain and return an error.
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("making it: %w; "+adviceHome, err)
	}
	return made.Close()
}
