package config

import (
	"os"
	"strings"
)

// Expand replaces ${NAME} and ${NAME:-default} from the environment and .env. It appends unset
// names to unset. A dollar without a brace stays.
func (l *Loaded) Expand(text string, unset *[]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			out.WriteString("${" + after)
			return out.String()
		}
		name, fallback, has := strings.Cut(name, ":-")
		value, set := l.environ[name]
		switch {
		case set && (value != "" || !has):
		case has:
			value = fallback
		case name == "HOME":
			value, _ = os.UserHomeDir()
		default:
			*unset = append(*unset, name)
		}
		out.WriteString(value)
		text = rest
	}
}
