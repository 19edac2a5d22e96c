package delegate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// TestInactivity checks an inactive subagent: after a warning, it is stopped, and its work is
// reported. An active subagent may run for any time.
func TestInactivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := [][]step{}
		for i := range 5 {
			slow = append(slow, append([]step{{sleep: 7 * time.Second}}, call("read_file", object{"path": "a", "limit": i + 1})...))
		}
		b := newBed(t, map[string][][]step{
			"parent":      {call("delegate_task", tasks("Get stuck", "Take your time")), say("ok")},
			"Get stuck":   {append([]step{{text: "I begin."}}, call("read_file", object{"path": "a"})...), {{sleep: time.Hour}}},
			"Take your t": append(slow, say("Finally.")),
		}, func(b *bed) { b.limits.Inactivity = 12 * time.Second })
		b.write("a", "x\n")
		b.prompt("parent")
		a := b.answer()
		stuck, slowly := a.Results[0], a.Results[1]
		if stuck.Status != "timeout" || stuck.Exit != "timeout" || stuck.Duration != 12 || !strings.Contains(stuck.Summary, "I begin.") || !strings.Contains(stuck.Error, "12s") {
			t.Errorf("stuck: %+v", stuck)
		}
		if slowly.Status != "completed" || slowly.Duration != 35 || slowly.Summary != "Finally." {
			t.Errorf("slow: %+v", slowly)
		}
		var warned []string
		for _, e := range of[agent.ChildEvent](b.sink) {
			if n, ok := e.Event.(agent.Notice); ok {
				warned = append(warned, n.Text)
			}
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "Get stuck") || !strings.Contains(warned[0], "8s") {
			t.Errorf("warnings: %q", warned)
		}
	})
}

// TestTokens checks the token limit of a call. Its children share the limit, and stop when it
// is reached.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func() (script [][]step) {
			for i := range 40 {
				script = append(script, append([]step{{sleep: time.Second}}, call("read_file", object{"path": "a", "limit": i + 1})...))
			}
			return script
		}
		b := newBed(t, map[string][][]step{
			"parent":     {call("delegate_task", tasks("Spend here", "Spend there")), say("ok")},
			"Spend here": busy(), "Spend there": busy(),
		}, func(b *bed) { b.limits.Tokens = 100 })
		b.write("a", "x\n")
		b.prompt("parent")
		total := 0
		for _, r := range b.answer().Results {
			total += r.Tokens.Input + r.Tokens.Output
			if r.Status != "interrupted" || !strings.Contains(r.Error, "max_batch_tokens") {
				t.Errorf("%+v", r)
			}
		}
		if total < 100 || total > 150 {
			t.Errorf("%d tokens were used", total)
		}
	})
}

// If a limit of the user's stops a subagent, its result has the reason. The subagent is not asked for a report.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const reason = "Stopped before the next request, which could pass limits.session_usd."
		b := newBed(t, map[string][][]step{
			"parent":     {call("delegate_task", object{"goal": "Spend much"}), say("ok")},
			"Spend much": {call("read_file", object{"path": "a"}), {{err: &model.Stopped{Reason: reason}}}, say("never asked")},
		})
		b.write("a", "x\n")
		b.prompt("parent")
		r := b.answer().Results[0]
		if r.Status != "interrupted" || r.Exit != "limit" || r.Error != reason || r.Calls != 1 || strings.Contains(r.Summary, "never asked") || len(r.Trace) != 1 {
			t.Errorf("%+v", r)
		}
		ended := of[agent.ChildEnded](b.sink)
		if len(ended) != 1 || ended[0].Status != "interrupted" || ended[0].Error != reason {
			t.Errorf("the editor got %+v", ended)
		}
	})
}

// TestSchema checks an answer with a schema. It is checked, requested once more, and returned
// unchanged if it still does not fit.
func TestSchema(t *testing.T) {
	t.Parallel()
	schema := object{"type": "object", "required": []string{"n"}, "properties": object{"n": object{"type": "integer"}}}
	for name, tc := range map[string]struct {
		replies        [][]step
		output, misfit string
		requests       int
		asText         string // the schema, as a string
	}{
		"at once":  {[][]step{say(`{"n": 3}`)}, `{"n": 3}`, "", 1, ""},
		"fenced":   {[][]step{say("```json\n{\"n\": 3}\n```")}, `{"n": 3}`, "", 1, ""},
		"mended":   {[][]step{say(`three`), say(`{"n": 3}`)}, `{"n": 3}`, "", 2, ""},
		"not":      {[][]step{say(`{"n": "x"}`), say(`{"n": "y"}`)}, "", "integer", 2, ""},
		"no JSON":  {[][]step{say(`well`), say(`well, well`)}, "", "JSON", 2, ""},
		"by tools": {[][]step{say(`{}`), call("read_file", object{"path": "a"}), say(`{"n":1}`)}, `{"n":1}`, "", 3, ""},
		"as text":  {[][]step{say(`three`), say(`{"n": 3}`)}, `{"n": 3}`, "", 2, `{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}`},
		"no text":  {[][]step{say(`three`)}, "", "", 1, " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var given any = schema
			if tc.asText != "" {
				given = tc.asText
			}
			b := newBed(t, map[string][][]step{
				"parent":    {call("delegate_task", object{"goal": "Count files", "output_schema": given}), say("ok")},
				"Count fil": tc.replies,
			})
			b.prompt("parent")
			r := b.answer().Results[0]
			if string(r.Output) != strings.ReplaceAll(tc.output, " ", "") || !strings.Contains(r.Misfit, tc.misfit) || tc.misfit == "" && r.Misfit != "" || r.Calls != tc.requests || r.Status != "completed" {
				t.Errorf("%+v, output %s", r, r.Output)
			}
			if tc.misfit != "" && r.Summary != tc.replies[1][0].text {
				t.Errorf("the answer as it is: %q", r.Summary)
			}
		})
	}
}

// asker answers once and records the asking sessions.
type asker struct {
	mu     sync.Mutex
	asked  []tools.ApprovalRequest
	answer tools.Decision
}

func (a *asker) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q)
	return a.answer, nil
}

// TestQuestions checks a subagent's approval request. It goes to the user's session, with the
// subagent's goal. Allow for this session applies to all of them.
func TestQuestions(t *testing.T) {
	t.Parallel()
	person := &asker{answer: tools.DecisionSession}
	remove := call("terminal", object{"command": "rm -rf build"})
	b := newBed(t, map[string][][]step{
		"parent":   {call("delegate_task", tasks("Clean here", "Clean there")), remove, say("ok")},
		"Clean he": {remove, say("Clean.")}, "Clean th": {remove, say("Clean too.")},
	}, func(b *bed) { b.asker = person })
	b.prompt("parent")
	if len(person.asked) != 1 {
		t.Fatalf("asked %d times: %+v", len(person.asked), person.asked)
	}
	q := person.asked[0]
	if q.SessionID != b.id || !strings.HasPrefix(q.For, "Clean") || q.Subagent == "" || q.Subagent == b.id || q.Title != "rm -rf build" {
		t.Errorf("asked %+v", q)
	}
}

// TestWhatAChildHas checks the means of a subagent: the requested part of its parent's tools,
// and its own shell, plan and record of files. It may delegate only if this is allowed.
func TestWhatAChildHas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked []string
		depth int
		has   []string
	}{
		"asked":         {[]string{"todo", "file_tools"}, 1, []string{"patch", "read_file", "search_files", "todo", "write_file"}},
		"safe":          {[]string{"safe"}, 1, []string{"read_file", "search_files"}},
		"blocked":       {[]string{"delegation", "todo", "clarify"}, 1, []string{"todo"}},
		"all":           {[]string{"coding"}, 1, []string{"patch", "read_file", "search_files", "terminal", "todo", "write_file"}},
		"grandchildren": {[]string{"delegation", "todo"}, 2, []string{"delegate_task", "todo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string][][]step{
				"parent":   {call("delegate_task", object{"goal": "Look around", "toolsets": tc.asked}), say("ok")},
				"Look aro": {say("I see.")},
			}, func(b *bed) { b.limits.Depth = tc.depth })
			b.prompt("parent")
			requests := b.model.requests[b.answer().Results[0].Session]
			var has []string
			for _, tool := range requests[0].Tools {
				if tool.Name != "process" && tool.Name != "web_extract" {
					has = append(has, tool.Name)
				}
			}
			slices.Sort(has)
			if !slices.Equal(has, tc.has) {
				t.Errorf("has %v, want %v", has, tc.has)
			}
		})
	}
}

// TestGrandchildren checks the subagents of a subagent: they work, are shown, and cannot
// delegate.
func TestGrandchildren(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":     {call("delegate_task", object{"goal": "Lead the way", "toolsets": []string{"delegation", "file"}}), say("ok")},
		"Lead the w": {call("delegate_task", object{"goal": "Follow me", "toolsets": []string{"file", "delegation"}}), say("We were there.")},
		"Follow me":  {call("delegate_task", object{"goal": "Even deeper"}), say("I followed.")},
	}, func(b *bed) { b.limits.Depth = 2 })
	b.prompt("parent")
	r := b.answer().Results[0]
	if r.Summary != "We were there." {
		t.Fatalf("%+v", r)
	}
	log := b.log(r.Session)
	if !strings.Contains(log[2].Text(), "I followed.") {
		t.Errorf("the child heard %s", log[2].Text())
	}
	if started := of[agent.ChildStarted](b.sink); len(started) != 2 || started[1].ParentID != r.Session {
		t.Errorf("shown: %+v", started)
	}
}

// TestApart checks the separation of subagents: the shell and the plan of a subagent do not
// affect others.
func TestApart(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":  {call("delegate_task", object{"goal": "Wander off", "toolsets": []string{"terminal", "todo"}}), call("terminal", object{"command": "echo \"[$X]\"; pwd"}), say("ok")},
		"Wander ": {call("terminal", object{"command": "export X=1; mkdir sub && cd sub"}), call("todo", object{"todos": []object{{"id": "1", "content": "x"}}}), call("terminal", object{"command": "echo \"[$X]\"; pwd"}), say("Far away.")},
	})
	b.prompt("parent")
	log := b.log(b.id)
	if text := log[4].Text(); !strings.Contains(text, "[]") || strings.Contains(text, "/sub") {
		t.Errorf("the parent's shell: %s", text)
	}
	var first answer
	for _, m := range log {
		if m.Name() == "delegate_task" {
			first = b.answerIn(m.Text())
		}
	}
	child := b.log(first.Results[0].Session)
	if text := child[6].Text(); !strings.Contains(text, "[1]") || !strings.Contains(text, "/sub") {
		t.Errorf("the child's shell: %s", text)
	}
}

// TestRoute checks the choice of the model by routes.
func TestRoute(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent":  {call("delegate_task", object{"tasks": []object{{"goal": "Be cheap", "route": "cheap"}, {"goal": "Be usual"}}}), say("ok")},
		"Be chea": {say("1")}, "Be usua": {say("2")},
	})
	b.prompt("parent")
	a := b.answer()
	if got := fmt.Sprint(a.Results[0].Model, " ", a.Results[1].Model); got != "cheap parent-model" {
		t.Errorf("models: %s", got)
	}
}
