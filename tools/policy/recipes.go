package policy

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// recipes judges the shell code in Makefiles and in package.json that build tools would run, as
// far as it can be read. These are ordinary work: parts that cannot be resolved do not ask.
type recipes struct {
	files  map[string]*recipeFile // by path; nil: there is none
	judged map[string]bool
	spare  budget // of the line while recipes are judged, else that of recipes
	depth  int
}

// recipeFile holds the parts of a Makefile or a package.json that can be read.
type recipeFile struct {
	rules    map[string][]recipe // by target
	patterns []string            // targets with a %
	first    string              // the target that make runs if it is given none
	vars     map[string]string   // of make
	always   []string            // code that runs when the file is read
}

type recipe struct{ needs, lines []string }

const (
	maxRules   = 5000 // of one file
	maxTargets = 500  // of one call of make
)

// runMake judges build tools by the recipes that they would run.
func runMake(j *analyzer, c *call) {
	o := parse(rules.Of(c.name), c.args)
	names := strings.Fields(rules.Reason("recipe-files", c.name))
	if file, given := o.get("f", "file", "makefile"); given && (file.value.text == "-" || strings.HasPrefix(file.value.text, "/dev/")) {
		j.ranInput(c)
		return
	} else if given {
		names = []string{file.value.text}
	}
	inner := &call{name: c.name, words: c.words, st: c.st.clone()}
	for _, opt := range o.list {
		if opt.name == "C" || opt.double && opt.name == "directory" {
			inner.st.chdir(opt.value.text)
		}
	}
	j.ran(inner, names...)
	if !strings.HasSuffix(c.name, "make") || marked(inner.st.cwd) {
		return
	}
	for _, name := range names {
		if f := j.recipeFile(absolute(inner.st, name), readMakefile); f != nil {
			vars, targets := map[string]string{}, []string(nil)
			for _, a := range o.rest {
				if name, val, ok := strings.Cut(a.text, "="); ok {
					vars[strings.TrimRight(name, ":?+")] = val
				} else {
					targets = append(targets, a.text)
				}
			}
			if len(targets) == 0 {
				targets = []string{f.first}
			}
			j.make(inner, f, vars, targets)
			return
		}
	}
}

// runScripts judges the scripts of package.json that a package manager runs.
func runScripts(j *analyzer, c *call) {
	o := parse(&rules.Program{Short: "C", Long: "prefix cwd dir"}, c.args)
	inner := &call{name: c.name, words: c.words, st: c.st.clone()}
	for _, opt := range o.list {
		if opt.name == "C" || opt.double && contains("prefix cwd dir", opt.name) {
			inner.st.chdir(opt.value.text)
		}
	}
	verb := "" // yarn alone installs
	if len(o.rest) > 0 {
		verb = o.rest[0].text
	}
	scripts, known := rules.Lookup("package-verb", verb)
	switch {
	case scripts == "1" && len(o.rest) > 1:
		scripts = o.rest[1].text
	case !known && contains("pnpm yarn bun", c.name): // yarn build
		scripts = verb
	case !known && (verb != "" || c.name != "yarn"):
		return
	case !known:
		scripts = rules.Reason("package-verb", "install")
	}
	if marked(inner.st.cwd) {
		return
	}
	for root := cleanPath(inner.st.cwd); ; root = path.Dir(root) {
		file := path.Join(root, "package.json")
		j.ran(inner, file)
		if f := j.recipeFile(file, readManifest); f != nil {
			inner.st.cwd = root
			j.make(inner, f, nil, strings.Fields(scripts))
			return
		}
		if root == path.Dir(root) || !j.scope.inside(path.Dir(root)) {
			return
		}
	}
}

// recipeFile returns the content of a file, or nil. Each file is read once.
func (j *analyzer) recipeFile(name string, read func(text string) *recipeFile) *recipeFile {
	if name == "" || j.scope.Read == nil || j.elsewhere || marked(name) {
		return nil
	}
	name = cleanPath(name)
	f, known := j.recipes.files[name]
	if !known {
		if text, ok := j.scope.Read(name); ok && len(text) <= 1<<20 {
			f = read(text)
		}
		if j.recipes.files == nil {
			j.recipes.files, j.recipes.judged = map[string]*recipeFile{}, map[string]bool{}
		}
		j.recipes.files[name] = f
	}
	return f
}

// make judges the recipes of targets and of their prerequisites, each once.
func (j *analyzer) make(c *call, f *recipeFile, vars map[string]string, targets []string) {
	r := &j.recipes
	key := strings.Join(append([]string{c.st.cwd, j.rememberAs, render(c.args)}, targets...), "\x00")
	for name, val := range vars {
		key += "\x00" + name + "=" + val
	}
	if r.judged[key] {
		return
	}
	r.judged[key] = true
	if r.depth++; r.depth == 1 {
		j.budget, r.spare = r.spare, j.budget
	}
	before, rememberAs := len(j.findings), j.rememberAs
	if wrapped := len(c.words) > 0 && programName(c.words[0].text) != c.name; rememberAs == "" && wrapped {
		j.rememberAs = j.key(c)
	}
	inner := &call{name: c.name, words: c.words, st: &state{cwd: c.st.cwd}}
	seen := map[string]bool{}
	run := func(lines []string) {
		for _, line := range lines {
			if line = f.expand(line, vars); len(line) <= maxSource && !j.gaveUp {
				j.shellFile(inner, line)
			}
		}
	}
	for i := 0; i < len(targets) && len(seen) < maxTargets && !j.gaveUp; i++ {
		if target := targets[i]; !seen[target] && !j.spent() {
			seen[target] = true
			for _, rule := range f.rulesFor(target) {
				run(rule.lines)
				targets = append(targets[:len(targets):len(targets)], rule.needs...)
			}
		}
	}
	run(f.always)
	j.rememberAs = rememberAs
	kept := j.findings[:before]
	for _, found := range j.findings[before:] {
		if found.level == Refused || found.settings || !rules.Contains("ordinary-in-recipes", found.reason) {
			kept = append(kept, found)
		}
	}
	j.findings = kept
	if r.depth--; r.depth == 0 {
		if j.budget, r.spare = r.spare, j.budget; r.spare.gaveUp {
			j.note(Asks, "runs recipes that are too involved to be judged", j.whole())
		}
	}
}

// rulesFor returns the rules for a target.
func (f *recipeFile) rulesFor(target string) []recipe {
	list := f.rules[target]
	for _, pattern := range f.patterns {
		if before, after, _ := strings.Cut(pattern, "%"); len(target) >= len(pattern)-1 && strings.HasPrefix(target, before) && strings.HasSuffix(target, after) {
			list = append(list[:len(list):len(list)], f.rules[pattern]...)
		}
	}
	return list
}

var (
	makeSets    = lazily(`^(?:(?:export|override)\s+)*([^\s:=#]+?)\s*(?:[:?+]*|!)=\s*(.*)$`)
	makeShell   = lazily(`!=\s*(.+)|\$[({]shell ([^()]*(?:\([^()]*\)[^()]*)*)`)
	makeRule    = lazily(`^([^:]+)::?(.*)$`)
	makeUse     = lazily(`\$(\([^()]*\)|\{[^{}]*\}|.)`)
	recipeStart = "\t @-+"
)

// readMakefile reads rules and plain assignments. Conditionals count as if all their branches
// were taken.
func readMakefile(text string) *recipeFile {
	f := &recipeFile{vars: map[string]string{}, rules: map[string][]recipe{}}
	var last []string // the targets that a recipe belongs to
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "\t") {
			f.add(last, recipe{lines: []string{strings.TrimLeft(line, recipeStart)}})
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		for _, m := range makeShell().FindAllStringSubmatch(line, -1) {
			f.always = append(f.always, m[1]+m[2])
		}
		if m := makeSets().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			f.vars[m[1]] = m[2]
		} else if m := makeRule().FindStringSubmatch(line); m != nil && len(f.rules) < maxRules {
			needs, code, _ := strings.Cut(m[2], ";")
			last = strings.Fields(f.expand(m[1], nil))
			f.add(last, recipe{strings.Fields(f.expand(strings.ReplaceAll(needs, "|", " "), nil)), []string{strings.TrimLeft(code, recipeStart)}})
		}
	}
	return f
}

// add adds needs and lines to the rules for targets.
func (f *recipeFile) add(targets []string, rule recipe) {
	for _, target := range targets {
		pattern := strings.Contains(target, "%")
		if pattern && f.rules[target] == nil {
			f.patterns = append(f.patterns, target)
		}
		if f.first == "" && !pattern && !strings.HasPrefix(target, ".") {
			f.first = target
		}
		f.rules[target] = append(f.rules[target], rule)
	}
}

// readManifest reads the scripts of package.json.
func readManifest(text string) *recipeFile {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	f := &recipeFile{rules: map[string][]recipe{}}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return f
	}
	for name, code := range manifest.Scripts {
		f.rules[name] = []recipe{{lines: []string{manifest.Scripts["pre"+name], code, manifest.Scripts["post"+name]}}}
	}
	return f
}

// expand fills in the variables of make that are known. Others become a variable of the shell
// that is not.
func (f *recipeFile) expand(text string, vars map[string]string) string {
	if f.vars == nil {
		return text
	}
	for range 8 {
		size, more := len(text), false
		text = makeUse().ReplaceAllStringFunc(text, func(use string) string {
			name := strings.Trim(use[1:], "(){}")
			val, known := vars[name]
			if !known {
				val, known = f.vars[name]
			}
			switch {
			case use == "$$":
				return "\x01"
			case size > maxSource || !known || len(use) == 2:
				return "\x01{__unseen}"
			}
			size, more = size+len(val), true
			return val
		})
		if !more {
			break
		}
	}
	return strings.ReplaceAll(text, "\x01", "$")
}
