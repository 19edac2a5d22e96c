package delegate

import (
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// toolsFor returns the tools of a task's subagent: the parent's tools in its toolsets, without
// tools of extensions that share nothing with subagents.
func (x *Children) toolsFor(env *tools.Env, t *Task) (*tools.Set, error) {
	if env.Dispatch.Set == nil {
		return nil, fmt.Errorf("this session has no tools to lend")
	}
	limits := x.Limits()
	asked := t.Toolsets
	if len(asked) == 0 {
		asked = limits.Toolsets
	}
	set := env.Dispatch.Set
	if len(t.Tools) > 0 && len(t.Toolsets) == 0 {
		asked, set = t.Tools, set.Where(func(tool tools.Tool) bool { return names(t.Tools, tool) })
	} else {
		var err error
		if set, err = set.Select(asked, nil); err != nil {
			return nil, err
		}
	}
	deeper := x.Depth+t.below+1 < limits.Depth
	left := 0
	set = set.Where(func(tool tools.Tool) bool {
		ok := mayHave(x.Extensions(), tool, deeper) && (tool.Deferred || env.Dispatch.Offers(tool.Name))
		if ok {
			left++
		}
		return ok
	})
	if left == 0 {
		return nil, fmt.Errorf("the toolsets %s leave a subagent no tool here; it may have what you have yourself, less delegation, clarify, memory and code_execution", strings.Join(asked, ", "))
	}
	return set, nil
}

// mayHave reports whether a subagent may have a tool of a session with these extensions.
func mayHave(extended *extension.Set, t tools.Tool, deeper bool) bool {
	if t.Toolset == Toolset {
		return deeper
	}
	return t.Owner == "" || extended.Derives(t.Owner)
}
