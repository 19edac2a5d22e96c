package learnings

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
)

// Confidence of a learning, and its changes.
const (
	confidenceFirst  = 0.5
	confidenceWorked = 0.15
	confidenceFailed = -0.25
	confidenceShown  = 0.35 // below it, a learning is not shown
	confidenceKept   = 0.1  // below it, a learning is deleted
)

const schema = `
CREATE TABLE learnings (
	id INTEGER PRIMARY KEY,
	fingerprint TEXT NOT NULL UNIQUE,
	program TEXT NOT NULL,
	error TEXT NOT NULL,
	failed TEXT NOT NULL,
	worked TEXT NOT NULL,
	folder TEXT NOT NULL,
	seen INTEGER NOT NULL,
	confidence REAL NOT NULL,
	created INTEGER NOT NULL,
	used INTEGER NOT NULL
) STRICT;
CREATE TABLE confirmations (
	learning INTEGER NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
	folder TEXT NOT NULL,
	PRIMARY KEY (learning, folder)
) STRICT, WITHOUT ROWID;
`

// Learning is an error with the call that worked after it.
type Learning struct {
	ID          int64     `json:"id"`
	Fingerprint string    `json:"fingerprint"`
	Program     string    `json:"program"`
	Error       string    `json:"error"`
	Failed      string    `json:"failed"`
	Worked      string    `json:"worked"`
	Folder      string    `json:"folder"`
	Seen        int       `json:"seen"`
	Confidence  float64   `json:"confidence"` // now, after its decay
	Created     time.Time `json:"created"`
	Used        time.Time `json:"used"`
}

// Store holds the learnings of a home directory. The first recorded learning creates the file. A
// Store is safe for concurrent use.
type Store struct {
	home string
	now  func() time.Time

	mu   sync.Mutex
	file *store.File
}

// NewStore returns the store below home, which is $HERMES_HOME.
func NewStore(home string) *Store { return &Store{home: home, now: time.Now} }

const fileName = "learnings"

// open opens the file. If there is none and create is false, it returns nil.
func (s *Store) open(ctx context.Context, create bool) (*store.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		return s.file, nil
	}
	if _, err := os.Stat(filepath.Join(s.home, "extensions", fileName+".db")); errors.Is(err, os.ErrNotExist) && !create {
		return nil, nil
	}
	f, err := store.OpenFile(context.WithoutCancel(ctx), s.home, fileName, schema)
	s.file = f
	return f, err
}

// Close closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	defer func() { s.file = nil }()
	return s.file.Close()
}

const columns = `id, fingerprint, program, error, failed, worked, folder, seen, confidence, created, used`

func (s *Store) scan(rows interface{ Scan(...any) error }, halfLife int) (l Learning, err error) {
	var created, used int64
	err = rows.Scan(&l.ID, &l.Fingerprint, &l.Program, &l.Error, &l.Failed, &l.Worked, &l.Folder, &l.Seen, &l.Confidence, &created, &used)
	l.Created, l.Used = time.UnixMicro(created).UTC(), time.UnixMicro(used).UTC()
	if days := s.now().Sub(l.Used).Hours() / 24; days > 0 && halfLife > 0 {
		l.Confidence *= math.Pow(0.5, days/float64(halfLife))
	}
	return l, err
}

// find returns the learning of a fingerprint, and the number of other projects that have confirmed
// it. If there is none, found is false.
func (s *Store) find(ctx context.Context, print, folder string, halfLife int) (l Learning, here bool, others int, found bool, err error) {
	f, err := s.open(ctx, false)
	if f == nil || err != nil {
		return l, false, 0, false, err
	}
	l, err = s.scan(f.Reader.QueryRowContext(ctx, `SELECT `+columns+` FROM learnings WHERE fingerprint = ?`, print), halfLife)
	if errors.Is(err, sql.ErrNoRows) {
		return l, false, 0, false, nil
	}
	if err != nil {
		return l, false, 0, false, err
	}
	err = f.Reader.QueryRowContext(ctx, `SELECT COALESCE(MAX(folder = ?), 0), COUNT(*) FILTER (WHERE folder <> ?) FROM confirmations WHERE learning = ?`, folder, folder, l.ID).Scan(&here, &others)
	return l, here, others, err == nil, err
}

// record stores a learning, or counts an existing learning. A call that worked again gets at least
// the confidence of a new learning. If another call worked before and is still trusted, it stays.
func (s *Store) record(ctx context.Context, l Learning, most, halfLife int) error {
	f, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	now := s.now().UnixMicro()
	return f.Write(ctx, func(tx *sql.Tx) error {
		if err := s.sweep(ctx, tx, halfLife); err != nil {
			return err
		}
		old, err := s.scan(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM learnings WHERE fingerprint = ?`, l.Fingerprint), halfLife)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = tx.ExecContext(ctx, `INSERT INTO learnings (fingerprint, program, error, failed, worked, folder, seen, confidence, created, used) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
				l.Fingerprint, l.Program, l.Error, l.Failed, l.Worked, l.Folder, confidenceFirst, now, now)
		case err != nil:
		case old.Worked == l.Worked || old.Confidence >= confidenceFirst:
			_, err = tx.ExecContext(ctx, `UPDATE learnings SET seen = seen + 1, confidence = ?, used = ? WHERE id = ?`, max(old.Confidence, confidenceFirst), now, old.ID)
		default:
			_, err = tx.ExecContext(ctx, `DELETE FROM confirmations WHERE learning = ?`, old.ID)
			if err == nil {
				_, err = tx.ExecContext(ctx, `UPDATE learnings SET failed = ?, worked = ?, folder = ?, seen = seen + 1, confidence = ?, used = ? WHERE id = ?`,
					l.Failed, l.Worked, l.Folder, confidenceFirst, now, old.ID)
			}
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO confirmations SELECT id, ? FROM learnings WHERE fingerprint = ?`, l.Folder, l.Fingerprint); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM learnings WHERE id IN (SELECT id FROM learnings ORDER BY used DESC, id DESC LIMIT -1 OFFSET ?)`, most)
		return err
	})
}

// sweep deletes the learnings whose confidence has decayed.
func (s *Store) sweep(ctx context.Context, tx *sql.Tx, halfLife int) error {
	if halfLife <= 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM learnings WHERE confidence * pow(0.5, max(? - used, 0) / ?) < ?`,
		s.now().UnixMicro(), float64(halfLife)*float64(24*time.Hour/time.Microsecond), confidenceKept)
	return err
}

// judge changes the confidence of a learning whose call was tried in folder.
func (s *Store) judge(ctx context.Context, id int64, folder string, worked bool, halfLife int) error {
	f, err := s.open(ctx, false)
	if f == nil || err != nil {
		return err
	}
	return f.Write(ctx, func(tx *sql.Tx) error {
		if err := s.sweep(ctx, tx, halfLife); err != nil {
			return err
		}
		l, err := s.scan(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM learnings WHERE id = ?`, id), halfLife)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // forgotten meanwhile
		}
		if err != nil {
			return err
		}
		by := confidenceFailed
		if worked {
			by = confidenceWorked
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO confirmations VALUES (?, ?)`, id, folder); err != nil {
				return err
			}
		}
		if l.Confidence += by; l.Confidence < confidenceKept {
			_, err = tx.ExecContext(ctx, `DELETE FROM learnings WHERE id = ?`, id)
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE learnings SET seen = seen + ?, confidence = ?, used = ? WHERE id = ?`, btoi(worked), min(l.Confidence, 1), s.now().UnixMicro(), id)
		return err
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// List returns the learnings, the last used first.
func (s *Store) List(ctx context.Context, halfLife int) (all []Learning, err error) {
	f, err := s.open(ctx, false)
	if f == nil || err != nil {
		return nil, err
	}
	rows, err := f.Reader.QueryContext(ctx, `SELECT `+columns+` FROM learnings ORDER BY used DESC, id DESC`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		l, err := s.scan(rows, halfLife)
		if err != nil {
			return nil, err
		}
		if l.Confidence >= confidenceKept { // the next write deletes the others
			all = append(all, l)
		}
	}
	return all, rows.Err()
}

// Forget deletes a learning; id 0 means all of them. It returns how many it deleted.
func (s *Store) Forget(ctx context.Context, id int64) (n int64, err error) {
	f, err := s.open(ctx, false)
	if f == nil || err != nil {
		return 0, err
	}
	err = f.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM learnings WHERE id = ?1 OR ?1 = 0`, id)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return n, err
}

// Move updates the paths of learnings in a renamed folder and below it. It returns the number of
// moved learnings.
func (s *Store) Move(ctx context.Context, m folderpath.Move) (moved int, err error) {
	f, err := s.open(ctx, false)
	if f == nil || err != nil {
		return 0, err
	}
	err = f.Write(ctx, func(tx *sql.Tx) error {
		folders, err := foldersIn(ctx, tx)
		if err != nil {
			return err
		}
		for _, old := range folders {
			path, ok := m.Path(old)
			if !ok || path == old {
				continue
			}
			done, err := tx.ExecContext(ctx, `UPDATE learnings SET folder = ? WHERE folder = ?`, path, old)
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err == nil {
				moved += int(n)
			}
			if _, err := tx.ExecContext(ctx, `UPDATE OR REPLACE confirmations SET folder = ? WHERE folder = ?`, path, old); err != nil {
				return err
			}
		}
		return nil
	})
	return moved, err
}

func foldersIn(ctx context.Context, tx *sql.Tx) (folders []string, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT folder FROM learnings UNION SELECT folder FROM confirmations`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var folder string
		if err := rows.Scan(&folder); err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, rows.Err()
}
