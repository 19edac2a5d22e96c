package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// TestSchema checks the schema of a new file: it equals the result of the migrations.
func TestSchema(t *testing.T) {
	t.Parallel()
	stepwise, atOnce := shape(t, migrations...), shape(t, schema)
	if len(atOnce) < 40 {
		t.Errorf("%d lines only", len(atOnce))
	}
	for line := range stepwise {
		if !atOnce[line] {
			t.Errorf("not in schema.sql: %s", line)
		}
	}
	for line := range atOnce {
		if !stepwise[line] {
			t.Errorf("not made by the migrations: %s", line)
		}
	}
}

// shape lists the columns, keys, indexes, views and triggers created by scripts.
func shape(t *testing.T, scripts ...string) map[string]bool {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // only a test
	for _, script := range scripts {
		if _, err := db.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query(`
		SELECT format('table %s: %s %s %s %s %s', m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk)
			FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'
		UNION SELECT format('table %s: strict %s, no rowid %s', name, strict, wr) FROM pragma_table_list
		UNION SELECT format('key of %s: %s → %s %s %s', m.name, k."from", k."table", k."to", k.on_delete)
			FROM sqlite_schema m, pragma_foreign_key_list(m.name) k WHERE m.type = 'table'
		UNION SELECT format('index %s of %s: %s %s, partial %s, unique %s', i.name, m.name, c.seqno, c.name, i.partial, i."unique")
			FROM sqlite_schema m, pragma_index_list(m.name) i, pragma_index_info(i.name) c WHERE m.type = 'table'
		UNION SELECT sql FROM sqlite_schema WHERE type IN ('view', 'trigger', 'index') AND sql IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() // only a test
	lines := map[string]bool{}
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines[strings.ReplaceAll(strings.Join(strings.Fields(line), " "), `"`, "")] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestMigrations migrates a file of each earlier version. No data is lost: the sums match the
// log, and search finds its messages.
func TestMigrations(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for version := 1; version < len(migrations); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), FileName)
			old, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			run := func(query string) {
				t.Helper()
				if _, err := old.Exec(query); err != nil {
					t.Fatal(err)
				}
			}
			filled := min(version, 4) // the version with filled tables
			for _, m := range migrations[:filled] {
				run(m)
			}
			run(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
			for _, id := range []string{"a", "b"} {
				run("INSERT INTO sessions (id, cwd, folders, title, model, mode, parent, created_at, updated_at) VALUES ('" + id + "', '/w', '', 'T', '', '', '', 1, 2)")
				run("INSERT INTO heads VALUES ('" + id + "', 'system', '')")
			}
			for seq := 1; seq <= 3; seq++ {
				run(fmt.Sprintf(`INSERT INTO messages (session_id, seq, id, time, role, note, typed, is_error, input, output, cost, call_id, name, text, reasoning, calls, shown, images)
					VALUES ('a', %d, 'm%d', %d, 'assistant', 0, 0, 0, 10, 2, 0.5, '', '', 'words of old', '', '', '', '')`, seq, seq, seq+2))
			}
			if version >= 4 {
				run(sumUp)
			}
			for _, m := range migrations[filled:version] {
				run(m)
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}

			s := New(path, Options{})
			defer s.Close()
			x, err := s.Session(t.Context(), "a")
			if err != nil || x.System != "system" || x.Messages != 3 || x.Requests != 3 || x.Usage.Input != 30 || x.Usage.Output != 6 || x.Usage.Cost != 1.5 {
				t.Errorf("%+v, %v", x, err)
			}
			if log, err := s.Messages(t.Context(), "a", 0, 0); err != nil || len(log) != 3 || log[2].ID != "m3" {
				t.Errorf("%+v, %v", log, err)
			}
			if hits, err := s.Search(t.Context(), Query{Text: "old words"}); err != nil || len(hits) != 3 {
				t.Errorf("%+v, %v", hits, err)
			}
			if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
				t.Errorf("%q, %v", problems, err)
			}
			if err := s.Append(t.Context(), "b", &Message{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// MigrateAndDie runs the migrations of the file at path and kills the process before
// they are committed.
func MigrateAndDie(ctx context.Context, path string) error {
	db, err := connect(path, 1, lockTimeout)
	if err != nil {
		return err
	}
	return (&database{writer: db}).write(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version == len(migrations) {
			return errors.New("it is migrated already")
		}
		if err := sessionFormat.bring(ctx, tx, version); err != nil {
			return err
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return errors.Join(self.Kill(), errors.New("still alive"))
	})
}
