package policy

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// fetches tells whether the operands of a copy are an address and a file here.
func fetches(operands []verb) bool {
	return len(operands) > 1 && strings.Contains(operands[0].text, "://") && !strings.Contains(operands[1].text, ":") && !strings.Contains(operands[1].text, unknown)
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

// verb is one word of a command that is not an option.
type verb struct {
	text  string
	value bool // it may be the value of the option before it
}

// verbsOf returns the words of a command without its options.
func verbsOf(args []field) (words []verb) {
	for i := 0; i < len(args) && args[i].text != "--"; i++ {
		if !args[i].option() {
			words = append(words, verb{args[i].text, i > 0 && args[i-1].option() && !strings.Contains(args[i-1].text, "=")})
		}
	}
	return words
}

// begins reports whether words begin with those of a pattern. A word that may be the value
// of an option may be skipped.
func begins(words []verb, pattern []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case len(words) == 0:
		return false
	case words[0].value && begins(words[1:], pattern):
		return true
	}
	before, after, star := strings.Cut(pattern[0], "*")
	text := words[0].text
	if !star && text != before || star && (len(text) < len(pattern[0])-1 || !strings.HasPrefix(text, before) || !strings.HasSuffix(text, after)) {
		return false
	}
	return begins(words[1:], pattern[1:])
}
