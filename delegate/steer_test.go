package delegate_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

func (b *bed) answerIn(text string) (a answer) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		b.t.Fatal(err)
	}
	a.text = text
	return a
}

// TestBackground delegates to the background: the call returns ids at once, and the next turn
// gets the result, once. A message steers a running subagent and resumes a finished subagent.
func TestBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		b := newBed(t, map[string][][]step{
			"parent": {call("delegate_task", object{"goal": "Research it", "background": true}), say("Started."), say("I see."), say("And again.")},
			"Research": {
				append([]step{{sleep: 5 * time.Second}}, call("read_file", object{"path": "a"})...),
				{{sleep: 5 * time.Second}, {text: "First report."}}, {{text: "Second report."}},
			},
		}, func(b *bed) {
			b.ended = func() {
				if b.children.Waiting() != 1 {
					t.Error("it was said that a result waits before it did")
				}
				ended.Add(1)
			}
		})
		b.write("a", "x\n")
		b.prompt("parent")
		started := b.answer().Subagents
		if len(started) != 1 || started[0].Status != "running" || ended.Load() != 0 {
			t.Fatalf("started: %+v", started)
		}
		id := started[0].SessionID
		if err := b.children.Message(t.Context(), id, "Look at b too"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if ended.Load() != 1 || b.children.Waiting() != 1 {
			t.Errorf("ended %d times, %d results wait", ended.Load(), b.children.Waiting())
		}
		b.prompt("and?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, "First report.") || !strings.Contains(text, `"status":"completed"`) {
			t.Errorf("the next turn was told %q", text)
		}
		if n := b.children.Waiting(); n != 0 {
			t.Errorf("%d results still wait", n)
		}
		if err := b.children.Message(t.Context(), id, "Once more"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.prompt("well?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, "Second report.") || strings.Contains(text, "First report.") {
			t.Errorf("after going on: %q", text)
		}
		var said []string
		for _, m := range b.log(id) {
			if m.Role == model.User {
				said = append(said, m.Text())
			}
		}
		if got := strings.Join(said, "|"); got != "Research it|Look at b too|Once more" {
			t.Errorf("the subagent heard %q", got)
		}
		b.checkLog(id)
	})
}

func lastPrompt(log []store.Message) (text string) {
	for _, m := range log {
		if m.Role == model.User {
			text = m.Text()
		}
	}
	return text
}

// TestActions lets the parent's model list, await, steer and stop its subagents.
func TestActions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var id string
		b := newBed(t, map[string][][]step{
			"parent":  {call("delegate_task", object{"tasks": []object{{"goal": "Go far"}, {"goal": "Go near"}}, "background": true}), say("Started.")},
			"Go far":  {{{text: "I go."}, {sleep: time.Hour}}},
			"Go near": {{{sleep: 2 * time.Second}, {text: "Near."}}},
		})
		act := func(args object) answer {
			b.model.mu.Lock()
			b.model.scripts["parent"] = append(b.model.scripts["parent"], call("delegate_task", args), say("ok"))
			b.model.mu.Unlock()
			b.prompt("go on")
			return b.answer()
		}
		b.prompt("parent")
		id = b.answer().Subagents[0].SessionID
		time.Sleep(time.Second)
		if a := act(object{"action": "list"}); len(a.Subagents) != 2 || a.Subagents[0].Status != "running" || a.Subagents[0].Doing != "writing" {
			t.Errorf("list: %s", a.text)
		}
		if a := act(object{"goal": "One more", "tasks": []object{}}); a.Error == "" && len(a.Results) != 1 {
			t.Errorf("a third: %s", a.text)
		}
		if a := act(object{"tasks": []object{{"goal": "Three"}, {"goal": "Four"}}}); !strings.Contains(a.Error, "at work already") {
			t.Errorf("too many with those in the background: %s", a.text)
		}
		if a := act(object{"action": "wait", "timeout": 5}); len(a.Results) != 1 || a.Results[0].Summary != "Near." || len(a.Running) != 1 {
			t.Errorf("wait with a limit: %s", a.text)
		}
		if a := act(object{"action": "stop", "session_id": id}); a.Status != "interrupted" || a.Error != "" {
			t.Errorf("stop: %s", a.text)
		}
		if a := act(object{"action": "wait", "session_id": id}); len(a.Results) != 1 || a.Results[0].Status != "interrupted" || !strings.Contains(a.Results[0].Summary, "I go.") {
			t.Errorf("wait for the stopped one: %s", a.text)
		}
	})
}

// TestRestart closes the session, which ends the background subagents. After a restart their
// results are reported, the list contains them, and they can be resumed.
func TestRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent":   {call("delegate_task", object{"goal": "Research it", "background": true}), say("Started."), say("I see."), say("Fine.")},
			"Research": {append([]step{{text: "Half of it."}}, call("read_file", object{"path": "a"})...), {{sleep: time.Hour}}, say("All of it.")},
		})
		b.write("a", "x\n")
		b.prompt("parent")
		id := b.answer().Subagents[0].SessionID
		time.Sleep(time.Second)
		b.close()
		b.open()
		list, err := b.children.List(t.Context(), b.id)
		if err != nil || len(list) != 1 || list[0].Status != "interrupted" || list[0].Goal != "Research it" {
			t.Errorf("list = %+v, %v", list, err)
		}
		b.prompt("well?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, "Half of it.") || !strings.Contains(text, "interrupted") {
			t.Errorf("after the restart: %q", text)
		}
		if err := b.children.Message(t.Context(), id, "Go on"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.prompt("and now?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, "All of it.") || !strings.Contains(text, "completed") {
			t.Errorf("gone on: %q", text)
		}
		b.checkLog(id)
		if err := b.children.Message(t.Context(), b.id, "hi"); err == nil {
			t.Error("a session that is no subagent took a message")
		}
	})
}

// TestDeadServer checks the death of a server during a batch. When the session is opened again,
// the result of the open call contains every task, with the work of its subagent.
func TestDeadServer(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"parent": {say("I see.")}, "Half": {append([]step{{text: "Half done."}}, call("read_file", object{"path": "a"})...), say("never")},
	})
	b.write("a", "x\n")
	st, ctx := b.store, t.Context()
	head := store.Session{ID: b.id, Cwd: b.dir}
	if err := st.Create(ctx, head); err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(tasks("Do it whole", "Do it half", "Do it never"))
	for _, m := range []*store.Message{
		{Message: model.NewMessage(model.User, "parent"), Typed: 6},
		{Message: model.ResponseMessage("", "", model.Call{ID: "d1", Name: "delegate_task", Args: string(args)})},
	} {
		if err := st.Append(ctx, b.id, m); err != nil {
			t.Fatal(err)
		}
	}
	for i, child := range []struct{ id, status, said string }{{"c-whole", `,"status":"completed","exit_reason":"completed"`, "Whole."}, {"c-half", "", "Half done."}} {
		origin := `{"goal":"g","max_iterations":5,"call":"d1","index":` + string(rune('0'+i)) + child.status + `}`
		if err := st.Create(ctx, store.Session{ID: child.id, Cwd: b.dir, Parent: b.id, Model: "m", Origin: origin}); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*store.Message{
			{Message: model.NewMessage(model.User, "g"), Typed: 1},
			{Message: model.ResponseMessage("", child.said), Usage: &model.Usage{Input: 7, Output: 3}},
		} {
			if err := st.Append(ctx, child.id, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.close()
	b.open() // mends the log
	b.checkLog(b.id)
	a := b.answer()
	if len(a.Results) != 3 || !strings.Contains(a.Error, "the server stopped") {
		t.Fatal(a.text)
	}
	for i, want := range []struct{ status, summary, session string }{
		{"completed", "Whole.", "c-whole"}, {"interrupted", "Half done.", "c-half"}, {"interrupted", "had not begun", ""},
	} {
		if r := a.Results[i]; r.Index != i || r.Status != want.status || !strings.Contains(r.Summary, want.summary) || r.Session != want.session {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	if r := a.Results[1]; r.Tokens.Input != 7 || r.Calls != 1 {
		t.Errorf("counted: %+v", r)
	}
	if stop := b.prompt("parent again"); stop != agent.EndTurn {
		t.Errorf("the next turn: %s", stop)
	}
}

// TestCloseEndsAll closes the session. Nothing outlives it.
func TestCloseEndsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent":  {call("delegate_task", object{"goal": "Sleep long", "background": true}), say("ok")},
			"Sleep l": {{{sleep: time.Hour}}},
		})
		b.prompt("parent")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.children.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := b.children.Message(ctx, b.answer().Subagents[0].SessionID, "hi"); err == nil {
			t.Error("a closed session took a message")
		}
	})
}

// TestSteeringGrandchildren lists, steers and stops the subagent of a subagent by its id.
// Without its parent, it works for the session itself, with the same tools.
func TestSteeringGrandchildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent":     {call("delegate_task", object{"goal": "Lead the way", "toolsets": []string{"delegation", "file"}, "background": true}), say("Started."), say("I see."), say("And again.")},
			"Lead the w": {call("delegate_task", object{"tasks": []object{{"goal": "Follow me", "toolsets": []string{"file"}}, {"goal": "Be slow"}}}), say("We were there.")},
			"Follow me":  {append([]step{{sleep: time.Minute}}, call("read_file", object{"path": "a"})...), say("I followed."), say("I went on.")},
			"Be slow":    {{{text: "Slow"}, {sleep: time.Hour}}},
		}, func(b *bed) { b.limits.Depth = 2 })
		b.write("a", "x\n")
		b.prompt("parent")
		lead := b.answer().Subagents[0].SessionID
		time.Sleep(time.Second)
		list, err := b.children.List(t.Context(), b.id)
		if err != nil || len(list) != 3 || list[0].SessionID != lead || list[0].ParentID != "" || list[1].ParentID != lead || list[1].Status != "running" {
			t.Fatalf("%+v, %v", list, err)
		}
		follow, slow := list[1].SessionID, list[2].SessionID
		if err := b.children.Message(t.Context(), follow, "Hurry"); err != nil {
			t.Error(err)
		}
		if stopped, err := b.children.Stop(slow); !stopped || err != nil {
			t.Errorf("stopped: %v, %v", stopped, err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		b.prompt("and?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, "We were there.") {
			t.Errorf("the session was told %q", text)
		}
		if text := b.log(lead)[2].Text(); !strings.Contains(text, "I followed.") || !strings.Contains(text, `"status":"interrupted"`) {
			t.Errorf("its parent was told %s", text)
		}
		if err := b.children.Message(t.Context(), follow, "Once more"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.prompt("well?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, "I went on.") || strings.Contains(text, "We were there.") {
			t.Errorf("after going on: %q", text)
		}
		requests := b.model.requests[follow]
		for _, tool := range requests[len(requests)-1].Tools {
			if tool.Name == "terminal" || tool.Name == "delegate_task" {
				t.Errorf("it was given %s, which its parent had not", tool.Name)
			}
		}
		var said []string
		for _, m := range b.log(follow) {
			if m.Role == model.User {
				said = append(said, m.Text())
			}
		}
		if got := strings.Join(said, "|"); got != "Follow me|Hurry|Once more" {
			t.Errorf("it heard %q", got)
		}
		if list, err := b.children.List(t.Context(), b.id); err != nil || len(list) != 3 {
			t.Errorf("%+v, %v", list, err)
		}
		if err := b.children.Message(t.Context(), b.id, "You"); err == nil {
			t.Error("the session is its own subagent")
		}
	})
}

// TestDeadServerWhileGoingOn checks the death of a server during a resumed subagent. The next
// server reports it to the session that resumed it, also for the subagent of a subagent.
func TestDeadServerWhileGoingOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent":     {call("delegate_task", object{"goal": "Lead the way", "toolsets": []string{"delegation", "file"}}), say("Fine."), say("I see."), say("No.")},
			"Lead the w": {call("delegate_task", object{"goal": "Follow me", "toolsets": []string{"file"}}), say("We were there."), {{text: "Once"}, {sleep: time.Hour}}},
			"Follow me":  {say("I followed."), {{text: "Once more"}, {sleep: time.Hour}}},
		}, func(b *bed) { b.limits.Depth = 2 })
		b.prompt("parent")
		list, err := b.children.List(t.Context(), b.id)
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		kept := map[string]string{}
		for _, s := range list {
			if err := b.children.Message(t.Context(), s.SessionID, "Go on"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			head, err := b.store.Session(t.Context(), s.SessionID)
			if err != nil {
				t.Fatal(err)
			}
			kept[s.SessionID] = head.Origin
		}
		b.close()
		for id, origin := range kept { // a killed server would have written nothing more
			if err := b.store.SetOrigin(t.Context(), id, origin); err != nil {
				t.Fatal(err)
			}
		}
		b.open()
		b.prompt("and now?")
		text := lastPrompt(b.log(b.id))
		for id := range kept {
			if !strings.Contains(text, `"session_id":"`+id+`"`) {
				t.Errorf("nothing of %s in %q", id, text)
			}
		}
		if strings.Count(text, `"status":"interrupted"`) != 2 || !strings.Contains(text, "the server stopped") {
			t.Errorf("how they ended: %q", text)
		}
		b.close()
		b.open()
		b.prompt("anything else?")
		if text := lastPrompt(b.log(b.id)); strings.Contains(text, "Results of subagents") {
			t.Errorf("told twice: %q", text)
		}
	})
}

// TestDeadServerBeforePromptIsStored kills a server between reading the results for a prompt
// and storing the prompt. No result is lost: the next server returns them once more, and then
// no server does.
func TestDeadServerBeforePromptIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, map[string][][]step{
			"parent":   {call("delegate_task", object{"goal": "Count up", "background": true}), say("Fine."), say("Seven."), say("Nothing.")},
			"Count up": {say("Seven.")},
		})
		b.prompt("parent")
		synctest.Wait()
		if text := b.children.Notice(t.Context(), b.id); !strings.Contains(text, "Seven.") {
			t.Fatalf("the result does not wait: %q", text)
		}
		b.close()
		b.open()
		b.prompt("and now?")
		if text := lastPrompt(b.log(b.id)); !strings.Contains(text, `"summary":"Seven."`) {
			t.Errorf("the result is lost: %q", text)
		}
		b.close()
		b.open()
		b.prompt("anything else?")
		if text := lastPrompt(b.log(b.id)); strings.Contains(text, "Seven.") {
			t.Errorf("told twice: %q", text)
		}
	})
}

// TestOrderOfEarlierSubagents lists subagents of an earlier process in the order of their
// tasks, not of their first writes to the store.
func TestOrderOfEarlierSubagents(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	if err := b.store.Create(t.Context(), store.Session{ID: b.id, Cwd: b.dir}); err != nil {
		t.Fatal(err)
	}
	first, second := store.NewID(), store.NewID()
	for _, id := range []string{second, first} {
		if err := b.store.Create(t.Context(), store.Session{ID: id, Cwd: b.dir, Parent: b.id, Model: "m", Origin: `{"goal":"g"}`}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	list, err := b.children.List(t.Context(), b.id)
	if err != nil || len(list) != 2 || list[0].SessionID != first || list[1].SessionID != second {
		t.Errorf("%+v, %v", list, err)
	}
}
