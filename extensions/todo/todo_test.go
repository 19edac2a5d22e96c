package todo_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

func TestTitles(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{`{"todos":[]}`: "Update the plan", `{}`: "Look at the plan"} {
		if got := todo.Tool(nil).Title(json.RawMessage(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func TestTodo(t *testing.T) {
	t.Parallel()
	plan := tools.NewPlan()
	set := toolstest.Set(t, todo.Tool(plan))
	for _, c := range []struct{ args, want string }{
		{`{}`, `{"todos":[]}`},
		{`{"todos":[{"id":"a","content":"one","status":"pending"},{"id":2,"content":"two","status":"In Progress"}]}`,
			`{"todos":[{"id":"a","content":"one","status":"pending"},{"id":"2","content":"two","status":"in_progress"}]}`},
		{`{}`, `{"todos":[{"id":"a","content":"one","status":"pending"},{"id":"2","content":"two","status":"in_progress"}]}`},
		{`{"merge":true,"todos":[{"id":"2","status":"completed"},{"id":"c","content":"three"}]}`,
			`{"todos":[{"id":"a","content":"one","status":"pending"},{"id":"2","content":"two","status":"completed"},{"id":"c","content":"three","status":"pending"}]}`},
		{`{"todos":"[{\"id\":\"z\",\"content\":\"as text\",\"status\":\"cancelled\"}]"}`, `{"todos":[{"id":"z","content":"as text","status":"cancelled"}]}`},
		{`{"todos":[{"id":"z","content":"as\u001b[31m te\u0007xt","status":"cancelled"}]}`, `{"todos":[{"id":"z","content":"as text","status":"cancelled"}]}`},
		{`{"todos":[{"id":"a","content":"x","status":"odd"}]}`, `"todos[0].status" must be one of "pending", "in_progress", "completed" or "cancelled", not "odd"`},
		{`{"todos":[{"id":"a","content":"x"},{"id":"a","content":"y"}]}`, `the id "a" is given twice. The list is as it was.`},
		{`{"todos":[{"id":"a"}]}`, `the item "a" has no content`},
		{`{"todos":[{"id":" ","content":"x"}]}`, `item 1 has an empty id`},
		{`{}`, `{"todos":[{"id":"z","content":"as text","status":"cancelled"}]}`},
		{`{"todos":[{"content":"x","status":"done"}]}`, `{"todos":[{"id":"1","content":"x","status":"completed"}]}`},
		{`{"todos":[]}`, `{"todos":[]}`},
	} {
		before := plan.All()
		got, err := set.Call(t.Context(), nil, tools.Call{ID: "1", Name: "todo", Args: json.RawMessage(c.args)})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.want, "{") {
			if string(got.JSON) != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.args, got.JSON, c.want)
			}
			continue
		}
		var failure struct{ Error string }
		if err := json.Unmarshal(got.JSON, &failure); err != nil || !strings.Contains(failure.Error, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.args, got.JSON, c.want)
		}
		if !slices.Equal(plan.All(), before) {
			t.Errorf("%s: a failed call has changed the plan to %v", c.args, plan.All())
		}
	}
}

// A subagent has a separate plan. A script has none.
func TestDerive(t *testing.T) {
	t.Parallel()
	parent, child := tools.NewPlan(), tools.NewPlan()
	set, err := extension.Open(t.Context(), []extension.Extension{todo.New()}, func(string) *extension.Session { return &extension.Session{Plan: parent} })
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[extension.Kind]int{extension.Subagent: 1, extension.Script: 0, extension.Replay: 0} {
		derived, err := set.Derive(t.Context(), kind, extension.Own{Plan: child})
		if err != nil {
			t.Fatal(err)
		}
		list, err := derived.Tools(t.Context(), nil)
		if err != nil || len(list) != want {
			t.Fatalf("a %s has %d tools, %v", kind, len(list), err)
		}
		for _, tool := range list {
			toolstest.Call(t, toolstest.Set(t, tool), nil, tool.Name, map[string]any{"todos": []map[string]string{{"id": "1", "content": "x"}}}, new(any))
		}
	}
	if len(parent.All()) != 0 || len(child.All()) != 1 {
		t.Errorf("the plans are %v and %v", parent.All(), child.All())
	}
}
