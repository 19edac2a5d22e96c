package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// applicationID marks a file as a session store ("Hrms").
const applicationID = 0x48726d73

// schema creates a new file at once. The result is the same as after all migrations.
//
//go:embed schema.sql
var schema string

// format describes how a file is recognized and created.
type format struct {
	id         int      // its application_id
	migrations []string // see [migrations]
	schema     string   // of a new file; empty: use the migrations
}

var sessionFormat = format{applicationID, migrations, schema}

// recognize returns an error if a file is not of the format, or of a newer version of it.
func (f format) recognize(ctx context.Context, db *sql.DB) error {
	var id, version, tables int
	row := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&id, &version, &tables); err != nil {
		return err
	}
	switch empty := id == 0 && version == 0 && tables == 0; {
	case empty:
		return nil
	case id != f.id:
		return ErrDamaged
	case version > len(f.migrations):
		return fmt.Errorf("version %d, known up to %d: %w", version, len(f.migrations), ErrNewer)
	}
	return nil
}

// migrate updates the file to the newest version. It rereads the version inside the
// transaction, because another process may have migrated the file.
func (f format) migrate(ctx context.Context, db *sql.DB) error {
	var version int
	const read = "PRAGMA user_version"
	if err := db.QueryRowContext(ctx, read).Scan(&version); err != nil || version == len(f.migrations) {
		return err
	}
	return (&database{writer: db}).write(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, read).Scan(&version); err != nil {
			return err
		}
		if err := f.bring(ctx, tx, version); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", f.id, len(f.migrations)))
		return err
	})
}

// bring updates a file from version to the newest version. Version 0 is an empty file.
func (f format) bring(ctx context.Context, tx *sql.Tx, version int) error {
	if version == 0 && f.schema != "" {
		_, err := tx.ExecContext(ctx, f.schema)
		return err
	}
	for n := version; n < len(f.migrations); n++ {
		if _, err := tx.ExecContext(ctx, f.migrations[n]); err != nil {
			return fmt.Errorf("bringing it to version %d: %w", n+1, err)
		}
	}
	return nil
}
