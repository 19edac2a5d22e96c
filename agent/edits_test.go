package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// statesOf returns the states of a request in their order.
func statesOf(r *model.Request) string {
	var all []string
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.State != nil {
				all = append(all, string(p.State.Data))
			}
		}
	}
	return strings.Join(all, " ")
}

// thinking answers with reasoning and state of two origins.
func thinking(n string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) {
		x.Delta(model.Delta{Reasoning: "hm", State: &model.State{API: "messages", Host: "one", Data: []byte("m" + n)}})
		x.Delta(model.Delta{Begin: model.ReasoningType, State: &model.State{API: "responses", Host: "two", Data: []byte("r" + n)}})
		x.Text("fine " + strings.Repeat("word ", 100))
	}
}

// TestDroppedState checks later requests, also after the session was loaded again. They omit
// refused state of an origin and contain its new state.
func TestDroppedState(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	m := fakemodel.Script(thinking("1"), func(x *fakemodel.Exchange) {
		x.Delta(model.Delta{Dropped: &model.Origin{API: "messages", Host: "one"}})
		thinking("2")(x)
	}, thinking("3"))
	config := agent.Config{Model: m, Store: st}
	s := begin(t, config)
	turn := func(s *agent.Session) {
		t.Helper()
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		turn(s)
	}
	config.Head.ID, config.Model = s.ID(), fakemodel.Script(thinking("4"))
	loaded := load(t, config)
	turn(loaded)
	got := m.Requests()
	last := config.Model.(*fakemodel.Model).Requests()[0]
	for i, want := range []string{"", "m1 r1", "r1 m2 r2"} {
		if states := statesOf(got[i]); states != want {
			t.Errorf("request %d has the states %q, want %q", i+1, states, want)
		}
	}
	if states := statesOf(last); states != "r1 m2 r2 m3 r3" {
		t.Errorf("after loading: %q", states)
	}
	fork, err := agent.Fork(t.Context(), st, s.ID(), "")
	if err != nil {
		t.Fatal(err)
	}
	config.Head, config.Model = fork, fakemodel.Script(thinking("5"))
	turn(load(t, config))
	if states := statesOf(config.Model.(*fakemodel.Model).Requests()[0]); states != "r1 m2 r2 m3 r3 m4 r4" {
		t.Errorf("a fork: %q", states)
	}
	if got[1].Turn == got[2].Turn || got[1].Turn == "" {
		t.Errorf("turns %q and %q", got[1].Turn, got[2].Turn)
	}
}

// TestNoStateAfterCompaction checks the kept messages after a compaction. They must lose their
// state, because it belongs to the replaced messages.
func TestNoStateAfterCompaction(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	script := []func(*fakemodel.Exchange){}
	for range 6 {
		script = append(script, thinking("1"))
	}
	script = append(script, func(x *fakemodel.Exchange) { x.Text("notes") }, thinking("2"), thinking("3"))
	m := fakemodel.Script(script...)
	s := begin(t, agent.Config{Model: m, Store: st, Window: 4000})
	for range 6 {
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go " + strings.Repeat("on ", 50)}, &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Compact(t.Context(), "", &recorder{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	requests := m.Requests()
	n := len(requests)
	if len(requests[n-2].Messages) < 3 {
		t.Fatalf("nothing was kept: %d messages", len(requests[n-2].Messages))
	}
	if states := statesOf(requests[n-2]); states != "" {
		t.Errorf("after the compaction: %q", states)
	}
	if states := statesOf(requests[n-1]); states != "m2 r2" {
		t.Errorf("one turn later: %q", states)
	}
}

// TestNewsOfAPromptThatIsLeftOut checks that the next prompt has the notices of a prompt that was refused or did
// not fit, once, also after the session was loaded again.
func TestNewsOfAPromptThatIsLeftOut(t *testing.T) {
	t.Parallel()
	const news = "command 3 ended with exit code 7"
	refuse := func(x *fakemodel.Exchange) { x.Delta(model.Delta{Finish: model.FinishRefusal}) }
	answer := func(x *fakemodel.Exchange) { x.Text("fine") }
	counts := func(m *fakemodel.Model) (n []int) {
		for _, r := range m.Requests() {
			last := r.Messages[len(r.Messages)-1].Text()
			n = append(n, strings.Count(last, news))
			if strings.HasPrefix(last, "two") && (!strings.Contains(last, "does not fit") || len(last) > 2000) {
				t.Errorf("a notice that does not fit: %.3000s", last)
			}
		}
		return n
	}
	turn := func(s *agent.Session, in agent.Input) {
		_, err := s.Turn(t.Context(), in, &recorder{})
		if size := new(agent.SizeError); err != nil && !errors.As(err, &size) {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("long words ", 10_000)
	for name, tc := range map[string]struct {
		prompt string
		first  func(*fakemodel.Exchange)
		want   []int // how often a request has the notice
	}{"refused": {"bad", refuse, []int{1, 1, 0}}, "too long": {long, nil, []int{1, 0}}} {
		st := openStore(t)
		m := fakemodel.Script(slices.DeleteFunc([]func(*fakemodel.Exchange){tc.first, answer, answer}, func(f func(*fakemodel.Exchange)) bool { return f == nil })...)
		config := agent.Config{Model: m, Store: st, Window: 8192, LeastWindow: agent.LeastWindow, Head: store.Session{System: "rules", Model: "m"}}
		s := begin(t, config)
		turn(s, agent.Input{Text: tc.prompt, News: []string{news, strings.Repeat("z y ", 1500)}})
		if name == "refused" {
			config.Head.ID = s.ID()
			s = load(t, config)
		}
		turn(s, agent.Input{Text: "two"})
		turn(s, agent.Input{Text: "three"})
		if got := counts(m); !slices.Equal(got, tc.want) {
			t.Errorf("%s: the notice is %v times in the newest messages, want %v", name, got, tc.want)
		}
	}
	// A notice that was refused twice, or that is the prompt, is not kept.
	for _, in := range []agent.Input{{Text: "bad", News: []string{news}}, {Note: true, News: []string{news}}} {
		m := fakemodel.Script(refuse, refuse, answer)
		s := begin(t, agent.Config{Model: m, Store: openStore(t)})
		turn(s, in)
		turn(s, agent.Input{Text: "bad"})
		turn(s, agent.Input{Text: "good"})
		if got := counts(m); got[2] != 0 {
			t.Errorf("%+v: %v", in, got)
		}
	}
}

// TestRefusalIsLeftOut checks the requests after a refused turn, also after the session was
// loaded again. They omit the prompt and the answer, and the user gets a reason.
func TestRefusalIsLeftOut(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	m := fakemodel.Script(thinking("1"), func(x *fakemodel.Exchange) {
		x.Text("I cannot.")
		x.Delta(model.Delta{Finish: model.FinishRefusal, Refusal: "It is about locks."})
	}, thinking("2"))
	config := agent.Config{Model: m, Store: st}
	s := begin(t, config)
	sink := &recorder{}
	for i, text := range []string{"one", "bad", "three"} {
		stop, err := s.Turn(t.Context(), agent.Input{Text: text}, sink)
		if err != nil || (stop == agent.Refusal) != (i == 1) {
			t.Fatalf("%s: %s, %v", text, stop, err)
		}
	}
	config.Head.ID, config.Model = s.ID(), fakemodel.Script(thinking("3"))
	if _, err := load(t, config).Turn(t.Context(), agent.Input{Text: "four"}, sink); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*model.Request{m.Requests()[2], config.Model.(*fakemodel.Model).Requests()[0]} {
		var prompts []string
		for _, m := range r.Messages {
			if m.Role == model.User {
				prompts = append(prompts, m.Text())
			} else if strings.Contains(m.Text(), "cannot") {
				t.Error("the refusal is in a later request")
			}
		}
		if got := strings.Join(prompts, " "); got != "one three" && got != "one three four" {
			t.Errorf("prompts %q", got)
		}
	}
	if notices := of[agent.Notice](sink); len(notices) != 1 || !strings.Contains(notices[0].Text, "It is about locks") {
		t.Errorf("notices %+v", notices)
	}
	if log := messages(t, st, s.ID()); len(log) < 8 {
		t.Errorf("the store has only %d messages", len(log))
	}
}
