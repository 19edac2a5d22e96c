package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// count reads the file directly.
func count(ctx context.Context, path, query string) (n int, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, query).Scan(&n)
	return n, errors.Join(err, db.Close())
}

// untilSwept waits until there is nothing left to remove.
func untilSwept(ctx context.Context, path string) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		n, err := count(ctx, path, "SELECT count(*) FROM logs WHERE loose")
		if n == 0 || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d logs are still loose", n)
		}
	}
}

func longFile(id string, messages int) *strings.Reader {
	var file strings.Builder
	fmt.Fprintf(&file, `{"record":"session","version":1,"id":%q}`+"\n", id)
	for i := range messages {
		fmt.Fprintf(&file, `{"record":"message","id":"%s-%d","role":"user","text":"old words","typed":9}`+"\n", id, i)
	}
	return strings.NewReader(file.String())
}

func wantWhole(t *testing.T, s *store.Store, path string, messages int) {
	t.Helper()
	if err := untilSwept(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if n, err := count(t.Context(), path, "SELECT count(*) FROM messages"); err != nil || n != messages {
		t.Errorf("%d messages in the file, %v; want %d", n, err, messages)
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("%q, %v", problems, err)
	}
}

// TestSweep deletes a long session. It disappears at once, and step by step from the file.
// Messages shared by branches stay until the last branch is deleted.
func TestSweep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	s, ctx := at(t, path), t.Context()
	old, fork, back := store.NewID(), store.Session{ID: store.NewID()}, store.Session{ID: store.NewID()}
	if _, err := s.Import(ctx, longFile(old, 634), store.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Fork(ctx, old, 321, fork, []*store.Message{said(model.User, "of the fork")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewind(ctx, fork.ID, 123, back, nil); err != nil { // back has 322, fork 123
		t.Fatal(err)
	}
	wantWhole(t, s, path, 635)
	if err := s.Delete(ctx, old); err != nil {
		t.Fatal(err)
	}
	if log, err := s.Messages(ctx, old, 0, 0); err != nil || len(log) > 0 {
		t.Errorf("%d messages of a deleted session, %v", len(log), err)
	}
	if hits, err := s.Search(ctx, store.Query{Text: "old", Session: old}); err != nil || len(hits) > 0 {
		t.Errorf("%d hits in a deleted session, %v", len(hits), err)
	}
	wantWhole(t, s, path, 322)
	add(t, s, back.ID, said(model.User, "more"))
	add(t, s, fork.ID, said(model.User, "more"))
	for i, step := range []struct {
		delete    string
		left      string
		had, want int
	}{{back.ID, fork.ID, 124, 124}, {fork.ID, "", 0, 0}} {
		if err := s.Delete(ctx, step.delete); err != nil {
			t.Fatal(err)
		}
		if log, err := s.Messages(ctx, step.left, 0, 0); err != nil || len(log) != step.had {
			t.Errorf("%d: %d messages, %v; want %d", i, len(log), err, step.had)
		}
		wantWhole(t, s, path, step.want)
	}
}

// TestSweepLeft lets a process die in a deletion or an import. Another process removes the
// messages left behind. Messages of a running import stay.
func TestSweepLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	first, ctx := at(t, path), t.Context()
	id := store.NewID()
	if _, err := first.Import(ctx, longFile(id, 600), store.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := first.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // while most of it is still there
		t.Fatal(err)
	}
	if n, err := count(ctx, path, "SELECT count(*) FROM messages"); err != nil || n == 0 {
		t.Fatalf("%d messages are left, %v", n, err)
	}
	if _, err := count(ctx, path, "INSERT INTO logs (id, loose) VALUES ('dead', 1), ('import', 1) RETURNING 1"); err != nil {
		t.Fatal(err)
	}
	importer := store.New(path, store.Options{})
	release, err := importer.Claim("import")
	if err != nil {
		t.Fatal(err)
	}
	second := at(t, path)
	create(t, second, store.Session{})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		n, err := count(ctx, path, "SELECT count(*) FROM logs WHERE loose")
		if err != nil || time.Now().After(deadline) {
			t.Fatal(n, err)
		}
		if n == 1 {
			break
		}
	}
	if n, err := count(ctx, path, "SELECT count(*) FROM logs WHERE id = 'import'"); err != nil || n != 1 {
		t.Errorf("the log of an import that runs: %d, %v", n, err)
	}
	release()
	third := at(t, path)
	create(t, third, store.Session{})
	wantWhole(t, third, path, 0)
}
