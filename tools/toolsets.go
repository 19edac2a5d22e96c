package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// knownToolsets are those that configuration may speak of, whether or not a
// tool of theirs is in the set.
var knownToolsets = []string{
	"file", "terminal", "web", "code_execution", "delegation", "todo", "clarify",
	"memory", "session_search", "skills", "browser", "checkpoint", "vision",
}

// composites name several toolsets at once. All of coding, which the hosts'
// presets are, is what the set holds: what needs configuring is only there when
// it was configured.
var composites = map[string]func(Tool) bool{
	"coding":     func(Tool) bool { return true },
	"hermes-acp": func(Tool) bool { return true },
	"hermes-lsp": func(Tool) bool { return true },
	"safe": func(t Tool) bool {
		return t.Toolset == "web" || t.Toolset == "file" && t.ReadOnly
	},
}

// Preset names what a host offers when nothing is configured; host is "acp",
// "lsp", or anything else.
func Preset(host string) []string {
	if name := "hermes-" + host; composites[name] != nil {
		return []string{name}
	}
	return []string{"coding"}
}

// Select returns the tools of the enabled toolsets less those of the disabled
// ones, in a set with the same events and secrets. No enabled names mean coding.
func (s *Set) Select(enabled, disabled []string) (*Set, error) {
	if len(enabled) == 0 {
		enabled = Preset("")
	}
	all := s.List()
	on, err := matchers(enabled, all)
	if err != nil {
		return nil, err
	}
	off, err := matchers(disabled, all)
	if err != nil {
		return nil, err
	}
	selected := s.empty()
	for _, t := range all {
		if on.match(t) && !off.match(t) {
			if err := selected.Add(t); err != nil {
				return nil, err
			}
		}
	}
	return selected, nil
}

// Offers tells whether [Set.Select] would take tools of a toolset. A name that is not
// known takes nothing away: Select says what is wrong with it.
func Offers(toolset string, enabled, disabled []string) bool {
	if len(enabled) == 0 {
		enabled = Preset("")
	}
	t := Tool{Toolset: toolset}
	on, wrong := matchers(enabled, []Tool{t})
	off, wrongToo := matchers(disabled, []Tool{t})
	return wrong != nil || wrongToo != nil || on.match(t) && !off.match(t)
}

type toolMatchers []func(Tool) bool

func (m toolMatchers) match(t Tool) bool {
	return slices.ContainsFunc(m, func(f func(Tool) bool) bool { return f(t) })
}

func matchers(names []string, all []Tool) (toolMatchers, error) {
	var m toolMatchers
	for _, name := range names {
		one, err := matcher(name, all)
		if err != nil {
			return nil, err
		}
		m = append(m, one)
	}
	return m, nil
}

func matcher(name string, all []Tool) (func(Tool) bool, error) {
	if composite := composites[name]; composite != nil {
		return composite, nil
	}
	toolsets := toolsetNames(all)
	for _, candidate := range []string{name, strings.TrimSuffix(name, "_tools")} {
		// An MCP server that is down now has a toolset all the same.
		if slices.Contains(toolsets, candidate) || strings.HasPrefix(candidate, "mcp-") {
			return func(t Tool) bool { return t.Toolset == candidate }, nil
		}
	}
	for _, t := range all {
		if t.Name == name {
			return nil, fmt.Errorf("%q is a tool, not a toolset; its toolset is %q", name, t.Toolset)
		}
	}
	return nil, fmt.Errorf("unknown toolset %q; known are %s", name, strings.Join(Toolsets(all), ", "))
}

// Toolsets lists the names that Select knows when the set holds all.
func Toolsets(all []Tool) []string {
	return append(toolsetNames(all), slices.Sorted(maps.Keys(composites))...)
}

func toolsetNames(all []Tool) []string {
	names := slices.Clone(knownToolsets)
	for _, t := range all {
		if t.Toolset != "" && !slices.Contains(names, t.Toolset) {
			names = append(names, t.Toolset)
		}
	}
	return names
}
