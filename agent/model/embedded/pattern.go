package embedded

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first needed: every start of the
// program would pay for it otherwise, also those without this model.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
