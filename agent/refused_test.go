package agent_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// TestRefusedHistory refuses a call in the history. The call and its result become text, the
// user gets a notice, and the session continues. The form stays after loading.
func TestRefusedHistory(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]func(x *fakemodel.Exchange, bad int) *model.Error{
		"by place": func(_ *fakemodel.Exchange, bad int) *model.Error { return &model.Error{Named: bad + 1} },
		"by the id of the call": func(*fakemodel.Exchange, int) *model.Error {
			return &model.Error{Message: "tool call bad_id is not valid"}
		},
		"by the name of the tool": func(*fakemodel.Exchange, int) *model.Error {
			return &model.Error{Message: "Invalid function 'write'"}
		},
		"by the name of the tool in a namespace": func(*fakemodel.Exchange, int) *model.Error {
			return &model.Error{Message: "Function call is missing a thought_signature in functionCall parts. function call `default_api:write`, position 4."}
		},
		"by its chat template": func(*fakemodel.Exchange, int) *model.Error {
			return &model.Error{Kind: model.ErrRequest, Status: 500, Message: `can only concatenate str (not "NoneType") to str`}
		},
		"by its chat template in C++": func(*fakemodel.Exchange, int) *model.Error {
			return &model.Error{Kind: model.ErrRequest, Status: 500, Message: "Value is not callable: null at row 58, column 30"}
		},
		"not at all": func(*fakemodel.Exchange, int) *model.Error { return &model.Error{Message: "Bad Request"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusals, requests := 0, 0
			m := fakemodel.Func(func(x *fakemodel.Exchange) {
				bad := slices.IndexFunc(x.Request.Messages, func(m model.Message) bool {
					return slices.ContainsFunc(m.Calls(), func(c model.Call) bool { return c.Name == "write" })
				})
				if bad >= 0 {
					refusals++
					e := named(x, bad)
					e.Kind, e.Status, e.Model = cmp.Or(e.Kind, model.ErrRequest), cmp.Or(e.Status, 400), "m"
					x.Fail(e)
					return
				}
				switch requests++; requests {
				case 1:
					x.Text("First. ")
					x.Call("good_id", "look", `{"path":"a"}`)
				case 2:
					x.Text("Now the write. ")
					x.Call("bad_id", "write", `{"path":"b","content":"c"}`)
					x.Call("other_id", "clock", `{}`)
				default:
					x.Text("done")
				}
			})
			config := agent.Config{Model: m, Store: openStore(t), Tools: scriptTools(t, nil)}
			s, sink := begin(t, config), &recorder{}
			stop, err := s.Turn(t.Context(), agent.Input{Text: "go"}, sink)
			if err != nil || stop != agent.EndTurn {
				t.Fatal(stop, err)
			}
			if n := len(of[agent.Notice](sink)); n != 1 || refusals != 2 {
				t.Errorf("%d notices, %d refusals", n, refusals)
			}
			config.Head.ID = s.ID()
			loaded := load(t, config)
			if _, err := loaded.Turn(t.Context(), agent.Input{Text: "more"}, &recorder{}); err != nil || refusals != 2 {
				t.Fatalf("%v, %d refusals", err, refusals)
			}
			all := m.Requests()
			sent, later := all[len(all)-2].Messages, all[len(all)-1].Messages
			for i, want := range []string{"go", "First. ", "", "Now the write.", "The result of write", "done"} {
				if i >= len(later) || !strings.Contains(later[i].Text(), want) {
					t.Fatalf("message %d has no %q: %s", i, want, shapeOf(later))
				}
				if i < len(sent) && shapeOf(sent[i:i+1]) != shapeOf(later[i:i+1]) {
					t.Errorf("after loading, message %d is another:\n%s\n%s", i, shapeOf(sent[i:i+1]), shapeOf(later[i:i+1]))
				}
			}
			if got := later[1].Calls(); len(got) != 1 || got[0].ID != "good_id" {
				t.Errorf("the calls that were not refused became %+v", got)
			}
			for _, want := range []string{"write was called with", "clock was called with"} {
				if !strings.Contains(later[3].Text(), want) {
					t.Errorf("no %q in %q", want, later[3].Text())
				}
			}
		})
	}
}

// TestRefusedByAFaultOfTheServer checks that a refusal that may be a fault of the server makes a part plain for
// one turn, and that a refusal in the next turn, too, makes it plain for good.
func TestRefusedByAFaultOfTheServer(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]bool{"once": false, "in each turn": true} {
		broken, n := true, 0
		m := fakemodel.Func(func(x *fakemodel.Exchange) {
			calls := slices.ContainsFunc(x.Request.Messages, func(m model.Message) bool { return len(m.Calls()) > 0 })
			switch n++; {
			case n == 1:
				x.Call("a", "look", `{"path":"a"}`)
			case broken && calls:
				x.Fail(&model.Error{Kind: model.ErrRequest, Status: 500, Model: "m", Message: "KeyError: 'x'", Unsure: true})
			default:
				x.Text("done")
			}
		})
		config := agent.Config{Model: m, Store: openStore(t), Tools: scriptTools(t, nil)}
		s, sink := begin(t, config), &recorder{}
		turn := func(s *agent.Session) (calls int, requests int) {
			before := len(m.Requests())
			if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, sink); err != nil {
				t.Fatal(name, err)
			}
			all := m.Requests()
			return len(all[len(all)-1].Messages[1].Calls()), len(all) - before
		}
		if calls, _ := turn(s); calls != 0 || len(of[agent.Notice](sink)) != 1 {
			t.Errorf("%s: %d calls in the plain form, notices %v", name, calls, of[agent.Notice](sink))
		}
		broken = last
		plain := 1
		if last {
			plain = 0
		}
		if calls, _ := turn(s); calls != plain {
			t.Errorf("%s: the second turn sent %d calls", name, calls)
		}
		config.Head.ID = s.ID()
		if calls, requests := turn(load(t, config)); calls != plain || requests != 1 {
			t.Errorf("%s: after loading, %d calls in %d requests", name, calls, requests)
		}
	}
}

func shapeOf(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s: %q %v\n", m.Role, m.Text(), m.Calls())
	}
	return b.String()
}

// TestRefusedForAnotherReason refuses the plain form, too. The history stays unchanged, and the
// turn returns the first error.
func TestRefusedForAnotherReason(t *testing.T) {
	t.Parallel()
	n := 0
	broken := true
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		switch n++; {
		case n == 1:
			x.Call("a", "look", `{"path":"a"}`)
		case broken:
			x.Fail(&model.Error{Kind: model.ErrRequest, Status: 400, Message: fmt.Sprintf("refusal %d", n)})
		default:
			x.Text("done")
		}
	})
	config := agent.Config{Model: m, Store: openStore(t), Tools: scriptTools(t, nil)}
	s, sink := begin(t, config), &recorder{}
	_, err := s.Turn(t.Context(), agent.Input{Text: "go"}, sink)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Message != "refusal 2" || len(of[agent.Notice](sink)) != 0 {
		t.Errorf("%v, notices %v", err, of[agent.Notice](sink))
	}
	broken = false
	if _, err := s.Turn(t.Context(), agent.Input{Text: "again"}, sink); err != nil {
		t.Fatal(err)
	}
	all := m.Requests()
	if got := all[len(all)-1].Messages[1].Calls(); len(got) != 1 {
		t.Errorf("the call became text: %s", shapeOf(all[len(all)-1].Messages))
	}
}

// TestOldHistory loads a history stored by an older version: odd calls, calls without results,
// and results without calls. Requests get a sound form of it.
func TestOldHistory(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	head := store.Session{ID: store.NewID(), Cwd: "/w"}
	log := []model.Message{
		model.NewMessage(model.User, "go"),
		model.ResponseMessage("", "", model.Call{ID: "", Name: "", Args: "[1]"}, model.Call{ID: "x", Name: "a b", Args: `{"p":"\ud800"}`}, model.Call{ID: "x", Name: "look", Args: "{}"}),
		model.ResultMessage("", "", `{"error":"no name"}`),
		model.ResultMessage("x", "a b", `{"error":"unknown"}`),
		model.ResultMessage("x", "look", `{"content":"a"}`),
		model.ResponseMessage("", "", model.Call{ID: "x", Name: "look", Args: "{}"}, model.Call{ID: "y", Name: "look", Args: "{}"}),
		model.ResultMessage("x", "look", `{"content":"b"}`),
		model.NewMessage(model.User, "and?"),
		model.ResultMessage("nobody", "look", `{"content":"c"}`),
		model.NewMessage(model.Assistant, "fine"),
	}
	for i := range log {
		m := &store.Message{Message: log[i], Seq: int64(i + 1)}
		var err error
		if i == 0 {
			err = st.Create(t.Context(), head, m)
		} else {
			err = st.Append(t.Context(), head.ID, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	servers := strictServers()
	for name, to := range servers {
		s := load(t, agent.Config{Head: head, Store: st, Model: to.model(), Tools: scriptTools(t, nil)})
		if _, err := s.Turn(t.Context(), agent.Input{Text: "now?"}, &recorder{}); err != nil {
			t.Fatalf("%s: %v", name, refusalsOf(servers, err))
		}
		if len(to.refusals) > 0 && name != "mistral" {
			t.Errorf("%s: %s", name, to.refusals[0])
		}
	}
}
