package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// applicationID marks a file as ours ("Hrms").
const applicationID = 0x48726d73

// schema is what a new file begins with: what the migrations make, at once.
//
//go:embed schema.sql
var schema string

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
		if err := bring(ctx, tx, version); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations)))
		return err
	})
}

// bring takes a file from a version to the newest. Version 0 is an empty file.
func bring(ctx context.Context, tx *sql.Tx, version int) error {
	if version == 0 {
		_, err := tx.ExecContext(ctx, schema)
		return err
	}
	for n := version; n < len(migrations); n++ {
		if _, err := tx.ExecContext(ctx, migrations[n]); err != nil {
			return fmt.Errorf("bringing it to version %d: %w", n+1, err)
		}
	}
	return nil
}
