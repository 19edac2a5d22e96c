package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reservedToolsets are valid names in the configuration without a feature yet.
var reservedToolsets = []string{"browser", "vision"}

// composites name several toolsets at once. coding, the hosts' presets, contains the whole set:
// features that need configuration are present only if configured.
var composites = map[string]func(Tool) bool{
	"coding":     func(Tool) bool { return true },
	"hermes-acp": func(Tool) bool { return true },
	"hermes-lsp": func(Tool) bool { return true },
	"safe": func(t Tool) bool {
		return t.Toolset == "web" || t.Toolset == "file" && t.ReadOnly
	},
}

// In reports whether the tool is in a toolset. A composite name contains the tools of all its
// toolsets. An old name ends in _tools.
func (t Tool) In(toolset string) bool {
	if composite := composites[toolset]; composite != nil {
		return composite(t)
	}
	return t.Toolset == toolset || t.Toolset == strings.TrimSuffix(toolset, "_tools")
}

// Preset returns the default toolsets of a host; host is "acp", "lsp", or any other name.
func Preset(host string) []string {
	if name := "hermes-" + host; composites[name] != nil {
		return []string{name}
	}
	return []string{"coding"}
}

// Select returns the tools of the enabled toolsets without the disabled toolsets, in a set with the
// same events and secrets. If enabled is empty, it means coding.
func (s *Set) Select(enabled, disabled []string) (*Set, error) {
	if len(enabled) == 0 {
		enabled = Preset("")
	}
	all := s.List()
	on, err := s.matchers(enabled, all)
	if err != nil {
		return nil, err
	}
	off, err := s.matchers(disabled, all)
	if err != nil {
		return nil, err
	}
	selected := s.empty()
	takes := func(t Tool) bool { return on.match(t) && !off.match(t) }
	selected.admits = append(selected.admits, takes)
	for _, t := range all {
		if takes(t) {
			if err := selected.Add(t); err != nil {
				return nil, err
			}
		}
	}
	return selected, nil
}

// Offers reports whether [Set.Select] would take tools of a toolset. If a name is unknown, it
// returns true: Select returns an error for it.
func (s *Set) Offers(toolset string, enabled, disabled []string) bool {
	if len(enabled) == 0 {
		enabled = Preset("")
	}
	t := Tool{Toolset: toolset}
	on, unknown := s.matchers(enabled, []Tool{t})
	off, unknownToo := s.matchers(disabled, []Tool{t})
	return unknown != nil || unknownToo != nil || on.match(t) && !off.match(t)
}

// Knows reports whether a toolset's name is valid in the configuration and a feature provides it.
// Each MCP server and plugin has a toolset.
func (s *Set) Knows(toolset string) bool {
	_, err := s.matcher(toolset, s.List())
	return err == nil && (!slices.Contains(reservedToolsets, toolset) || slices.Contains(s.Toolsets, toolset))
}

type toolMatchers []func(Tool) bool

func (m toolMatchers) match(t Tool) bool {
	return slices.ContainsFunc(m, func(f func(Tool) bool) bool { return f(t) })
}

func (s *Set) matchers(names []string, all []Tool) (toolMatchers, error) {
	var m toolMatchers
	for _, name := range names {
		one, err := s.matcher(name, all)
		if err != nil {
			return nil, err
		}
		m = append(m, one)
	}
	return m, nil
}

func (s *Set) matcher(name string, all []Tool) (func(Tool) bool, error) {
	if composite := composites[name]; composite != nil {
		return composite, nil
	}
	toolsets := s.toolsetNames(all)
	for _, candidate := range []string{name, strings.TrimSuffix(name, "_tools")} {
		// An MCP server has a toolset even while it is down.
		if slices.Contains(toolsets, candidate) || strings.HasPrefix(candidate, "mcp-") {
			return func(t Tool) bool { return t.Toolset == candidate }, nil
		}
	}
	for _, t := range all {
		if t.Name == name {
			return nil, fmt.Errorf("%q is a tool, not a toolset; its toolset is %q", name, t.Toolset)
		}
	}
	return nil, fmt.Errorf("unknown toolset %q; known are %s", name, strings.Join(append(toolsets, slices.Sorted(maps.Keys(composites))...), ", "))
}

// toolsetNames returns the valid toolset names of the configuration.
func (s *Set) toolsetNames(all []Tool) []string {
	names := slices.Clone(s.Toolsets)
	for _, name := range reservedToolsets {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, t := range all {
		if t.Toolset != "" && !slices.Contains(names, t.Toolset) {
			names = append(names, t.Toolset)
		}
	}
	return names
}
