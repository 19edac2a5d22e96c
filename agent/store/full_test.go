package store

import (
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// TestDiskFull fills the disk. There is an error, and existing data stays. After space is
// freed, the same store works.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := New(filepath.Join(t.TempDir(), FileName), Options{})
	defer s.Close()
	if err := s.Create(ctx, Session{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	limit := func(pages string) {
		if _, err := s.open.writer.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("40")
	kept, big := 0, strings.Repeat("x", 10_000)
	var err error
	for ; kept < 100 && err == nil; kept++ {
		err = s.Append(ctx, "x", &Message{Message: model.NewMessage(model.User, big)})
	}
	kept-- // the last append failed
	if !hasCode(err, sqlite3.SQLITE_FULL) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("err = %v", err)
	}
	if log, err := s.Messages(ctx, "x", 0, 0); err != nil || len(log) != kept {
		t.Errorf("%d messages, %v; want %d", len(log), err, kept)
	}
	limit("1000000")
	m := Message{Message: model.NewMessage(model.User, big)}
	if err := s.Append(ctx, "x", &m); err != nil || m.Seq != int64(kept+1) {
		t.Errorf("afterwards: seq %d, %v", m.Seq, err)
	}
}

// TestPragmas checks the SQLite settings for durability.
func TestPragmas(t *testing.T) {
	t.Parallel()
	for option, level := range map[string]string{"": "1", "normal": "1", "full": "2"} {
		s := New(filepath.Join(t.TempDir(), FileName), Options{Synchronous: option})
		if err := s.Create(t.Context(), Session{ID: "x"}); err != nil {
			t.Fatal(err)
		}
		for pragma, want := range map[string]string{"synchronous": level, "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000"} {
			var got string
			if err := s.open.writer.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%q: %s = %s, %v; want %s", option, pragma, got, err, want)
			}
		}
		if _, err := s.open.reader.Exec("DELETE FROM sessions"); err == nil {
			t.Error("the reader can write")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
