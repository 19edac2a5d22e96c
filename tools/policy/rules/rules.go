// Package rules reads the rule files. They describe the effects of programs by their options
// and words, and list words. README.md describes the format.
package rules

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

//go:embed *.txt
var files embed.FS

// Set is the content of the rule files. It does not change.
type Set struct {
	Programs map[string]*Program
	lists    map[string]map[string]string // by list and word: the reason of the list
	patterns map[string]*regexp.Regexp    // of terms, by their text
}

// Program holds the rules of a program, or of a command of one with a name like "git push".
type Program struct {
	Short, Long string // options that take a value: letters, and names separated by spaces
	Skips       int    // arguments before the command that it runs
	Rules       []Rule
	properties  map[string]map[string]bool // how it takes its arguments: of each word, the options
}

// properties are the words that say how a program takes its arguments, as README.md describes.
const properties = "flags opens last known leads assigns bundled numbers suffixed words"

// Is reports whether a program has a property.
func (p *Program) Is(property string) bool { return p.properties[property] != nil }

// Names reports whether a property of a program names an option.
func (p *Program) Names(property, option string) bool { return p.properties[property][option] }

// Rule is one line: an effect under conditions.
type Rule struct {
	Action     string
	Other      bool       // it holds only if the rule before it did not
	What       []string   // the operands of the action
	When       [][]string // terms: of each group, one must hold
	Reason     string
	Match, Not []string // commands that it applies to, and does not, for tests
	At         string   // file and line
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
	set := &Set{Programs: map[string]*Program{}, lists: map[string]map[string]string{}, patterns: map[string]*regexp.Regexp{}}
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
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			r.at = fmt.Sprintf("rules/%s:%d", name, number)
			if err := r.line(line); err != nil {
				return nil, fmt.Errorf("%s: %w", r.at, err)
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

// reader reads one file.
type reader struct {
	set    *Set
	at     string
	block  []*Program        // those of the current block
	list   map[string]string // the current list
	reason string            // of the current list
	last   *Rule             // the rule that examples belong to
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
		r.list, r.block, r.last = nil, nil, nil
		for _, name := range strings.Fields(rest) {
			if word != "program" {
				name = word + " " + name
			}
			if r.set.Programs[name] == nil {
				r.set.Programs[name] = &Program{}
			}
			r.block = append(r.block, r.set.Programs[name])
		}
	case word == "list":
		name, reason, _ := strings.Cut(rest, ": ")
		r.list, r.reason = r.set.list(name), reason
	case len(r.block) == 0:
		return fmt.Errorf("%q stands in no block", line)
	case (word == "match" || word == "not_match") && r.last == nil:
		return fmt.Errorf("%s without a rule", word)
	case word == "match":
		r.last.Match = append(r.last.Match, rest)
	case word == "not_match":
		r.last.Not = append(r.last.Not, rest)
	default:
		for i, p := range r.block {
			if p.property(word, strings.Fields(rest)) {
				continue
			}
			one, err := r.rule(word, rest)
			if err != nil {
				return err
			}
			if command := slices.Contains(one.What, "command"); command || one.Action == "by" {
				p.property("known", nil)
				if command {
					p.property("leads", nil)
				}
			}
			if p.Rules = append(p.Rules, one); i == 0 {
				r.last = &p.Rules[len(p.Rules)-1]
			}
		}
	}
	return nil
}

// property reads a line that says how a program takes its arguments.
func (p *Program) property(word string, list []string) bool {
	switch {
	case slices.Contains(strings.Fields(properties), word):
		if p.properties == nil {
			p.properties = map[string]map[string]bool{}
		}
		if p.properties[word] == nil {
			p.properties[word] = map[string]bool{}
		}
		for _, option := range list {
			p.properties[word][option] = true
		}
	case word == "options":
		for _, option := range list {
			if name, long := strings.CutPrefix(option, "--"); long {
				p.Long += name + " "
			} else {
				p.Short += option[1:]
			}
		}
	case word == "skips":
		p.Skips = len(list)
	default:
		return false
	}
	return true
}

// What the first group of terms of an action is: its condition, its operands, or phrases.
const (
	conditions = "asks refused allows passes"
	operands   = "fetches copies links writes removes moves names configures loads destroys empties makes code shell script sed awk reads module sets receives pipes protects setting runs within sql by verbs"
	phrases    = "changes uploads deletes"
)

func (r *reader) rule(word, rest string) (one Rule, err error) {
	one.At = r.at
	if word == "else" {
		one.Other = true
		word, rest, _ = strings.Cut(rest, " ")
	}
	one.Action = word
	terms, reason, _ := strings.Cut(rest, ": ")
	one.Reason = reason
	groups := strings.Split(terms, " & ")
	is := func(actions string) bool { return slices.Contains(strings.Fields(actions), word) }
	switch {
	case is(operands):
		one.What, groups = strings.Fields(groups[0]), groups[1:]
	case is(phrases):
		one.What, groups = strings.Split(groups[0], "|"), groups[1:]
	case !is(conditions):
		return one, fmt.Errorf("unknown word %q", word)
	}
	if !is(conditions) != (len(one.What) > 0) || is("asks refused") != (reason != "" && is(conditions)) {
		return one, fmt.Errorf("%s: wrong form", word)
	}
	for _, group := range groups {
		one.When = append(one.When, strings.Fields(group))
		for _, term := range strings.Fields(group) {
			if _, pattern, ok := PatternTerm(strings.TrimPrefix(term, "!")); ok {
				if r.set.patterns[pattern], err = regexp.Compile(pattern); err != nil {
					return one, err
				}
			}
		}
	}
	return one, nil
}

// PatternTerm splits a term like ~/pattern/.
func PatternTerm(term string) (head, pattern string, ok bool) {
	head, pattern, ok = strings.Cut(term, "/")
	pattern, closed := strings.CutSuffix(pattern, "/")
	return head, pattern, ok && closed && pattern != "" && (head == "~" || head == "+" || head != "" && head[0] == '-')
}

// Pattern returns the pattern of a term.
func Pattern(text string) *regexp.Regexp { return All().patterns[text] }

// Of returns the rules of a program. If there are none, it returns the zero program.
func Of(name string) *Program {
	for _, kind := range [...]string{"mkfs", "ld-linux", "ld-musl", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, kind) {
			name = kind
		}
	}
	if p := All().Programs[name]; p != nil {
		return p
	}
	return &Program{}
}

// Lookup returns the reason of the list that a word is in, and whether it is in it.
func Lookup(list, word string) (string, bool) {
	reason, ok := All().lists[list][word]
	return reason, ok
}

// In reports whether a word is in a list.
func In(list, word string) bool {
	_, ok := Lookup(list, word)
	return ok
}

// Reason returns the reason of the list that a word is in, or "".
func Reason(list, word string) string { return All().lists[list][word] }

// List returns the words of a list with their reasons.
func List(list string) map[string]string { return All().lists[list] }

// Any reports whether a word of a list is so.
func Any(list string, is func(word string) bool) bool {
	for word := range List(list) {
		if is(word) {
			return true
		}
	}
	return false
}

// Contains reports whether a text contains a word of a list.
func Contains(list, text string) bool {
	return Any(list, func(word string) bool { return strings.Contains(text, word) })
}

// Begins reports whether a text begins with a word of a list.
func Begins(list, text string) bool {
	return Any(list, func(word string) bool { return strings.HasPrefix(text, word) })
}
