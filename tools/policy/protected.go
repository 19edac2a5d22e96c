package policy

import (
	"path"
	"slices"
	"strings"
)

// special judges paths that configure or run something wherever they lie.
func special(folded string) (Level, string) {
	parts := strings.Split(folded, "/")
	for i, part := range parts {
		if part == ".git" {
			return inGit(parts[i+1:])
		}
		if reason := reasonIn("protected-folder", part); reason != "" {
			return Asks, reason + " (" + visible(part) + ")"
		}
	}
	last := parts[len(parts)-1]
	reason := reasonIn("protected-path", last)
	if reason == "" && len(parts) > 1 {
		reason = reasonIn("protected-path", path.Join(parts[len(parts)-2], last))
	}
	for ending, why := range rules().lists["protected-ending"] {
		if strings.HasSuffix(last, ending) {
			reason = why
		}
	}
	if reason != "" {
		return Asks, reason + " (" + visible(last) + ")"
	}
	return Runs, ""
}

// patternMayMatch returns a protected name that a pattern of the shell matches, or "".
// Only a pattern that begins with a dot matches names that do.
func patternMayMatch(pattern string) string {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return name
		}
	}
	if pattern[0] != '.' && pattern[0] != '[' {
		return ""
	}
	names := []string{".git", ".hermes"}
	for _, list := range []string{"protected-folder", "protected-path"} {
		for name := range rules().lists[list] {
			if name[0] == '.' && !strings.Contains(name, "/") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if ok, err := path.Match(strings.ToLower(pattern), name); err == nil && ok {
			return name
		}
	}
	return ""
}

// matches judges a pattern that may stand for a file that asks.
func matches(name string) access {
	for part := range strings.SplitSeq(name, "/") {
		if !strings.ContainsAny(part, "*?[") {
			continue
		}
		if name := patternMayMatch(part); name != "" {
			return access{Asks, "may change " + name + ", which the pattern matches", true}
		}
	}
	return access{}
}
