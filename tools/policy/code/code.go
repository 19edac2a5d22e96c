// Package code reads code of interpreters by its words, and lists its effects: the files that it
// deletes and writes, the programs that it starts, and the ways in which it hides that.
//
// [Read] does not parse. It splits code into names and texts, follows imports and variables
// that are set once, and looks each name up in the rules, which have the effect of a function.
// If code reaches a function in an odd way, it asks.
package code

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"golang.org/x/text/unicode/norm"
)

// Unknown stands in a text for a part that is not known.
const Unknown = "\x00"

// Home stands at the begin of a path for the home folder of the user.
const Home = "~"

// Effect is one act of a piece of code.
type Effect struct {
	Kind   Kind
	Reason string   // of Ask and Refuse
	Texts  []string // paths; a program with its arguments; or code
}

// Kind is the kind of an effect.
type Kind int

// Kinds of effects.
const (
	Ask      Kind = iota // requires approval
	Refuse               // is blocked
	Delete               // deletes or replaces files
	Tree                 // deletes folders with all that is in them
	Write                // writes files
	WriteAny             // writes a file that is not known; the texts are all parts of paths in the code
	Start                // starts a program with arguments
	Shell                // runs shell code
	SQL                  // runs SQL
	Foreign              // may run code that is not shown
)

// Rules returns the reason of a word in a list, and whether it is in the list.
type Rules func(list, word string) (reason string, ok bool)

const (
	maxSteps = 1 << 20  // tokens looked at in one piece of code
	maxText  = 64 << 10 // bytes of one text
	maxName  = 64       // bytes of a name that is looked up
)

const (
	tooLong     = "is too long to be judged"
	startsOther = "starts another program, which cannot be seen"
	madeUp      = "runs code that is made up while it runs"
)

// odd finds ways to reach a function without its name.
var odd = map[string]*lazyregexp.Regexp{
	"perl": lazyregexp.New(`&\s*(\$\w+\s*\(|\$\{|\{\s*["'$])`),
	"javascript": lazyregexp.New("[\\w.]\\\\u(\\{|[0-9a-fA-F]{4})|\\bprocess\\s*\\.\\s*(binding|dlopen|_linkedBinding)\\b|\\.constructor\\s*(\\.\\s*constructor\\s*)?\\(|\\b(setTimeout|setInterval|setImmediate)\\s*\\(\\s*['\"`]|" +
		"\\bimport\\s*\\(\\s*['\"`](data|https?):|\\beval\\s*:\\s*true|\\._load\\b|\\bglobalThis\\s*\\["),
}

// Read lists the effects of code for an interpreter.
func Read(program, src string, rules Rules) []Effect {
	effects, _ := read(program, src, rules)
	return effects
}

// read returns the effects, and how many steps it took to find them.
func read(program, src string, rules Rules) (effects []Effect, steps int) {
	r := reader{rules: rules, names: map[string]string{}, modules: map[string]bool{}, steps: new(int)}
	switch {
	case r.in("javascript-program", program):
		r.javascript, program = true, "javascript"
		r.lists = []string{program, "script"}
	case program == "python":
		r.python = true
		r.lists = []string{program}
		src = norm.NFKC.String(src) // as Python reads names
	default:
		r.lists = []string{program, "other", "script"}
	}
	if find := odd[program]; find != nil && find.MatchString(src) {
		r.ask(madeUp)
	}
	r.whole, r.src, r.toks = src, src, r.tokens(src)
	r.imports()
	if r.python {
		r.variables()
	}
	r.run()
	if r.loops != nil && r.forks > 0 && !r.python {
		r.add(Refuse, forkBomb)
	}
	return r.effects, *r.steps
}

func (r *reader) add(kind Kind, reason string, texts ...string) {
	r.effects = append(r.effects, Effect{kind, reason, texts})
}

// ask notes something that cannot be seen.
func (r *reader) ask(reason string) {
	r.add(Ask, reason)
	r.add(Foreign, "")
}

// spent counts steps and reports whether there were too many.
func (r *reader) spent(n int) bool {
	before := *r.steps
	if *r.steps += n; *r.steps <= maxSteps {
		return false
	}
	if before <= maxSteps {
		r.ask(tooLong)
	}
	return true
}

var (
	glued    = lazyregexp.New(`['"]\s*(\+|\.\.?)\s*['"]`)
	listed   = lazyregexp.New(`['"]\s*[,/]\s*['"]`)
	pathText = lazyregexp.New("['\"`}>/]~?[\\w./-]+")
)

// writesAny notes that a file is written whose path is made up when the code runs.
func (r *reader) writesAny() {
	if r.paths == nil {
		src := glued.ReplaceAllString(r.whole, "")
		joined := listed.ReplaceAllString(src, "/") // the parts of a path may be given one by one
		r.paths = []string{}
		for _, match := range pathText.FindAllStringSubmatch(joined+"\n"+src, -1) {
			r.paths = append(r.paths, strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(match[0], "'\"`}>"), "~"), "/"))
		}
		r.add(WriteAny, "", r.paths...)
	}
}
