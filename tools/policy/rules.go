package policy

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
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
}

// program holds the rules of a program, or of a command of git with a name like "git push".
type program struct {
	short, long string          // options that take a value: letters, and names separated by spaces
	opens       map[string]bool // options with which it runs no other code; "*" is any; nil: it may
	known       bool            // its arguments are no programs
	skips       int             // arguments before the command that it runs
	handlers    []func(*analyzer, *call)
	leads       bool // only the options before the command are its own
	rules       []rule
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
	set := &ruleset{programs: map[string]*program{}, lists: map[string]map[string]string{}}
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

// ruleReader reads one file.
type ruleReader struct {
	set      *ruleset
	handlers map[string]func(*analyzer, *call)
	at       string
	block    []*program        // those of the current block
	list     map[string]string // the current list
	reason   string            // of the current list
	last     []*rule           // the rule that examples belong to, of each program
}

func (r *ruleReader) line(line string) error {
	indented := strings.HasPrefix(line, " ")
	line = strings.TrimSpace(line)
	switch {
	case line == "" || line[0] == '#' && !indented:
		return nil
	case indented && r.list == nil:
		return errors.New("an indented line stands in no list")
	case indented:
		for _, word := range strings.Fields(line) {
			r.list[strings.ReplaceAll(word, "␠", " ")] = r.reason
		}
		return nil
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "program", "git":
		r.list, r.block = nil, nil
		for _, name := range strings.Fields(rest) {
			if word == "git" {
				name = "git " + name
			}
			if r.set.programs[name] == nil {
				r.set.programs[name] = &program{}
			}
			r.block = append(r.block, r.set.programs[name])
		}
		return nil
	case "list":
		name, reason, _ := strings.Cut(rest, ": ")
		if r.set.lists[name] == nil {
			r.set.lists[name] = map[string]string{}
		}
		r.list, r.reason = r.set.lists[name], reason
		return nil
	}
	if len(r.block) == 0 {
		return fmt.Errorf("%q stands in no block", line)
	}
	return r.ofProgram(word, rest)
}

// ofProgram reads a line within the block of programs.
func (r *ruleReader) ofProgram(word, rest string) error {
	switch word {
	case "options":
		for _, option := range strings.Fields(rest) {
			for _, p := range r.block {
				if name, long := strings.CutPrefix(option, "--"); long {
					p.long += name + " "
				} else {
					p.short += option[1:]
				}
			}
		}
	case "known":
		for _, p := range r.block {
			p.known = true
		}
	case "opens":
		for _, p := range r.block {
			if p.opens == nil {
				p.opens = map[string]bool{}
			}
			for _, option := range strings.Fields(rest) {
				p.opens[option] = true
			}
		}
	case "skips":
		for _, p := range r.block {
			p.skips = len(strings.Fields(rest))
		}
	case "by":
		judge := r.handlers[rest]
		if judge == nil {
			return fmt.Errorf("no function %q", rest)
		}
		for _, p := range r.block {
			p.handlers, p.leads = append(p.handlers, judge), p.leads || rest == "wrapper"
		}
	case "match", "not_match":
		if len(r.last) == 0 {
			return fmt.Errorf("%s without a rule", word)
		}
		for _, rule := range r.last[:1] {
			if word == "match" {
				rule.match = append(rule.match, rest)
			} else {
				rule.not = append(rule.not, rest)
			}
		}
	default:
		return r.rule(word, rest)
	}
	return nil
}

// ruleActions says of each action whether its first group of terms are operands.
var ruleActions = map[string]bool{
	"asks": false, "refused": false, "allows": false,
	"writes": true, "code": true, "setting": true, "runs": true, "sql": true, "changes": true, "uploads": true, "deletes": true,
}

func (r *ruleReader) rule(word, rest string) error {
	one := rule{at: r.at}
	if word == "else" {
		one.other = true
		word, rest, _ = strings.Cut(rest, " ")
	}
	operand, known := ruleActions[word]
	if !known {
		return fmt.Errorf("unknown word %q", word)
	}
	one.action = word
	terms, reason, _ := strings.Cut(rest, ": ")
	one.reason = reason
	for i, group := range strings.Split(terms, " & ") {
		switch {
		case i > 0 || !operand:
			one.when = append(one.when, strings.Fields(group))
		case word == "changes" || word == "uploads" || word == "deletes":
			one.what = strings.Split(group, "|")
		default:
			one.what = strings.Fields(group)
		}
	}
	if operand != (len(one.what) > 0) || (word == "asks" || word == "refused") != (reason != "" && !operand) {
		return fmt.Errorf("%s: wrong form", word)
	}
	r.last = nil
	for _, p := range r.block {
		p.rules = append(p.rules, one)
		r.last = append(r.last, &p.rules[len(p.rules)-1])
	}
	return nil
}

// in reports whether a word is in a list of the rule files.
func in(list, word string) bool {
	_, ok := rules().lists[list][word]
	return ok
}

// reasonIn returns the reason of the list that a word is in, or "".
func reasonIn(list, word string) string { return rules().lists[list][word] }

// containsOf reports whether a text contains a word of a list.
func containsOf(list, text string) bool {
	for word := range rules().lists[list] {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// beginsOf reports whether a text begins with a word of a list.
func beginsOf(list, text string) bool {
	for word := range rules().lists[list] {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}

// rulesOf returns the rules of a program. If there are none, it returns the zero program.
func rulesOf(name string) *program {
	if strings.HasPrefix(name, "mkfs") {
		name = "mkfs"
	}
	if p := rules().programs[name]; p != nil {
		return p
	}
	return &program{}
}

func (p *program) parse(args []field) options { return parse(args, p.short, p.long) }

// apply judges a call by the rules of a program, and reports whether they end the judgment.
func (j *analyzer) apply(c *call, p *program) (done bool) {
	if len(p.rules) == 0 {
		return false
	}
	t := terms{j: j, c: c, o: p.parse(c.args), p: p}
	if p.leads { // later options belong to another program
		t.o = p.parse(c.args[:len(c.args)-len(j.leading(c, p))])
	}
	held := false
	for _, r := range p.rules {
		if r.other && held {
			continue
		}
		holds := t.all(r.when) && t.do(r)
		if held = holds || r.other && held; holds && r.action == "allows" {
			return true
		}
	}
	return false
}

// terms evaluates the conditions of rules for a call.
type terms struct {
	j *analyzer
	c *call
	o options
	p *program
}

func (t terms) all(groups [][]string) bool {
	for _, group := range groups {
		if !slices.ContainsFunc(group, t.holds) {
			return false
		}
	}
	return true
}

func (t terms) holds(term string) bool {
	if rest, not := strings.CutPrefix(term, "!"); not && rest != "" {
		return !t.holds(rest)
	}
	text := strings.ReplaceAll(term[1:], "␠", " ")
	anyArg := func(is func(arg string) bool) bool {
		return slices.ContainsFunc(t.c.args, func(a field) bool { return is(a.text) })
	}
	switch term[0] {
	case '*':
		return true
	case '.':
		if term == ".." {
			return len(t.o.rest) > 0
		}
		prefix, pattern := strings.CutSuffix(text, "*")
		return len(t.c.args) > 0 && (t.c.args[0].text == text || pattern && strings.HasPrefix(t.c.args[0].text, prefix))
	case '%':
		v, ok := t.o.get(strings.TrimLeft(text, "-"))
		return ok && v.has && !harmlessHelper(v.value.text) && v.value.text != "never"
	case '?':
		return term == "?" && t.o.open || term == "?1" && len(t.o.rest) > 0 && t.o.rest[0].open()
	case '#':
		return len(t.c.args) == int(term[1]-'0')
	case '=':
		return t.o.exact(text[2:])
	case '@':
		return anyArg(func(arg string) bool {
			return arg == text || text[0] == '-' && len(text) > 1 && strings.HasPrefix(arg, text+"=")
		})
	case '~':
		return anyArg(func(arg string) bool { return strings.Contains(arg, text) }) || t.j.stdin.known && strings.Contains(t.j.stdin.text, text)
	case '^':
		return anyArg(func(arg string) bool { return strings.HasPrefix(arg, text) })
	case '+':
		return slices.ContainsFunc(t.o.rest, func(a field) bool { return a.text == text })
	case '-':
		name, value, valued := strings.Cut(strings.TrimLeft(term, "-"), "=")
		opt, ok := t.o.get(name)
		return ok && (!valued || opt.value.text == value)
	}
	switch term {
	case "dry":
		return onlyShows(t.c.args, "")
	case "device":
		return anyArg(func(arg string) bool {
			rest, ok := strings.CutPrefix(arg, "/dev/")
			return ok && blockDevice(rest)
		})
	}
	return len(t.o.rest) > 0 && t.o.rest[0].text == term
}

// do applies a rule whose conditions hold. It reports whether there was anything to apply
// it to.
func (t terms) do(r rule) bool {
	switch r.action {
	case "asks":
		t.j.ask(t.c, r.reason)
	case "refused":
		t.j.refuse(t.c, r.reason)
	case "changes", "uploads", "deletes":
		return t.changes(r)
	case "runs":
		return t.runs(r.what)
	case "writes", "code", "sql", "setting":
		operands := t.operands(r.what)
		for _, f := range operands {
			switch {
			case r.action == "code":
				t.j.code(t.c, f)
			case r.action == "sql":
				t.j.sql(t.c, f.text)
			case r.action == "setting":
				t.j.gitSetting(t.c, f.text)
			case f.text != "-":
				t.j.writes(t.c, f)
			}
		}
		return len(operands) > 0
	}
	return true
}

// runs judges arguments as a command: all, those behind the options, or behind a word.
func (t terms) runs(what []string) bool {
	rest := t.c.args
	switch {
	case what[0] == "command":
		rest = t.p.command(rest)
	case what[0] != "arguments":
		i := slices.IndexFunc(rest, func(a field) bool { return slices.Contains(what, "@"+a.text) })
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	switch {
	case len(rest) == 0:
		return false
	case len(rest) > 1 && (rest[0].text == "-c" || rest[0].text == "--command"):
		t.j.code(t.c, rest[1])
	default:
		t.j.call(t.c.with(rest))
	}
	return true
}

// changes applies a rule about the first words of a command.
func (t terms) changes(r rule) bool {
	words := verbsOf(t.c.args)
	if r.action == "deletes" {
		words = wordsOf(t.c.args)
	} else if onlyShows(t.c.args, reasonIn("also-shows", t.c.name)) {
		return false
	}
	for _, pattern := range r.what {
		parts := strings.Fields(pattern)
		if begins(words, parts) && !(r.action == "uploads" && fetches(words[len(parts):])) {
			t.j.ask(t.c, r.reason)
			return true
		}
	}
	return false
}

// operands returns the operands of an action.
func (t terms) operands(what []string) (list []field) {
	rest := t.o.rest
	for _, w := range what {
		switch {
		case w == "all":
			list = append(list, rest...)
		case w == "first" && len(rest) > 0:
			list = append(list, rest[0])
		case w == "second" && len(rest) > 1:
			list = append(list, rest[1])
		case w == "last" && len(rest) > 1:
			list = append(list, rest[len(rest)-1])
		case w == "others" && len(rest) > 1:
			list = append(list, rest[1:]...)
		case w == "command":
			if command := t.p.command(t.c.args); len(command) > 0 {
				list = append(list, joined(command))
			}
		case w == ".":
			list = append(list, field{text: "."})
		case w[0] == '@':
			list = append(list, valuesOf(t.c.args, w[1:])...)
		case w[0] == '>':
			list = append(list, joined(afterWord(t.c.args, w[1:])))
		case w[0] == '^':
			for _, a := range t.c.args {
				if value, ok := strings.CutPrefix(a.text, w[1:]); ok {
					list = append(list, field{text: value})
				}
			}
		case w[0] == '-':
			for _, opt := range t.o.list {
				name := strings.TrimLeft(w, "-")
				short := opt.name != "" && strings.HasPrefix(name, opt.name) && !slices.Contains(what, "--"+opt.name) && !contains(t.p.long, opt.name)
				if opt.has && opt.double == (len(name) > 1) && (opt.name == name || short) {
					list = append(list, opt.value)
				}
			}
		}
	}
	return list
}

// valuesOf returns the values of an option that is written as it is, apart or behind "=".
func valuesOf(args []field, option string) (list []field) {
	for i, a := range args {
		name, val, has := strings.Cut(a.text, "=")
		switch {
		case name != option:
		case has:
			list = append(list, field{text: val})
		case i+1 < len(args):
			list = append(list, field{text: args[i+1].text})
		}
	}
	return list
}

// command returns the arguments behind the options and the words before the command.
func (p *program) command(args []field) []field {
	args = p.behindOptions(args)
	return args[min(p.skips, len(args)):]
}

// behindOptions returns the arguments behind those options that stand first.
func (p *program) behindOptions(args []field) []field {
	for len(args) > 0 && args[0].option() {
		next := takesNext(args[0].text, p.short, p.long)
		if args = args[1:]; next && len(args) > 0 {
			args = args[1:]
		}
	}
	return args
}
