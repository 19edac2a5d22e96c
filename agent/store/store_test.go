package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

func open(t testing.TB) *store.Store {
	t.Helper()
	return at(t, filepath.Join(t.TempDir(), "home", store.FileName))
}

func at(t testing.TB, path string) *store.Store {
	t.Helper()
	s := store.New(path, store.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func create(t testing.TB, s *store.Store, x store.Session) store.Session {
	t.Helper()
	if x.ID == "" {
		x.ID = store.NewID()
	}
	if err := s.Create(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	want := create(t, s, store.Session{
		Cwd: "/w", Folders: []string{"/a", "/b\x00c"}, Title: "t", Model: "m", Mode: "ask", Parent: "p", System: "you are",
		Tools:     []model.Tool{{Name: "read_file", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}},
		CreatedAt: made, UpdatedAt: made,
	})
	if got, err := s.Session(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}

	log := []store.Message{
		{Message: model.NewMessage(model.User, "hi \xff\x00 ☃", model.ImagePart(model.Image{MIMEType: "image/png", Data: "AA=="})), Typed: 2},
		{Message: model.ResponseMessage("hm", "", model.Call{ID: "1", Name: "x", Args: `{"a":1}`}),
			Usage: &model.Usage{Input: 5, Output: 4, Reasoning: 3, CachedRead: 2, CachedWrite: 1, Cost: 0.25}},
		{Message: model.ResultMessage("1", "x", "{}"), Shown: json.RawMessage(`[{"text":"y"}]`), IsError: true},
		{Message: model.NewMessage(model.User, "go on"), Note: true},
		{Message: model.ResponseMessage("", "done"), Usage: &model.Usage{}},
	}
	for i := range log {
		if err := s.Append(t.Context(), want.ID, &log[i]); err != nil {
			t.Fatal(err)
		}
		if m := log[i]; m.Seq != int64(i+1) || m.ID == "" || m.Time.IsZero() {
			t.Errorf("not filled in: %+v", m)
		}
	}
	got, err := s.Messages(t.Context(), want.ID, 0, 0)
	if err != nil || !reflect.DeepEqual(got, log) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, log)
	}
	if page, err := s.Messages(t.Context(), want.ID, 1, 2); err != nil || !reflect.DeepEqual(page, log[1:3]) {
		t.Errorf("page = %+v, %v", page, err)
	}
	totals := store.Totals{Messages: 5, Requests: 2, Usage: *log[1].Usage}
	if got, err := s.Totals(t.Context(), want.ID); err != nil || got != totals {
		t.Errorf("totals = %+v, %v", got, err)
	}
	if x, err := s.Session(t.Context(), want.ID); err != nil || !x.UpdatedAt.Equal(log[4].Time) || x.Totals != totals {
		t.Errorf("UpdatedAt = %v, %v; want that of the last message, %v", x.UpdatedAt, err, log[4].Time)
	}
}

func TestUpdateAndDelete(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	x := create(t, s, store.Session{Cwd: "/w", System: "a"})
	err := s.Update(ctx, x.ID, func(x *store.Session) { x.Title, x.Mode, x.System, x.ID = "T", "auto", "b", "other" })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Session(ctx, x.ID); err != nil || got.Title != "T" || got.Mode != "auto" || got.System != "b" || got.ID != x.ID {
		t.Errorf("after Update: %+v, %v", got, err)
	}
	m := store.Message{Message: model.NewMessage(model.User, "x")}
	if err := s.Append(ctx, x.ID, &m); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, x.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Messages(ctx, x.ID, 0, 0); err != nil || len(got) != 0 {
		t.Errorf("messages of a deleted session: %v, %v", got, err)
	}
	_, gone := s.Session(ctx, x.ID)
	again := m
	again.Seq = 0
	for doing, err := range map[string]error{
		"Session": gone,
		"Delete":  s.Delete(ctx, x.ID),
		"Update":  s.Update(ctx, x.ID, func(*store.Session) {}),
		"Append":  s.Append(ctx, x.ID, &again),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of a deleted session: %v", doing, err)
		}
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	one, other := at(t, path), at(t, path)
	x := create(t, one, store.Session{})
	first := store.Message{Message: model.NewMessage(model.User, "1"), Seq: 1}
	if err := one.Append(t.Context(), x.ID, &first); err != nil {
		t.Fatal(err)
	}
	late := store.Message{Message: model.NewMessage(model.User, "2"), Seq: 1}
	if err := other.Append(t.Context(), x.ID, &late); !errors.Is(err, store.ErrConflict) {
		t.Errorf("err = %v", err)
	}
	if got, err := one.Messages(t.Context(), x.ID, 0, 0); err != nil || len(got) != 1 || got[0].Text() != "1" {
		t.Errorf("log = %+v, %v", got, err)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	base := time.Now().UTC().Truncate(time.Second)
	for i := range 25 { // several share a time
		create(t, s, store.Session{ID: fmt.Sprintf("s%02d", i), Cwd: fmt.Sprintf("/%d", i%2), UpdatedAt: base.Add(time.Duration(i/3) * time.Second)})
	}
	var seen []string
	filter := store.Filter{Limit: 4}
	for pages := 0; ; pages++ {
		page, next, err := s.List(ctx, filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page {
			seen = append(seen, x.ID)
		}
		if pages == 2 { // changes between two pages
			if err := s.Delete(ctx, seen[len(seen)-1]); err != nil {
				t.Fatal(err)
			}
			create(t, s, store.Session{ID: "new", UpdatedAt: base.Add(time.Hour)})
		}
		if filter.Cursor = next; next == "" {
			break
		}
	}
	var want []string
	for i := 24; i >= 0; i-- {
		want = append(want, fmt.Sprintf("s%02d", i))
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("seen %v\nwant %v", seen, want)
	}
	page, next, err := s.List(ctx, store.Filter{Cwd: "/1"})
	if err != nil || len(page) != 11 || next != "" {
		t.Errorf("by folder: %d sessions, next %q, %v", len(page), next, err)
	}
	for _, cursor := range []string{"%", "AAAA", "bm8gbnVtYmVy"} {
		if _, _, err := s.List(ctx, store.Filter{Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	s := open(t)
	if _, err := os.Stat(s.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("New has already made the file: %v", err)
	}
	x := create(t, s, store.Session{})
	release, err := s.Claim(x.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	home := filepath.Dir(s.Path())
	err = filepath.Walk(home, func(path string, info os.FileInfo, err error) error {
		want := os.FileMode(0o600)
		if err == nil && info.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wide := filepath.Join(t.TempDir(), "a b?c%d#e.db") // a name that must be escaped in a URI
	if err := os.WriteFile(wide, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	create(t, at(t, wide), store.Session{})
	if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestSQLiteVersion requires the SQLite version with the fix of a corruption at a reset of the
// log.
func TestSQLiteVersion(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	if err := db.QueryRow("SELECT sqlite_version()").Scan(&text); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatal(err)
	}
	if major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("sqlite %s is older than 3.51.3", text)
	}
}

// TestForeignFiles opens files other than stores. The error names the file, and the file does
// not change.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	script := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { execute(t, path, text) }
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"text":          {func(t *testing.T, path string) { write(t, path, strings.Repeat("no database\n", 500)) }, store.ErrDamaged},
		"other program": {script("CREATE TABLE t (x); PRAGMA user_version = 1"), store.ErrDamaged},
		"newer": {func(t *testing.T, path string) {
			fill(t, path)
			execute(t, path, "PRAGMA user_version = 9999")
		}, store.ErrNewer},
		"damaged": {func(t *testing.T, path string) {
			fill(t, path)
			text := read(t, path)
			write(t, path, text[:100]+strings.Repeat("\xff", len(text)-100))
		}, store.ErrDamaged},
		"cut": {func(t *testing.T, path string) {
			fill(t, path)
			write(t, path, read(t, path)[:5000])
		}, store.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), store.FileName)
			c.make(t, path)
			before := read(t, path)
			s := store.New(path, store.Options{})
			for range 2 {
				_, _, err := s.List(t.Context(), store.Filter{})
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("err = %v", err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if after := read(t, path); after != before {
				t.Error("the file was changed")
			}
		})
	}
}

func fill(t *testing.T, path string) {
	t.Helper()
	s := store.New(path, store.Options{})
	x := create(t, s, store.Session{System: strings.Repeat("x", 20_000)})
	if err := s.Append(t.Context(), x.ID, &store.Message{Message: model.NewMessage(model.User, "x")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUnwritableHome(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for name, path := range map[string]string{
		"home is a file":    filepath.Join(file, store.FileName),
		"store is a folder": t.TempDir(),
	} {
		s := store.New(path, store.Options{})
		err := s.Create(t.Context(), store.Session{ID: "x"})
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A failed opening is tried again: here, the cause disappears.
	s := at(t, filepath.Join(file, store.FileName))
	if _, _, err := s.List(t.Context(), store.Filter{}); err == nil {
		t.Error("opened in a file")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.List(t.Context(), store.Filter{}); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, store.Session{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), store.Session{ID: "x"}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	one, other := at(t, path), at(t, path)
	release, err := one.Claim("a/../b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Claim("a/../b"); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("second claim: %v", err)
	}
	if free, err := other.Claim("c"); err != nil {
		t.Errorf("another session: %v", err)
	} else {
		free()
	}
	release()
	free, err := other.Claim("a/../b")
	if err != nil {
		t.Fatal(err)
	}
	free()
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(path), "sessions")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestMain(m *testing.M) {
	if role := os.Getenv("STORE_TEST_CHILD"); role != "" {
		name, arg, _ := strings.Cut(role, ":")
		run := children[name]
		if name == "migrate" {
			run = migrateHere
		}
		if run != nil {
			if err := run(arg); err != nil {
				fmt.Println("failed:", err)
				os.Exit(1)
			}
			return
		}
		child(role)
		return
	}
	for name, value := range map[string]string{"rapid.checks": "8", "rapid.steps": "15"} { // the command line may set more
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
