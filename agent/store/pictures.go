package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// rejectionLasts is how long a rejected picture is remembered.
const rejectionLasts = 30 * 24 * time.Hour

// SetSent stores the received forms of the pictures of message seq of a session, by endpoint,
// and their descriptions. It applies to all sessions sharing the message.
func (s *Store) SetSent(ctx context.Context, id string, seq int64, m *model.Message) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE messages SET sent = ?1 WHERE seq = ?3 AND log =
			(SELECT log FROM pieces WHERE session_id = ?2 AND ?3 BETWEEN first AND last)`, encodeSent(m), id, seq)
		return err
	})
	return s.explain("changing session "+id, err)
}

// RejectPictures stores an endpoint's rejection of a picture for a model.
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

// descriptionsKey is the key of the descriptions among the forms. Their value is JSON in a
// string. The keys of forms contain a space.
const descriptionsKey = "described"

func encodeSent(m *model.Message) string {
	if len(m.Sent) == 0 && len(m.Described) == 0 {
		return ""
	}
	sent := m.Sent
	if len(m.Described) > 0 {
		if sent = maps.Clone(sent); sent == nil {
			sent = map[string]model.PictureForm{}
		}
		sent[descriptionsKey] = model.PictureForm(encode(m.Described))
	}
	data, err := json.Marshal(sent)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(data)
}

func decodeSent(sent string, m *model.Message) (err error) {
	if sent == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(sent), &m.Sent); err != nil {
		return err
	}
	m.Described, err = decode[model.Description](string(m.Sent[descriptionsKey]))
	delete(m.Sent, descriptionsKey)
	return err
}
