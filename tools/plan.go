package tools

import (
	"slices"
	"sync"
)

// Todo is an item of a session's plan.
type Todo struct {
	ID      string     `json:"id"`
	Content string     `json:"content"`
	Status  TodoStatus `json:"status"`
}

// TodoStatus is the status of an item.
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

// Plan is the plan of a session. It follows the last result of its tool, so a rewind moves it back,
// too. It is safe for concurrent use. A nil Plan is empty and stays so.
type Plan struct {
	mu    sync.Mutex
	tool  string
	items []Todo
}

// NewPlan returns an empty plan.
func NewPlan() *Plan { return &Plan{} }

// SetTool sets the name of the plan's tool. A result of it is {"todos": […]}, with all items.
func (p *Plan) SetTool(name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tool = name
}

// Tool returns the name of the plan's tool. If the plan has none, it returns "".
func (p *Plan) Tool() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tool
}

// All returns the items in order.
func (p *Plan) All() []Todo {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.items)
}

// Set replaces the items.
func (p *Plan) Set(items []Todo) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = slices.Clone(items)
}

// Change replaces the items by the result of f. If f returns an error, they stay.
func (p *Plan) Change(f func([]Todo) ([]Todo, error)) ([]Todo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	items, err := f(slices.Clone(p.items))
	if err != nil {
		return nil, err
	}
	p.items = items
	return slices.Clone(items), nil
}
