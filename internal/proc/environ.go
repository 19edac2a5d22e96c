package proc

import (
	"os"
	"slices"
	"strings"
)

// secretWords mark a variable that is never passed on unless it is named in
// terminal.env_passthrough or declared by a loaded skill.
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PASSWD", "AUTH"}

// Secret tells whether a variable's name looks as if its value were one.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// Environ returns our own environment for a child, without variables that look secret and are
// not named in passthrough, and the names of these, sorted.
func Environ(passthrough []string) (env, withheld []string) {
	return Filter(os.Environ(), passthrough)
}

// Filter is Environ for another environment.
func Filter(environ, passthrough []string) (env, withheld []string) {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if Secret(name) && !slices.Contains(passthrough, name) {
			withheld = append(withheld, name)
			continue
		}
		env = append(env, kv)
	}
	slices.Sort(withheld)
	return env, withheld
}
