package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Spent is the usage of requests.
type Spent struct {
	Requests int
	Unpriced int // requests with tokens and without a known cost
	model.Usage
}

func (s *Spent) add(more Spent) {
	s.Requests, s.Unpriced, s.Usage = s.Requests+more.Requests, s.Unpriced+more.Unpriced, s.Usage.Plus(more.Usage)
}

// SpentDay is the usage of a day.
type SpentDay struct {
	Date string // YYYY-MM-DD, in the time zone of since
	Spent
}

// SpentSession is the usage of a session, including its subagents.
type SpentSession struct {
	Session Session // ID, Cwd, Title and UpdatedAt
	Spent
}

// slice is the time span of a sum in the database. In each time zone, days begin at a multiple
// of it.
const slice = 15 * time.Minute

// spentColumns sums up messages m. A request stores its token counts.
const spentColumns = `count(m.input), count(iif(m.input + m.output > 0 AND m.cost <= 0, 1, NULL)),
	coalesce(sum(m.input), 0), coalesce(sum(m.output), 0), coalesce(sum(m.thought), 0),
	coalesce(sum(m.cached_read), 0), coalesce(sum(m.cached_write), 0), coalesce(sum(m.cost), 0.0)`

func (s *Spent) columns() []any {
	u := &s.Usage
	return []any{&s.Requests, &s.Unpriced, &u.Input, &u.Output, &u.Reasoning, &u.CachedRead, &u.CachedWrite, &u.Cost}
}

// SpentByDay returns the usage of each day since a time, newest first. It omits days without
// requests. Requests of deleted sessions are no longer stored, so it omits them, too.
func (s *Store) SpentByDay(ctx context.Context, since time.Time) (days []SpentDay, err error) {
	query := fmt.Sprintf(`SELECT m.time / %[1]d * %[1]d, %[2]s FROM messages m
		WHERE m.time >= ? AND m.input IS NOT NULL GROUP BY 1 ORDER BY 1 DESC`, slice.Microseconds(), spentColumns)
	err = eachRow(ctx, s, "adding up the usage of days", query, []any{since.UnixMicro()}, func(rows *sql.Rows) error {
		var at int64
		var sum Spent
		if err := rows.Scan(append([]any{&at}, sum.columns()...)...); err != nil {
			return err
		}
		date := time.UnixMicro(at).In(since.Location()).Format(time.DateOnly)
		if len(days) == 0 || days[len(days)-1].Date != date {
			days = append(days, SpentDay{Date: date})
		}
		days[len(days)-1].add(sum)
		return nil
	})
	return days, err
}

// SpentBySession returns the usage of each session used since a time, newest first. The usage
// of a session is the usage of all its messages, including shared messages of a fork, and of
// its subagents.
func (s *Store) SpentBySession(ctx context.Context, since time.Time) ([]SpentSession, error) {
	return spentBySession(ctx, s, "t.updated_at >= ?", since.UnixMicro())
}

// SpentIn returns the usage of a session and its subagents. If it does not exist, it returns
// zero.
func (s *Store) SpentIn(ctx context.Context, id string) (Spent, error) {
	all, err := spentBySession(ctx, s, "t.id = ?", id)
	if err != nil || len(all) == 0 {
		return Spent{}, err
	}
	return all[0].Spent, nil
}

func spentBySession(ctx context.Context, s *Store, which string, value any) (out []SpentSession, err error) {
	query := `WITH RECURSIVE tree (top, id) AS (
			SELECT t.id, t.id FROM sessions t WHERE t.origin = '' AND ` + which + `
			UNION SELECT tree.top, s.id FROM tree JOIN sessions s ON s.parent = tree.id WHERE s.parent != '' AND s.origin != '')
		SELECT t.id, t.cwd, t.title, t.updated_at, ` + spentColumns + `
		FROM tree JOIN sessions t ON t.id = tree.top JOIN pieces p ON p.session_id = tree.id
			JOIN messages m ON m.log = p.log AND m.seq BETWEEN p.first AND p.last
		GROUP BY t.id HAVING count(m.input) > 0 ORDER BY t.updated_at DESC, t.id DESC`
	err = eachRow(ctx, s, "adding up the usage of sessions", query, []any{value}, func(rows *sql.Rows) error {
		var x SpentSession
		var updated int64
		if err := rows.Scan(append([]any{&x.Session.ID, &x.Session.Cwd, &x.Session.Title, &updated}, x.columns()...)...); err != nil {
			return err
		}
		x.Session.UpdatedAt = fromMicros(updated)
		out = append(out, x)
		return nil
	})
	return out, err
}

// eachRow calls scan for each row of a query.
func eachRow(ctx context.Context, s *Store, doing, query string, args []any, scan func(*sql.Rows) error) error {
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	rows, err := db.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return s.explain(doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return s.explain(doing, err)
		}
	}
	return s.explain(doing, rows.Err())
}
