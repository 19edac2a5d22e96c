package store

import (
	"context"
	"database/sql"
	"fmt"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// applicationID marks a file as ours ("Hrms").
const applicationID = 0x48726d73

// migrations are applied in order; a file's user_version is how many it has had.
// One that has been released is never edited: a change is a new one at the end.
var migrations = []string{`
CREATE TABLE sessions (
	id         TEXT PRIMARY KEY,
	cwd        TEXT NOT NULL,
	folders    TEXT NOT NULL, -- JSON array
	title      TEXT NOT NULL,
	model      TEXT NOT NULL,
	mode       TEXT NOT NULL,
	parent     TEXT NOT NULL,
	created_at INTEGER NOT NULL, -- microseconds since 1970
	updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_age ON sessions (updated_at, id);
CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id);

-- What is frozen and long stands apart, so that listing does not read it.
CREATE TABLE heads (
	session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
	system     TEXT NOT NULL,
	tools      TEXT NOT NULL -- JSON array
) STRICT;

-- Long columns stand last: sums of usage never read them.
CREATE TABLE messages (
	key          INTEGER PRIMARY KEY,
	session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq          INTEGER NOT NULL,
	id           TEXT NOT NULL,
	time         INTEGER NOT NULL, -- microseconds since 1970
	role         TEXT NOT NULL,
	note         INTEGER NOT NULL,
	typed        INTEGER NOT NULL,
	is_error     INTEGER NOT NULL,
	input        INTEGER, -- tokens; null when no usage is known
	output       INTEGER,
	thought      INTEGER,
	cached_read  INTEGER,
	cached_write INTEGER,
	cost         REAL, -- US dollars
	call_id      TEXT NOT NULL,
	name         TEXT NOT NULL,
	text         TEXT NOT NULL,
	reasoning    TEXT NOT NULL,
	calls        TEXT NOT NULL, -- JSON array, or empty
	shown        TEXT NOT NULL, -- JSON array, or empty
	images       TEXT NOT NULL, -- JSON array, or empty
	UNIQUE (session_id, seq)
) STRICT;

CREATE TRIGGER messages_touch_session AFTER INSERT ON messages BEGIN
	UPDATE sessions SET updated_at = max(updated_at, new.time) WHERE id = new.session_id;
END;
`, `
ALTER TABLE sessions ADD COLUMN origin TEXT NOT NULL DEFAULT ''; -- JSON, or empty
CREATE INDEX sessions_by_parent ON sessions (parent, updated_at, id) WHERE parent != '';
`, `
ALTER TABLE messages ADD COLUMN keeps INTEGER NOT NULL DEFAULT 0; -- a compaction's: the first message that is not summed up
CREATE INDEX messages_compactions ON messages (session_id, seq) WHERE keeps != 0;
`}

// recognise refuses a file that is not ours or not yet known to us.
func recognise(ctx context.Context, db *sql.DB) error {
	var id, version, tables int
	row := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&id, &version, &tables); err != nil {
		return err
	}
	switch empty := id == 0 && version == 0 && tables == 0; {
	case empty:
		return nil
	case id != applicationID:
		return ErrDamaged
	case version > len(migrations):
		return fmt.Errorf("version %d, known up to %d: %w", version, len(migrations), ErrNewer)
	}
	return nil
}

// migrate brings the file up to date. The version is read again inside the
// transaction, as another process may have done the work meanwhile.
func migrate(ctx context.Context, db *sql.DB) error {
	var version int
	const read = "PRAGMA user_version"
	if err := db.QueryRowContext(ctx, read).Scan(&version); err != nil || version == len(migrations) {
		return err
	}
	return (&database{writer: db}).write(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, read).Scan(&version); err != nil {
			return err
		}
		for n := version; n < len(migrations); n++ {
			if _, err := tx.ExecContext(ctx, migrations[n]); err != nil {
				return fmt.Errorf("bringing it to version %d: %w", n+1, err)
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations)))
		return err
	})
}
