package api

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

var (
	// ofOutput matches the names of a response and of its limit.
	ofOutput = lazyregexp.New(`max_(?:completion_|output_|new_)?tokens|maxoutputtokens|max output tokens|maximum output|completion|output tokens|in the output`)
	// tooMuch matches messages about too large a value.
	tooMuch = lazyregexp.New(`too (?:large|high|big|many)|exceed|maximum|at most|above|range|less than|greater than|<=|≤|>|only afford|must be`)
)

// OutputLimit returns the response limit acceptable to an endpoint, from its message about a
// request refused with the limit sent. whole reports whether the limit is the model's or the
// account's. Otherwise, it is the rest of the context window, for this request only. If the
// message is not about the limit, or leaves no room for a response, OutputLimit returns 0.
func OutputLimit(message string, sent int) (limit int, whole bool) {
	text := strings.ToLower(message)
	if sent <= 1 || !ofOutput.MatchString(text) || !tooMuch.MatchString(text) {
		return 0, false
	}
	all := numbersIn(text)
	if rest, ok := restOfWindow(text, all, sent); ok {
		return rest, false
	}
	named := 0
	for _, preferred := range []bool{true, false} {
		for _, n := range all {
			if n.value < sent && n.value > named && (limits.MatchString(n.before) && !notLimits.MatchString(n.before) || !preferred) {
				named = n.value
			}
		}
		if named > 1 {
			break
		}
	}
	if named > 1 && strings.Contains(text, "exclusive") {
		named--
	}
	switch {
	case named >= leastOutput:
		return named, true
	case named <= 1 && sent/2 >= leastOutput && !slices.ContainsFunc(unknownParameter, func(words string) bool { return strings.Contains(text, words) }):
		return sent / 2, true // no number is named
	}
	return 0, false
}

// leastOutput is the smallest response limit, in tokens, for repeating a request.
const leastOutput = 64

// unknownParameter holds words of messages about unknown parameters.
var unknownParameter = []string{"unsupported", "not support", "unknown", "unrecognized", "unrecognised", "unexpected", "instead", "not permitted", "not allowed", "extra", "deprecated", "invalid parameter", "does not exist"}

// RefusesParameter reports whether message means that the endpoint does not know a parameter.
func RefusesParameter(message string) bool {
	text := strings.ToLower(message)
	return slices.ContainsFunc(unknownParameter, func(words string) bool { return strings.Contains(text, words) })
}

// RefusesField reports whether message means that the endpoint does not know a field in names.
// The names are in lower case.
func RefusesField(message string, names ...string) bool {
	if !RefusesParameter(message) {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(words, name) })
}

// restOfWindow returns the part of the context window left for the response, if a message names
// both the window and the input. Otherwise ok is false.
func restOfWindow(text string, all []number, sent int) (rest int, ok bool) {
	window, input := 0, 0
	for _, n := range all { // together with the sum of both
		if slices.ContainsFunc(all, func(sum number) bool { return n.value != sent && sum.value == n.value+sent }) {
			input = n.value
		}
	}
	if input > 0 {
		for _, n := range all {
			if n.value < input+sent && n.value != input && n.value != sent && n.value > window {
				window = n.value
			}
		}
	} else if window = WindowIn(text); window > sent {
		for _, n := range all {
			if n.value < window && n.value != sent && n.value > input {
				input = n.value
			}
		}
	}
	if input == 0 || window == 0 || input+sent <= window {
		return 0, false
	}
	if rest = window - input; rest < min(1024, window/8) {
		return 0, true // a shorter history is needed
	}
	return rest, true
}
