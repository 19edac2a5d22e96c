package codeexec

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Values of Config.MCPTools. Another value is none.
const (
	mcpAll      = "all"
	mcpReadOnly = "read_only"
)

// mcpName is the function with which scripts call tools of MCP servers.
const mcpName = "mcp_call"

// mcpFunction returns the function mcpName. It is not a tool of the model.
func mcpFunction() tools.Tool {
	return tools.Tool{
		Name: mcpName, Kind: tools.KindOther, Script: "(server, tool, arguments={}) → the result of a tool of an MCP server",
		Description: "Calls a tool of an MCP server.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"server":{"type":"string"},"tool":{"type":"string","description":"the server's name for it"},"arguments":{"type":"object"}},"required":["server","tool"]}`),
	}
}

// callsMCP reports whether scripts can call the function.
func (r *Runner) callsMCP() bool {
	return r.cfg.MCPTool != nil && (r.cfg.MCPTools == mcpAll || r.cfg.MCPTools == mcpReadOnly)
}

// functionsOf returns the functions of a script.
func (r *Runner) functionsOf(env *tools.Env) []tools.Tool {
	all := functions(env)
	if r.callsMCP() {
		all = append(all, mcpFunction())
	}
	return all
}

// callMCP runs a call of the function: it puts the tool of the session into the set of the script
// and calls it there, with the same gate and events.
func (r *Runner) callMCP(ctx context.Context, s script, args json.RawMessage) tools.Result {
	var in struct {
		Server, Tool string
		Arguments    json.RawMessage
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Fail("%s: %v", mcpName, err)
	}
	name := r.cfg.MCPTool(in.Server, in.Tool)
	t, ok := s.session.Get(name)
	if !ok && s.session.Missing != nil {
		s.session.Missing(name)
		t, ok = s.session.Get(name)
	}
	switch {
	case !ok:
		return tools.Fail("The MCP server %q has no tool %q in this session.", tools.OneLine(in.Server, 80), tools.OneLine(in.Tool, 80))
	case r.cfg.MCPTools == mcpReadOnly && !t.ReadOnly:
		return tools.Fail("%s is not marked read-only, and code_execution.mcp_tools is read_only. Call it without a script.", name)
	}
	if len(in.Arguments) == 0 || string(in.Arguments) == "null" {
		in.Arguments = json.RawMessage("{}")
	}
	t.Override = true
	if err := s.env.Dispatch.Set.Add(t); err != nil {
		return tools.Fail("%v", err)
	}
	result, err := s.env.Dispatch.Set.Call(ctx, s.env, tools.Call{ID: s.call.ID, Name: name, Args: in.Arguments})
	if err != nil {
		return tools.Fail("%s: %v", name, fmt.Errorf("not completed: %w", err))
	}
	return result
}
