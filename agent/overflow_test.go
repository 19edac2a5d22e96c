package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// requestTokens counts a request like its endpoint.
func requestTokens(r *model.Request) int {
	n := tools.Tokens(r.System)
	for _, t := range r.Tools {
		n += tools.Tokens(t.Name + t.Description + string(t.Schema))
	}
	for _, m := range r.Messages {
		n += 4
		for _, p := range m.Parts {
			n += tools.Tokens(p.Text) + tools.Tokens(p.Call.Name+p.Call.Args)
		}
	}
	return n
}

// bounded returns a model with a window. It refuses longer requests, and names the window if
// says is set. Requests must begin with a user message. If usage is positive, the model reports
// it for all requests.
func bounded(t *testing.T, window, usage int, says bool, answer func(x *fakemodel.Exchange)) (m *fakemodel.Model, refused *int) {
	refused = new(int)
	return fakemodel.Func(func(x *fakemodel.Exchange) {
		if x.Request.Messages[0].Role != model.User {
			t.Errorf("a request begins with %s", x.Request.Messages[0].Role)
		}
		if n := requestTokens(x.Request); n > window {
			*refused++
			failure := &model.Error{Kind: model.ErrOverflow, Status: 400}
			if says {
				failure.Window = window
			}
			x.Fail(failure)
			return
		}
		if asksForNotes(x.Request) {
			x.Text("NOTES " + strings.Repeat("fact ", 200))
		} else {
			answer(x)
		}
		if usage > 0 {
			x.Usage(model.Usage{Input: usage, Output: 1})
		}
	}), refused
}

// TestWindowIsSmallerThanBelieved runs sessions against endpoints with a smaller window than
// configured, with a long system prompt, and with wrong token counts. No turn fails, and a
// compaction leaves at most half of the messages.
func TestWindowIsSmallerThanBelieved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		window, believed, usage int
		says                    bool
	}{
		"known":               {8192, 8192, 0, true},
		"usage is not true":   {8192, 8192, 5, true},
		"much larger":         {8192, 128_000, 0, true},
		"not named":           {8192, 128_000, 0, false},
		"not named, no usage": {8192, 0, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, refused := bounded(t, tc.window, tc.usage, tc.says, func(x *fakemodel.Exchange) { x.Text("answer " + strings.Repeat("word ", 600)) })
			s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: tc.believed, Head: store.Session{System: strings.Repeat("rule ", 4000), Model: "m"}})
			const turns = 30
			var compactions []agent.Compaction
			for i := range turns {
				r := talk(t, s, fmt.Sprint("prompt ", i, strings.Repeat(" please", 90)))
				for _, c := range of[agent.Compaction](r) {
					if c.Status == agent.CompactionCompleted {
						compactions = append(compactions, c)
					}
				}
			}
			if len(compactions) < 3 {
				t.Fatalf("%d compactions", len(compactions))
			}
			for _, c := range compactions {
				if c.After-4000 > (c.Before-4000)*6/10 {
					t.Errorf("a compaction from %d to %d tokens", c.Before, c.After)
				}
			}
			if most := len(compactions) * 2; *refused > most || tc.says && *refused > 2 {
				t.Errorf("%d requests were refused, %+v", *refused, compactions)
			}
			if used := s.Usage().Used; used < requestTokens(m.Requests()[len(m.Requests())-1])*9/10 {
				t.Errorf("used %d", used)
			}
		})
	}
}

// TestUnexplainedRefusal refuses long requests without a reason. The session continues. If a
// short request is accepted, the history is compacted once, and the length is recorded.
func TestUnexplainedRefusal(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"long requests": false, "all requests": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, broken := 0, false
			m := fakemodel.Func(func(x *fakemodel.Exchange) {
				if broken || requestTokens(x.Request) > 12_000 {
					refused++
					broken = all
					x.Fail(&model.Error{Kind: model.ErrRequest, Status: 400, Message: "Bad Request"})
					return
				}
				x.Text(strings.Repeat("some words of an answer ", 300))
			})
			s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 128_000, Head: store.Session{System: "rules", Model: "m"}})
			compactions := 0
			for i := range 20 {
				r := &recorder{}
				_, err := s.Turn(t.Context(), agent.Input{Text: fmt.Sprint("prompt ", i)}, r)
				if (err != nil) != broken {
					t.Fatalf("turn %d: %v", i, err)
				}
				compactions += len(of[agent.Compaction](r))
			}
			if (compactions > 0) == all || !all && refused > 10 {
				t.Errorf("%d compactions, %d refusals", compactions, refused)
			}
		})
	}
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		if requestTokens(x.Request) > 12_000 {
			x.Fail(&model.Error{Kind: model.ErrRequest, Status: 400, Message: "Bad Request"})
			return
		}
		x.Text("ok")
	})
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 128_000, Head: store.Session{System: "rules", Model: "m"}})
	_, err := s.Turn(t.Context(), agent.Input{Text: strings.Repeat("many different words ", 6000)}, &recorder{})
	if err == nil || !strings.Contains(err.Error(), "the prompt does not fit") {
		t.Error(err)
	}
	talk(t, s, "short")
}

// TestPromptDoesNotFit sends a prompt longer than the window. The error contains both sizes,
// and the session continues without the prompt.
func TestPromptDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]agent.Config{
		"found by a refusal": {Window: 128_000},
		"known before":       {Window: 8192, LeastWindow: agent.LeastWindow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, refused := bounded(t, 8192, 0, true, func(x *fakemodel.Exchange) { x.Text("fine") })
			config.Model, config.Store, config.Head = m, openStore(t), store.Session{System: "rules", Model: "m"}
			s := begin(t, config)
			talk(t, s, "one", "two")
			stop, err := s.Turn(t.Context(), agent.Input{Text: strings.Repeat("long words ", 10_000)}, &recorder{})
			if err == nil || !strings.Contains(err.Error(), "110 kB") || !strings.Contains(err.Error(), "8,192") || strings.Contains(err.Error(), "new session") {
				t.Fatalf("%v, %v", stop, err)
			}
			if known := config.LeastWindow > 0; known && *refused > 0 || *refused > 1 {
				t.Errorf("%d refusals", *refused)
			}
			talk(t, s, "three")
			last := m.Requests()[len(m.Requests())-1]
			if got := strings.Join(texts(last.Messages), " "); !strings.Contains(got, "two") || strings.Contains(got, "long words") {
				t.Errorf("the next request has %.200s", got)
			}
			loaded := load(t, agent.Config{Model: m, Store: config.Store, Head: store.Session{ID: s.ID()}, Window: 8192})
			talk(t, loaded, "four")
		})
	}
}

// TestTooSmallWindow checks a model whose window is too small. No request is sent, and the
// prompt is not stored.
func TestTooSmallWindow(t *testing.T) {
	t.Parallel()
	m := fakemodel.Func(func(x *fakemodel.Exchange) { x.Text("no") })
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 2048, LeastWindow: agent.LeastWindow, Head: store.Session{Model: "tiny"}})
	_, err := s.Turn(t.Context(), agent.Input{Text: "Hello"}, &recorder{})
	for _, want := range []string{"2,048", "4,096", "tiny", "OLLAMA_CONTEXT_LENGTH", "llama-server -c", "LM Studio"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	if len(m.Requests()) != 0 || s.Last().Role != "" {
		t.Error("something was sent or stored")
	}
}

// TestPrefixDoesNotFit checks an overflow in the first turn. The session switches to a shorter
// prefix if available. Otherwise the error lists the largest parts of the window.
func TestPrefixDoesNotFit(t *testing.T) {
	t.Parallel()
	m, _ := bounded(t, 4096, 0, true, func(x *fakemodel.Exchange) { x.Text("fine") })
	head := store.Session{System: strings.Repeat("rule ", 6000), Model: "m"}
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 128_000, Head: head})
	_, err := s.Turn(t.Context(), agent.Input{Text: "Hello"}, &recorder{})
	var failure *model.Error
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "model.profile") || !strings.Contains(err.Error(), "4,096") {
		t.Errorf("%v", err)
	}
	short := func(_ context.Context) (agent.Prefix, error) {
		return agent.Prefix{System: "short", Tools: toolSet(t), Small: true}, nil
	}
	s = begin(t, agent.Config{Model: m, Store: openStore(t), Window: 128_000, Head: head, Renew: short})
	talk(t, s, "Hello")
	if !s.Small() {
		t.Error("the session has not the small profile")
	}
}

// TestNotesFit checks the request for the notes if the history is longer than the window. It
// begins with a user message, has no state, and fits.
func TestNotesFit(t *testing.T) {
	t.Parallel()
	state := &model.State{API: "messages", Host: "h", Data: []byte("signature")}
	long := strings.Repeat("result ", 3000)
	refuse := false
	var notes *model.Request
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		switch {
		case asksForNotes(x.Request):
			notes = x.Request
			x.Text("NOTES")
		case refuse && requestTokens(x.Request) > 8192:
			x.Fail(&model.Error{Kind: model.ErrOverflow, Window: 8192})
		case x.Request.Messages[len(x.Request.Messages)-1].Role == model.User:
			x.Delta(model.Delta{Reasoning: "hm"})
			x.Delta(model.Delta{State: state})
			x.Call("", "look", "{}")
		default:
			x.Text("answer")
		}
	})
	look := tools.New(tools.Tool{Name: "look", ReadOnly: true}, func(context.Context, *tools.Env, tools.Call, struct{}) (tools.Result, error) {
		return tools.OK(map[string]string{"text": long}), nil
	})
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Tools: toolSet(t, look), CompactAt: -1, Window: 128_000})
	talk(t, s, "one", "two", "three", "four")
	refuse = true
	talk(t, s, "five")
	if notes == nil || requestTokens(notes) > 8192 || notes.Messages[0].Role != model.User {
		t.Fatalf("the request for notes: %+v", notes)
	}
	checkLog(t, notes.Messages)
	for _, m := range notes.Messages {
		for _, p := range m.Parts {
			if p.State != nil {
				t.Errorf("a part has state: %+v", p)
			}
		}
	}
}

// TestUsersWords checks the quotes in a summary: they contain only the user's own text.
func TestUsersWords(t *testing.T) {
	t.Parallel()
	notes := 0
	m := player(&notes, func(x *fakemodel.Exchange) { x.Text("answer " + strings.Repeat("word ", 300)) })
	s := begin(t, agent.Config{Model: m, Store: openStore(t), CompactAt: -1})
	for i := range 8 {
		in := agent.Input{Text: fmt.Sprint("words ", i), Environment: "open file: main.go", News: []string{"a build ended"}, Rules: "be brief",
			Context: []agent.Resource{{URI: "file:///a.go", Text: "package a"}}}
		if _, err := s.Turn(t.Context(), in, &recorder{}); err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			if _, err := s.Compact(t.Context(), "", &recorder{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	talk(t, s, "last")
	head := m.Requests()[len(m.Requests())-1].Messages[0].Text()
	if !strings.Contains(head, "- words 0\n- words 1\n") {
		t.Errorf("the summary lacks the words:\n%s", head)
	}
	for _, other := range []string{"main.go", "a build ended", "be brief"} {
		if strings.Contains(head, other) {
			t.Errorf("the summary has %q:\n%s", other, head)
		}
	}
}

// TestEndlessRepetition checks that an endless repetition in an answer or a thought ends with a
// notice. Other long answers continue.
func TestEndlessRepetition(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		unit     string
		thought  bool
		repeats  int
		finished bool
	}{
		"a word":      {"again ", false, 20_000, false},
		"a paragraph": {strings.Repeat("The same words, then. ", 20) + "\n\n", false, 20_000, false},
		"a thought":   {"Wait, I have to check it. ", true, 20_000, false},
		"a table":     {"| 0 | 0 |\n", false, 300, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			m := fakemodel.Func(func(x *fakemodel.Exchange) {
				n++
				if n > 1 {
					x.Text("Better.")
					return
				}
				x.Text("Begin. ")
				for range tc.repeats {
					if tc.thought {
						x.Thought(tc.unit)
					} else {
						x.Text(tc.unit)
					}
				}
			})
			s := begin(t, agent.Config{Model: m, Store: openStore(t)})
			r := talk(t, s, "go")
			notices := of[agent.Notice](r)
			if (len(notices) == 0) != tc.finished {
				t.Errorf("notices: %v", notices)
			}
			if size := len(s.Last().Text()); !tc.finished && size > 3000 {
				t.Errorf("the stored answer has %d bytes", size)
			}
		})
	}
}
