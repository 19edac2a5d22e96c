package hooks

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// payload is the input of a hook.
type payload struct {
	Event      string         `json:"hook_event_name"`
	Tool       string         `json:"tool_name"`
	Input      any            `json:"tool_input"`
	Response   any            `json:"tool_response,omitempty"`
	SessionID  string         `json:"session_id"`
	Cwd        string         `json:"cwd"`
	Transcript string         `json:"transcript_path"`
	Extra      map[string]any `json:"extra"`
	// Additional fields of Claude Code's events.
	Prompt     string `json:"prompt,omitempty"`
	StopActive *bool  `json:"stop_hook_active,omitempty"`
	Source     string `json:"source,omitempty"`
	Trigger    string `json:"trigger,omitempty"`
	CallID     string `json:"tool_use_id,omitempty"`
}

// known are the tools of Claude Code. Tools without other names come first.
var known = []string{"Bash", "Read", "Edit", "Write", "Grep", "Glob", "WebFetch", "WebSearch", "Task", "TodoWrite",
	"MultiEdit", "NotebookEdit", "NotebookRead", "Agent", "Skill", "AskUserQuestion", "ExitPlanMode"}

// claudeTools returns Claude Code's names of a tool. If it has none, the tool's name is returned.
func claudeTools(t tools.Tool) (all []string) {
	if server, ok := strings.CutPrefix(t.Toolset, "mcp-"); ok {
		if name, ok := strings.CutPrefix(t.Name, "mcp_"+server+"_"); ok {
			return []string{"mcp__" + server + "__" + name}
		}
	}
	for _, name := range known {
		if ours, _ := alias.Tool(name, func(tool string) bool { return tool == t.Name }); ours == "" {
			continue
		}
		if all = append(all, name); name == "Glob" { // whose tool lists, too
			all = append(all, "LS")
		}
	}
	if len(all) == 0 {
		all = []string{t.Name}
	}
	return all
}

// onlyKnown removes a hook's arguments unknown to the tool, such as arguments of Claude Code.
// Otherwise the call would be rejected.
func onlyKnown(t tools.Tool, args, before json.RawMessage) json.RawMessage {
	var in, old map[string]json.RawMessage
	if len(args) == 0 || json.Unmarshal(args, &in) != nil || json.Unmarshal(before, &old) != nil {
		return args
	}
	odd := false
	for name := range in {
		if _, had := old[name]; !had && !t.Takes(name) && !alias.Parameter(t.Name, name) {
			delete(in, name)
			odd = true
		}
	}
	if !odd {
		return args
	}
	out, err := json.Marshal(in)
	if err != nil {
		return args
	}
	return out
}

// fileKey is Claude Code's name of the argument path. It is always absolute.
const fileKey = "file_path"

// claudeInput returns arguments with the path under Claude Code's name, too.
func claudeInput(args json.RawMessage, cwd string) any {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return args
	}
	if path, ok := in["path"].(string); ok && in[fileKey] == nil {
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		in[fileKey] = path
	}
	return in
}

// ourInput returns the arguments of a hook under our names.
func ourInput(input, before json.RawMessage, cwd string) json.RawMessage {
	var in, old map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(before, &old) != nil || in[fileKey] == nil || old[fileKey] != nil {
		return input
	}
	var given, path string
	_ = json.Unmarshal(in[fileKey], &given)
	_ = json.Unmarshal(old["path"], &path)
	in = maps.Clone(in)
	delete(in, fileKey)
	if path != given && filepath.Join(cwd, path) != given || in["path"] == nil {
		if data, err := json.Marshal(given); err == nil {
			in["path"] = data
		}
	}
	out, err := json.Marshal(in)
	if err != nil {
		return input
	}
	return out
}
