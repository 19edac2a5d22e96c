package delegate_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// TestBatch delegates two tasks at once. It checks the order and the form of the results, and
// the subagents' events in the editor and the store.
func TestBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent": {call("delegate_task", tasks("Find the slow one", "Find the fast one")), say("Both are done.")},
			"the slow one": {
				append([]step{{text: "I look."}, {sleep: 3 * time.Second}}, call("read_file", object{"path": "a"})...),
				append(call("read_file", object{"path": "missing"}), step{sleep: time.Second}),
				say("Slow: a has one line."),
			},
			"the fast one": {{{sleep: time.Second}, {text: "Fast."}}},
		})
		b.write("a", "one\n")
		if stop := b.prompt("parent"); stop != agent.EndTurn {
			t.Errorf("stop = %s", stop)
		}
		a := b.answer()
		if len(a.Results) != 2 || a.Total == nil || *a.Total != 4 || a.Error != "" {
			t.Fatalf("answer = %s", a.text)
		}
		slow, fast := a.Results[0], a.Results[1]
		if slow.Index != 0 || slow.Status != "completed" || slow.Exit != "completed" || slow.Summary != "Slow: a has one line." ||
			slow.Calls != 3 || slow.Duration != 4 || slow.Model != "parent-model" || slow.Tokens.Input != 30 || slow.Tokens.Output != 15 || slow.Error != "" {
			t.Errorf("slow = %+v", slow)
		}
		if len(slow.Trace) != 2 || slow.Trace[0].Tool != "read_file" || slow.Trace[0].Status != "completed" || slow.Trace[1].Status != "failed" || slow.Trace[0].Duration == nil {
			t.Errorf("trace = %+v", slow.Trace)
		}
		if fast.Index != 1 || fast.Summary != "Fast." || fast.Duration != 1 || !strings.Contains(a.text, `"tool_trace":[]`) {
			t.Errorf("fast = %+v in %s", fast, a.text)
		}
		if b.model.most != 2 {
			t.Errorf("%d at once, want 2", b.model.most)
		}
		b.checkLog(b.id)
		b.checkKept(t, slow.Session, "Find the slow one")
		b.checkTold(t, slow.Session, fast.Session)
	})
}

// checkKept fails the test unless the whole history of the subagent is stored as a separate
// session.
func (b *bed) checkKept(t *testing.T, id, goal string) {
	t.Helper()
	head, err := b.store.Session(t.Context(), id)
	if err != nil || head.Parent != b.id || head.Title != goal || head.Cwd != b.dir || head.Model != "parent-model" {
		t.Errorf("head = %+v, %v", head, err)
	}
	if !strings.Contains(head.System, goal) || strings.Contains(head.System, "You are Hermes, a coding") {
		t.Errorf("system prompt:\n%s", head.System)
	}
	var offered []string
	for _, tool := range head.Tools {
		offered = append(offered, tool.Name)
	}
	if want := []string{"read_file", "write_file", "patch", "search_files", "terminal", "process"}; !reflect.DeepEqual(without(offered, "process"), without(want, "process")) {
		t.Errorf("offered %v", offered)
	}
	child, err := agent.Load(t.Context(), agent.Config{Head: store.Session{ID: id}, Model: b.model, Store: b.store})
	if err != nil {
		t.Fatal(err)
	}
	shown := &recorder{}
	if err := child.Replay(t.Context(), shown); err != nil {
		t.Fatal(err)
	}
	if prompts := of[agent.UserMessage](shown); len(prompts) != 1 || prompts[0].Text != goal || len(of[agent.CallEnded](shown)) != 2 {
		t.Errorf("replayed %+v", shown.events)
	}
}

func without(list []string, name string) (out []string) {
	for _, x := range list {
		if x != name {
			out = append(out, x)
		}
	}
	return out
}

// checkTold checks the events of each child on its parent's sink: start, progress and end.
func (b *bed) checkTold(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		begun, news, ended := -1, 0, -1
		for i, e := range b.sink.events {
			switch e := e.(type) {
			case agent.ChildStarted:
				if e.SessionID == id {
					begun = i
					if e.ParentID != b.id || e.CallID == "" || e.Goal == "" || e.Stop == nil || e.Model != "parent-model" {
						t.Errorf("started: %+v", e)
					}
				}
			case agent.ChildEvent:
				if e.SessionID == id {
					news++
				}
			case agent.ChildEnded:
				if e.SessionID == id {
					ended = i
					if e.Status != "completed" || e.Summary == "" || e.Usage.Input == 0 {
						t.Errorf("ended: %+v", e)
					}
				}
			}
		}
		if begun < 0 || news < 3 || ended < begun {
			t.Errorf("child %s began at %d, had %d events, ended at %d", id, begun, news, ended)
		}
	}
}

// TestRefused checks invalid calls. They are rejected before a subagent starts.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args object
		want string
	}{
		"nothing":             {object{}, "goal is missing"},
		"empty":               {object{"goal": "  "}, "goal is missing"},
		"todo":                {object{"goal": "TODO"}, "placeholder"},
		"angle":               {object{"goal": "<feature>"}, "placeholder"},
		"braces":              {object{"goal": "{{goal}}"}, "placeholder"},
		"dots":                {object{"goal": "..."}, "placeholder"},
		"one of several":      {tasks("Read the docs", "tbd"), "tasks[1]: the goal \"tbd\" is a placeholder"},
		"too many":            {tasks("Read a", "Read b", "Read c", "Read d"), "4 tasks, but at most 3"},
		"both":                {object{"goal": "Read a", "tasks": []object{{"goal": "Read b"}}}, "not both"},
		"unknown toolset":     {object{"goal": "Read a", "toolsets": []string{"files"}}, "unknown toolset \"files\""},
		"blocked only":        {object{"goal": "Read a", "toolsets": []string{"delegation", "clarify"}}, "no tool here"},
		"not configured":      {object{"goal": "Read a", "toolsets": []string{"web"}}, "no tool here"},
		"unknown route":       {object{"goal": "Read a", "route": "nowhere"}, "no route is named"},
		"schema":              {object{"goal": "Read a", "output_schema": object{"type": 5}}, "no JSON Schema"},
		"schema as text":      {object{"goal": "Read a", "output_schema": `{"type": 5}`}, "no JSON Schema"},
		"schema is no object": {object{"goal": "Read a", "output_schema": "a number"}, "no JSON Schema"},
		"schema in a task":    {object{"tasks": []object{{"goal": "Read a", "output_schema": "[1]"}}}, "no JSON Schema"},
		"unknown session":     {object{"action": "message", "session_id": "x", "message": "hi"}, "no subagent"},
		"session missing":     {object{"action": "stop"}, "session_id is missing"},
		"wait for a stranger": {object{"action": "wait", "session_id": "x"}, "no subagent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string][][]step{"parent": {call("delegate_task", tc.args), say("I see.")}})
			b.prompt("parent")
			if a := b.answer(); !strings.Contains(a.Error, tc.want) {
				t.Errorf("error = %q, want %q in it", a.Error, tc.want)
			}
			if started := of[agent.ChildStarted](b.sink); len(started) > 0 || len(b.model.requests) != 1 {
				t.Errorf("something began: %+v", started)
			}
		})
	}
}

// TestEndings ends a subagent, for any reason. The others continue, and its work is reported.
func TestEndings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		look := append([]step{{text: "Found: a is old."}}, call("read_file", object{"path": "a"})...)
		b := newBed(t, map[string][][]step{
			"parent": {call("delegate_task", object{"tasks": []object{
				{"goal": "Break down"}, {"goal": "Go on and on", "max_iterations": 2}, {"goal": "Task 2"}, {"goal": "Be refused"}, {"goal": "Talk too long"},
				{"goal": "Report late", "max_iterations": 2}, {"goal": "Never report", "max_iterations": 2}, {"goal": "Think too long"},
			}}), say("ok")},
			"Report late":    {look, call("search_files", object{"pattern": "x"}), say("Report: a is old.")},
			"Never report":   {look, call("read_file", object{"path": "b"}), look},
			"Think too long": {{{finish: "length"}}},
			"Break down":     {look, {{text: "And b"}, {err: errors.New("the endpoint is gone")}}},
			"Go on and on":   {look, call("search_files", object{"pattern": "x"})},
			"Task 2":         {{{sleep: time.Minute}, {text: "Well."}}},
			"Be refused":     {{{finish: "content_filter"}}},
			"Talk too long":  {{{text: "bla bla"}, {finish: "length"}}},
		}, func(b *bed) { b.limits.Children = 8 })
		b.write("a", "x\n")
		b.write("b", "the needle\n")
		b.prompt("parent")
		a := b.answer()
		if len(a.Results) != 8 {
			t.Fatal(a.text)
		}
		for i, want := range []struct{ status, exit, summary, err string }{
			{"failed", "error", "Found: a is old.", "the endpoint is gone"},
			{"completed", "max_iterations", "Found: a is old.", ""},
			{"completed", "completed", "Well.", ""},
			{"failed", "error", "", "refused"},
			{"completed", "completed", "bla bla", "not complete"},
			{"completed", "max_iterations", "Report: a is old.", ""},
			{"completed", "max_iterations", "the needle", ""},
			{"failed", "error", "It made no calls.", "length limit"},
		} {
			got := a.Results[i]
			if got.Status != want.status || got.Exit != want.exit || !strings.Contains(got.Summary, want.summary) || !strings.Contains(got.Error, want.err) || want.err == "" && got.Error != "" {
				t.Errorf("result %d: %+v, want %+v", i, got, want)
			}
		}
		if s := a.Results[0].Summary; !strings.Contains(s, "And b") || !strings.Contains(s, "Read a") {
			t.Errorf("the work so far: %q", s)
		}
		late := a.Results[5]
		if late.Summary != "Report: a is old." || late.Calls != 3 {
			t.Errorf("the late report: %+v", late)
		}
		requests := b.model.requests[late.Session]
		if last := requests[2]; !last.NoCalls || requests[1].NoCalls || len(last.Tools) != len(requests[0].Tools) || !strings.Contains(last.Messages[len(last.Messages)-1].Text(), "max_iterations") {
			t.Errorf("the last request: %+v", last)
		}
		if never := a.Results[6]; never.Calls != 3 || len(never.Trace) != 2 || !strings.Contains(never.Summary, "Found: a is old.") {
			t.Errorf("no report: %+v", never)
		}
	})
}

// TestNoAnswer checks a subagent without an answer: it has failed. The result reports this, and
// lists its work.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", tasks("Work in silence", "Say nothing")), say("ok")},
		"Work in ": {append([]step{{text: "I begin."}}, call("write_file", object{"path": "made.txt", "content": "text\n"})...), {}, {{text: " \n"}}},
		"Say noth": {{}, {}},
	})
	b.prompt("parent")
	a := b.answer()
	worked, nothing := a.Results[0], a.Results[1]
	if worked.Status != "failed" || worked.Exit != "error" || worked.Calls != 3 {
		t.Errorf("%+v", worked)
	}
	for _, want := range []string{"no answer", "1 tool call ", "made.txt"} {
		if !strings.Contains(worked.Error, want) {
			t.Errorf("%q is not in the error: %s", want, worked.Error)
		}
	}
	for _, want := range []string{"I begin.", "made.txt", "bytes_written"} {
		if !strings.Contains(worked.Summary, want) {
			t.Errorf("%q is not in the summary: %s", want, worked.Summary)
		}
	}
	if nothing.Status != "failed" || !strings.Contains(nothing.Error, "0 tool calls") || nothing.Summary == "" {
		t.Errorf("%+v", nothing)
	}
}

// TestSummaryLimit checks long reports. They are cut with a note, more so with less room, and
// the whole report is kept.
func TestSummaryLimit(t *testing.T) {
	t.Parallel()
	// The text does not repeat: an answer of short repetitions would be ended.
	wide := strings.Repeat(strings.Repeat("ä☃", 299)+"☃ä", 50)
	narrow := strings.Repeat(strings.Repeat("ab", 599)+"ba", 25)
	for name, tc := range map[string]struct {
		window, limit int
		whole         string
	}{
		"contract": {0, 20_000, wide}, "large window": {1_000_000, 20_000, wide}, "tiny": {100, 500, wide},
		"nearly full": {6_011, 3_995, narrow}, // the window less our count of the prompt and the tools
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string][][]step{
				"parent":  {call("delegate_task", object{"goal": "Write much"}), say("ok")},
				"Write m": {say(tc.whole)},
			}, func(b *bed) { b.room = tc.window })
			b.prompt("parent")
			r := b.answer().Results[0]
			n := len([]rune(r.Summary))
			if n != tc.limit || !strings.Contains(r.Summary, "30000 characters") || !strings.Contains(r.Summary, r.Session) {
				t.Errorf("%d characters, want %d: …%s", n, tc.limit, r.Summary[len(r.Summary)-200:])
			}
			if log := b.log(r.Session); log[len(log)-1].Text() != tc.whole {
				t.Error("the whole is not in the child's session")
			}
		})
	}
}
