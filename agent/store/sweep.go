package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// sweepSlice is the number of messages to remove in a transaction. This takes a few
// milliseconds, mostly for the search index.
const sweepSlice = 100

// sweeper removes, in the background, messages without a session.
type sweeper struct {
	claim  func(log string) (release func(), err error)
	ctx    context.Context // ends with the store
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	running bool
	again   bool // logs were marked loose since the last search
}

func newSweeper(s *Store) *sweeper {
	w := &sweeper{claim: func(log string) (func(), error) { return s.claims.take(log, false) }}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

func (w *sweeper) close() {
	w.cancel()
	w.done.Wait()
}

// Swept waits until deleted messages are removed from the file. If ctx ends, Swept cancels the
// removal and returns the error of ctx. The next process to open the file continues.
func (s *Store) Swept(ctx context.Context) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, db.sweeper.cancel)
	defer stop()
	db.sweeper.done.Wait()
	return ctx.Err()
}

// loosen marks logs no longer used by a session, and removes short logs. If there are messages
// left to remove, it returns false.
func loosen(ctx context.Context, tx *sql.Tx, logs []string) (swept bool, err error) {
	swept = true
	for _, log := range logs {
		if _, err := tx.ExecContext(ctx, "UPDATE logs SET loose = 1 WHERE id = ?", log); err != nil {
			return false, err
		}
		done, err := sweepSome(ctx, tx, log)
		if err != nil {
			return false, err
		}
		swept = swept && done
	}
	return swept, nil
}

// sweepSome removes the last messages of a log outside all pieces, up to sweepSlice. If no more
// are left, it returns true, and deletes the log, or clears its mark if a piece uses it.
func sweepSome(ctx context.Context, tx *sql.Tx, log string) (done bool, err error) {
	var pieces int
	var reach int64
	row := tx.QueryRowContext(ctx, "SELECT count(*), coalesce(max(last), 0) FROM pieces WHERE log = ?", log)
	if err := row.Scan(&pieces, &reach); err != nil {
		return false, err
	}
	removed, err := tx.ExecContext(ctx, `DELETE FROM messages WHERE key IN (
		SELECT key FROM messages WHERE log = ? AND seq > ? ORDER BY seq DESC LIMIT ?)`, log, reach, sweepSlice)
	if err != nil {
		return false, err
	}
	if n, err := removed.RowsAffected(); err != nil || n == sweepSlice {
		return false, err
	}
	query := "DELETE FROM logs WHERE id = ?"
	if pieces > 0 {
		query = "UPDATE logs SET loose = 0 WHERE id = ?"
	}
	_, err = tx.ExecContext(ctx, query, log)
	return true, err
}

const selectLoose = "SELECT id FROM logs WHERE loose AND id > ? ORDER BY id LIMIT 1"

// sweepLeft continues the removal begun by a dead process.
func (db *database) sweepLeft(ctx context.Context) error {
	var log string
	err := db.reader.QueryRowContext(ctx, selectLoose, "").Scan(&log)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		db.startSweep()
	}
	return err
}

// startSweep starts the removal in the background. It runs until it is done or the store is
// closed.
func (db *database) startSweep() {
	w := db.sweeper
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = true
	if w.running || w.ctx.Err() != nil {
		return
	}
	w.running = true
	w.done.Go(func() {
		for w.next() {
			db.sweepAll()
		}
	})
}

// next reports whether there may be loose logs.
func (w *sweeper) next() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = w.again && w.ctx.Err() == nil
	w.again = false
	return w.running
}

// sweepAll sweeps every loose log without a claim. An error ends it; the next process to open
// the file continues.
func (db *database) sweepAll() {
	w := db.sweeper
	for log := ""; ; {
		if db.reader.QueryRowContext(w.ctx, selectLoose, log).Scan(&log) != nil {
			return
		}
		release, err := w.claim(log)
		if err != nil {
			continue
		}
		err = db.sweepLog(w.ctx, log)
		release()
		if err != nil {
			return
		}
	}
}

// sweepLog removes the unused messages of a log. After each transaction, it pauses about as long
// as the transaction took, because waiting processes only poll for the lock.
func (db *database) sweepLog(ctx context.Context, log string) error {
	for done := false; !done; {
		began := time.Now()
		err := db.write(ctx, func(tx *sql.Tx) (err error) {
			done, err = sweepSome(ctx, tx, log)
			return err
		})
		if err != nil {
			return err
		}
		select {
		case <-time.After(min(max(time.Since(began), 2*time.Millisecond), 50*time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
