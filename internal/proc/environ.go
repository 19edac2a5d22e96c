package proc

import (
	"os"
	"slices"
	"strings"
)

// secretWords mark a variable as secret. It is passed on only if it is named in
// terminal.env_passthrough or declared by a loaded skill.
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PASSWD", "AUTH"}

// Secret reports whether a variable's name suggests a secret value.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// Environ returns our environment for a child. It withholds secret-looking variables not named in
// passthrough, and returns their names, sorted.
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
