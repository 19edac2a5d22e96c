package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// changes applies a rule about the first words of a command. It does not apply if the command
// only shows its effect, or only copies from an address to here.
func (t *terms) changes(r rules.Rule) bool {
	if r.Action != "deletes" && onlyShows(t.c.args, rules.Reason("also-shows", t.c.name)) {
		return false
	}
	for _, pattern := range r.What {
		rest, ok := begins(t.c.args, 0, strings.Fields(pattern))
		rest = slices.DeleteFunc(slices.Clone(rest), field.option)
		fetches := r.Action == "uploads" && len(rest) > 1 && strings.Contains(rest[0].text, "://") && !strings.ContainsAny(rest[1].text, ":"+unknown)
		if ok && !fetches {
			t.j.ask(t.c, r.Reason)
			return true
		}
	}
	return false
}

// onlyShows reports whether a command only prints help or shows its effect. If another option
// cancels that, it returns false.
func onlyShows(args []field, also string) bool {
	shows := false
	for i, a := range args {
		name, val, has := strings.Cut(a.text, "=")
		if !has && i+1 < len(args) {
			val = args[i+1].text // npm takes "--dry-run false", too
		}
		opposite, negated := strings.CutPrefix(name, "--no-")
		switch {
		case a.text == "--":
			return shows
		case negated && rules.In("shows-only", "--"+opposite):
			return false
		case rules.In("shows-only", name) && a.option() && contains("none false", val):
			return false
		case rules.In("shows-only", name) && a.option(), also != "" && a.text == also:
			shows = true
		}
	}
	return shows
}

// begins reports whether arguments begin with the words of a pattern, from one on, and returns those
// behind them. Options and words that may be their values are skipped.
func begins(args []field, i int, pattern []string) (rest []field, ok bool) {
	switch {
	case len(pattern) == 0:
		return args[i:], true
	case i == len(args) || args[i].text == "--":
		return nil, false
	case args[i].option() || i > 0 && args[i-1].option() && !strings.Contains(args[i-1].text, "="):
		if rest, ok = begins(args, i+1, pattern); ok {
			return rest, true
		}
	}
	before, after, star := strings.Cut(pattern[0], "*")
	text := args[i].text
	if !star && text != before || star && (len(text) < len(pattern[0])-1 || !strings.HasPrefix(text, before) || !strings.HasSuffix(text, after)) {
		return nil, false
	}
	return begins(args, i+1, pattern[1:])
}
