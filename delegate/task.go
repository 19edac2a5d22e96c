package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Task is the task of a subagent. It is stored with the subagent's session.
type Task struct {
	ID         string         `json:"-"` // of the subagent's session
	Parent     string         `json:"-"` // the delegating session
	Goal       string         `json:"goal"`
	Context    string         `json:"context,omitempty"`
	Toolsets   []string       `json:"toolsets,omitempty"`     // empty: the defaults
	Agent      string         `json:"agent,omitempty"`        // its kind; empty: none
	Role       string         `json:"instructions,omitempty"` // of the agent
	Tools      []string       `json:"tools,omitempty"`        // tools and toolsets of the agent; empty: Toolsets apply
	Route      string         `json:"route,omitempty"`        // empty: the default model
	Model      string         `json:"-"`                      // of the route
	Isolation  string         `json:"isolation,omitempty"`
	Schema     map[string]any `json:"output_schema,omitempty"`
	Iterations int            `json:"max_iterations"`
	Call       string         `json:"call,omitempty"` // the parent's call
	Index      int            `json:"index"`          // among the tasks of the call
	Background bool           `json:"background,omitempty"`
	Owner      string         `json:"owner,omitempty"` // the resuming session; empty: Parent

	message string // resumes a stored session; empty: a new session
	below   int    // number of subagents between it and the resuming session
}

type input struct {
	Goal          string       `json:"goal,omitempty" jsonschema:"the whole task, and what to report; required without tasks"`
	Context       string       `json:"context,omitempty" jsonschema:"facts that it needs: paths, decisions, constraints"`
	Toolsets      []string     `json:"toolsets,omitempty" jsonschema:"from file, terminal, web, todo; default file, terminal, web"`
	MaxIterations int          `json:"max_iterations,omitempty" jsonschema:"maximum number of model requests; default 50"`
	Route         string       `json:"route,omitempty" jsonschema:"name of a configured model; default: the configured one"`
	Agent         string       `json:"agent,omitempty" jsonschema:"kind of subagent, see above; it has its own instructions and tools"`
	Isolation     isolation    `json:"isolation,omitempty" jsonschema:"none: edit the workspace (default); worktree: edit a copy of the repository, merged at the end"`
	OutputSchema  outputSchema `json:"output_schema,omitempty" jsonschema:"JSON Schema of the summary, as a JSON string"`
	Tasks         []taskIn     `json:"tasks,omitempty" jsonschema:"several tasks instead of goal, with the same fields"`
	Background    bool         `json:"background,omitempty" jsonschema:"true: do not wait"`
	Action        action       `json:"action,omitempty" jsonschema:"run (default); list; wait: for session_id or all; message: steer or resume session_id; stop: session_id"`
	SessionID     string       `json:"session_id,omitempty" jsonschema:"wait, message, stop: the subagent"`
	Message       string       `json:"message,omitempty" jsonschema:"message: the text"`
	Timeout       float64      `json:"timeout,omitempty" jsonschema:"wait: seconds; default: until they end"`
}

type taskIn struct {
	Goal          string       `json:"goal"`
	Context       string       `json:"context,omitempty"`
	Toolsets      []string     `json:"toolsets,omitempty"`
	MaxIterations int          `json:"max_iterations,omitempty"`
	Route         string       `json:"route,omitempty"`
	Agent         string       `json:"agent,omitempty"`
	Isolation     isolation    `json:"isolation,omitempty"`
	OutputSchema  outputSchema `json:"output_schema,omitempty"`
}

// outputSchema is a JSON Schema. Some APIs reject object parameters without listed properties,
// so the model gets a string parameter. An object is accepted too.
type outputSchema map[string]any

// JSONSchema allows both.
func (outputSchema) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "object"}}
}

// UnmarshalJSON reads an object, or a string with an object in it. An empty string is no
// schema.
func (s *outputSchema) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if data = []byte(unfenced(strings.TrimSpace(text))); len(data) == 0 {
			return nil
		}
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		return fmt.Errorf("output_schema is no JSON Schema but %s; send a JSON object, or a string that contains one", shorten.OneLine(string(data), 60))
	}
	*s = schema
	return nil
}

type isolation string

const isolated isolation = "worktree"

// Enum lists the values.
func (isolation) Enum() []string { return []string{"none", string(isolated)} }

type action string

const (
	actionRun     action = "run"
	actionList    action = "list"
	actionWait    action = "wait"
	actionMessage action = "message"
	actionStop    action = "stop"
)

// Enum lists the values.
func (action) Enum() []string {
	return []string{string(actionRun), string(actionList), string(actionWait), string(actionMessage), string(actionStop)}
}

// asked returns the tasks of a call.
func (in input) asked() []taskIn {
	if len(in.Tasks) > 0 {
		return in.Tasks
	}
	return []taskIn{{in.Goal, in.Context, in.Toolsets, in.MaxIterations, in.Route, in.Agent, in.Isolation, in.OutputSchema}}
}

// plan makes the tasks of a call. If any of them cannot start, it returns an error.
func (x *Children) plan(ctx context.Context, env *tools.Env, call tools.Call, in input) ([]*Task, error) {
	if len(in.Tasks) > 0 && strings.TrimSpace(in.Goal) != "" {
		return nil, errors.New("give either goal or tasks, not both")
	}
	limits := x.Limits()
	asked := in.asked()
	if len(asked) > limits.Children {
		return nil, fmt.Errorf("%d tasks, but at most %d subagents work at once (delegation.max_concurrent_children); send at most %[2]d in a call", len(asked), limits.Children)
	}
	tasks := make([]*Task, len(asked))
	for i, a := range asked {
		t := &Task{
			ID: store.NewID(), Parent: env.SessionID,
			Goal: strings.TrimSpace(a.Goal), Context: a.Context, Toolsets: a.Toolsets, Route: a.Route,
			Schema: a.OutputSchema, Iterations: iterations(limits, a.MaxIterations, in.MaxIterations),
			Call: call.ID, Index: i, Background: in.Background,
		}
		if a.Isolation == isolated {
			t.Isolation = string(isolated)
		}
		err := x.become(ctx, t, a.Agent)
		if err == nil {
			err = x.check(ctx, env, t)
		}
		if err != nil {
			if len(asked) > 1 {
				err = fmt.Errorf("tasks[%d]: %w", i, err)
			}
			return nil, err
		}
		tasks[i] = t
	}
	return tasks, nil
}

// iterations returns the first positive number, within the limit.
func iterations(l Limits, asked ...int) int {
	for _, n := range asked {
		if n > 0 {
			return min(n, l.Iterations)
		}
	}
	return l.Iterations
}

// check returns an error if a task cannot start.
func (x *Children) check(ctx context.Context, env *tools.Env, t *Task) error {
	if err := checkGoal(t.Goal); err != nil {
		return err
	}
	if _, err := x.toolsFor(env, t); err != nil {
		return err
	}
	if _, err := resolved(t.Schema); err != nil {
		return fmt.Errorf("output_schema is no JSON Schema: %w", err)
	}
	if t.Isolation != "" {
		if err := x.checkIsolation(ctx); err != nil {
			return err
		}
	}
	m, err := x.Model(ctx, t.Route)
	t.Model = m.Name
	return err
}

// placeholder matches texts written by models and templates in place of a goal.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:todo|tbd|fixme|goal|task|subtask|placeholder|example|none|null|undefined|n/a|x+|your (?:goal|task)(?: here)?|<[^<>]*>|\[[^\[\]]*\]|\{+[^{}]*\}+|\$\w+)[.:…!]*$`)
})

func checkGoal(goal string) error {
	switch {
	case goal == "":
		return errors.New("goal is missing or empty: say what the subagent shall do, whole, since it knows nothing of this conversation")
	case placeholder().MatchString(goal), strings.IndexFunc(goal, unicode.IsLetter) < 0:
		return fmt.Errorf("the goal %q is a placeholder: say what the subagent shall do, whole, since it knows nothing of this conversation", goal)
	}
	return nil
}

// resolved prepares a schema for validation. For an empty schema it returns nil.
func resolved(schema map[string]any) (*jsonschema.Resolved, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := remarshal(schema, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}
