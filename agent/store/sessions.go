package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	headColumns  = "id, cwd, folders, title, model, mode, preferred, thinking, parent, origin, root, forked_at, notes, created_at, updated_at"
	sumColumns   = "messages, requests, input, output, thought, cached_read, cached_write, cost"
	totalColumns = sumColumns + ", rewinds"
	// sessionColumns are of sessions s. A text costs a long list three times what a null
	// does, so what is mostly empty is a null then.
	sessionColumns = `s.id, s.cwd, nullif(s.folders, ''), s.title, nullif(s.model, ''), nullif(s.mode, ''), nullif(s.preferred, ''), nullif(s.thinking, ''), nullif(s.parent, ''), nullif(s.origin, ''),
		nullif(s.root, ''), nullif(s.forked_at, ''), nullif(s.notes, ''), s.created_at, s.updated_at, s.messages`
	insertSession = "INSERT INTO sessions (" + headColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	insertHead    = "INSERT INTO heads (session_id, system, tools) VALUES (?, ?, ?)"
	selectSession = "SELECT " + sessionColumns + ", " + totalColumns + ", system, tools FROM sessions s JOIN heads ON session_id = s.id WHERE s.id = ?"
)

// NewID is a fresh id of a session or a message: a UUIDv7.
func NewID() string {
	return uuid.Must(uuid.NewV7()).String() // fails only without a source of randomness
}

// Create adds a session, whose ID the caller has from [NewID], with the first messages
// of its log. Zero times become the present.
func (s *Store) Create(ctx context.Context, x Session, first ...*Message) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	if x.ID == "" {
		return s.explain("adding a session", errors.New("it has no id"))
	}
	if err := checkIDs(x); err != nil {
		return s.explain(fmt.Sprintf("adding session %q", x.ID), err)
	}
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		if err := db.addHead(ctx, tx, x); err != nil {
			return err
		}
		if err := db.ownLog(ctx, tx, x.ID, 1); err != nil || len(first) == 0 {
			return err
		}
		return db.extend(ctx, tx, x.ID, first...)
	})
	return s.explain("adding session "+x.ID, err)
}

func (db *database) addHead(ctx context.Context, tx *sql.Tx, x Session) error {
	if x.CreatedAt.IsZero() {
		x.CreatedAt = Now()
	}
	if x.UpdatedAt.IsZero() {
		x.UpdatedAt = x.CreatedAt
	}
	_, err := tx.StmtContext(ctx, db.insertSession).ExecContext(ctx, x.ID, x.Cwd, encode(x.Folders), x.Title, x.Model, x.Mode, x.Preferred, x.Thinking,
		x.Parent, x.Origin, x.Root, x.ForkedAt, x.Notes, x.CreatedAt.UnixMicro(), x.UpdatedAt.UnixMicro())
	if hasCode(err, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, db.insertHead).ExecContext(ctx, x.ID, x.System, encode(x.Tools))
	return err
}

// Session reads one head, whole. An unknown id is [ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	db, err := s.database(ctx)
	if err != nil {
		return Session{}, err
	}
	x, err := scanHead(db.session.QueryRowContext(ctx, id))
	if err != nil {
		return Session{}, s.explain("reading session "+id, err)
	}
	return x, nil
}

// Resolve gives the id of the one session whose id begins so. None is [ErrNotFound],
// several are [ErrAmbiguous].
func (s *Store) Resolve(ctx context.Context, prefix string) (string, error) {
	db, err := s.database(ctx)
	if err != nil {
		return "", err
	}
	rows, err := db.reader.QueryContext(ctx, "SELECT id FROM sessions WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2", prefix)
	if err != nil {
		return "", s.explain("looking for session "+prefix, err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return "", s.explain("looking for session "+prefix, err)
		}
		found = append(found, id)
	}
	switch err := rows.Err(); {
	case err != nil:
		return "", s.explain("looking for session "+prefix, err)
	case len(found) == 0 || prefix == "":
		return "", fmt.Errorf("session %q: %w", prefix, ErrNotFound)
	case len(found) > 1 && found[0] != prefix:
		return "", fmt.Errorf("session %q: %w", prefix, ErrAmbiguous)
	}
	return found[0], nil
}

// Update changes a head: change gets it as it is stored and leaves it as it shall
// be. ID, CreatedAt and Totals stay.
func (s *Store) Update(ctx context.Context, id string, change func(*Session)) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	err = db.write(ctx, func(tx *sql.Tx) error {
		old, err := scanHead(tx.QueryRowContext(ctx, selectSession, id))
		if err != nil {
			return err
		}
		x := old
		x.Folders, x.Tools = slices.Clone(old.Folders), slices.Clone(old.Tools)
		change(&x)
		_, err = tx.ExecContext(ctx, `UPDATE sessions SET cwd = ?, folders = ?, title = ?, model = ?, mode = ?, preferred = ?, thinking = ?,
			parent = ?, origin = ?, root = ?, forked_at = ?, notes = ?, updated_at = ? WHERE id = ?`,
			x.Cwd, encode(x.Folders), x.Title, x.Model, x.Mode, x.Preferred, x.Thinking,
			x.Parent, x.Origin, x.Root, x.ForkedAt, x.Notes, x.UpdatedAt.UnixMicro(), id)
		if err != nil || x.System == old.System && encode(x.Tools) == encode(old.Tools) {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE heads SET system = ?, tools = ? WHERE session_id = ?", x.System, encode(x.Tools), id)
		return err
	})
	return s.explain("changing session "+id, err)
}

// Delete removes a session and those of its messages that no branch shares: at once as
// far as anybody can see, and on the disk, where there are many, bit by bit, so that
// nobody waits. An unknown id is [ErrNotFound]. Sessions that came of it stay.
func (s *Store) Delete(ctx context.Context, id string) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	swept := true
	err = db.write(ctx, func(tx *sql.Tx) error {
		logs, err := texts(tx.QueryContext(ctx, "SELECT log FROM pieces WHERE session_id = ?", id))
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		swept, err = loosen(ctx, tx, logs)
		return err
	})
	if err != nil {
		return s.explain("deleting session "+id, err)
	}
	if !swept {
		db.startSweep()
	}
	return nil
}

// Filter chooses what [Store.List] gives.
type Filter struct {
	Cwd    string // only sessions of this folder; empty: all
	Parent string // only sessions that came of this one; empty: all
	Talks  bool   // only conversations, not the sessions of subagents
	Cursor string // where the page before ended; empty: from the newest
	Limit  int    // how many at most; 0: 100
}

// List gives a page of heads, newest UpdatedAt first, without System and Tools, and
// without Totals but for Messages,
// and the cursor of the next page, empty after the last. Following the cursor
// never shows a session twice, and none is left out but those that were used
// meanwhile and so moved to the front.
func (s *Store) List(ctx context.Context, f Filter) (page []Session, next string, err error) {
	query, args, err := f.query()
	if err != nil {
		return nil, "", s.explain("listing sessions", err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return nil, "", err
	}
	page, err = collect(ctx, db.reader, query, args)
	if err != nil {
		return nil, "", s.explain("listing sessions", err)
	}
	if limit := f.limit(); len(page) > limit { // one more was asked for, to know whether there is one
		page = page[:limit]
		next = cursorOf(page[limit-1])
	}
	return page, next, nil
}

func (f Filter) limit() int {
	if f.Limit <= 0 {
		return 100
	}
	return f.Limit
}

func (f Filter) query() (string, []any, error) {
	var where []string
	var args []any
	if f.Cwd != "" {
		where, args = append(where, "cwd = ?"), append(args, f.Cwd)
	}
	if f.Parent != "" {
		where, args = append(where, "parent = ? AND parent != ''"), append(args, f.Parent) // as the index says it
	}
	if f.Talks {
		where = append(where, "origin = ''")
	}
	if f.Cursor != "" {
		updated, id, err := parseCursor(f.Cursor)
		if err != nil {
			return "", nil, err
		}
		where, args = append(where, "(updated_at, id) < (?, ?)"), append(args, updated, id)
	}
	query := "SELECT " + sessionColumns + " FROM sessions s"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return query + " ORDER BY updated_at DESC, id DESC LIMIT ?", append(args, f.limit()+1), nil
}

func cursorOf(x Session) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", x.UpdatedAt.UnixMicro(), x.ID))
}

func parseCursor(cursor string) (updated int64, id string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, "", ErrCursor
	}
	number, id, ok := strings.Cut(string(text), " ")
	updated, err = strconv.ParseInt(number, 10, 64)
	if err != nil || !ok {
		return 0, "", ErrCursor
	}
	return updated, id, nil
}

func collect(ctx context.Context, db *sql.DB, query string, args []any) (page []Session, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	row := newSessionRow()
	for rows.Next() {
		x, err := row.scan(rows)
		if err != nil {
			return nil, err
		}
		page = append(page, x)
	}
	return page, rows.Err()
}

type scanner interface{ Scan(...any) error }

func scanHead(row scanner) (x Session, err error) {
	var totals Totals
	var system, tools string
	x, err = newSessionRow(append(totals.columns(), &system, &tools)...).scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		return x, ErrNotFound
	}
	if err != nil {
		return x, err
	}
	x.Totals, x.System = totals, system
	x.Tools, err = decode[model.Tool](tools)
	return x, err
}

// sessionRow reads rows of sessionColumns, each into the same places.
type sessionRow struct {
	x                Session
	sparse           [10]sql.NullString // folders and the texts that are mostly empty
	created, updated int64
	columns          []any
}

// newSessionRow reads more from the columns behind sessionColumns.
func newSessionRow(more ...any) *sessionRow {
	r := &sessionRow{}
	x, s := &r.x, &r.sparse
	r.columns = append([]any{&x.ID, &x.Cwd, &s[0], &x.Title, &s[1], &s[2], &s[3], &s[4],
		&s[5], &s[6], &s[7], &s[8], &s[9], &r.created, &r.updated, &x.Messages}, more...)
	return r
}

func (r *sessionRow) scan(row scanner) (x Session, err error) {
	if err := row.Scan(r.columns...); err != nil {
		return x, err
	}
	x = r.x
	for i, to := range []*string{&x.Model, &x.Mode, &x.Preferred, &x.Thinking, &x.Parent, &x.Origin, &x.Root, &x.ForkedAt, &x.Notes} {
		*to = r.sparse[i+1].String
	}
	x.CreatedAt, x.UpdatedAt = fromMicros(r.created), fromMicros(r.updated)
	x.Folders, err = decode[string](r.sparse[0].String)
	return x, err
}

// columns are where totalColumns go.
func (t *Totals) columns() []any {
	u := &t.Usage
	return []any{&t.Messages, &t.Requests, &u.Input, &u.Output, &u.Reasoning, &u.CachedRead, &u.CachedWrite, &u.Cost, &t.Rewinds}
}

// encode gives a list as JSON, and an empty one as nothing.
func encode[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and raw JSON made by ourselves: cannot fail
	}
	return string(text)
}

func decode[T any](text string) (list []T, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return list, nil
}
