package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// version7 returns the path of a copy of a store written by hermes-ls with schema version 7.
// Its sessions contain reasoning, pictures, calls, results, cut and empty responses, a
// compaction, forks, a rewind, a subagent, and open calls.
func version7(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/version7.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), store.FileName)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// oldMessage is a message in version 7.
type oldMessage struct {
	id, role                             string
	note, failed                         bool
	typed, keeps                         int
	callID, name, text, reasoning, shown string
	input                                sql.NullInt64
	calls                                []model.Call
	images                               []model.Image
	sent                                 map[string]model.PictureForm
}

// oldMessages reads the messages of each session without the store.
func oldMessages(t testing.TB, path string) map[string][]oldMessage {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT p.session_id, m.id, role, note, is_error, typed, keeps, call_id, name, text, reasoning, shown, input, calls, images, sent
		FROM pieces p JOIN messages m ON m.log = p.log AND m.seq BETWEEN p.first AND p.last ORDER BY p.session_id, m.seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string][]oldMessage{}
	for rows.Next() {
		var session, calls, images, sent string
		var m oldMessage
		err := rows.Scan(&session, &m.id, &m.role, &m.note, &m.failed, &m.typed, &m.keeps, &m.callID, &m.name, &m.text, &m.reasoning, &m.shown, &m.input, &calls, &images, &sent)
		if err != nil {
			t.Fatal(err)
		}
		for text, into := range map[string]any{calls: &m.calls, images: &m.images, sent: &m.sent} {
			if text == "" {
				continue
			}
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		all[session] = append(all[session], m)
	}
	if err := rows.Err(); err != nil || len(all) != 11 {
		t.Fatalf("%d sessions, %v", len(all), err)
	}
	return all
}

// old returns the columns of a message.
func old(m store.Message) (o oldMessage, err error) {
	o = oldMessage{id: m.ID, role: string(m.Role), note: m.Note, failed: m.IsError, typed: m.Typed, keeps: int(m.Keeps), shown: string(m.Shown), sent: m.Sent}
	if m.Usage != nil {
		o.input = sql.NullInt64{Int64: int64(m.Usage.Input), Valid: true}
	}
	for _, p := range m.Parts {
		if p.State != nil {
			return o, fmt.Errorf("a part has a state: %+v", p)
		}
		switch {
		case p.Type == model.ReasoningType && o.reasoning+o.text == "":
			o.reasoning = p.Text
		case p.Type == model.TextType && o.text == "":
			o.text = p.Text
		case p.Type == model.ResultType && o.callID == "":
			o.text, o.callID, o.name = p.Text, p.Call.ID, p.Call.Name
		case p.Type == model.CallType:
			o.calls = append(o.calls, p.Call)
		case p.Type == model.ImageType:
			o.images = append(o.images, p.Image)
		default:
			return o, fmt.Errorf("a part at the wrong place: %+v", p)
		}
	}
	return o, nil
}

// checkVersion7 compares each message of the store with version 7's.
func checkVersion7(t testing.TB, s *store.Store, want map[string][]oldMessage) {
	t.Helper()
	for id, messages := range want {
		got, err := s.Messages(t.Context(), id, 0, 0)
		if err != nil || len(got) != len(messages) {
			t.Fatalf("session %s: %d messages, want %d, %v", id, len(got), len(messages), err)
		}
		for i, m := range got {
			o, err := old(m)
			if err != nil {
				t.Errorf("message %d of %s: %v", i+1, id, err)
			} else if a, b := fmt.Sprintf("%+v", o), fmt.Sprintf("%+v", messages[i]); a != b {
				t.Errorf("message %d of %s:\n got %s\nwant %s", i+1, id, a, b)
			}
		}
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("problems %q, %v", problems, err)
	}
}

func TestVersion7(t *testing.T) {
	t.Parallel()
	path := version7(t)
	want := oldMessages(t, path)
	s := at(t, path)
	checkVersion7(t, s, want)
	for id := range want { // exports can be imported completely
		var file bytes.Buffer
		if err := s.Export(t.Context(), id, &file, nil); err != nil {
			t.Fatal(err)
		}
		done, err := s.Import(t.Context(), &file, store.ImportOptions{NewIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		want[done[0].ID] = want[id]
	}
	checkVersion7(t, s, want)
}

// TestMigrationIsReversible drops the additions of the migrations. The rest is unchanged.
func TestMigrationIsReversible(t *testing.T) {
	t.Parallel()
	path := version7(t)
	want := fmt.Sprintf("%+v", oldMessages(t, path))
	s := at(t, path)
	if _, _, err := s.List(t.Context(), store.Filter{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("ALTER TABLE messages DROP COLUMN parts; DROP TABLE state; PRAGMA user_version = 7"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", oldMessages(t, path)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	checkVersion7(t, at(t, path), oldMessages(t, path))
}

// TestMigrationIsKilled kills a process by SIGKILL after the migration of the store, before it
// commits.
func TestMigrationIsKilled(t *testing.T) {
	t.Parallel()
	path := version7(t)
	want := oldMessages(t, path)
	for range 3 {
		out, err := migrateIn("killed", path).CombinedOutput()
		if err == nil || len(out) > 0 {
			t.Fatalf("the process was not killed: %v\n%s", err, out)
		}
		if got := fmt.Sprintf("%+v", oldMessages(t, path)); got != fmt.Sprintf("%+v", want) {
			t.Errorf("got %s\nwant %+v", got, want)
		}
	}
	checkVersion7(t, at(t, path), want)
}

// TestMigrationByManyProcesses opens the store in several processes at once.
func TestMigrationByManyProcesses(t *testing.T) {
	t.Parallel()
	path := version7(t)
	want := oldMessages(t, path)
	ended := make(chan error)
	const processes = 4
	for range processes {
		go func() {
			out, err := migrateIn("open", path).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	for range processes {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	checkVersion7(t, at(t, path), want)
}

// migrateIn is another process opening the store at path.
func migrateIn(how, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD=migrate:"+how, "STORE_TEST_PATH="+path)
	return cmd
}

// migrateHere is the main function of the process.
func migrateHere(how string) error {
	ctx, path := context.Background(), os.Getenv("STORE_TEST_PATH")
	if how == "killed" {
		return store.MigrateAndDie(ctx, path)
	}
	s := store.New(path, store.Options{})
	page, _, err := s.List(ctx, store.Filter{})
	if err != nil || len(page) != 11 {
		return fmt.Errorf("%d sessions, %w", len(page), err)
	}
	return s.Close()
}

// TestPartsAreKept stores parts with state, and in an unusual order.
func TestPartsAreKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	state := func(data string) *model.State {
		return &model.State{API: "messages", Host: "api.example.test", Data: []byte(data)}
	}
	id := store.NewID()
	want := []model.Part{
		{Type: model.ReasoningType, Text: "First\xff", State: state("{\"a\": <1>}\x00\xfe")},
		{Type: model.ReasoningType, State: state("redacted")},
		model.TextPart("I look."),
		{Type: model.CallType, Call: model.Call{ID: "1", Name: "read_file", Args: `{}`}, State: state("signature")},
		model.ReasoningPart("Then."),
		model.TextPart(" And more."),
		{Type: model.FileType, Image: model.Image{Name: "a.pdf", MIMEType: "application/pdf", Data: "AA=="}},
		model.ImagePart(model.Image{MIMEType: "image/png", Data: "AA=="}),
	}
	m := &store.Message{Message: model.Message{Role: model.Assistant, Parts: want}}
	if err := s.Create(t.Context(), store.Session{ID: id}, m); err != nil {
		t.Fatal(err)
	}
	got, err := s.Messages(t.Context(), id, 0, 0)
	if err != nil || fmt.Sprintf("%+v", plain(got[0].Parts)) != fmt.Sprintf("%+v", plain(want)) {
		t.Errorf("got %+v, %v", got[0].Parts, err)
	}
	if hits, err := s.Search(t.Context(), store.Query{Text: "look more"}); err != nil || len(hits) != 1 {
		t.Errorf("its texts are not found: %+v, %v", hits, err)
	}
}

// plain returns the parts as text, with their states as values.
func plain(parts []model.Part) (list []string) {
	for _, p := range slices.Clone(parts) {
		state := p.State
		p.State = nil
		list = append(list, fmt.Sprintf("%+v %+v", p, state))
	}
	return list
}
