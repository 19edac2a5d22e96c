package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// rejectionLasts is how long a rejected picture is remembered.
const rejectionLasts = 30 * 24 * time.Hour

// SetSent stores the form in which endpoints received the pictures of message seq of a session.
// It applies to all sessions that share the message.
func (s *Store) SetSent(ctx context.Context, id string, seq int64, sent map[string]model.PictureForm) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE messages SET sent = ?1 WHERE seq = ?3 AND log =
			(SELECT log FROM pieces WHERE session_id = ?2 AND ?3 BETWEEN first AND last)`, encodeSent(sent), id, seq)
		return err
	})
	return s.explain("changing session "+id, err)
}

// RejectPictures stores that an endpoint rejected a picture for a model.
func (s *Store) RejectPictures(ctx context.Context, endpoint, id string) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO rejections (endpoint, model, at) VALUES (?, ?, ?)", endpoint, id, Now().UnixMicro())
		return err
	})
	return s.explain("keeping that a picture was rejected", err)
}

// RejectsPictures reports whether an endpoint rejected a picture for a model in the
// last 30 days.
func (s *Store) RejectsPictures(ctx context.Context, endpoint, id string) (rejects bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	err = db.reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM rejections WHERE endpoint = ? AND model = ? AND at > ?)",
		endpoint, id, Now().Add(-rejectionLasts).UnixMicro()).Scan(&rejects)
	return rejects, s.explain("looking for rejected pictures", err)
}

func encodeSent(sent map[string]model.PictureForm) string {
	if len(sent) == 0 {
		return ""
	}
	data, err := json.Marshal(sent)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(data)
}
