package store

import (
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// A disk that fills up is an error, leaves what was there, and once there is room
// the same store goes on.
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
		err = s.Append(ctx, "x", &Message{Message: model.Message{Role: model.User, Text: big}})
	}
	kept-- // the last one failed
	if !hasCode(err, sqlite3.SQLITE_FULL) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("err = %v", err)
	}
	if log, err := s.Messages(ctx, "x", 0, 0); err != nil || len(log) != kept {
		t.Errorf("%d messages, %v; want %d", len(log), err, kept)
	}
	limit("1000000")
	m := Message{Message: model.Message{Role: model.User, Text: big}}
	if err := s.Append(ctx, "x", &m); err != nil || m.Seq != int64(kept+1) {
		t.Errorf("afterwards: seq %d, %v", m.Seq, err)
	}
}
