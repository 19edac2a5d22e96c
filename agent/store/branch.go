package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	// selectTail reads the messages up to Seq ?3, from the last response of the assistant on.
	// Without a response, it reads only message ?3.
	selectTail = "WITH reply AS (SELECT m.seq" + ofSession + " AND role = 'assistant'" + newestFirst + " LIMIT 1) SELECT " + messageColumns + `
		FROM pieces p CROSS JOIN messages m ON m.log = p.log AND m.seq BETWEEN max(p.first, coalesce((SELECT seq FROM reply), ?3)) AND min(p.last, ?3)
		WHERE p.session_id = ?1` + inOrder
	// selectCall looks up the result of a tool call by its id, because few messages share an
	// id.
	selectCall = `SELECT EXISTS (SELECT 1 FROM pieces p CROSS JOIN messages m ON m.log = p.log AND m.call_id = ?2 AND m.call_id != ''
		AND +m.seq BETWEEN p.first AND p.last WHERE p.session_id = ?1)`
)

// End, as a Seq, stands for the last message of a log.
const End = int64(1<<63 - 1)

// Find returns the Seq of a message of a session. If there is no such message, it returns
// [ErrNoMessage].
func (s *Store) Find(ctx context.Context, id, messageID string) (seq int64, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return 0, err
	}
	row := db.reader.QueryRowContext(ctx, "SELECT m.seq"+ofSession+" AND m.id = ?4 LIMIT 1", id, 1, End, messageID)
	err = row.Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoMessage
	}
	return seq, s.explain("looking for message "+messageID+" of session "+id, err)
}

// Tail returns the end of a log up to a Seq ([End]: the whole log): the last response of the
// assistant and the messages after it. If there is no response, it returns the last message.
func (s *Store) Tail(ctx context.Context, id string, upTo int64) ([]Message, error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	if upTo == End {
		totals, err := s.Totals(ctx, id)
		if err != nil {
			return nil, err
		}
		upTo = int64(totals.Messages)
	}
	tail, err := collectMessages(db.tail.QueryContext(ctx, id, 1, upTo))
	return tail, s.explain("reading session "+id, err)
}

// Prompt returns a message of the user from a log: the one with the id messageID, or, if that is
// empty, the newest one. If there is none, it returns [ErrNoMessage].
func (s *Store) Prompt(ctx context.Context, id, messageID string) (Message, error) {
	const prompts = "role = 'user' AND note = 0"
	if messageID == "" {
		return s.last(ctx, id, prompts)
	}
	return s.last(ctx, id, prompts+" AND m.id = ?4", messageID)
}

// last returns the newest message of a log for which a condition holds. args are the values of its
// parameters, from ?4 on.
func (s *Store) last(ctx context.Context, id, where string, args ...any) (Message, error) {
	db, err := s.database(ctx)
	if err != nil {
		return Message{}, err
	}
	args = append([]any{id, 1, End}, args...)
	found, err := collectMessages(db.reader.QueryContext(ctx, "SELECT "+messageColumns+ofSession+" AND "+where+newestFirst+" LIMIT 1", args...))
	if err == nil && len(found) == 0 {
		err = ErrNoMessage
	}
	if err != nil {
		return Message{}, s.explain("reading session "+id, err)
	}
	return found[0], nil
}

// LastCompaction returns the Seqs of the newest compaction of a log and of its first kept
// message. If there is no compaction, both are 0.
func (s *Store) LastCompaction(ctx context.Context, id string) (seq, keeps int64, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return 0, 0, err
	}
	row := db.reader.QueryRowContext(ctx, "SELECT m.seq, m.keeps"+ofSession+" AND m.keeps != 0"+newestFirst+" LIMIT 1", id, 1, End)
	err = row.Scan(&seq, &keeps)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return seq, keeps, s.explain("reading session "+id, err)
}

// LastResult returns the newest successful result of a tool in a log. If there is none, it
// returns [ErrNoMessage]. SQLite uses the index of a tool's results only if the query contains
// the name as a literal.
func (s *Store) LastResult(ctx context.Context, id, tool string) (Message, error) {
	return s.last(ctx, id, "name = '"+strings.ReplaceAll(tool, "'", "''")+"' AND is_error = 0")
}

// HasCall reports whether a log contains a result for the tool call with the id call.
func (s *Store) HasCall(ctx context.Context, id, call string) (has bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	row := db.reader.QueryRowContext(ctx, selectCall, id, call)
	return has, s.explain("looking for a call of session "+id, row.Scan(&has))
}

// Fork adds the session head. Its log is the log of the session from up to and including Seq
// upTo, followed by more. The shared messages keep their IDs, times and Seqs. The state of
// extensions is copied as it is now.
func (s *Store) Fork(ctx context.Context, from string, upTo int64, head Session, more []*Message) error {
	err := s.branch(ctx, from, upTo, func(tx *sql.Tx, db *database, shared Totals) error {
		if err := db.addHead(ctx, tx, head); err != nil {
			return err
		}
		if err := db.share(ctx, tx, from, head.ID, int64(shared.Messages)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, copyState, head.ID, from); err != nil {
			return err
		}
		if err := setTotals(ctx, tx, head.ID, shared); err != nil {
			return err
		}
		return db.extend(ctx, tx, head.ID, more...)
	})
	return s.explain("branching off session "+from, err)
}

// Rewind ends the log of a session with the message upTo and adds more after it. It adds the
// session branch with the whole previous log and a copy of the extensions' state. The rewound
// session keeps its state: an extension with values from messages must read them again.
func (s *Store) Rewind(ctx context.Context, id string, upTo int64, branch Session, more []*Message) error {
	err := s.branch(ctx, id, upTo, func(tx *sql.Tx, db *database, shared Totals) error {
		if err := db.addHead(ctx, tx, branch); err != nil {
			return err
		}
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"UPDATE pieces SET session_id = ? WHERE session_id = ?", []any{branch.ID, id}},
			{"UPDATE sessions SET (" + sumColumns + ") = (SELECT " + sumColumns + " FROM sessions WHERE id = ?) WHERE id = ?", []any{id, branch.ID}},
			{copyState, []any{branch.ID, id}},
			{"UPDATE sessions SET rewinds = rewinds + 1, updated_at = max(updated_at, ?) WHERE id = ?", []any{Now().UnixMicro(), id}},
		} {
			if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
				return err
			}
		}
		if err := db.share(ctx, tx, branch.ID, id, int64(shared.Messages)); err != nil {
			return err
		}
		if err := setTotals(ctx, tx, id, shared); err != nil {
			return err
		}
		return db.extend(ctx, tx, id, more...)
	})
	return s.explain("going back in session "+id, err)
}

// sumTo computes the totals of a session up to Seq ?2.
const sumTo = `SELECT count(m.key), count(m.input), coalesce(sum(m.input), 0), coalesce(sum(m.output), 0), coalesce(sum(m.thought), 0),
		coalesce(sum(m.cached_read), 0), coalesce(sum(m.cached_write), 0), coalesce(sum(m.cost), 0.0), s.rewinds
	FROM sessions s LEFT JOIN pieces p ON p.session_id = s.id
		LEFT JOIN messages m ON m.log = p.log AND m.seq BETWEEN p.first AND min(p.last, ?2)
	WHERE s.id = ?1 GROUP BY s.id`

// branch runs change in a transaction with the totals of a session up to a Seq. It computes the
// totals before it locks the file. Only a rewind can change them; then branch computes them
// again. If the session does not exist, it returns [ErrNotFound].
func (s *Store) branch(ctx context.Context, id string, upTo int64, change func(*sql.Tx, *database, Totals) error) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	for {
		var shared Totals
		err := db.reader.QueryRowContext(ctx, sumTo, id, upTo).Scan(shared.columns()...)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		err = db.write(ctx, func(tx *sql.Tx) error {
			var rewinds int
			err := tx.QueryRowContext(ctx, "SELECT rewinds FROM sessions WHERE id = ?", id).Scan(&rewinds)
			if errors.Is(err, sql.ErrNoRows) {
				return ErrNotFound
			}
			if err == nil && rewinds != shared.Rewinds {
				return errRewound
			}
			if err != nil {
				return err
			}
			return change(tx, db, shared)
		})
		if !errors.Is(err, errRewound) {
			return err
		}
	}
}

// errRewound: the session was rewound after its totals were computed.
var errRewound = errors.New("the session was rewound meanwhile")

// share gives the new session to the log of from up to upTo, and a new log for later messages.
func (db *database) share(ctx context.Context, tx *sql.Tx, from, to string, upTo int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO pieces (session_id, first, last, log) SELECT ?, first, min(last, ?), log FROM pieces WHERE session_id = ? AND first <= ?",
		to, upTo, from, upTo)
	if err != nil {
		return err
	}
	return db.ownLog(ctx, tx, to, upTo+1)
}

const (
	insertLog   = "INSERT INTO logs (id) VALUES (?)"
	insertPiece = "INSERT INTO pieces (session_id, first, last, log) VALUES (?, ?, ?, ?)"
)

// ownLog gives a session a new log for its messages from a Seq on.
func (db *database) ownLog(ctx context.Context, tx *sql.Tx, session string, first int64) error {
	log := NewID()
	if _, err := tx.StmtContext(ctx, db.insertLog).ExecContext(ctx, log); err != nil {
		return err
	}
	return db.attach(ctx, tx, session, first, log)
}

func (db *database) attach(ctx context.Context, tx *sql.Tx, session string, first int64, log string) error {
	_, err := tx.StmtContext(ctx, db.insertPiece).ExecContext(ctx, session, first, End, log)
	return err
}

func setTotals(ctx context.Context, tx *sql.Tx, id string, t Totals) error {
	u := t.Usage
	_, err := tx.ExecContext(ctx, "UPDATE sessions SET ("+sumColumns+") = (?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?",
		t.Messages, t.Requests, u.Input, u.Output, u.Reasoning, u.CachedRead, u.CachedWrite, u.Cost, id)
	return err
}

// Tree returns all sessions in the tree of id, oldest first: the root and all branches. The
// fields are the same as in [Store.List]. A session without branches is a tree of its own. If
// the session does not exist, Tree returns [ErrNotFound].
func (s *Store) Tree(ctx context.Context, id string) ([]Session, error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	const root = "(SELECT iif(root = '', id, root) FROM sessions WHERE id = ?)"
	tree, err := collect(ctx, db.reader, "SELECT "+sessionColumns+" FROM sessions s WHERE s.id = "+root+
		" OR s.root = "+root+" AND s.root != '' ORDER BY s.created_at, s.id", []any{id, id})
	if err == nil && len(tree) == 0 {
		err = ErrNotFound
	}
	return tree, s.explain("reading the tree of session "+id, err)
}

// Unanswered returns the tool calls of the last response in a tail without a result in it, in
// order.
func Unanswered(tail []Message) []model.Call {
	var open []model.Call
	for _, m := range tail {
		switch m.Role {
		case model.Assistant:
			open = m.Calls()
		case model.ToolRole:
			open = without(open, m.CallID())
		}
	}
	return open
}

func without(calls []model.Call, id string) (rest []model.Call) {
	for _, c := range calls {
		if c.ID != id {
			rest = append(rest, c)
		}
	}
	return rest
}
