package code

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// Read stops after a bounded number of steps, even for hostile code.
func TestSteps(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	ignored := func(string, ...string) {}
	const size = 8 << 10
	for _, part := range []string{
		"os.system(", "os.system([", "os.system(os.system ", "a=(\n", "x=x+x\n", "x=x+'aaaaaaaa'\n", "from a import (b,\n", "a.", "a.touch(",
		"(a.touch(", ").touch(", ".open(\n", "a.open(,",
		"os.rename(", "getattr(a,", "importlib.import_module(", "globals()[", "c.execute(", "os.kill(-", "os.rename(b=", "os.system(b=", "f'{", "\"",
		"'", "`", "'\\'", "for x, ", "lambda a, ",
		"os.fork(", "for x in y: os.fork()\n", "timeit.timeit('", "f'{timeit.timeit(\"", "${`", "os.system(shlex.split(", "system([", "open(",
		"fork(", "for(;;)fork()", "rename(a,", "[", "x[\"a\"", "\\\n",
	} {
		src := strings.Repeat(part, size/len(part))
		for _, program := range []string{"python", "node", "perl"} {
			if steps := Read(program, src, "/home/u", ignored); steps > maxSteps+size {
				t.Errorf("%s, %q…: %d steps", program, part, steps)
			}
		}
	}
}
