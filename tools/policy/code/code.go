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
	maxSteps = 1 << 19  // tokens looked at in one piece of code
	maxText  = 64 << 10 // bytes of one text
)

const (
	tooLong     = "is too long to be judged"
	startsOther = "starts another program, which cannot be seen"
	madeUp      = "runs code that is made up while it runs"
)

// requires finds modules of JavaScript that are loaded by their names.
var requires = lazyregexp.New("(?:\\b[\\w.]+\\.|\\b)(?:require|import)\\s*\\(\\s*" + moduleText + "\\s*\\)|(\\bfrom)\\s*" + moduleText)

const moduleText = "[\"'`](?:node:)?([a-z_]+)(?:/\\w+)*[\"'`]"

// Read lists the effects of code for an interpreter.
func Read(program, src string, rules Rules) []Effect {
	return read(program, src, rules).effects
}

func read(program, src string, rules Rules) *reader {
	r := &reader{rules: rules, names: map[string][]string{}, modules: map[string]bool{}, values: map[string][]token{}}
	switch {
	case r.in("javascript-program", program):
		program, r.javascript = "javascript", true
		r.lists = []string{program, "script"}
	case program == "python":
		r.lists, r.python = []string{program}, true
		src = norm.NFKC.String(src) // as Python reads names
	default:
		r.lists = []string{program, "other", "script"}
	}
	if r.whole = src; r.javascript {
		src = requires.ReplaceAllString(src, "$2 $1$3 ")
	}
	if r.language = languages[program]; r.language == nil {
		r.language = languages[""]
	}
	r.run(src)
	return r
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
	before := r.steps
	if r.steps += n; r.steps <= maxSteps {
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
	if r.wroteAny {
		return
	}
	r.wroteAny = true
	var paths []string
	src := glued.ReplaceAllString(r.whole, "")
	joined := listed.ReplaceAllString(src, "/") // the parts of a path may be given one by one
	for _, match := range pathText.FindAllStringSubmatch(joined+"\n"+src, -1) {
		paths = append(paths, strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(match[0], "'\"`}>"), "~"), "/"))
	}
	r.add(WriteAny, "", paths...)
}
