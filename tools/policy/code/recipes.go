package code

import (
	"encoding/json"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// Recipes holds the parts of a Makefile or a package.json that can be read: shell code by target.
type Recipes struct {
	First  string   // the target that make runs if it is given none
	Always []string // code that runs when the file is read
	rules  []recipe
	vars   map[string]string // of make
}

// recipe is code of a target, which may be a pattern with a %, with the targets that it needs.
type recipe struct {
	target       string
	needs, lines []string
}

const maxRules = 20000 // of one file

// For returns the targets that a target needs, and its code.
func (f *Recipes) For(target string) (needs, lines []string) {
	for _, r := range f.rules {
		before, after, pattern := strings.Cut(r.target, "%")
		if r.target == target || pattern && len(target) >= len(r.target)-1 && strings.HasPrefix(target, before) && strings.HasSuffix(target, after) {
			needs, lines = append(needs, r.needs...), append(lines, r.lines...)
		}
	}
	return needs, lines
}

var (
	makeSets  = lazyregexp.New(`^(?:(?:export|override)\s+)*([^\s:=#]+?)\s*(?:[:?+]*|!)=\s*(.*)$`)
	makeShell = lazyregexp.New(`!=\s*(.+)|\$[({]shell ([^()]*(?:\([^()]*\)[^()]*)*)`)
	makeRule  = lazyregexp.New(`^([^:]+)::?(.*)$`)
	makeUse   = lazyregexp.New(`\$(\([^()]*\)|\{[^{}]*\}|.)`)
)

// Makefile reads rules and plain assignments. Conditionals count as if all their branches
// were taken.
func Makefile(text string) *Recipes {
	f := &Recipes{vars: map[string]string{}}
	var last []string // the targets that a recipe belongs to
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "\t") {
			f.add(last, nil, line)
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		for _, m := range makeShell.FindAllStringSubmatch(line, -1) {
			f.Always = append(f.Always, m[1]+m[2])
		}
		if m := makeSets.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			f.vars[m[1]] = m[2]
		} else if m := makeRule.FindStringSubmatch(line); m != nil {
			needs, code, _ := strings.Cut(m[2], ";")
			last = strings.Fields(f.Expand(m[1], nil))
			f.add(last, strings.Fields(f.Expand(strings.ReplaceAll(needs, "|", " "), nil)), code)
		}
	}
	return f
}

// add adds needs and a line to the rules for targets.
func (f *Recipes) add(targets, needs []string, line string) {
	for _, target := range targets {
		if f.First == "" && !strings.Contains(target, "%") && !strings.HasPrefix(target, ".") {
			f.First = target
		}
		if len(f.rules) < maxRules {
			f.rules = append(f.rules, recipe{target, needs, []string{strings.TrimLeft(line, "\t @-+")}})
		}
	}
}

// Manifest reads the scripts of package.json.
func Manifest(text string) *Recipes {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	f := &Recipes{}
	json.Unmarshal([]byte(text), &manifest) //nolint:errcheck // without scripts, it runs none
	for name, code := range manifest.Scripts {
		f.rules = append(f.rules, recipe{name, nil, []string{manifest.Scripts["pre"+name], code, manifest.Scripts["post"+name]}})
	}
	return f
}

// Expand fills in the variables of make that are known. Others become a variable of the shell
// that is not.
func (f *Recipes) Expand(text string, vars map[string]string) string {
	if f.vars == nil {
		return text
	}
	for range 8 {
		size := len(text)
		text = makeUse.ReplaceAllStringFunc(text, func(use string) string {
			name := strings.Trim(use[1:], "(){}")
			val, known := vars[name]
			if !known {
				val, known = f.vars[name]
			}
			switch {
			case use == "$$":
				return "\x01"
			case size > maxText || !known || len(use) == 2:
				return "\x01{__unseen}"
			}
			size += len(val)
			return val
		})
	}
	return strings.ReplaceAll(text, "\x01", "$")
}
