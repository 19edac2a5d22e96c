package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
)

// chat returns a session with three prompts. The responses to two of them contain calls.
func chat(t *testing.T) (agent.Config, *agent.Session) {
	t.Helper()
	p := tools.NewPlan()
	plan := func(content string) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) {
			x.Text("Planning.")
			x.Call("", "quick", "{}")
			x.Call("", "todo", `{"todos":[{"id":"1","content":"`+content+`","status":"pending"}]}`)
			x.Usage(model.Usage{Input: 100, Output: 10, Cost: 0.5})
		}
	}
	m := fakemodel.Script(
		plan("first"), func(x *fakemodel.Exchange) { x.Text("One.") },
		func(x *fakemodel.Exchange) { x.Text("Two.") },
		plan("third"), func(x *fakemodel.Exchange) { x.Text("Three.") },
	)
	c := agent.Config{Head: store.Session{System: "frozen", Cwd: "/w"}, Model: m, Store: openStore(t),
		Tools: toolSet(t, todo.Tool(p), quick("quick", true)), Plan: p}
	s := begin(t, c)
	for i := range 3 {
		if _, err := s.Turn(t.Context(), agent.Input{Text: fmt.Sprint("prompt ", i+1)}, &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	return c, s
}

// goOn runs another turn and returns the messages in its request.
func goOn(t *testing.T, c agent.Config, s *agent.Session) []model.Message {
	t.Helper()
	if _, err := s.Turn(t.Context(), agent.Input{Text: "go on"}, &recorder{}); err != nil {
		t.Fatal(err)
	}
	requests := c.Model.(*fakemodel.Model).Requests()
	checkLog(t, requests[len(requests)-1].Messages)
	return requests[len(requests)-1].Messages
}

func answers() *fakemodel.Model {
	return fakemodel.Func(func(x *fakemodel.Exchange) { x.Text("Fine.") })
}

// TestFork forks at each message. The fork contains the history up to the message and
// continues. The other session does not change.
func TestFork(t *testing.T) {
	t.Parallel()
	c, s := chat(t)
	log := messages(t, c.Store, s.ID())
	for i, last := range log {
		c.Model = answers()
		head, err := agent.Fork(t.Context(), c.Store, s.ID(), last.ID)
		if err != nil {
			t.Fatal(err)
		}
		if head.Parent != s.ID() || head.Root != s.ID() || head.ForkedAt != last.ID || head.System != "frozen" || len(head.Tools) != 2 {
			t.Errorf("at %d: head of %q, %q, %q", i+1, head.Parent, head.Root, head.ForkedAt)
		}
		c.Plan.Set(nil)
		c.Head = store.Session{ID: head.ID}
		fork := load(t, c)
		copied := messages(t, c.Store, head.ID)
		if render(copied[:i+1]) != render(log[:i+1]) || copied[i].ID != last.ID || !copied[i].Time.Equal(last.Time) {
			t.Errorf("at %d:\n%s", i+1, render(copied))
		}
		for _, m := range copied[i+1:] { // calls without a result at the time of the message
			if m.Role != model.ToolRole || !m.IsError || !strings.Contains(m.Text(), "still changed") {
				t.Errorf("at %d, added: %+v", i+1, m)
			}
		}
		asked := goOn(t, c, fork)
		if want := fmt.Sprint(texts(bare(log[:i+1]))); !strings.HasPrefix(fmt.Sprint(texts(asked)), want[:len(want)-1]) {
			t.Errorf("at %d, asked %q", i+1, texts(asked))
		}
	}
	if now := messages(t, c.Store, s.ID()); render(now) != render(log) {
		t.Errorf("the other session has changed:\n%s", render(now))
	}
	tree, err := c.Store.Tree(t.Context(), s.ID())
	if err != nil || len(tree) != len(log)+1 || tree[0].ID != s.ID() {
		t.Errorf("tree of %d: %+v, %v", len(tree), tree, err)
	}
	if _, err := agent.Fork(t.Context(), c.Store, s.ID(), "x"); !errors.Is(err, store.ErrNoMessage) {
		t.Error(err)
	}
}

// TestRewind moves back to each message. History, plan and usage are restored. The previous
// history becomes another session.
func TestRewind(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c, s := chat(t)
			log := messages(t, c.Store, s.ID())
			if len(log) != 12 {
				t.Fatal(render(log))
			}
			to := ""
			if i > 0 {
				to = log[i-1].ID
			}
			other := c // another window
			other.Plan = tools.NewPlan()
			other.Head.ID, other.Model = s.ID(), answers()
			window := load(t, other)

			branch, err := s.Rewind(t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			now := messages(t, c.Store, s.ID())
			if render(now[:i]) != render(log[:i]) {
				t.Errorf("log:\n%s", render(now))
			}
			if old := messages(t, c.Store, branch); !slices.EqualFunc(old, log, func(a, b store.Message) bool { return a.ID == b.ID && a.Seq == b.Seq && a.Text() == b.Text() }) {
				t.Errorf("branch:\n%s", render(old))
			}
			checkBranch(t, c, s, branch, i)
			asked := goOn(t, other, window)
			if want := texts(bare(log[:i])); !slices.Equal(texts(asked)[:i], want) || len(asked) > i+4 {
				t.Errorf("the other window asked %q", texts(asked))
			}
		})
	}
}

func checkBranch(t *testing.T, c agent.Config, s *agent.Session, branch string, kept int) {
	t.Helper()
	head, err := c.Store.Session(t.Context(), branch)
	if err != nil || head.Parent != s.ID() || head.Root != s.ID() || head.Messages != 12 || head.Usage.Cost != 1 || head.Requests != 5 {
		t.Errorf("branch of %q, %q: %+v, %v", head.Parent, head.Root, head.Totals, err)
	}
	var plan []tools.Todo
	if kept >= 4 {
		plan = []tools.Todo{{ID: "1", Content: "first", Status: tools.TodoPending}}
	}
	if todos := c.Plan.All(); !slices.Equal(todos, plan) {
		t.Errorf("plan %+v", todos)
	}
	cost := 0.0
	for _, reply := range []int{2, 9} { // the responses with a cost
		if kept >= reply {
			cost += 0.5
		}
	}
	if u := s.Usage(); u.Total.Cost != cost {
		t.Errorf("usage %+v", u)
	}
}

// TestUndo undoes all prompts, the last first.
func TestUndo(t *testing.T) {
	t.Parallel()
	c, s := chat(t)
	for i := 3; i > 0; i-- {
		m, branch, err := s.Undo(t.Context(), "")
		if err != nil || m.Text() != fmt.Sprint("prompt ", i) || branch == "" {
			t.Errorf("%q, %q, %v", m.Text(), branch, err)
		}
	}
	if _, _, err := s.Undo(t.Context(), ""); !errors.Is(err, agent.ErrNoPrompt) {
		t.Error(err)
	}
	if log := messages(t, c.Store, s.ID()); len(log) != 0 {
		t.Error(render(log))
	}
}

// TestUndoEarlierPrompt undoes a prompt that is not the last, with all messages after it.
func TestUndoEarlierPrompt(t *testing.T) {
	t.Parallel()
	c, s := chat(t)
	var second string
	for _, m := range messages(t, c.Store, s.ID()) {
		if m.Text() == "prompt 2" {
			second = m.ID
		}
	}
	m, _, err := s.Undo(t.Context(), second)
	if err != nil || m.Text() != "prompt 2" {
		t.Errorf("%q, %v", m.Text(), err)
	}
	if m, _, err := s.Undo(t.Context(), ""); err != nil || m.Text() != "prompt 1" {
		t.Errorf("%q, %v", m.Text(), err)
	}
	if _, _, err := s.Undo(t.Context(), second); !errors.Is(err, agent.ErrNoPrompt) {
		t.Error(err)
	}
}

// TestRewindWhileATurnRuns rewinds a session with a running turn, in this process and in
// another. Both must fail.
func TestRewindWhileATurnRuns(t *testing.T) {
	t.Parallel()
	c, s := chat(t)
	m := fakemodel.New()
	c.Head.ID, c.Model = s.ID(), m
	busy := load(t, c)
	ended := make(chan error)
	go func() {
		_, err := busy.Turn(t.Context(), agent.Input{Text: "wait"}, &recorder{})
		ended <- err
	}()
	x := m.Next()
	if _, err := busy.Rewind(t.Context(), ""); !errors.Is(err, agent.ErrBusy) {
		t.Error(err)
	}
	if _, err := s.Rewind(t.Context(), ""); !errors.Is(err, store.ErrClaimed) {
		t.Error(err)
	}
	head, err := agent.Fork(t.Context(), c.Store, s.ID(), "") // forking is possible
	if err != nil || head.ForkedAt == "" {
		t.Error(head, err)
	}
	x.Text("Done.")
	x.End()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestBranchesAroundACompaction checks forks before and after a compaction. The first fork gets
// the original messages, the second the summary.
func TestBranchesAroundACompaction(t *testing.T) {
	t.Parallel()
	c, s := chat(t)
	log := messages(t, c.Store, s.ID())
	note := &store.Message{Message: model.NewMessage(model.User, "SUMMARY"), Note: true, Keeps: 6}
	if err := c.Store.Append(t.Context(), s.ID(), note); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		at    string
		whole bool
	}{{log[6].ID, true}, {note.ID, false}, {"", false}} {
		head, err := agent.Fork(t.Context(), c.Store, s.ID(), tc.at)
		if err != nil {
			t.Fatal(err)
		}
		c.Model, c.Head = answers(), store.Session{ID: head.ID}
		asked := texts(goOn(t, c, load(t, c)))
		if whole := asked[0] == log[0].Text(); whole != tc.whole || slices.Contains(asked, "SUMMARY") == tc.whole {
			t.Errorf("fork at %q asked %q", tc.at, asked)
		}
	}
	c.Model, c.Head = answers(), store.Session{ID: s.ID()}
	window := load(t, c)
	if _, err := window.Rewind(t.Context(), log[4].ID); err != nil {
		t.Fatal(err)
	}
	if asked := texts(goOn(t, c, window)); !slices.Equal(asked[:5], texts(bare(log[:5]))) {
		t.Errorf("after going back asked %q", asked)
	}
}

// slow is a sink with a Pace method, which records the number of events so far.
type slow struct {
	recorder
	pages []int // number of events before each page
	err   error
}

func (s *slow) Pace(context.Context) error {
	s.pages = append(s.pages, len(s.events))
	return s.err
}

// TestReplayWaitsForItsReader checks the order: a replay sends the next page only after Pace
// returns.
func TestReplayWaitsForItsReader(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	id := store.NewID()
	if err := st.Create(t.Context(), store.Session{ID: id}); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		m := &store.Message{Message: model.NewMessage([]model.Role{model.User, model.Assistant}[i%2], "x"), Typed: 1}
		if err := st.Append(t.Context(), id, m); err != nil {
			t.Fatal(err)
		}
	}
	patient := &slow{}
	if err := agent.ReplayStored(t.Context(), st, id, nil, patient); err != nil || len(patient.events) != 300 || len(patient.pages) < 3 {
		t.Errorf("%d events, pages at %v, %v", len(patient.events), patient.pages, err)
	}
	gone := &slow{err: errors.New("gone")}
	if err := agent.ReplayStored(t.Context(), st, id, nil, gone); !errors.Is(err, gone.err) || len(gone.events) != patient.pages[0] {
		t.Errorf("%d events, %v", len(gone.events), err)
	}
}

// TestLoadReadsTheEnd loads a session without its whole history. Its first values come from the
// totals and the end.
func TestLoadReadsTheEnd(t *testing.T) {
	t.Parallel()
	c, s := chat(t)
	c.Plan.Set(nil)
	c.Head, c.Model = store.Session{ID: s.ID()}, answers()
	opened, err := agent.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	u, was := opened.Usage(), s.Usage()
	if u.Total != was.Total || u.Requests != was.Requests || opened.Last().Text() != "Three." || len(c.Plan.All()) != 1 {
		t.Errorf("usage %+v, was %+v; last %q; todos %v", u, was, opened.Last().Text(), c.Plan.All())
	}
	if asked := goOn(t, c, opened); len(asked) != 13 || asked[0].Text() != "prompt 1" {
		t.Errorf("asked %q", texts(asked))
	}
}
