package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// Agent is a kind of subagent, defined by the user in a file.
type Agent struct {
	Name         string
	Description  string
	Instructions string
	Tools        []string // names of tools, toolsets, or tools of Claude Code; empty: the default toolsets
	Route        string   // a configured model; if the name is unknown, the session's model applies
}

// listBytes limits the agent list in the tool's description.
const listBytes = 1000

func (c *Config) agents() []Agent {
	if c.Agents == nil {
		return nil
	}
	return c.Agents()
}

// withAgents adds the list of agents to the tool. If there are none, it removes the parameter agent.
func (c *Config) withAgents(t tools.Tool) tools.Tool {
	all := c.agents()
	if len(all) == 0 {
		t.Schema = withoutAgent(t.Schema)
		return t
	}
	var b strings.Builder
	for i, a := range all {
		line := fmt.Sprintf("\n- %s: %s", a.Name, shorten.OneLine(a.Description, 200))
		if b.Len()+len(line) > listBytes-40 {
			fmt.Fprintf(&b, "\n- and %d more", len(all)-i)
			break
		}
		b.WriteString(line)
	}
	t.Description += "\nAgents for the parameter agent:" + b.String()
	return t
}

// withoutAgent removes the parameter agent, also from the tasks.
func withoutAgent(schema json.RawMessage) json.RawMessage {
	var top map[string]any
	if json.Unmarshal(schema, &top) != nil {
		return schema
	}
	for _, path := range [][]string{{"properties"}, {"properties", "tasks", "items", "properties"}} {
		at := top
		for _, key := range path {
			at, _ = at[key].(map[string]any) // a nil map is empty
		}
		delete(at, "agent")
	}
	out, err := json.Marshal(top)
	if err != nil {
		return schema
	}
	return out
}

// become applies an agent's settings to a task. Toolsets and a route named in the task take
// precedence.
func (c *Config) become(ctx context.Context, t *Task, name string) error {
	if name == "" {
		return nil
	}
	var known []string
	for _, a := range c.agents() {
		if known = append(known, a.Name); !strings.EqualFold(a.Name, name) {
			continue
		}
		t.Agent, t.Role, t.Tools = a.Name, a.Instructions, a.Tools
		if slices.Contains(t.Tools, "*") {
			t.Tools = nil // as without a list
		}
		if t.Route == "" && a.Route != "" {
			if _, err := c.Model(ctx, a.Route); err == nil {
				t.Route = a.Route
			}
		}
		return nil
	}
	if len(known) == 0 {
		return fmt.Errorf("there is no agent %q, and no other one", name)
	}
	return fmt.Errorf("there is no agent %q; there are %s", name, strings.Join(known, ", "))
}

// names reports whether a list of tools, toolsets and Claude Code tools includes a tool. It
// ignores parentheses in Claude Code rules, as in "Bash(git diff:*)": approvals cover them.
func names(list []string, t tools.Tool) bool {
	for _, name := range list {
		name, _, _ = strings.Cut(name, "(")
		if strings.EqualFold(name, t.Name) || strings.EqualFold(name, t.Toolset) || t.In(strings.ToLower(name)) {
			return true
		}
		if ours, _ := alias.Tool(name, func(tool string) bool { return tool == t.Name }); ours != "" {
			return true
		}
	}
	return false
}

// ToAgent returns a prompt for delegating a task to an agent without a model request.
func ToAgent(goal, name string) (agent.Input, error) {
	data, err := json.Marshal(map[string]string{"goal": goal, "agent": name})
	return Prompt([]string{goal}, data), err
}

var agentCommand = extension.Command{Name: "agent", Description: "Start a subagent of a kind", Hint: "NAME TASK", Order: 195}

// Commands returns /agent, if there are agents.
func (x *Instance) Commands() []extension.Command {
	if len(x.agents()) == 0 {
		return nil
	}
	c := agentCommand
	c.Run = func(context.Context, string) (string, error) { return "", nil }
	c.Send = func(ctx context.Context, args string) (sent extension.Sent, err error) {
		name, goal, _ := strings.Cut(strings.TrimSpace(args), " ")
		t := &Task{}
		if err := x.become(ctx, t, name); err != nil || name == "" {
			var list []string
			for _, a := range x.agents() {
				list = append(list, a.Name)
			}
			return sent, fmt.Errorf("/agent takes the name of an agent and a task; the agents are %s", strings.Join(list, ", "))
		}
		if goal = strings.TrimSpace(goal); goal == "" {
			return sent, fmt.Errorf("/agent %s needs a task, such as: /agent %[1]s Read the tests", t.Agent)
		}
		in, err := ToAgent(goal, t.Agent)
		return extension.Sent{Text: in.Text, Calls: in.Calls}, err
	}
	return []extension.Command{c}
}
