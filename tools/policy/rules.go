package policy

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/protected"
)

// The files in rules describe the effects of programs by their options and words.
// rules/README.md describes the format.
//
//go:embed rules/*.txt
var ruleFiles embed.FS

// ruleset is the content of the rule files. It does not change.
type ruleset struct {
	programs map[string]*program
	lists    map[string]map[string]string // by list and word: the reason of the list
	patterns map[string]*regexp.Regexp    // of terms, by their text
}

// program holds the rules of a program, or of a command of one with a name like "git push".
type program struct {
	short, long string          // options that take a value: letters, and names separated by spaces
	flags       map[string]bool // all options but these take a value; nil: short and long do
	opens       map[string]bool // options with which it runs no other code; "*" is any; nil: it may
	known       bool            // its arguments are no programs
	skips       int             // arguments before the command that it runs
	leads       bool            // only the options before its first operand are its own
	assigns     bool            // NAME=VALUE before the command sets a variable
	bundled     bool            // its first argument may be options without a dash
	numbers     bool            // the first argument may be a number as an option, and others are operands
	suffixed    bool            // -i may carry a suffix
	words       bool            // a word behind one dash is one option
	last        map[string]bool // behind the value of these options stand no more
	rules       []rule
	handlers    []func(*analyzer, *call) // they follow the rules
}

// rule is one line: an effect under conditions.
type rule struct {
	action string
	other  bool       // it holds only if the rule before it did not
	what   []string   // the operands of the action
	when   [][]string // terms: of each group, one must hold
	reason string
	match  []string // commands that it applies to, for tests
	not    []string // commands that it does not apply to
	at     string   // file and line
}

var (
	parsed     *ruleset
	parsedOnce sync.Once
)

// rules parses the files when the first command is judged.
func rules() *ruleset {
	parsedOnce.Do(func() {
		var err error
		if parsed, err = readRules(ruleFiles); err != nil {
			panic(err) // a test reads the same files
		}
	})
	return parsed
}

func readRules(files fs.FS) (*ruleset, error) {
	set := &ruleset{programs: map[string]*program{}, lists: map[string]map[string]string{}, patterns: map[string]*regexp.Regexp{}}
	for _, name := range protected.Names() {
		set.list("protected-" + name.Kind)[strings.ToLower(name.Text)] = name.Reason
	}
	names, err := fs.Glob(files, "rules/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		reader := ruleReader{set: set, handlers: handlers()}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			reader.at = fmt.Sprintf("%s:%d", name, number)
			if err := reader.line(line); err != nil {
				return nil, fmt.Errorf("%s: %w", reader.at, err)
			}
		}
	}
	return set, nil
}

// list returns the list of a name, which may be new.
func (s *ruleset) list(name string) map[string]string {
	if s.lists[name] == nil {
		s.lists[name] = map[string]string{}
	}
	return s.lists[name]
}

// ruleReader reads one file.
type ruleReader struct {
	set      *ruleset
	handlers map[string]func(*analyzer, *call)
	at       string
	block    []*program        // those of the current block
	list     map[string]string // the current list
	reason   string            // of the current list
	last     *rule             // the rule that examples belong to
}

func (r *ruleReader) line(line string) error {
	indented := strings.HasPrefix(line, " ")
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || line[0] == '#' && !indented:
	case indented && r.list == nil:
		return errors.New("an indented line stands in no list")
	case indented:
		for _, word := range strings.Fields(line) {
			r.list[strings.ReplaceAll(word, "␠", " ")] = r.reason
		}
	case word == "program", word == "git", word == "docker":
		r.list, r.block, r.last = nil, nil, nil
		for _, name := range strings.Fields(rest) {
			if word != "program" {
				name = word + " " + name
			}
			if r.set.programs[name] == nil {
				r.set.programs[name] = &program{}
			}
			r.block = append(r.block, r.set.programs[name])
		}
	case word == "list":
		name, reason, _ := strings.Cut(rest, ": ")
		r.list, r.reason = r.set.list(name), reason
	case len(r.block) == 0:
		return fmt.Errorf("%q stands in no block", line)
	case word == "match" || word == "not_match":
		if r.last == nil {
			return fmt.Errorf("%s without a rule", word)
		}
		if word == "match" {
			r.last.match = append(r.last.match, rest)
		} else {
			r.last.not = append(r.last.not, rest)
		}
	default:
		for i, p := range r.block {
			if ok := p.property(word, strings.Fields(rest)); ok {
				continue
			}
			one, err := r.rule(word, rest)
			if err != nil {
				return err
			}
			p.leads = p.leads || slices.Contains(one.what, "command") || slices.Contains(one.what, "wrapper")
			if one.action == "by" {
				p.handlers = append(p.handlers, func(j *analyzer, c *call) {
					if newTerms(j, c, p).all(one.when) {
						r.handlers[one.what[0]](j, c)
					}
				})
				continue
			}
			if p.rules = append(p.rules, one); i == 0 {
				r.last = &p.rules[len(p.rules)-1]
			}
		}
	}
	return nil
}

// property reads a line that says how a program takes its arguments.
func (p *program) property(word string, list []string) bool {
	add := func(set *map[string]bool) {
		if *set == nil {
			*set = map[string]bool{}
		}
		for _, option := range list {
			(*set)[option] = true
		}
	}
	marks := map[string]*bool{"known": &p.known, "leads": &p.leads, "assigns": &p.assigns, "bundled": &p.bundled, "numbers": &p.numbers, "suffixed": &p.suffixed, "words": &p.words}
	if mark := marks[word]; mark != nil {
		*mark = true
		return true
	}
	switch word {
	case "options":
		for _, option := range list {
			if name, long := strings.CutPrefix(option, "--"); long {
				p.long += name + " "
			} else {
				p.short += option[1:]
			}
		}
	case "flags":
		add(&p.flags)
	case "opens":
		add(&p.opens)
	case "last":
		add(&p.last)
	case "skips":
		p.skips = len(list)
	default:
		return false
	}
	return true
}

// ruleActions says of each action whether its first group of terms are operands.
var ruleActions = map[string]bool{
	"asks": false, "refused": false, "allows": false, "passes": false, "scans": false,
	"writes": true, "removes": true, "moves": true, "configures": true, "loads": true, "destroys": true, "empties": true, "makes": true, "code": true, "shell": true, "script": true, "sed": true, "awk": true, "reads": true, "module": true, "sets": true, "receives": true, "pipes": true, "protects": true, "setting": true, "runs": true, "within": true,
	"sql": true, "changes": true, "uploads": true, "deletes": true, "by": true, "verbs": true,
}

func (r *ruleReader) rule(word, rest string) (one rule, err error) {
	one.at = r.at
	if word == "else" {
		one.other = true
		word, rest, _ = strings.Cut(rest, " ")
	}
	operand, known := ruleActions[word]
	if !known {
		return one, fmt.Errorf("unknown word %q", word)
	}
	one.action = word
	terms, reason, _ := strings.Cut(rest, ": ")
	one.reason = reason
	for i, group := range strings.Split(terms, " & ") {
		switch {
		case i > 0 || !operand:
			one.when = append(one.when, strings.Fields(group))
			for _, term := range strings.Fields(group) {
				if _, pattern, ok := patternTerm(strings.TrimPrefix(term, "!")); ok {
					if r.set.patterns[pattern], err = regexp.Compile(pattern); err != nil {
						return one, err
					}
				}
			}
		case word == "changes" || word == "uploads" || word == "deletes":
			one.what = strings.Split(group, "|")
		default:
			one.what = strings.Fields(group)
		}
	}
	if operand != (len(one.what) > 0) || (word == "asks" || word == "refused") != (reason != "" && !operand) {
		return one, fmt.Errorf("%s: wrong form", word)
	}
	if word == "by" && r.handlers[one.what[0]] == nil {
		return one, fmt.Errorf("no function %q", one.what[0])
	}
	return one, nil
}

// patternTerm splits a term like ~/pattern/.
func patternTerm(term string) (head, pattern string, ok bool) {
	head, pattern, ok = strings.Cut(term, "/")
	pattern, closed := strings.CutSuffix(pattern, "/")
	return head, pattern, ok && closed && pattern != "" && (head == "~" || head == "+" || head != "" && head[0] == '-')
}

// in reports whether a word is in a list of the rule files.
func in(list, word string) bool {
	_, ok := rules().lists[list][word]
	return ok
}

// reasonOf returns the reason of the list that a word is in, and whether it is in it.
func reasonOf(list, word string) (string, bool) {
	reason, ok := rules().lists[list][word]
	return reason, ok
}

// reasonIn returns the reason of the list that a word is in, or "".
func reasonIn(list, word string) string { return rules().lists[list][word] }

// anyOf reports whether a word of a list is so.
func anyOf(list string, is func(word string) bool) bool {
	for word := range rules().lists[list] {
		if is(word) {
			return true
		}
	}
	return false
}

// containsOf reports whether a text contains a word of a list.
func containsOf(list, text string) bool {
	return anyOf(list, func(word string) bool { return strings.Contains(text, word) })
}

// beginsOf reports whether a text begins with a word of a list.
func beginsOf(list, text string) bool {
	return anyOf(list, func(word string) bool { return strings.HasPrefix(text, word) })
}

// rulesOf returns the rules of a program. If there are none, it returns the zero program.
func rulesOf(name string) *program {
	for _, kind := range [...]string{"mkfs", "ld-linux", "ld-musl"} {
		if strings.HasPrefix(name, kind) {
			name = kind
		}
	}
	if p := rules().programs[name]; p != nil {
		return p
	}
	return &program{}
}
