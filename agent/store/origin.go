package store

import (
	"context"
	"database/sql"
)

const setOrigin = "UPDATE sessions SET origin = ? WHERE id = ?"

// SetOrigin changes only the Origin of a session. If the session does not exist, it returns
// [ErrNotFound].
func (s *Store) SetOrigin(ctx context.Context, id, origin string) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	var there int64
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		done, err := tx.StmtContext(ctx, db.setOrigin).ExecContext(ctx, origin, id)
		if err == nil {
			there, err = done.RowsAffected()
		}
		return err
	})
	if err == nil && there == 0 {
		err = ErrNotFound
	}
	return s.explain("changing session "+id, err)
}
