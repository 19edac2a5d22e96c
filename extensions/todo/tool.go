package todo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed todo.md
var description string

type input struct {
	Todos *[]item `json:"todos,omitempty" jsonschema:"the list, in order"`
	Merge bool    `json:"merge,omitempty" jsonschema:"true: change or add items by id"`
}

// item is an item written by a model: an existing item may be named by its id alone.
type item struct {
	ID      itemID           `json:"id"`
	Content string           `json:"content,omitempty" jsonschema:"what to do, in a few words"`
	Status  tools.TodoStatus `json:"status,omitempty"`
}

// itemID is a string; models write numbers as well.
type itemID string

// JSONSchema allows both.
func (itemID) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "integer"}}
}

// UnmarshalJSON decodes a text or a number.
func (id *itemID) UnmarshalJSON(data []byte) error {
	text := string(data)
	if data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	*id = itemID(strings.TrimSpace(text))
	return nil
}

// order places the tool before the tools of other extensions.
const order = -110

// Tool returns the tool of a plan. If plan is nil, every call returns an error.
func Tool(plan *tools.Plan) tools.Tool {
	t := tools.New(tools.Tool{
		Name: "todo", Toolset: Toolset, Order: order, Replay: tools.Replayed, Kind: tools.KindThink, Plans: true,
		Description: strings.TrimSpace(description),
		Advice:      "For three or more steps, keep a list with todo.",
		Title:       tools.Titled(title),
	}, func(_ context.Context, _ *tools.Env, _ tools.Call, in input) (tools.Result, error) {
		return change(plan, in), nil
	})
	plan.SetTool(t.Name)
	return t
}

func title(in input) string {
	if in.Todos == nil {
		return "Look at the plan"
	}
	return "Update the plan"
}

// change runs a call.
func change(plan *tools.Plan, in input) tools.Result {
	if plan == nil {
		return tools.Fail("this session keeps no plan; work without one")
	}
	items, err := plan.Change(func(have []tools.Todo) ([]tools.Todo, error) {
		switch {
		case in.Todos == nil:
			return have, nil
		case in.Merge:
			return merge(have, *in.Todos)
		default:
			return merge(nil, *in.Todos)
		}
	})
	if err != nil {
		return tools.Fail("todo: %v. The list is as it was.", err)
	}
	return tools.OK(map[string]any{"todos": tools.OrEmpty(items)})
}

// merge changes the items of have listed in given, and adds the others.
func merge(have []tools.Todo, given []item) ([]tools.Todo, error) {
	seen := map[itemID]bool{}
	for i, x := range given {
		if x.ID == "" {
			return nil, fmt.Errorf("item %d has an empty id", i+1)
		}
		if seen[x.ID] {
			return nil, fmt.Errorf("the id %q is given twice", x.ID)
		}
		seen[x.ID] = true
		at := slices.IndexFunc(have, func(t tools.Todo) bool { return t.ID == string(x.ID) })
		if at < 0 {
			have = append(have, tools.Todo{ID: string(x.ID), Status: tools.TodoPending})
			at = len(have) - 1
		}
		if text := strings.TrimSpace(tools.Outside(x.Content)); text != "" {
			have[at].Content = text
		}
		if x.Status != "" {
			have[at].Status = x.Status
		}
		if have[at].Content == "" {
			return nil, fmt.Errorf("the item %q has no content (only an item that is there already needs none, with merge=true)", x.ID)
		}
	}
	return have, nil
}
