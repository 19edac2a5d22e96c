package code

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Recipes holds the readable parts of a Makefile or a package.json: shell code by target.
type Recipes struct {
	First  string   // make's default target
	Always []string // runs when the file is read
	rules  []recipe
	vars   map[string]string // of make
}

// recipe is code of targets, which may be patterns with a %, and the targets they need.
type recipe struct{ targets, needs, lines []string }

const maxRules = 20000 // of a single file

// For returns the prerequisites of a target and its code.
func (f *Recipes) For(target string) (needs, lines []string) {
	fits := func(name string) bool {
		before, after, pattern := strings.Cut(name, "%")
		return name == target || pattern && len(target) >= len(name)-1 && strings.HasPrefix(target, before) && strings.HasSuffix(target, after)
	}
	for _, r := range f.rules {
		if slices.ContainsFunc(r.targets, fits) {
			needs, lines = append(needs, r.needs...), append(lines, r.lines...)
		}
	}
	return needs, lines
}

// Makefile reads rules and plain assignments. Conditionals count as if all their branches
// were taken.
func Makefile(text string) *Recipes {
	f := &Recipes{vars: map[string]string{}}
	ordinary := func(target string) bool { return !strings.Contains(target, "%") && target[0] != '.' }
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "\t") {
			line, _, _ = strings.Cut(line, "#")
			for _, m := range expression("make-shell").FindAllStringSubmatch(line, -1) {
				f.Always = append(f.Always, m[1]+m[2])
			}
			if m := expression("make-sets").FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				f.vars[m[1]] = m[2]
			} else if m := expression("make-rule").FindStringSubmatch(line); m != nil && len(f.rules) < maxRules {
				targets := strings.Fields(f.Expand(m[1], nil))
				if i := slices.IndexFunc(targets, ordinary); i >= 0 {
					f.First = cmp.Or(f.First, targets[i])
				}
				f.rules = append(f.rules, recipe{targets: targets, needs: strings.Fields(strings.ReplaceAll(f.Expand(m[2], nil), "|", " "))})
				line = "\t" + m[3] // the rest of it is the first line of the recipe
			}
		}
		if last := len(f.rules) - 1; last >= 0 && strings.HasPrefix(line, "\t") {
			f.rules[last].lines = append(f.rules[last].lines, strings.TrimLeft(line, "\t @-+"))
		}
	}
	return f
}

// Manifest reads the scripts of package.json.
func Manifest(text string) *Recipes {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	f := &Recipes{}
	json.Unmarshal([]byte(text), &manifest) // without scripts, it runs none
	for name, code := range manifest.Scripts {
		f.rules = append(f.rules, recipe{[]string{name}, nil, []string{manifest.Scripts["pre"+name], code, manifest.Scripts["post"+name]}})
	}
	return f
}

// Expand fills in known make variables. Others become an unset shell variable.
func (f *Recipes) Expand(text string, vars map[string]string) string {
	if f.vars == nil {
		return text
	}
	for range 8 {
		size := len(text)
		text = expression("make-use").ReplaceAllStringFunc(text, func(use string) string {
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
