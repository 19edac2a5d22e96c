// Package rules reads the rule files. They describe the effects of programs by their options
// and words, and list words. README.md describes the format.
package rules

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/protected"
)

//go:embed *.txt
var files embed.FS

// Set is the content of the rule files. It does not change.
type Set struct {
	Programs map[string]*Program
	lists    map[string]map[string]string // by list and word: the reason of the list
}

// Program holds the rules of a program, or of a subcommand named like "git push".
type Program struct {
	Rules      []Rule
	properties map[string]bool // such as "leads", and with an option: "options -f"
}

// properties are the words about how a program takes its arguments, as README.md describes.
const properties = "options flags opens last known leads assigns bundled suffixed words"

// Is reports whether a program has a property. A property may name an option, such as "options -f".
func (p *Program) Is(property string) bool { return p.properties[property] }

// Rule is a line of a rule file: an effect under conditions.
type Rule struct {
	Action string
	Other  bool     // it holds only if the rule before it did not
	What   []string // selectors for the operands of the action
	When   [][]Term // all groups must match; a group matches if any of its terms does
	Reason string
}

// Term is a condition: a selected text matches Test.
type Term struct {
	Select string
	Test   *lazyregexp.Regexp
	Other  bool // a selected text does not match
	Not    bool // the condition must not hold
}

// All returns the rules. It reads the files when the first command is judged.
var All = sync.OnceValue(func() *Set {
	set, err := Read(files)
	if err != nil {
		panic(err) // a test reads the same files
	}
	return set
})

// Read reads rule files.
func Read(files fs.FS) (*Set, error) {
	set := &Set{Programs: map[string]*Program{}, lists: map[string]map[string]string{}}
	for _, name := range protected.Names() {
		set.list("protected-" + name.Kind)[strings.ToLower(name.Text)] = name.Reason
	}
	names, _ := fs.Glob(files, "*.txt") // the pattern is well formed
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		r := reader{set: set}
		for i, line := range strings.Split(string(text), "\n") {
			if err := r.line(line); err != nil {
				return nil, fmt.Errorf("rules/%s:%d: %w", name, i+1, err)
			}
		}
	}
	return set, nil
}

// list returns the list of a name, which may be new.
func (s *Set) list(name string) map[string]string {
	if s.lists[name] == nil {
		s.lists[name] = map[string]string{}
	}
	return s.lists[name]
}

// reader reads a rule file.
type reader struct {
	set    *Set
	block  []*Program        // the programs of the current block
	list   map[string]string // the current list
	reason string            // of the current list
}

func (r *reader) line(line string) error {
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
		r.list, r.block = nil, nil
		for _, name := range strings.Fields(rest) {
			name = strings.TrimPrefix(word+" "+name, "program ")
			if r.set.Programs[name] == nil {
				r.set.Programs[name] = &Program{properties: map[string]bool{}}
			}
			r.block = append(r.block, r.set.Programs[name])
		}
	case word == "list":
		name, reason, _ := strings.Cut(rest, ": ")
		r.list, r.reason = r.set.list(name), reason
	case len(r.block) == 0:
		return fmt.Errorf("%q stands in no block", line)
	case word == "match" || word == "not_match": // examples, which a test reads
		if len(r.block[0].Rules) == 0 {
			return fmt.Errorf("%s without a rule", word)
		}
	case slices.Contains(strings.Fields(properties), word):
		for _, p := range r.block {
			p.properties[word] = true
			for _, option := range strings.Fields(rest) {
				p.properties[word+" "+option] = true
			}
		}
	default:
		one, err := r.rule(word, rest)
		if err != nil {
			return err
		}
		for _, p := range r.block {
			p.Rules = append(p.Rules, one)
		}
	}
	return nil
}

// Actions by the first group of their terms: a condition, operands, or phrases.
const (
	conditions = "asks blocks allows passes"
	operands   = "fetches copies links writes moves names configures loads destroys empties makes code line shell script sed awk reads module sets receives pipes protects setting keeps defines evaluates traps forgets leaves runs within sql verbs cd set find xargs gitCommand gitConfig recipes"
	phrases    = "changes deletes"
)

func (r *reader) rule(word, rest string) (one Rule, err error) {
	if word == "else" {
		one.Other = true
		word, rest, _ = strings.Cut(rest, " ")
	}
	one.Action = word
	rest, one.Reason, _ = strings.Cut(rest, ": ")
	groups := strings.Split(rest, " & ")
	is := func(actions string) bool { return slices.Contains(strings.Fields(actions), word) }
	switch {
	case is(operands):
		one.What, groups = strings.Fields(groups[0]), groups[1:]
	case is(phrases):
		if groups[0] = "line/" + phrase(groups[0]) + "/"; word != "deletes" {
			groups = append(groups, "!dry")
		}
	case !is(conditions):
		return one, fmt.Errorf("unknown word %q", word)
	}
	if rest == "" || is("asks blocks "+phrases) != (one.Reason != "") {
		return one, fmt.Errorf("%s: wrong form", word)
	}
	for _, group := range groups {
		var list []Term
		for _, text := range strings.Fields(strings.ReplaceAll(group, "!dry", notDry)) {
			list = append(list, term(text))
		}
		one.When = append(one.When, list)
	}
	return one, nil
}

// Parts of regular expressions for the arguments of a command, each with a line feed.
const (
	skipped = `(?:-.*\n(?:.*\n)?)*?`            // options, and their possible values
	before  = `^(?:(?:-?|-?[^-\n].*|--.+)\n)*?` // all before "--"
	showing = `(?:--(?:dry-run|help|noop|no-op|snapshot|check|syntax-check|list-hosts|list-tasks|check-only)|-h)`
	notDry  = `!line/` + before + showing + `[=\n]/ line/` + before + `(?:--no-(?:dry-run|help|snapshot|check)\n|` + showing + `[=\n](?:none|false)\n)/`
)

// phrase returns a regular expression for the beginnings of commands, such as "a b|c".
func phrase(list string) string {
	words := strings.NewReplacer(`\|`, `\n|`+skipped, `\*`, ".*", " ", `\n`+skipped)
	return "^(?:" + skipped + words.Replace(regexp.QuoteMeta(list)) + `\n)`
}

// selectors are written as words. Other words stand for the first operand.
const selectors = "first|second|third|argument|arguments|line|lasting|target|input|piped|[*?]"

var (
	selector = lazyregexp.New("^(?:" + selectors + "|[@^%].*|-[^=]+)$")
	anything = lazyregexp.New("") // holds if there is a text
	tested   = lazyregexp.New(`^([~+]|-[^\/=!]+|` + selectors + `)(!?)\/(.+)\/$`)
	signed   = lazyregexp.New(`^([~+.]|-[^=]+=|)(.*)$`)
	signs    = map[string]string{"": "first", ".": "argument"} // the selectors meant by the signs
)

// term reads a condition, as README.md describes.
func term(text string) Term {
	text, not := strings.CutPrefix(strings.ReplaceAll(text, "␠", " "), "!")
	if m := tested.FindStringSubmatch(text); m != nil {
		return Term{m[1], lazyregexp.New(m[3]), m[2] != "", not}
	}
	if selector.MatchString(text) {
		return Term{text, anything, false, not}
	}
	m := signed.FindStringSubmatch(text)
	pattern := regexp.QuoteMeta(m[2])
	if m[1] != "~" {
		pattern = "^" + pattern + "$"
	}
	return Term{cmp.Or(signs[m[1]], strings.TrimSuffix(m[1], "=")), lazyregexp.New(pattern), false, not}
}

// kind matches programs and variables that share the rules of their prefix.
var kind = lazyregexp.New("(?s)^(mkfs|ld-linux|ld-musl|GIT_CONFIG_KEY_|GIT_CONFIG_VALUE_|BASH_FUNC_).*")

// Of returns the rules of a program. If there are none, it returns the zero program.
func Of(name string) *Program {
	return cmp.Or(All().Programs[kind.ReplaceAllString(name, "$1")], &Program{})
}

// In reports whether a word is in a list.
func In(list, word string) bool {
	_, ok := List(list)[word]
	return ok
}

// List returns the words of a list with their reasons.
func List(list string) map[string]string { return All().lists[list] }

// Reason returns a word's reason in a list, or "".
func Reason(list, word string) string { return List(list)[word] }
