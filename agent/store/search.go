package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

const (
	indexEvery = 64  // approximate number of messages to collect before indexing
	indexMost  = 500 // keys per transaction, so no other writer waits for long
)

// index adds the next messages to the full-text index. If more are left, it returns false.
func (db *database) index(ctx context.Context, tx *sql.Tx) (done bool, err error) {
	var upto, last int64
	row := tx.QueryRowContext(ctx, "SELECT upto, (SELECT coalesce(max(key), 0) FROM messages) FROM indexed")
	if err := row.Scan(&upto, &last); err != nil {
		return false, err
	}
	next := min(last, upto+indexMost)
	if next > upto {
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, text) SELECT key, text FROM said WHERE key > ? AND key <= ?", upto, next); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE indexed SET upto = ?", next); err != nil {
			return false, err
		}
	}
	db.indexNext.Store(next + indexEvery)
	return next == last, nil
}

// indexAll adds all missing messages to the index.
func (db *database) indexAll(ctx context.Context) error {
	for done := false; !done; {
		err := db.write(ctx, func(tx *sql.Tx) (err error) {
			done, err = db.index(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Query selects the hits of [Store.Search].
type Query struct {
	// Text consists of words, which may be prefixes. "Several words" in quotes must be
	// adjacent. A message, or a session's title and notes, must contain all words. If none
	// does, the best partial matches are returned.
	Text        string
	Cwd         string // only sessions of this folder, under any of its paths; empty: all
	Session     string // only this session; empty: all
	Without     string // exclude this session; empty: none
	NoSubagents bool   // exclude sessions with an Origin, such as subagents
	Limit       int    // maximum number of hits; 0: 20

	cwds *[]any // the stored paths of Cwd
}

// Hit is a matching message, or a session with a matching title or notes. For a session, the
// fields of the message are empty. Session holds the fields returned by [Store.List].
type Hit struct {
	Session   Session
	MessageID string
	Seq       int64
	Time      time.Time
	Role      model.Role
	Snippet   string // a single line; matches are between Mark and EndMark
}

// Mark and EndMark enclose the matches in the Snippet of a [Hit].
const (
	Mark    = "\x02"
	EndMark = "\x03"
)

// Search returns matching prompts, responses, titles and notes, the best hits first, and at
// most one hit for a message shared by branches. It does not search tool results, reasoning,
// and text added to a prompt. If the query contains no word, it returns [ErrEmptyQuery].
func (s *Store) Search(ctx context.Context, q Query) ([]Hit, error) {
	words := splitQuery(q.Text)
	if len(words) == 0 {
		return nil, s.explain("searching", ErrEmptyQuery)
	}
	if q.Limit <= 0 {
		q.Limit = 20
	}
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	cwds, err := db.spellings(ctx, q.Cwd)
	if err != nil {
		return nil, s.explain("searching", err)
	}
	q.cwds = &cwds
	if err := db.indexAll(ctx); err != nil && ctx.Err() != nil {
		return nil, s.explain("searching", err)
	} // otherwise search the indexed messages: the disk may be full
	hits, err := db.search(ctx, q, words)
	return hits, s.explain("searching", err)
}

func (db *database) search(ctx context.Context, q Query, words []string) (hits []Hit, err error) {
	find := db.byIndex
	if !indexable(words) {
		find = db.byScan
	}
	for _, join := range []string{" AND ", " OR "} {
		found, err := find(ctx, q, words, join)
		if err != nil {
			return nil, err
		}
		if hits, err = db.named(ctx, q, words, join); err != nil {
			return nil, err
		}
		// A title repeats the first prompt, so a single hit in a session is enough.
		hits = slices.DeleteFunc(hits, func(h Hit) bool {
			return slices.ContainsFunc(found, func(f Hit) bool { return f.Session.ID == h.Session.ID })
		})
		hits = append(hits, found...)
		if len(hits) > 0 || len(words) == 1 {
			break
		}
	}
	hits = hits[:min(len(hits), q.Limit)]
	for i := range hits {
		hits[i].Snippet = strings.Join(strings.Fields(hits[i].Snippet), " ")
	}
	return hits, nil
}

// where returns the SQL condition and its arguments for the sessions of the query.
func (q Query) where() (string, []any) {
	clause, args := "", []any{}
	if q.cwds != nil && len(*q.cwds) > 0 {
		clause, args = clause+" AND "+oneOf("s.cwd", len(*q.cwds)), append(args, *q.cwds...)
	}
	for _, c := range []struct{ test, value string }{{"s.id = ?", q.Session}, {"s.id != ?", q.Without}} {
		if c.value != "" {
			clause, args = clause+" AND "+c.test, append(args, c.value)
		}
	}
	if q.NoSubagents {
		clause += " AND s.origin = ''"
	}
	return clause, args
}

// byIndex searches for whole words first. If there are too few hits, it searches for prefixes,
// which costs much more.
func (db *database) byIndex(ctx context.Context, q Query, words []string, join string) (hits []Hit, err error) {
	for _, open := range []string{"", "*"} {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"` + open
		}
		if hits, err = db.matching(ctx, q, strings.Join(quoted, join)); err != nil || len(hits) >= q.Limit {
			break
		}
	}
	for i := range hits {
		hits[i].Snippet = excerpt(hits[i].Snippet, words)
	}
	return hits, err
}

func (db *database) matching(ctx context.Context, q Query, match string) ([]Hit, error) {
	clause, args := q.where()
	// Count a shared message once, in its oldest session.
	hits, err := collectHits(db.reader.QueryContext(ctx, fmt.Sprintf(`
		WITH hits AS MATERIALIZED (
			SELECT words.rowid AS key, words.rank AS score, s.id AS session
			FROM words%s WHERE words MATCH ?%s ORDER BY words.rowid DESC LIMIT %d),
		best AS MATERIALIZED (SELECT key, score, session FROM hits ORDER BY score, key LIMIT ?)
		SELECT %s, m.id, m.seq, m.time, m.role, said.text
		FROM best JOIN messages m ON m.key = best.key JOIN said ON said.key = best.key JOIN sessions s ON s.id = best.session
		ORDER BY best.score, best.key, s.created_at, s.id`, sessionsOf("words.rowid"), clause, ranked, sessionColumns),
		slices.Concat([]any{match}, args, []any{4 * q.Limit})...))
	return hits[:min(len(hits), q.Limit)], err
}

// ranked is the number of newest hits to rank. With more hits, the words are too common for a
// useful ranking.
const ranked = 5000

// sessionsOf joins the message with a key and its sessions.
func sessionsOf(key string) string {
	return ` CROSS JOIN messages m ON m.key = ` + key + `
		CROSS JOIN pieces p ON p.log = m.log AND m.seq BETWEEN p.first AND p.last CROSS JOIN sessions s ON s.id = p.session_id`
}

// byScan reads all messages, the newest first. It is for scripts without spaces between words,
// which the index cannot split.
func (db *database) byScan(ctx context.Context, q Query, words []string, join string) ([]Hit, error) {
	clause, args := q.where()
	tests := make([]string, len(words))
	values := make([]any, len(words))
	for i, w := range words {
		tests[i], values[i] = "instr(lower(said.text), ?) > 0", strings.ToLower(w)
	}
	hits, err := collectHits(db.reader.QueryContext(ctx, fmt.Sprintf(`
		SELECT %s, m.id, m.seq, m.time, m.role, said.text
		FROM said%s
		WHERE (%s)%s ORDER BY said.key DESC, s.created_at, s.id LIMIT ?`, sessionColumns, sessionsOf("said.key"), strings.Join(tests, join), clause),
		append(append(values, args...), 4*q.Limit)...))
	for i := range hits {
		hits[i].Snippet = cutAround(hits[i].Snippet, words)
	}
	return hits, err
}

// named returns sessions by title and notes, the newest first.
func (db *database) named(ctx context.Context, q Query, words []string, join string) ([]Hit, error) {
	clause, args := q.where()
	tests := make([]string, len(words))
	values := make([]any, len(words))
	for i, w := range words {
		tests[i], values[i] = "instr(lower(s.title || ' ' || s.notes), ?) > 0", strings.ToLower(w)
	}
	return collectHits(db.reader.QueryContext(ctx, fmt.Sprintf(`
		SELECT %s, '', 0, s.updated_at, '', iif(s.notes = '', s.title, s.title || ' · ' || s.notes) FROM sessions s
		WHERE (%s)%s AND s.origin = '' ORDER BY s.updated_at DESC LIMIT ?`, sessionColumns, strings.Join(tests, join), clause),
		append(append(values, args...), (q.Limit+1)/2)...))
}

func collectHits(rows *sql.Rows, err error) (hits []Hit, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[string]bool{"": false}
	var h Hit
	var at int64
	row := newSessionRow(&h.MessageID, &h.Seq, &at, &h.Role, &h.Snippet)
	for rows.Next() {
		if h.Session, err = row.scan(rows); err != nil {
			return nil, err
		}
		if seen[h.MessageID] {
			continue
		}
		seen[h.MessageID] = h.MessageID != ""
		h.Time = fromMicros(at)
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

// splitQuery splits a query into words and quoted phrases. It drops any without a letter or a
// digit.
func splitQuery(text string) (words []string) {
	for i, part := range strings.Split(text, `"`) {
		list := []string{part}
		if i%2 == 0 {
			list = strings.Fields(part)
		}
		for _, w := range list {
			if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
				words = append(words, strings.ToValidUTF8(strings.ReplaceAll(w, "\x00", " "), "\uFFFD"))
			}
		}
	}
	return words
}

// indexable reports whether the index can split the words.
func indexable(words []string) bool {
	for _, w := range words {
		for _, r := range w {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Khmer, unicode.Lao, unicode.Myanmar) {
				return false
			}
		}
	}
	return true
}

// ErrEmptyQuery: the query contains no word.
var ErrEmptyQuery = errors.New("nothing to look for: give at least one word")
