package mcp

import (
	"path"
	"slices"
	"strings"
)

// User-set approvals of tools, and values of trust.
const (
	approveAsk   = "ask"
	approveAllow = "allow"
	approveDeny  = "deny"

	trustNone = "untrusted"
	trustFull = "full"
)

// offers reports whether the settings include a tool.
func (s *Server) offers(tool string) bool {
	return (len(s.Include) == 0 || matchesAny(s.Include, tool)) && !matchesAny(s.Exclude, tool)
}

func matchesAny(globs []string, tool string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, tool) })
}

// matches reports whether a tool's name matches a glob. An invalid glob matches only itself.
func matches(glob, tool string) bool {
	if glob == tool {
		return true
	}
	whole := strings.NewReplacer("/", "|") // a * also covers a slash
	ok, err := path.Match(whole.Replace(glob), whole.Replace(tool))
	return err == nil && ok
}

// approvalOf returns the user's setting for a tool: deny beats ask, ask beats allow. If nothing is
// set, it returns "".
func (s *Server) approvalOf(tool string) (approval string) {
	rank := []string{"", approveAllow, approveAsk, approveDeny}
	for glob, value := range s.Approve {
		if matches(glob, tool) && slices.Index(rank, value) > slices.Index(rank, approval) {
			approval = value
		}
	}
	return approval
}

// runsFreely reports whether a tool runs without approval, by the settings of its server and
// by the marks of the tool.
func (s *Server) runsFreely(d definition) bool {
	switch approval := s.approvalOf(d.name); {
	case approval != "":
		return approval == approveAllow
	case s.Trust == trustNone:
		return false
	case s.Trust == trustFull:
		return !d.destructive
	}
	return d.readOnly
}

// bothNamed returns the tools both included and excluded by name.
func (t ToolSettings) bothNamed() (names []string) {
	for _, name := range t.Include {
		if slices.Contains(t.Exclude, name) {
			names = append(names, name)
		}
	}
	return names
}
