package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	messageColumns = `seq, id, time, role, note, typed, keeps, is_error,
		input, output, thought, cached_read, cached_write, cost,
		call_id, name, text, reasoning, calls, shown, images, sent, parts`
	insertMessage = "INSERT INTO messages (log, " + messageColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// ofSession selects the messages of session ?1 with a Seq from ?2 to ?3. inOrder is their
	// order, which the indexes provide.
	ofSession = ` FROM pieces p CROSS JOIN messages m ON m.log = p.log AND m.seq BETWEEN max(p.first, ?2) AND min(p.last, ?3)
		WHERE p.session_id = ?1`
	inOrder        = " ORDER BY p.first, m.seq"
	newestFirst    = " ORDER BY p.first DESC, m.seq DESC"
	selectMessages = "SELECT " + messageColumns + ofSession + inOrder + " LIMIT ?4"
	// selectEnd returns the log to which a session writes, and the Seq of its last message.
	selectEnd = `SELECT p.log, coalesce((SELECT max(seq) FROM messages m WHERE m.log = p.log), p.first - 1)
		FROM pieces p WHERE p.session_id = ? ORDER BY p.first DESC LIMIT 1`
	// countMessage adds a message to the totals of a session. Its parameters are the time, the
	// number of requests (0 or 1), the usage (6 values), and the session.
	countMessage = `UPDATE sessions SET updated_at = max(updated_at, ?), messages = messages + 1, requests = requests + ?,
		input = input + ?, output = output + ?, thought = thought + ?, cached_read = cached_read + ?,
		cached_write = cached_write + ?, cost = cost + ? WHERE id = ?`
)

// Append adds m to the end of a session's log. It sets ID, Time and Seq if they are empty. If a
// Seq is given and is not the next Seq, because another process was faster, Append returns
// [ErrConflict] and writes nothing.
func (s *Store) Append(ctx context.Context, id string, m *Message) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	m.complete()
	was := m.Seq
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		m.Seq = was
		return db.extend(ctx, tx, id, m)
	})
	if err != nil {
		m.Seq = was
		return s.explain("adding to session "+id, err)
	}
	return nil
}

// extend adds messages to a session. If a Seq is given and is not the next Seq, it returns
// [ErrConflict].
func (db *database) extend(ctx context.Context, tx *sql.Tx, id string, more ...*Message) error {
	var log string
	var last int64
	err := tx.StmtContext(ctx, db.end).QueryRowContext(ctx, id).Scan(&log, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	for _, m := range more {
		last++
		if m.Seq != 0 && m.Seq != last {
			return ErrConflict
		}
		m.Seq = last
		m.complete()
		if err := db.insert(ctx, tx, log, m); err != nil {
			return err
		}
		if err := db.count(ctx, tx, id, m); err != nil {
			return err
		}
	}
	return nil
}

// complete sets ID and Time if the caller did not.
func (m *Message) complete() {
	if m.ID == "" {
		m.ID = NewID()
	}
	if m.Time.IsZero() {
		m.Time = Now()
	}
}

// insert adds a message to a log. After enough new messages, it also updates the search index.
func (db *database) insert(ctx context.Context, tx *sql.Tx, log string, m *Message) error {
	added, err := tx.StmtContext(ctx, db.insertMessage).ExecContext(ctx, m.values(log)...)
	if err != nil {
		return err
	}
	key, err := added.LastInsertId()
	if err != nil || key < db.indexNext.Load() {
		return err
	}
	_, err = db.index(ctx, tx)
	return err
}

// count adds a message to the totals of its session.
func (db *database) count(ctx context.Context, tx *sql.Tx, id string, m *Message) error {
	var u model.Usage
	if m.Usage != nil {
		u = *m.Usage
	}
	_, err := tx.StmtContext(ctx, db.countMessage).ExecContext(ctx, m.Time.UnixMicro(), m.Usage != nil,
		u.Input, u.Output, u.Reasoning, u.CachedRead, u.CachedWrite, u.Cost, id)
	return err
}

func (m *Message) values(log string) []any {
	values := []any{log, m.Seq, m.ID, m.Time.UnixMicro(), string(m.Role), m.Note, m.Typed, m.Keeps, m.IsError}
	if u := m.Usage; u != nil {
		values = append(values, u.Input, u.Output, u.Reasoning, u.CachedRead, u.CachedWrite, u.Cost)
	} else {
		values = append(values, nil, nil, nil, nil, nil, nil)
	}
	c := columnsOf(&m.Message)
	return append(values, c.callID, c.name, c.text, c.reasoning, encode(c.calls), string(m.Shown), encode(c.media), encodeSent(&m.Message), encode(c.layout))
}

// Messages returns at most limit messages of a log (0: all) in order, starting after the given
// Seq. If there are none, it returns none.
func (s *Store) Messages(ctx context.Context, id string, after int64, limit int) ([]Message, error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	page, err := db.readMessages(ctx, id, after, limit)
	return page, s.explain("reading session "+id, err)
}

func (db *database) readMessages(ctx context.Context, id string, after int64, limit int) ([]Message, error) {
	if limit <= 0 {
		limit = math.MaxInt32
	}
	return collectMessages(db.messages.QueryContext(ctx, id, after+1, End, limit))
}

func collectMessages(rows *sql.Rows, err error) (page []Message, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, err
		}
		page = append(page, m)
	}
	return page, rows.Err()
}

func scanMessage(rows *sql.Rows) (m Message, err error) {
	var at int64
	var c columns
	var role, calls, shown, media, sent, layout string
	var input, output, thought, read, written sql.NullInt64
	var cost sql.NullFloat64
	err = rows.Scan(&m.Seq, &m.ID, &at, &role, &m.Note, &m.Typed, &m.Keeps, &m.IsError,
		&input, &output, &thought, &read, &written, &cost,
		&c.callID, &c.name, &c.text, &c.reasoning, &calls, &shown, &media, &sent, &layout)
	if err != nil {
		return m, err
	}
	m.Time, m.Role = fromMicros(at), model.Role(role)
	if input.Valid {
		m.Usage = &model.Usage{Input: int(input.Int64), Output: int(output.Int64), Reasoning: int(thought.Int64),
			CachedRead: int(read.Int64), CachedWrite: int(written.Int64), Cost: cost.Float64}
	}
	if shown != "" {
		m.Shown = json.RawMessage(shown)
	}
	if err = decodeSent(sent, &m.Message); err != nil {
		return m, err
	}
	if c.calls, err = decode[model.Call](calls); err != nil {
		return m, err
	}
	if c.media, err = decode[model.Image](media); err != nil {
		return m, err
	}
	if c.layout, err = decode[layoutPart](layout); err != nil {
		return m, err
	}
	m.Parts, err = c.parts(m.Role)
	return m, err
}

// Totals returns the totals of a session. If the session does not exist, it returns
// [ErrNotFound].
func (s *Store) Totals(ctx context.Context, id string) (t Totals, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return t, err
	}
	err = db.totals.QueryRowContext(ctx, id).Scan(t.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return t, s.explain("computing the totals of session "+id, err)
}
