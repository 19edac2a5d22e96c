package server

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

func ofGuest[E agent.Event](g *guest) (found []E) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// Forking, going back and going on, as a user does it.
func TestBranches(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(answer("one"), answer("two"), answer("other two"), answer("forked"))
	s := open(t, Options{Model: m, Static: true})
	cwd := t.TempDir()
	x, g := session(t, s, cwd)
	if _, err := s.Fork(t.Context(), x.ID(), "m", Place{}, g); err == nil {
		t.Error("a fork at a message of an empty session")
	}
	prompt1(t, x, "first")
	prompt1(t, x, "second")
	said := ofGuest[agent.Text](g)
	branch, err := x.Rewind(t.Context(), said[0].MessageID)
	if err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "second, in other words")
	if r := m.Requests()[2]; len(r.Messages) != 3 || r.Messages[1].Text() != "one" {
		t.Errorf("asked %+v", r.Messages)
	}

	fg := &guest{}
	fork, err := s.Fork(t.Context(), branch, "", Place{Cwd: cwd}, fg)
	if err != nil {
		t.Fatal(err)
	}
	if err := fork.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	prompt1(t, fork, "third")
	if r := m.Requests()[3]; len(r.Messages) != 5 || r.Messages[3].Text() != "two" || r.System != m.Requests()[0].System {
		t.Errorf("asked %+v", r.Messages)
	}
	tree, err := s.Tree(t.Context(), fork.ID())
	if err != nil || len(tree) != 3 || tree[0].ID != x.ID() || tree[1].ID != branch || tree[1].Parent != x.ID() || tree[2].Parent != branch || tree[2].Root != x.ID() {
		t.Errorf("tree %+v, %v", tree, err)
	}

	undone, err := x.Undo(t.Context(), Undoing{})
	if err != nil || undone.Text != "second, in other words" {
		t.Error(undone, err)
	}
	var wrong *InputError
	if _, err := x.Undo(t.Context(), Undoing{Prompt: "nonsense"}); !errors.As(err, &wrong) || wrong.Param != "prompt" {
		t.Error(err)
	}
	if _, err := x.Rewind(t.Context(), "nonsense"); !errors.As(err, &wrong) || wrong.Param != "messageId" {
		t.Error(err)
	}
	if _, err := s.Fork(t.Context(), x.ID(), "nonsense", Place{}, g); !errors.As(err, &wrong) || wrong.Param != "messageId" {
		t.Error(err)
	}
	if _, err := s.Fork(t.Context(), x.ID(), "", Place{Cwd: t.TempDir()}, g); !errors.As(err, &wrong) || wrong.Param != "cwd" {
		t.Error(err)
	}
	if _, err := s.Fork(t.Context(), "nobody", "", Place{}, g); !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
}

// While a turn runs the log cannot lose its end, but it can be forked.
func TestRewindWaitsForNobody(t *testing.T) {
	t.Parallel()
	m := fakemodel.New()
	s := open(t, Options{Model: m, Static: true})
	x, g := session(t, s, t.TempDir())
	ended := make(chan error, 1)
	go func() {
		_, err := x.Prompt(t.Context(), agent.Input{Text: "wait"}, nil)
		ended <- err
	}()
	e := m.Next()
	if _, err := x.Rewind(t.Context(), ""); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
	e.Text("done")
	e.End()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), x.ID(), "", Place{}, g)
	if err != nil || fork.Title() != "wait (fork)" {
		t.Error(fork.Title(), err)
	}
}

// Titles and notes are a user's own, and kept, before the first prompt too.
func TestDescribe(t *testing.T) {
	t.Parallel()
	home, cwd := t.TempDir(), t.TempDir()
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("ok")), Static: true})
	x, g := session(t, s, cwd)
	title, notes := " My\x1b[1m\nproject ", "ask Bob"
	if err := x.Describe(t.Context(), &title, nil); err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "a prompt that would name it")
	if err := x.Describe(t.Context(), nil, &notes); err != nil {
		t.Fatal(err)
	}
	if told := ofGuest[agent.TitleChanged](g); len(told) != 1 || told[0].Title != "My[1m project" {
		t.Errorf("told %+v", told)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := open(t, Options{Home: home, Model: fakemodel.New(), Static: true}).LoadSession(t.Context(), x.ID(), Place{}, g)
	if err != nil || again.Title() != "My[1m project" || again.Head().Notes != notes {
		t.Errorf("%+v, %v", again.Head(), err)
	}
	long := strings.Repeat("x", 201)
	var wrong *InputError
	if err := again.Describe(t.Context(), &long, nil); !errors.As(err, &wrong) || wrong.Param != "title" {
		t.Error(err)
	}
}

// If the store cannot be used, the session can still be read, and the error names the next
// step. After a repair the same session continues.
func TestUnusableStore(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, store.FileName)
	write(t, path, strings.Repeat("this is no database. ", 500))
	s := open(t, Options{Home: home, Model: fakemodel.Script(answer("ok")), Static: true})
	x, _ := session(t, s, t.TempDir())
	for range 2 {
		_, err := x.Prompt(t.Context(), agent.Input{Text: "hi"}, nil)
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "sessions set-aside") || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
	}
	if _, _, err := s.List(t.Context(), "", ""); !errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
	if _, err := s.Fork(t.Context(), "x", "", Place{}, &guest{}); !errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
	if _, err := store.SetAside(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "hi again")
	if page, _, err := s.List(t.Context(), "", ""); err != nil || len(page) != 1 || page[0].Title != "hi again" {
		t.Errorf("%+v, %v", page, err)
	}
}

// Deleting a session deletes its subagents' sessions, and theirs. Its forks stay.
func TestDeleteTakesSubagents(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Model: fakemodel.Script(answer("one")), Static: true})
	x, g := session(t, s, t.TempDir())
	prompt1(t, x, "first")
	fork, err := s.Fork(t.Context(), x.ID(), "", Place{}, g)
	if err != nil {
		t.Fatal(err)
	}
	parent := x.ID()
	for range 2 {
		child := store.Session{ID: store.NewID(), Cwd: x.Cwd(), Parent: parent, Origin: "{}"}
		if err := s.opened().Create(t.Context(), child); err != nil {
			t.Fatal(err)
		}
		parent = child.ID
	}
	if err := s.Delete(t.Context(), x.ID()); err != nil {
		t.Fatal(err)
	}
	left, _, err := s.opened().List(t.Context(), store.Filter{})
	if err != nil || len(left) != 1 || left[0].ID != fork.ID() {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// /new clears the session and keeps its history as another session. The next prompt sets the title,
// and the model gets nothing of the earlier history.
func TestNew(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(answer("one"), answer("two"))
	s := open(t, Options{Model: m})
	x, g := session(t, s, t.TempDir())
	prompt1(t, x, "/new")
	prompt1(t, x, "the first talk")
	prompt1(t, x, "/new")
	if x.Title() != "" {
		t.Errorf("the title is still %q", x.Title())
	}
	prompt1(t, x, "/new")
	prompt1(t, x, "the second talk")
	if x.Title() != "the second talk" {
		t.Errorf("title %q", x.Title())
	}
	if r := m.Requests()[1]; len(r.Messages) != 1 || !strings.HasPrefix(r.Messages[0].Text(), "the second talk\n\nThe environment,") {
		t.Errorf("the model got %+v", r.Messages)
	}
	var said []string
	for _, e := range ofGuest[agent.Text](g) {
		said = append(said, e.Text)
	}
	tree, err := s.Tree(t.Context(), x.ID())
	if err != nil || len(tree) != 2 || tree[1].Messages != 2 || tree[1].Title != "the first talk (before going back)" {
		t.Fatalf("%+v, %v", tree, err)
	}
	for i, want := range map[int]string{0: "new session already", 2: tree[1].ID, 3: "new session already"} {
		if i >= len(said) || !strings.Contains(said[i], want) {
			t.Errorf("answer %d of %q lacks %q", i, said, want)
		}
	}
}
