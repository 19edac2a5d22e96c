// Package code scans inline scripts for effects: files written or deleted, programs started, and
// constructs that hide them.
//
// [Read] does not parse. It splits code into names and texts, follows imports and variables that
// are set once, and looks each name up in the rules, which list the effects of functions. If code
// reaches a function in an unusual way, it requires approval.
package code

import (
	"cmp"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"golang.org/x/text/unicode/norm"
)

// Unknown replaces an unknown part of a text.
const Unknown = "\x00"

// Do applies an action of the rules, such as writes, to texts. Further actions:
//   - starts: a program with its arguments
//   - asks and blocks: a reason
//   - foreign: no texts; the code may run other code from elsewhere
//   - anywhere: all possible paths of a write with an unknown path
type Do func(action string, texts ...string)

// ask notes an invisible effect.
func (do Do) ask(reason string) {
	do("asks", reason)
	do("foreign")
}

const (
	maxSteps = 1 << 19  // tokens examined in a piece of code
	maxText  = 64 << 10 // bytes of a text
)

const (
	startsOther = "starts another program, which cannot be seen"
	madeUp      = "runs code that is made up while it runs"
)

// Read applies the effects of code for an interpreter, and returns the number of steps. home is the
// user's home directory.
func Read(program, src, home string, do Do) (steps int) {
	program = cmp.Or(rules.Reason("language", program), program)
	r := &reader{do: do, home: home, whole: src, names: map[string][]string{}, modules: map[string]bool{}, values: map[string]value{}}
	r.language = language(cmp.Or(rules.Reason("syntax", program), "other"))
	r.python, r.javascript = r.language == "python", r.language == "javascript"
	r.lists = strings.Fields(cmp.Or(rules.Reason("lists", program), program+" other script"))
	for text, lists := range rules.List(program + "-with") {
		if strings.Contains(norm.NFKC.String(src), text) {
			r.lists = append(strings.Fields(lists), r.lists...)
		}
	}
	if !r.python { // fs["unlink"] is fs.unlink
		one := expression("member")
		src = expression("members").ReplaceAllStringFunc(src, func(list string) string { return one.ReplaceAllString(list, ".$1") })
	}
	if r.javascript {
		src = expression("javascript-requires").ReplaceAllString(src, "$3 $1$2$4 ")
	}
	r.run(src)
	return r.steps
}

// spent counts steps and reports whether there were too many.
func (r *reader) spent(n int) bool {
	before := r.steps
	if r.steps += n; r.steps > maxSteps && before <= maxSteps {
		r.do.ask("is too long to be judged")
	}
	return r.steps > maxSteps
}

// writesAny notes a write to a path computed at run time: all paths in the code count.
func (r *reader) writesAny() {
	var paths []string
	src := expression("glued").ReplaceAllString(r.whole, "")
	r.whole = ""                                              // once is enough
	joined := expression("listed").ReplaceAllString(src, "/") // the parts of a path may be separate texts
	for _, match := range expression("path").FindAllStringSubmatch(joined+"\n"+src, -1) {
		paths = append(paths, "/"+match[1], r.home+"/"+match[1])
	}
	r.do("anywhere", paths...)
}
