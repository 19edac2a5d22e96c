package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	// selectTail reads from the last reply of the assistant on.
	selectTail = "SELECT " + messageColumns + ` FROM messages WHERE session_id = ?1 AND seq <= ?2 AND seq >= coalesce(
		(SELECT seq FROM messages WHERE session_id = ?1 AND seq <= ?2 AND role = 'assistant' ORDER BY seq DESC LIMIT 1), ?2) ORDER BY seq`
	copyMessages = "INSERT INTO messages (session_id, " + messageColumns + ") SELECT ?, " + messageColumns +
		" FROM messages WHERE session_id = ? AND seq <= ?"
)

// End stands for the last message of a log.
const End = int64(1<<63 - 1)

// Find gives the Seq of a session's message. An unknown one is [ErrNoMessage].
func (s *Store) Find(ctx context.Context, id, messageID string) (seq int64, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return 0, err
	}
	row := db.reader.QueryRowContext(ctx, "SELECT seq FROM messages WHERE session_id = ? AND id = ?", id, messageID)
	err = row.Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoMessage
	}
	return seq, s.explain("looking for message "+messageID+" of session "+id, err)
}

// Tail reads the end of a log up to a Seq ([End]: all of it): the last reply of the
// assistant and what follows it, or the last message where there is no reply.
func (s *Store) Tail(ctx context.Context, id string, upTo int64) ([]Message, error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	if upTo == End {
		if err := db.reader.QueryRowContext(ctx, lastSeq, id).Scan(&upTo); err != nil {
			return nil, s.explain("reading session "+id, err)
		}
	}
	tail, err := collectMessages(db.tail.QueryContext(ctx, id, upTo))
	return tail, s.explain("reading session "+id, err)
}

// LastPrompt is the newest message of a log that a person wrote. Without one it is
// [ErrNoMessage].
func (s *Store) LastPrompt(ctx context.Context, id string) (Message, error) {
	return s.last(ctx, id, "role = 'user' AND note = 0")
}

func (s *Store) last(ctx context.Context, id, where string) (Message, error) {
	db, err := s.database(ctx)
	if err != nil {
		return Message{}, err
	}
	found, err := collectMessages(db.reader.QueryContext(ctx, "SELECT "+messageColumns+
		" FROM messages WHERE session_id = ? AND "+where+" ORDER BY seq DESC LIMIT 1", id))
	if err == nil && len(found) == 0 {
		err = ErrNoMessage
	}
	if err != nil {
		return Message{}, s.explain("reading session "+id, err)
	}
	return found[0], nil
}

// LastCompaction gives the Seqs of a log's newest compaction and of the first message
// that it keeps; both are 0 where there is none.
func (s *Store) LastCompaction(ctx context.Context, id string) (seq, keeps int64, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return 0, 0, err
	}
	row := db.reader.QueryRowContext(ctx, "SELECT seq, keeps FROM messages WHERE session_id = ? AND keeps != 0 ORDER BY seq DESC LIMIT 1", id)
	err = row.Scan(&seq, &keeps)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return seq, keeps, s.explain("reading session "+id, err)
}

// LastTodo is the newest result of the tool todo in a log. Without one it is
// [ErrNoMessage].
func (s *Store) LastTodo(ctx context.Context, id string) (Message, error) {
	return s.last(ctx, id, "name = 'todo' AND is_error = 0")
}

// HasCall tells whether a call of that id has a result in a log.
func (s *Store) HasCall(ctx context.Context, id, call string) (has bool, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, err
	}
	row := db.reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ? AND call_id = ? AND call_id != '')", id, call)
	return has, s.explain("looking for a call of session "+id, row.Scan(&has))
}

// Fork adds a session, made of head, with the log of another up to a Seq, that one
// included, and more messages behind it. The messages keep their IDs, times and Seqs.
func (s *Store) Fork(ctx context.Context, from string, upTo int64, head Session, more []*Message) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	err = db.write(ctx, func(tx *sql.Tx) error {
		if err := copyLog(ctx, tx, from, upTo, head); err != nil {
			return err
		}
		return db.extend(ctx, tx, head.ID, upTo, more)
	})
	return s.explain("branching off session "+from, err)
}

// Rewind goes back in a session: its log ends with the message of Seq upTo, and more
// are added behind it. What came after is kept as another session, made of branch,
// which has the whole log as it was.
func (s *Store) Rewind(ctx context.Context, id string, upTo int64, branch Session, more []*Message) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	err = db.write(ctx, func(tx *sql.Tx) error {
		if err := copyLog(ctx, tx, id, upTo, branch); err != nil {
			return err
		}
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"UPDATE messages SET session_id = ? WHERE session_id = ? AND seq > ?", []any{branch.ID, id, upTo}},
			{sumUp + " WHERE id IN (?, ?)", []any{id, branch.ID}},
			{"UPDATE sessions SET rewinds = rewinds + 1, updated_at = max(updated_at, ?) WHERE id = ?", []any{Now().UnixMicro(), id}},
		} {
			if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
				return err
			}
		}
		return db.extend(ctx, tx, id, upTo, more)
	})
	return s.explain("going back in session "+id, err)
}

// copyLog adds the session head with the beginning of another's log.
func copyLog(ctx context.Context, tx *sql.Tx, from string, upTo int64, head Session) error {
	var there bool
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sessions WHERE id = ?", from).Scan(&there); err != nil {
		return err
	}
	if !there {
		return ErrNotFound
	}
	if err := insertHead(ctx, tx, head); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, copyMessages, head.ID, from, upTo); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, sumUp+" WHERE id = ?", head.ID)
	return err
}

// extend adds messages after the one of Seq last.
func (db *database) extend(ctx context.Context, tx *sql.Tx, id string, last int64, more []*Message) error {
	for i, m := range more {
		m.complete()
		m.Seq = last + int64(i) + 1
		if err := db.insert(ctx, tx, id, m.Seq, m); err != nil {
			return err
		}
	}
	return nil
}

// Tree lists the sessions that were branched off the same one as id, that one and id
// included, oldest first, with as much of them as [Store.List] gives. A session that has no branches
// is a tree of one.
func (s *Store) Tree(ctx context.Context, id string) ([]Session, error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	const root = "(SELECT iif(root = '', id, root) FROM sessions WHERE id = ?)"
	tree, err := collect(ctx, db.reader, "SELECT "+sessionColumns+" FROM sessions WHERE id = "+root+
		" UNION ALL SELECT "+sessionColumns+" FROM sessions WHERE root = "+root+" AND root != '' ORDER BY created_at, id", []any{id, id})
	if err == nil && len(tree) == 0 {
		err = ErrNotFound
	}
	return tree, s.explain("reading the tree of session "+id, err)
}

// Unanswered are the calls of a tail of a log that have no result in it, in order.
func Unanswered(tail []Message) []model.Call {
	var open []model.Call
	for _, m := range tail {
		switch m.Role {
		case model.Assistant:
			open = m.Calls
		case model.ToolRole:
			open = without(open, m.CallID)
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
