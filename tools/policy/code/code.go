// Package code reads code of interpreters by its words, and applies its effects: the files that it
// deletes and writes, the programs that it starts, and the ways in which it hides that.
//
// [Read] does not parse. It splits code into names and texts, follows imports and variables
// that are set once, and looks each name up in the rules, which have the effect of a function.
// If code reaches a function in an odd way, it asks.
package code

import (
	"cmp"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"golang.org/x/text/unicode/norm"
)

// Unknown stands in a text for a part that is not known.
const Unknown = "\x00"

// Do applies an action of the rules, such as writes, to a text. Besides those:
//   - starts has a program with its arguments
//   - asks and refused have a reason
//   - foreign has nothing: the code may run other code that is not shown
//   - anywhere has all parts of paths in the code: it writes a file that is not known
type Do func(action string, texts ...string)

const (
	maxSteps = 1 << 19  // tokens looked at in one piece of code
	maxText  = 64 << 10 // bytes of one text
)

const (
	tooLong     = "is too long to be judged"
	startsOther = "starts another program, which cannot be seen"
	madeUp      = "runs code that is made up while it runs"
)

var (
	requires                = expression("javascript-requires")
	members, member         = expression("members"), expression("member")
	glued, listed, pathText = expression("glued"), expression("listed"), expression("path")
)

// Read applies the effects of code for an interpreter. home is the home folder of the user.
func Read(program, src, home string, do Do) { read(program, src, home, do) }

func read(program, src, home string, do Do) *reader {
	program = cmp.Or(rules.Reason("language", program), program)
	r := &reader{do: do, home: home, whole: src, names: map[string][]string{}, modules: map[string]bool{}, values: map[string]value{}}
	r.language = cmp.Or(languages[program], languages["other"])
	r.lists = strings.Fields(cmp.Or(rules.Reason("lists", program), program+" other script"))
	if program != "python" { // fs["unlink"] is fs.unlink
		src = members().ReplaceAllStringFunc(src, func(list string) string { return member().ReplaceAllString(list, ".$1") })
	}
	switch program {
	case "javascript":
		r.javascript, src = true, requires().ReplaceAllString(src, "$3 $1$2$4 ")
	case "python":
		r.python, src = true, norm.NFKC.String(src) // as Python reads names
		r.whole = src
	}
	r.run(src)
	return r
}

// ask notes something that cannot be seen.
func (r *reader) ask(reason string) {
	r.do("asks", reason)
	r.do("foreign")
}

// spent counts steps and reports whether there were too many.
func (r *reader) spent(n int) bool {
	before := r.steps
	if r.steps += n; r.steps > maxSteps && before <= maxSteps {
		r.ask(tooLong)
	}
	return r.steps > maxSteps
}

// writesAny notes that a file is written whose path is made up when the code runs.
func (r *reader) writesAny() {
	if r.wroteAny {
		return
	}
	r.wroteAny = true
	var paths []string
	src := glued().ReplaceAllString(r.whole, "")
	joined := listed().ReplaceAllString(src, "/") // the parts of a path may be given one by one
	for _, match := range pathText().FindAllStringSubmatch(joined+"\n"+src, -1) {
		paths = append(paths, strings.TrimLeft(match[1], "/"))
	}
	r.do("anywhere", paths...)
}
