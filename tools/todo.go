package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Todo is one item of a session's plan.
type Todo struct {
	ID      string     `json:"id"`
	Content string     `json:"content"`
	Status  TodoStatus `json:"status"`
}

// TodoStatus is how far an item is.
type TodoStatus string

const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
	TodoCancelled  TodoStatus = "cancelled"
)

// Enum lists the statuses.
func (TodoStatus) Enum() []string {
	return []string{string(TodoPending), string(TodoInProgress), string(TodoCompleted), string(TodoCancelled)}
}

// Todos is the plan of a session. It is safe for concurrent use.
type Todos struct {
	mu    sync.Mutex
	items []Todo
}

// NewTodos returns an empty plan.
func NewTodos() *Todos { return &Todos{} }

// All lists the items in their order.
func (t *Todos) All() []Todo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.items)
}

// Set replaces the plan.
func (t *Todos) Set(items []Todo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.items = slices.Clone(items)
}

// change replaces the plan by what f makes of it, unless f fails.
func (t *Todos) change(f func([]Todo) ([]Todo, error)) ([]Todo, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	items, err := f(slices.Clone(t.items))
	if err != nil {
		return nil, err
	}
	t.items = items
	return slices.Clone(items), nil
}

//go:embed todo.md
var todoWords string

type todoIn struct {
	Todos *[]todoItem `json:"todos,omitempty" jsonschema:"the list, in order"`
	Merge bool        `json:"merge,omitempty" jsonschema:"true: change or add the given items by id; default false"`
}

// todoItem is an item as a model writes it: an item that is there already may be
// named by its id alone.
type todoItem struct {
	ID      todoID     `json:"id"`
	Content string     `json:"content,omitempty" jsonschema:"what to do, in a few words"`
	Status  TodoStatus `json:"status,omitempty"`
}

// todoID is a string; models write numbers as well.
type todoID string

// JSONSchema allows both.
func (todoID) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "integer"}}
}

// UnmarshalJSON takes a number as it is written.
func (id *todoID) UnmarshalJSON(data []byte) error {
	text := string(data)
	if data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	*id = todoID(strings.TrimSpace(text))
	return nil
}

func todoTool() Tool {
	return New(Tool{
		Name: "todo", Toolset: "todo", Replay: Replayed, Kind: KindThink, Plans: true,
		Description: strings.TrimSpace(todoWords),
		Title:       Titled(todoTitle),
	}, todo)
}

func todoTitle(in todoIn) string {
	if in.Todos == nil {
		return "Look at the plan"
	}
	return "Update the plan"
}

func todo(_ context.Context, env *Env, _ Call, in todoIn) (Result, error) {
	if env.Todos == nil {
		return Fail("this session keeps no plan; work without one"), nil
	}
	items, err := env.Todos.change(func(have []Todo) ([]Todo, error) {
		switch {
		case in.Todos == nil:
			return have, nil
		case in.Merge:
			return mergeTodos(have, *in.Todos)
		default:
			return mergeTodos(nil, *in.Todos)
		}
	})
	if err != nil {
		return Fail("todo: %v. The list is as it was.", err), nil
	}
	return OK(map[string]any{"todos": OrEmpty(items)}), nil
}

// mergeTodos changes the items of have that given names, and adds the others.
func mergeTodos(have []Todo, given []todoItem) ([]Todo, error) {
	seen := map[todoID]bool{}
	for i, item := range given {
		if item.ID == "" {
			return nil, fmt.Errorf("item %d has an empty id", i+1)
		}
		if seen[item.ID] {
			return nil, fmt.Errorf("the id %q is given twice", item.ID)
		}
		seen[item.ID] = true
		at := slices.IndexFunc(have, func(t Todo) bool { return t.ID == string(item.ID) })
		if at < 0 {
			have = append(have, Todo{ID: string(item.ID), Status: TodoPending})
			at = len(have) - 1
		}
		if text := strings.TrimSpace(StripControl(item.Content)); text != "" {
			have[at].Content = text
		}
		if item.Status != "" {
			have[at].Status = item.Status
		}
		if have[at].Content == "" {
			return nil, fmt.Errorf("the item %q has no content (only an item that is there already needs none, with merge=true)", item.ID)
		}
	}
	return have, nil
}
