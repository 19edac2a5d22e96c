package hooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nestedForm is the error of a hook in the form of Claude Code's settings.
const nestedForm = "it is in the nested form of Claude Code's settings. Run `hermes-ls hooks import FILE`, which writes it in the form of config.yaml, or write it as {matcher, command, timeout}"

// nested reports whether the hooks of an event are in the form of Claude Code: an entry holds a
// list hooks.
func nested(value any) bool {
	list, _ := value.([]any)
	return slices.ContainsFunc(list, func(e any) bool {
		group, _ := e.(map[string]any)
		_, ok := group["hooks"]
		return ok
	})
}

// Imported are hooks in the form of config.yaml, by event.
type Imported struct {
	Hooks map[string][]any
	Notes []string // omitted parts
}

// Import reads Claude Code's settings: their section hooks, or the section itself. Commands that
// need a shell get a shell. Hooks in the form of config.yaml stay as they are.
func Import(settings map[string]any) Imported {
	if section, ok := settings["hooks"].(map[string]any); ok {
		settings = section
	}
	out := Imported{Hooks: map[string][]any{}}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !IsEvent(name) {
			if list, ok := settings[name].([]any); ok && nested(list) {
				out.Notes = append(out.Notes, fmt.Sprintf("%s is not an event here; its hooks are left out", name))
			}
			continue
		}
		list, _ := settings[name].([]any)
		for _, e := range list {
			out.add(name, e)
		}
	}
	return out
}

// add adds an entry of an event.
func (i *Imported) add(event string, e any) {
	group, _ := e.(map[string]any)
	inner, ok := group["hooks"].([]any)
	if !ok {
		i.Hooks[event] = append(i.Hooks[event], e)
		return
	}
	for _, one := range inner {
		hook, _ := one.(map[string]any)
		command, _ := hook["command"].(string)
		kind, _ := hook["type"].(string)
		if command == "" || kind != "" && kind != "command" {
			i.Notes = append(i.Notes, fmt.Sprintf("%s: a hook of type %q is left out; only commands run here", event, kind))
			continue
		}
		entry := map[string]any{"command": withShell(command)}
		if matcher, _ := group["matcher"].(string); strings.TrimSpace(matcher) != "" && matcher != "*" {
			entry["matcher"] = cleanMatcher(matcher)
		}
		if hook["timeout"] != nil {
			entry["timeout"] = hook["timeout"]
		}
		i.Hooks[event] = append(i.Hooks[event], entry)
	}
}

// withShell returns a command that runs without a shell. If it uses shell syntax, a shell is added.
func withShell(command string) string {
	if _, err := split(command); err == nil && !strings.ContainsAny(command, "$|&;<>(){}*?`\n") {
		return command
	}
	return "sh -c '" + strings.ReplaceAll(command, "'", `'\''`) + "'"
}

// cleanMatcher removes white space around a matcher and its alternatives. It comes from YAML blocks
// and multi-line lists.
func cleanMatcher(matcher string) string {
	parts := strings.Split(matcher, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, "|")
}
