package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
)

var _ extension.State = (*store.State)(nil)

func TestState(t *testing.T) {
	t.Parallel()
	s := open(t)
	x, y := create(t, s, store.Session{}), create(t, s, store.Session{})
	a := s.State(x.ID, "a")
	value := []byte("\x00\xff<v>")
	for _, set := range []error{
		a.Set(t.Context(), "k", []byte("before")), a.Set(t.Context(), "k", value), a.Set(t.Context(), "empty", nil),
		s.State(x.ID, "b").Set(t.Context(), "k", []byte("b")), s.State(y.ID, "a").Set(t.Context(), "k", []byte("y")),
		a.Set(t.Context(), "gone", value), a.Delete(t.Context(), "gone"), a.Delete(t.Context(), "never"),
	} {
		if set != nil {
			t.Fatal(set)
		}
	}
	if got, err := a.Get(t.Context(), "k"); err != nil || !bytes.Equal(got, value) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := a.Get(t.Context(), "gone"); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
	if keys, err := a.List(t.Context()); err != nil || !slices.Equal(keys, []string{"empty", "k"}) {
		t.Errorf("%q, %v", keys, err)
	}
	if err := s.Delete(t.Context(), x.ID); err != nil {
		t.Fatal(err)
	}
	if keys, err := a.List(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("left of a deleted session: %q, %v", keys, err)
	}
	if got, err := s.State(y.ID, "a").Get(t.Context(), "k"); err != nil || string(got) != "y" {
		t.Errorf("another session: %q, %v", got, err)
	}
}

func TestStateIsJSON(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.State(create(t, s, store.Session{}).ID, "a")
	type counts struct{ N int }
	var got counts
	if err := a.Save(t.Context(), "k", counts{7}); err != nil {
		t.Fatal(err)
	}
	if has, err := a.Load(t.Context(), "k", &got); !has || err != nil || got.N != 7 {
		t.Errorf("%v, %v, %+v", has, err, got)
	}
	if err := a.Save(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	if has, err := a.Load(t.Context(), "k", &got); has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
}

func TestStateRejects(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.State(create(t, s, store.Session{}).ID, "a")
	if err := a.Set(t.Context(), "k", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		a.Set(t.Context(), "k", make([]byte, store.MaxStateValue+1)), a.Set(t.Context(), "", nil), a.Set(t.Context(), strings.Repeat("k", store.MaxStateKey+1), nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%v", err)
		}
	}
	if keys, err := a.List(t.Context()); err != nil || !slices.Equal(keys, []string{"k"}) {
		t.Errorf("%q, %v", keys, err)
	}
	if err := s.State("unknown", "a").Set(t.Context(), "k", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestStateOfBranches(t *testing.T) {
	t.Parallel()
	s := open(t)
	x := create(t, s, store.Session{})
	if err := s.Append(t.Context(), x.ID, &store.Message{Message: model.NewMessage(model.User, "one")}); err != nil {
		t.Fatal(err)
	}
	if err := s.State(x.ID, "a").Set(t.Context(), "k", []byte("shared")); err != nil {
		t.Fatal(err)
	}
	fork, branch := store.Session{ID: store.NewID()}, store.Session{ID: store.NewID()}
	if err := errors.Join(s.Fork(t.Context(), x.ID, 1, fork, nil), s.Rewind(t.Context(), x.ID, 0, branch, nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.State(fork.ID, "a").Set(t.Context(), "k", []byte("its own")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{x.ID: "shared", branch.ID: "shared", fork.ID: "its own"} {
		if got, err := s.State(id, "a").Get(t.Context(), "k"); err != nil || string(got) != want {
			t.Errorf("%q, want %q, %v", got, want, err)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	first, second := "CREATE TABLE a (x TEXT) STRICT", "ALTER TABLE a ADD COLUMN y TEXT"
	opened := func(migrations ...string) *store.File {
		t.Helper()
		f, err := store.OpenFile(t.Context(), home, "memory", migrations...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	add := func(f *store.File, x string, fail error) error {
		return f.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO a (x) VALUES (?)", x)
			return errors.Join(err, fail)
		})
	}
	f := opened(first)
	failure := errors.New("changed its mind")
	if err := add(f, "one", nil); err != nil {
		t.Fatal(err)
	}
	if err := add(f, "two", failure); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	other := opened(first, second) // like another process
	if err := add(other, "three", nil); err != nil {
		t.Fatal(err)
	}
	var list string
	if err := f.Reader.QueryRowContext(t.Context(), "SELECT group_concat(x) FROM a").Scan(&list); err != nil || list != "one,three" {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := f.Reader.ExecContext(t.Context(), "DELETE FROM a"); err == nil {
		t.Error("the reader writes")
	}
	if err := errors.Join(f.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "extensions", "memory.db")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := store.OpenFile(t.Context(), home, "memory", first); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), path) {
		t.Errorf("an older version: %v", err)
	}
}

// TestFileIsNotReplaced opens files of other programs. They must not change.
func TestFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE a (x TEXT) STRICT"
	sessions := filepath.Join(t.TempDir(), store.FileName)
	s := at(t, sessions)
	create(t, s, store.Session{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	store7, err := os.ReadFile(sessions)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"text": []byte(strings.Repeat("no database ", 100)), "sessions": store7} {
		home := t.TempDir()
		path := filepath.Join(home, "extensions", "memory.db")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.OpenFile(context.WithoutCancel(t.Context()), home, "memory", table); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "sessions export") && !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
	for _, name := range []string{"", "../x", "a/b"} {
		if _, err := store.OpenFile(t.Context(), t.TempDir(), name, table); err == nil {
			t.Errorf("the name %q", name)
		}
	}
	if _, err := store.OpenFile(t.Context(), t.TempDir(), "memory"); err == nil {
		t.Error("no migration")
	}
}

// StatesIn returns the values of the sessions of one folder.
func TestStatesIn(t *testing.T) {
	t.Parallel()
	s := open(t)
	var ids []string
	for _, x := range []struct{ cwd, namespace, key string }{{"/a", "n", "k"}, {"/a", "n", "k"}, {"/a", "n", "other"}, {"/a", "m", "k"}, {"/b", "n", "k"}} {
		id := create(t, s, store.Session{Cwd: x.cwd}).ID
		ids = append(ids, id)
		if err := s.State(id, x.namespace).Set(t.Context(), x.key, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.StatesIn(t.Context(), "/a", "n", "k")
	if err != nil || len(got) != 2 || string(got[ids[0]]) != ids[0] || string(got[ids[1]]) != ids[1] {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.StatesIn(t.Context(), "/c", "n", "k"); err != nil || len(got) > 0 {
		t.Errorf("of a folder without sessions: %q, %v", got, err)
	}
}
