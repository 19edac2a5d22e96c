package extension

import (
	"fmt"
	"strings"
)

// InputError is a mistake in the input of a user or client: the parameter, and the
// mistake.
type InputError struct{ Param, Text string }

func (e *InputError) Error() string { return e.Param + ": " + e.Text }

// BadInput returns an [InputError].
func BadInput(param, format string, a ...any) error {
	return &InputError{param, fmt.Sprintf(format, a...)}
}

// CodeList returns names as Markdown code, 20 of them at most.
func CodeList(names []string) string {
	const shown = 20
	var out []string
	for _, n := range names[:min(len(names), shown)] {
		out = append(out, "`"+n+"`")
	}
	if len(names) > shown {
		out = append(out, fmt.Sprintf("and %d more", len(names)-shown))
	}
	return strings.Join(out, ", ")
}
