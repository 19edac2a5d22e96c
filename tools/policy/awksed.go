package policy

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
)

// awk judges an awk program: it can start others and write files.
func awk(j *analyzer, c *call) {
	o := parse(c.args, "vFfiEe", "assign field-separator file include exec source")
	if o.has("f", "file", "i", "include", "E", "exec") && !o.exact("source") {
		if v, _ := o.get("f", "file", "E", "exec"); strings.HasPrefix(v.value.text, "/dev/") || v.value.text == "-" {
			if v.value.text != "-" && v.value.text != "/dev/stdin" || !j.stdin.known {
				j.ask(c, "runs what another command writes")
			}
			awkCode(j, c, j.stdin.text)
		}
		if v, ok := o.get("i", "include"); ok && v.value.text == "inplace" {
			j.writes(c, o.rest...)
		} else {
			return
		}
	}
	src := field{}
	if v, ok := o.get("e", "source"); ok {
		src = v.value
	} else if len(o.rest) > 0 {
		src = o.rest[0]
	}
	awkCode(j, c, src.text)
}

func awkCode(j *analyzer, c *call, src string) { effects(j, c, code.Awk(src)) }

// sedScript judges the commands of a sed script that run programs or write.
func sedScript(j *analyzer, c *call, src string) { effects(j, c, code.Sed(src)) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
