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
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	headColumns  = "id, cwd, folders, title, model, mode, preferred, thinking, parent, origin, root, forked_at, notes, created_at, updated_at"
	sumColumns   = "messages, requests, input, output, thought, cached_read, cached_write, cost"
	totalColumns = sumColumns + ", rewinds"
	// sessionColumns are columns of sessions s. In a long list, a text costs three times as
	// much as a null, so mostly empty columns are null.
	sessionColumns = `s.id, s.cwd, nullif(s.folders, ''), s.title, nullif(s.model, ''), nullif(s.mode, ''), nullif(s.preferred, ''), nullif(s.thinking, ''), nullif(s.parent, ''), nullif(s.origin, ''),
		nullif(s.root, ''), nullif(s.forked_at, ''), nullif(s.notes, ''), s.created_at, s.updated_at, s.messages`
	insertSession = "INSERT INTO sessions (" + headColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	insertHead    = "INSERT INTO heads (session_id, system, tools) VALUES (?, ?, ?)"
	selectSession = "SELECT " + sessionColumns + ", " + totalColumns + ", system, tools FROM sessions s JOIN heads ON session_id = s.id WHERE s.id = ?"
)

// NewID returns a new id of a session or a message: a UUIDv7.
func NewID() string {
	return uuid.Must(uuid.NewV7()).String() // fails only without a source of randomness
}

// Create adds a session with the first messages of its log. The caller gets the ID from [NewID].
// Zero times become the current time. If the id exists, Create returns [ErrExists].
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

// Session returns a session with all fields. If the session does not exist, it returns
// [ErrNotFound].
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

// Resolve returns the id of the only session whose id begins with prefix. If there is none, it
// returns [ErrNotFound]. If there are several, and prefix is not itself an id, it returns
// [ErrAmbiguous].
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

// Update calls change with the stored session and stores the result. ID, CreatedAt and Totals do
// not change. If the session does not exist, Update returns [ErrNotFound].
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

// Delete removes a session and the messages not shared with a branch. The session disappears at
// once. Many messages are removed from the disk in small steps in the background. Delete keeps
// forks and subagents of the session. If the session does not exist, it returns [ErrNotFound].
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

// Filter selects the sessions of [Store.List].
type Filter struct {
	Cwd         string // only sessions of this folder, under any of its paths; empty: all
	Parent      string // only sessions with this Parent; empty: all
	NoSubagents bool   // exclude sessions with an Origin, such as subagents
	Cursor      string // the end of the previous page; empty: start with the newest
	Limit       int    // maximum number; 0: 100
}

// List returns a page of sessions, newest UpdatedAt first, and the cursor of the next page.
// After the last page, the cursor is empty. System and Tools of the sessions are empty; of
// Totals, only Messages is set. Following the cursor never shows a session twice. It only omits
// sessions used in the meantime, which move to the front.
func (s *Store) List(ctx context.Context, f Filter) (page []Session, next string, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, "", err
	}
	cwds, err := db.spellings(ctx, f.Cwd)
	if err != nil {
		return nil, "", s.explain("listing sessions", err)
	}
	query, args, err := f.query(cwds)
	if err != nil {
		return nil, "", s.explain("listing sessions", err)
	}
	page, err = collect(ctx, db.reader, query, args)
	if err != nil {
		return nil, "", s.explain("listing sessions", err)
	}
	if limit := f.limit(); len(page) > limit { // the query asks for an additional row, to detect the next page
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

// spellings returns the stored paths of the folder cwd, cwd itself first. If cwd is empty, it
// returns none.
func (db *database) spellings(ctx context.Context, cwd string) (all []any, err error) {
	if cwd == "" {
		return nil, nil
	}
	rows, err := db.reader.QueryContext(ctx, "SELECT DISTINCT cwd FROM sessions")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all = []any{cwd}
	for rows.Next() {
		var other string
		if err := rows.Scan(&other); err != nil {
			return nil, err
		}
		if other != cwd && folderpath.Same(other, cwd) {
			all = append(all, other)
		}
	}
	return all, rows.Err()
}

// oneOf returns the SQL condition for a column with any of n values.
func oneOf(column string, n int) string {
	return column + " IN (?" + strings.Repeat(", ?", n-1) + ")"
}

func (f Filter) query(cwds []any) (string, []any, error) {
	var where []string
	var args []any
	if len(cwds) > 0 {
		where, args = append(where, oneOf("cwd", len(cwds))), append(args, cwds...)
	}
	if f.Parent != "" {
		where, args = append(where, "parent = ? AND parent != ''"), append(args, f.Parent) // the same condition as in the index
	}
	if f.NoSubagents {
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

// sessionRow reads rows of sessionColumns. All rows share the same variables.
type sessionRow struct {
	x                Session
	sparse           [10]sql.NullString // folders and the mostly empty texts
	created, updated int64
	columns          []any
}

// newSessionRow returns a sessionRow whose additional columns are read into more.
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

// columns returns pointers to the fields for totalColumns.
func (t *Totals) columns() []any {
	u := &t.Usage
	return []any{&t.Messages, &t.Requests, &u.Input, &u.Output, &u.Reasoning, &u.CachedRead, &u.CachedWrite, &u.Cost, &t.Rewinds}
}

// encode returns a list as JSON. If the list is empty, it returns "".
func encode[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and valid JSON always marshal
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
