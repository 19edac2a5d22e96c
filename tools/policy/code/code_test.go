package code

import (
	"strings"
	"testing"
)

// Code that is made to take for ever is given up after a bounded number of steps.
func TestSteps(t *testing.T) {
	t.Parallel()
	rules := func(list, word string) (string, bool) {
		effect := map[string]string{"f": "start", "g": "write", "os.f": "start", ".w": "receiver", ".o(": "open-receiver", "m": "move", "g2": "get", "i": "module", "n": "namespace", "s": "sql", "k": "kill", "fork": "fork", "for": "loop", "e": "code"}[word]
		return effect, effect != "" && (list == "python" || list == "script")
	}
	const size = 8 << 10
	for _, part := range []string{
		"f(", "f([", "f(f ", "a=(\n", "x=x+x\n", "x=x+'aaaaaaaa'\n", "from a import (b,\n", "a.", "a.w(", "(a.w(", ").w(", ".o(\n", "a.o(,", "m(", "g2(a,", "i(", "n()[", "s(", "k(-", "m(b=", "f(b=", "f'{", "\"", "'", "`", "'\\'", "for x, ", "lambda a, ", "fork(", "for x in y: fork()\n", "e('", "f'{e(\"", "${`", "f(shlex.split(", "[", "x[\"a\"", "\\\n",
	} {
		src := strings.Repeat(part, size/len(part))
		for _, program := range []string{"python", "node", "perl"} {
			if steps := read(program, src, rules).steps; steps > maxSteps+size {
				t.Errorf("%s, %q…: %d steps", program, part, steps)
			}
		}
	}
}
