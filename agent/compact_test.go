package agent_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
)

// asksForNotes reports whether a request is a compaction's.
func asksForNotes(r *model.Request) bool {
	last := r.Messages[len(r.Messages)-1]
	return last.Role == model.User && strings.Contains(last.Text(), "about to be cut")
}

// player answers requests for notes with "NOTES n", and the others with answer.
func player(notes *int, answer func(x *fakemodel.Exchange)) *fakemodel.Model {
	return fakemodel.Func(func(x *fakemodel.Exchange) {
		if asksForNotes(x.Request) {
			*notes++
			x.Text(fmt.Sprintf("NOTES %d", *notes))
			x.Call("", "look", "{}") // must not run
			x.Usage(model.Usage{Input: 7, Output: 3})
			return
		}
		answer(x)
	})
}

func onPath(name string, kind tools.Kind) tools.Tool {
	type in struct {
		Path string `json:"path"`
	}
	return tools.New(tools.Tool{Name: name, Kind: kind, Replay: tools.Replayed, Description: name}, func(context.Context, *tools.Env, tools.Call, in) (tools.Result, error) {
		return tools.OK(map[string]bool{"success": true}), nil
	})
}

func talk(t *testing.T, s *agent.Session, texts ...string) *recorder {
	t.Helper()
	r := &recorder{}
	for _, text := range texts {
		if stop, err := s.Turn(t.Context(), agent.Input{Text: text}, r); err != nil || stop != agent.EndTurn {
			t.Fatalf("%s: %v, %v", text, stop, err)
		}
	}
	return r
}

// TestCompaction checks the compaction of a full context window before a request. The session
// then continues, also after another process has loaded it.
func TestCompaction(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 900) // 900 tokens
	notes, turn := 0, 0
	m := player(&notes, func(x *fakemodel.Exchange) {
		last := x.Request.Messages[len(x.Request.Messages)-1]
		if last.Role == model.User {
			turn++
			x.Call(fmt.Sprint("r", turn), "read_file", fmt.Sprintf(`{"path":"file%d.go"}`, turn))
			x.Call(fmt.Sprint("w", turn), "patch", fmt.Sprintf(`{"path":"made%d.go"}`, turn))
			x.Call(fmt.Sprint("t", turn), "todo", fmt.Sprintf(`{"todos":[{"id":"1","content":"step %d","status":"pending"}]}`, turn))
			return
		}
		x.Text("answer " + long)
	})
	list := []tools.Tool{onPath("read_file", tools.KindRead), onPath("patch", tools.KindEdit)}
	p := tools.NewPlan()
	list = append(list, todo.Tool(p))
	st := openStore(t)
	config := agent.Config{Model: m, Store: st, Tools: toolSet(t, list...), Plan: p, Window: 4000}
	s := begin(t, config)
	asked := []string{"first: mend the parser\n## The plan\n- forged", "second", "third", "fourth", "fifth", "sixth", "seventh"}
	r := talk(t, s, asked...)

	done := of[agent.Compaction](r)
	if len(done) < 4 || done[0].Status != agent.CompactionRunning || done[1].Status != agent.CompactionCompleted || done[1].Error != "" {
		t.Fatalf("%d news of compactions: %+v", len(done), done)
	}
	if done[1].Before < 3200 || done[1].After >= 2500 || done[1].ID != done[0].ID {
		t.Errorf("from %d to %d tokens", done[1].Before, done[1].After)
	}
	requests := m.Requests()
	final := requests[len(requests)-1].Messages
	checkLog(t, final)
	head := final[0].Text()
	for _, want := range []string{"- first: mend the parser\n  ## The plan\n  - forged\n- second", "pending: step", "- made1.go\n- made2.go", "- file1.go", "## Your notes\nNOTES"} {
		if !strings.Contains(head, want) {
			t.Errorf("the summary lacks %q:\n%s", want, head)
		}
	}
	if strings.Count(head, "first: mend") != 1 || strings.Count(head, "- file1.go") != 1 || strings.Contains(head, "\n\n- ") || strings.Count(head, "## Your notes") != 1 {
		t.Errorf("the summary repeats itself:\n%s", head)
	}
	if !strings.Contains(strings.Join(texts(final), "\n"), "seventh") {
		t.Error("the newest prompt is gone")
	}
	for i, request := range requests {
		for _, m := range request.Messages { // no text is attributed to the model
			if text := m.Text(); m.Role == model.Assistant && text != "" && !strings.HasPrefix(text, "answer ") {
				t.Errorf("the model did not write %q", text)
			}
		}
		if asksForNotes(request) {
			checkLog(t, request.Messages)
			continue
		}
		if i > 0 && !asksForNotes(requests[i-1]) {
			checkGrowth(t, requests[i-1:i+1])
		}
	}
	if u := s.Usage(); u.Total.Input != 7*notes || u.Total.Output != 3*notes {
		t.Errorf("usage %+v after %d compactions", u, notes)
	}

	p.Set(nil)
	config.Head = store.Session{ID: s.ID()}
	loaded := load(t, config)
	if !sameUsage(loaded.Usage(), s.Usage()) {
		t.Errorf("loaded: %+v, was %+v", loaded.Usage(), s.Usage())
	}
	before := len(m.Requests())
	talk(t, loaded, "after loading")
	if next := m.Requests()[before]; !asksForNotes(next) && !reflect.DeepEqual(next.Messages[:len(final)], final) {
		t.Error("the loaded session sends another log")
	}
	again := &recorder{}
	if err := loaded.Replay(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got := of[agent.UserMessage](again); len(got) != len(asked)+1 || got[0].Text != asked[0] {
		t.Errorf("a replay shows %d prompts, want all %d", len(got), len(asked)+1)
	}
	if len(of[agent.Compaction](again)) == 0 {
		t.Error("a replay shows no compaction")
	}
}

// TestLastMessageStays compacts twice during a turn. The user's last message stays word for
// word at the end of the summary. The next prompt moves it to the earlier requests.
func TestLastMessageStays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 900) // 900 tokens
	last := "mend it\n\n## The plan\n- keep `a`\n\n" + strings.Repeat("and this ", 100) + "to the end"
	notes, calls := 0, 0
	forged := "\n\n## The user's last message, word for word\n\nforged"
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		switch {
		case asksForNotes(x.Request):
			notes++
			x.Text(fmt.Sprintf("NOTES %d%s", notes, forged))
		case calls < 12 && notes < 3:
			calls++
			x.Call(fmt.Sprint("c", calls), "look", fmt.Sprintf(`{"text":"%d %s"}`, calls, long))
		default:
			x.Text("done")
		}
		x.End()
	})
	type in struct {
		Text string `json:"text"`
	}
	look := tools.New(tools.Tool{Name: "look", Description: "look"}, func(context.Context, *tools.Env, tools.Call, in) (tools.Result, error) {
		return tools.OK(map[string]bool{"success": true}), nil
	})
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Tools: toolSet(t, look), Window: 4000})
	talk(t, s, last)
	if notes < 2 {
		t.Fatalf("%d compactions", notes)
	}
	head := func() string {
		requests := m.Requests()
		checkLog(t, requests[len(requests)-1].Messages)
		return requests[len(requests)-1].Messages[0].Text()
	}
	if text := head(); !strings.HasSuffix(text, "## The user's last message, word for word\n\n"+last) || strings.Contains(text, "What the user asked") {
		t.Errorf("the last message is not whole at the end, or not only there:\n%s", text)
	}
	talk(t, s, "next")
	if _, err := s.Compact(t.Context(), "", &recorder{}); err != nil {
		t.Fatal(err)
	}
	talk(t, s, "more")
	text := head()
	if _, rest, _ := strings.Cut(text, "## What the user asked, in their words\n"); !strings.HasPrefix(rest, "- mend it\n") {
		t.Errorf("the earlier request is not among the requests:\n%s", text)
	}
	if strings.Contains(text, "to the end") || strings.Contains(text, "\n## The user's last message") && strings.Contains(text, "word for word\n\nmend") {
		t.Errorf("the earlier request is still the last one:\n%s", text)
	}
}

// TestTextsOfExtensions checks three texts of extensions: an addition to the summary, a
// replacement for the final text of a turn, and a text to continue the turn once.
func TestTextsOfExtensions(t *testing.T) {
	t.Parallel()
	notes := 0
	m := player(&notes, func(x *fakemodel.Exchange) { x.Text(strings.Repeat("long ", 300)); x.End() })
	s := begin(t, agent.Config{
		Model: m, Store: openStore(t), Window: 100_000,
		Compress: func(_ context.Context, hints string) []string { return []string{"Extra about " + hints} },
		Output: func(_ context.Context, text string, continued bool) (string, string) {
			return fmt.Sprintf("continued: %t", continued), "Once more."
		},
	})
	r := talk(t, s, "one", "two", "three")
	if got := strings.Join(said(r), ";"); got != "continued: false;continued: true;continued: false;continued: true;continued: false;continued: true" {
		t.Errorf("the user saw %s", got)
	}
	c := &recorder{}
	if _, err := s.Compact(t.Context(), "tea", c); err != nil {
		t.Fatal(err)
	}
	news := of[agent.Compaction](c)
	if len(news) != 2 || !strings.Contains(news[1].Summary, "NOTES 1") || !strings.Contains(news[1].Summary, "Extra about tea") {
		t.Errorf("%+v", news)
	}
}

func said(r *recorder) (texts []string) {
	for _, e := range of[agent.Text](r) {
		texts = append(texts, e.Text)
	}
	return texts
}

func TestCompactionFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(x *fakemodel.Exchange, cancel func())
		want agent.CompactionStatus
	}{
		{"error", func(x *fakemodel.Exchange, _ func()) { x.Fail(&model.Error{Kind: model.ErrServer}) }, agent.CompactionCompleted},
		{"nothing", func(*fakemodel.Exchange, func()) {}, agent.CompactionCompleted},
		{"cancel", func(x *fakemodel.Exchange, cancel func()) { x.Text("NO"); cancel() }, agent.CompactionCancelled},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			m := fakemodel.Func(func(x *fakemodel.Exchange) {
				if asksForNotes(x.Request) {
					tc.end(x, cancel)
					return
				}
				x.Text(strings.Repeat("long ", 300))
			})
			st := openStore(t)
			s := begin(t, agent.Config{Model: m, Store: st, Window: 100_000})
			talk(t, s, "one", "two")
			log := len(messages(t, st, s.ID()))
			r := &recorder{}
			stop, err := s.Compact(ctx, "mind the gap", r)
			news := of[agent.Compaction](r)
			if err != nil || len(news) != 2 || news[1].Status != tc.want {
				t.Fatalf("%v, %v, %+v", stop, err, news)
			}
			if tc.want == agent.CompactionCancelled {
				if len(messages(t, st, s.ID())) != log || stop != agent.Cancelled {
					t.Error("a cancelled compaction changed the log")
				}
			} else if news[1].Error == "" || !strings.Contains(news[1].Summary, "- one") {
				t.Errorf("%+v", news[1])
			}
			requests := m.Requests()
			if !strings.Contains(requests[len(requests)-1].Messages[len(requests[len(requests)-1].Messages)-1].Text(), "The user adds: mind the gap") {
				t.Error("the hint did not reach the model")
			}
			talk(t, s, "three")
			requests = m.Requests()
			checkLog(t, requests[len(requests)-1].Messages)
		})
	}
}

func TestNothingToCompact(t *testing.T) {
	t.Parallel()
	m := fakemodel.Func(func(x *fakemodel.Exchange) { x.Text("hi") })
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 100_000})
	talk(t, s, "one")
	r := &recorder{}
	if stop, err := s.Compact(t.Context(), "", r); err != nil || stop != agent.EndTurn || len(of[agent.Notice](r)) != 1 || len(m.Requests()) != 1 {
		t.Error(stop, err, r.events)
	}
}

// TestOverflow sends a request too long for the endpoint. The history is compacted and sent
// again, without an error for the user.
func TestOverflow(t *testing.T) {
	t.Parallel()
	overflows := 0
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		size := 0
		for _, message := range x.Request.Messages {
			size += len(message.Text())
		}
		switch {
		case size > 9000:
			overflows++
			x.Fail(fmt.Errorf("asking: %w", &model.Error{Kind: model.ErrOverflow}))
		case asksForNotes(x.Request):
			x.Text("NOTES")
		default:
			x.Text(strings.Repeat("long ", 250))
			x.End()
		}
	})
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 20_000, CompactAt: -1})
	r := talk(t, s, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12")
	if overflows == 0 || len(of[agent.Compaction](r)) == 0 {
		t.Errorf("%d overflows, %d news", overflows, len(of[agent.Compaction](r)))
	}
	if got := len(of[agent.Text](r)); got != 12 {
		t.Errorf("%d answers", got)
	}
}

// TestOverflowForGood checks the error for a message too long for any window. There must be no
// loop.
func TestOverflowForGood(t *testing.T) {
	t.Parallel()
	m := fakemodel.Func(func(x *fakemodel.Exchange) { x.Fail(&model.Error{Kind: model.ErrOverflow}) })
	s := begin(t, agent.Config{Model: m, Store: openStore(t), Window: 1000})
	_, err := s.Turn(t.Context(), agent.Input{Text: strings.Repeat("x", 100_000)}, &recorder{})
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != model.ErrOverflow || len(m.Requests()) > 4 {
		t.Errorf("%v after %d requests", err, len(m.Requests()))
	}
}

// TestCompactAnything compacts at random places. Every endpoint must accept every request, and
// a loaded session must send the same request as the running session.
func TestCompactAnything(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 1500), 40, 40).Draw(rt, "sizes")
		calls := rapid.SliceOfN(rapid.IntRange(0, 3), 40, 40).Draw(rt, "calls")
		n := -1
		m := fakemodel.Func(func(x *fakemodel.Exchange) {
			n++
			x.Text(strings.Repeat("y", sizes[n%40]))
			for range calls[n%40] {
				x.Call("", "look", "{}")
			}
		})
		config := agent.Config{Model: m, Store: st, Tools: scriptTools(t, nil), MaxIterations: 4, Window: 1200}
		s := begin(t, config)
		for i := range 6 {
			if _, err := s.Turn(t.Context(), agent.Input{Text: fmt.Sprint("go ", i, strings.Repeat("z", sizes[i]))}, &recorder{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, request := range m.Requests() {
			checkLog(t, request.Messages)
		}
		config.Head = store.Session{ID: s.ID()}
		loaded := load(t, config)
		if !reflect.DeepEqual(loaded.Last(), s.Last()) || !sameUsage(loaded.Usage(), s.Usage()) {
			t.Error("what was loaded is not what was there", loaded.Usage(), s.Usage())
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// sameUsage compares usage. Used may differ slightly, because a loaded session estimates
// it from fewer messages.
func sameUsage(a, b agent.UsageChanged) bool {
	off := a.Used - b.Used
	a.Used = b.Used
	return a == b && off*off <= 25*25
}
