package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// anything generates a string of arbitrary bytes.
var anything = rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))

var anyTime = rapid.Map(rapid.Int64Range(1, 4e15), func(n int64) time.Time { return time.UnixMicro(n).UTC() })

func anySession(rt *rapid.T) store.Session {
	x := store.Session{ID: store.NewID()}
	for _, field := range []*string{&x.Cwd, &x.Title, &x.Notes, &x.Model, &x.Mode, &x.Origin, &x.System} {
		*field = anything.Draw(rt, "field")
	}
	x.Parent, x.Root, x.ForkedAt = rapid.StringMatching("[a-z]*").Draw(rt, "parent"), rapid.StringMatching("[a-z]*").Draw(rt, "root"), "m"
	x.Folders = rapid.SliceOfN(rapid.String(), 1, 3).Draw(rt, "folders")
	x.Tools = []model.Tool{{Name: "t", Description: rapid.String().Draw(rt, "words"), Schema: json.RawMessage(`{"type":"object"}`)}}
	x.CreatedAt = anyTime.Draw(rt, "created")
	x.UpdatedAt = x.CreatedAt.Add(time.Hour * 1e5)
	return x
}

func anyMessage(rt *rapid.T) *store.Message {
	m := &store.Message{ID: store.NewID(), Time: anyTime.Draw(rt, "time")}
	m.Role = rapid.SampledFrom([]model.Role{model.User, model.Assistant, model.ToolRole}).Draw(rt, "role")
	m.Parts = anyParts(rt, m.Role)
	m.Note, m.IsError, m.Keeps = rapid.Bool().Draw(rt, "note"), rapid.Bool().Draw(rt, "error"), int64(rapid.IntRange(0, 1).Draw(rt, "keeps"))
	m.Typed = rapid.IntRange(0, len(m.Text())).Draw(rt, "typed")
	if rapid.Bool().Draw(rt, "usage") {
		m.Usage = &model.Usage{Input: 1, Output: rapid.IntRange(0, 1<<40).Draw(rt, "output"), Cost: rapid.Float64Range(0, 1e9).Draw(rt, "cost")}
	}
	if rapid.Bool().Draw(rt, "more") {
		m.Shown = json.RawMessage(rapid.SampledFrom([]string{`[]`, `[ {"text": "<b>&" } ]`}).Draw(rt, "shown"))
	}
	return m
}

// anyParts returns parts of any types in any order.
func anyParts(rt *rapid.T, role model.Role) (parts []model.Part) {
	kinds := []model.PartType{model.TextType, model.ReasoningType, model.CallType, model.ImageType, model.FileType}
	if role == model.ToolRole {
		kinds = []model.PartType{model.ReasoningType, model.ImageType, model.FileType}
		call := model.Call{ID: anything.Draw(rt, "call"), Name: anything.Draw(rt, "name")}
		parts = append(parts, model.Part{Type: model.ResultType, Text: anything.Draw(rt, "result"), Call: call})
	}
	for range rapid.IntRange(0, 5).Draw(rt, "parts") {
		p := model.Part{Type: rapid.SampledFrom(kinds).Draw(rt, "type")}
		switch p.Type {
		case model.TextType, model.ReasoningType:
			p.Text = anything.Draw(rt, "text")
		case model.CallType:
			p.Call = model.Call{ID: "1", Name: "x", Args: rapid.String().Draw(rt, "args")}
		default:
			p.Image = model.Image{MIMEType: "image/png", Data: "AA=="}
		}
		if rapid.Bool().Draw(rt, "has state") {
			p.State = &model.State{API: "messages", Host: rapid.String().Draw(rt, "host"), Data: []byte(anything.Draw(rt, "state"))}
		}
		parts = append(parts, p)
	}
	return parts
}

// TestExportAndImport imports an exported session. It equals the original to the byte, and its
// export is the same file.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ctx, a, b := t.Context(), open(t), open(t)
		var file bytes.Buffer
		var ids []string
		for range 2 {
			x := anySession(rt)
			ids = append(ids, x.ID)
			create(t, a, x)
			for range rapid.IntRange(0, 5).Draw(rt, "messages") {
				add(t, a, x.ID, anyMessage(rt))
			}
			if err := a.Export(ctx, x.ID, &file, nil); err != nil {
				rt.Fatal(err)
			}
		}
		done, err := b.Import(ctx, bytes.NewReader(file.Bytes()), store.ImportOptions{})
		if err != nil || len(done) != 2 {
			rt.Fatal(done, err)
		}
		var again bytes.Buffer
		for _, id := range ids {
			x, errX := a.Session(ctx, id)
			y, errY := b.Session(ctx, id)
			if !reflect.DeepEqual(x, y) || errX != nil || errY != nil {
				rt.Fatalf("%+v\n%+v\n%v %v", x, y, errX, errY)
			}
			logX, _ := a.Messages(ctx, id, 0, 0)
			logY, _ := b.Messages(ctx, id, 0, 0)
			if !reflect.DeepEqual(logX, logY) {
				rt.Fatalf("%+v\n%+v", logX, logY)
			}
			if err := b.Export(ctx, id, &again, nil); err != nil {
				rt.Fatal(err)
			}
		}
		if !bytes.Equal(file.Bytes(), again.Bytes()) {
			rt.Fatalf("%s\n%s", file.Bytes(), again.Bytes())
		}
	})
}

// TestImportTwice imports sessions that exist. They are not overwritten. With new ids, the
// import creates a second copy with correct links.
func TestImportTwice(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	a := create(t, s, store.Session{Title: "a"})
	add(t, s, a.ID, said(model.User, "hi"))
	fork := store.Session{ID: store.NewID(), Title: "fork", Parent: a.ID, Root: a.ID}
	if err := s.Fork(ctx, a.ID, 1, fork, nil); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	for _, id := range []string{a.ID, fork.ID} {
		if err := s.Export(ctx, id, &file, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	done, err := s.Import(ctx, bytes.NewReader(file.Bytes()), store.ImportOptions{})
	if !errors.Is(err, store.ErrExists) || !strings.Contains(err.Error(), fork.ID) || len(done) != 1 || done[0].ID != a.ID {
		t.Errorf("%+v, %v", done, err)
	}
	odd := `{"record":"session","version":1,"id":".."}`
	if done, err := s.Import(ctx, strings.NewReader(odd), store.ImportOptions{NewIDs: true}); err != nil || len(done) != 1 || done[0].Was != ".." || done[0].ID == ".." {
		t.Errorf("an odd id: %+v, %v", done, err)
	}
	done, err = s.Import(ctx, bytes.NewReader(file.Bytes()), store.ImportOptions{NewIDs: true})
	if err != nil || len(done) != 2 || done[0].ID == a.ID || done[0].Was != a.ID || done[1].Messages != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if tree, err := s.Tree(ctx, done[1].ID); err != nil || len(tree) != 2 || tree[1].Parent != done[0].ID {
		t.Errorf("%+v, %v", tree, err)
	}
}

// endless repeats a text without end.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	e.read += n
	return n, nil
}

// An input without end, such as /dev/zero, is refused after a bounded number of bytes.
func TestImportEndless(t *testing.T) {
	t.Parallel()
	for text, most := range map[string]int{"\x00": 1 << 20, "hello ": 1 << 20} {
		s := store.New(filepath.Join(t.TempDir(), store.FileName), store.Options{})
		in := &endless{text: text}
		done, err := s.Import(t.Context(), in, store.ImportOptions{})
		if err == nil || !strings.Contains(err.Error(), "not") || len(done) > 0 || in.read > most {
			t.Errorf("%q: %v, %v after %d bytes", text, done, err, in.read)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	session := `{"record":"session","version":1,"id":"x"}` + "\n"
	for file, want := range map[string]string{
		"hello":                         "line 1: not a JSON object",
		"[1]":                           "line 1: not a JSON object",
		`{"a":1}`:                       "line 1: the record is",
		`{"record":"message","id":"m"}`: `role is ""`,
		session + "\n\n" + `{"record":"message"}`:                             "line 4: the message has no id",
		session + `{"record":"message","id":"m","role":"root"}`:               "line 2: its role",
		session + `{"record":"message","id":"m","role":"user","shown":"{"}`:   "line 2: what it shows",
		`{"record":"message","id":"m","role":"user"}` + "\n" + session:        "line 1: a message before any session",
		`{"record":"session","version":3,"id":"x"}`:                           "update it",
		`{"record":"session","version":1,"id":"x","tools":"[1]"}`:             "tools",
		session + `{"record":"message","id":"m","role":"user","text":{"base6`: "line 2",
		`{"record":"session","version":1,"id":".."}`:                          `importing session "..": the id is not valid`,
		`{"record":"session","version":1,"id":"../.."}`:                       "the id is not valid",
		`{"record":"session","version":1,"id":"/etc"}`:                        "the id is not valid",
		`{"record":"session","version":1,"id":"a\u0000"}`:                     "the id is not valid",
		`{"record":"session","version":1,"id":"x","parent":"../x"}`:           `names the session "../x"`,
		`{"record":"session","version":1,"id":"x","root":".."}`:               `names the session ".."`,
	} {
		t.Run(fmt.Sprintf("%.60s", file), func(t *testing.T) {
			s := store.New(filepath.Join(t.TempDir(), store.FileName), store.Options{})
			defer s.Close()
			done, err := s.Import(t.Context(), strings.NewReader(file), store.ImportOptions{})
			if err == nil || !strings.Contains(err.Error(), want) || len(done) > 0 {
				t.Errorf("%v, %v; want %q", done, err, want)
			}
			if page, _, err := s.List(t.Context(), store.Filter{}); err != nil || len(page) > 0 {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
}
