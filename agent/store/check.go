package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ofAll selects the messages of all sessions.
const ofAll = " FROM pieces p CROSS JOIN messages m ON m.log = p.log AND m.seq BETWEEN p.first AND p.last"

// Check reads the whole file and returns the problems. It repairs nothing. If the file cannot
// be read at all, it returns an error.
func (s *Store) Check(ctx context.Context) (problems []string, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	// After a search, a connection caches the structure of the search index. It would report
	// later changes by other connections as damage.
	fresh, err := connect(s.path, 1, lockTimeout, "query_only(1)")
	if err != nil {
		return nil, s.explain("checking", err)
	}
	defer fresh.Close()
	for _, check := range []struct{ what, query string }{
		{"", "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'"},
		{"a row without what it belongs to: ", `SELECT "table" || ' ' || coalesce(rowid, '') FROM pragma_foreign_key_check`},
		{"a gap in the log of session ", "SELECT session_id" + ofAll + " GROUP BY session_id HAVING max(m.seq) != count(*) OR min(m.seq) != 1"},
		{"wrong sums of session ", "SELECT id FROM sessions s WHERE messages != (SELECT count(*)" + ofAll + " WHERE p.session_id = s.id)"},
		{"a session without a log of its own: ", "SELECT id FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM pieces WHERE session_id = s.id AND last = 9223372036854775807)"},
		{"messages that no session has in log ", `SELECT id FROM logs WHERE NOT loose AND
			(SELECT max(seq) FROM messages WHERE log = logs.id) > (SELECT coalesce(max(last), 0) FROM pieces WHERE log = logs.id)`},
	} {
		found, err := texts(fresh.QueryContext(ctx, check.query))
		if err != nil {
			return problems, s.explain("checking", err)
		}
		for _, text := range found {
			problems = append(problems, check.what+text)
		}
	}
	if _, err := db.writer.ExecContext(ctx, "INSERT INTO words (words, rank) VALUES ('integrity-check', 0)"); err != nil {
		problems = append(problems, fmt.Sprintf("the search index: %v", err))
	}
	return problems, nil
}

func texts(rows *sql.Rows, err error) (all []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return all, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// SetAside renames the store at path and its SQLite logs, and returns the new path. If the new
// path exists, it returns an error. The next use creates a new store. No process may have the
// store open.
func SetAside(path string, at time.Time) (to string, err error) {
	to = path + ".aside-" + at.Format("20060102-150405")
	if _, err := os.Lstat(to); err == nil {
		return "", fmt.Errorf("moving %s away: %s exists already", path, to)
	}
	for _, suffix := range []string{"-shm", "-wal", ""} { // the file itself last, so that an incomplete move can be repeated
		err := os.Rename(path+suffix, to+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", fmt.Errorf("moving the session store away: %w", err)
		}
	}
	return to, nil
}
