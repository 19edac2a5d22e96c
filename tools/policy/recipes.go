package policy

import (
	"fmt"
	"path"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// recipes are the Makefiles and package.json that build tools would run. Their shell code is
// judged as far as it can be read. It is ordinary work: parts that cannot be resolved do not
// require approval.
type recipes struct {
	files  map[string]*code.Recipes // by path; nil: there is none
	judged map[string]bool
	spare  budget // of the line while recipes are judged, else that of recipes
	depth  int
}

const maxTargets = 500 // of one call of make

// runMake judges build tools by the recipes that they would run.
func runMake(j *analyzer, c *call) {
	o, inner := j.building(c, rules.Of(c.name), "-C", "--directory")
	names := strings.Fields(rules.Reason("recipe-files", c.name))
	if given := o.values("-f", "--file", "--makefile"); len(given) > 0 {
		if names = []string{given[0].text}; names[0] == "-" || strings.HasPrefix(names[0], "/dev/") {
			j.ranFiles(c, j.sources...)
			return
		}
	}
	j.ran(inner, names...)
	for _, name := range names {
		f := j.recipeFile(absolute(inner.st, name), code.Makefile)
		if f == nil || !strings.HasSuffix(c.name, "make") {
			continue
		}
		vars, targets := map[string]string{}, []string(nil)
		for _, a := range o.rest {
			if name, val, ok := strings.Cut(a.text, "="); ok {
				vars[strings.TrimRight(name, ":?+")] = val
			} else {
				targets = append(targets, a.text)
			}
		}
		if len(targets) == 0 {
			targets = []string{f.First}
		}
		j.make(inner, f, vars, targets)
		return
	}
}

// building returns the options of a build tool, and its call in the folder that the options name.
func (j *analyzer) building(c *call, p *rules.Program, folders ...string) (options, *call) {
	o := parse(p, c.args)
	inner := &call{name: c.name, words: c.words, st: c.st.clone()}
	for _, folder := range o.values(folders...) {
		inner.st.chdir(folder.text)
	}
	return o, inner
}

// runScripts judges the scripts of package.json that a package manager runs.
func runScripts(j *analyzer, c *call) {
	o, inner := j.building(c, rules.Of("package.json"), "-C", "--prefix", "--cwd", "--dir")
	verb := "" // yarn alone installs
	if len(o.rest) > 0 {
		verb = o.rest[0].text
	}
	scripts, known := rules.Lookup("package-verb", verb)
	switch {
	case scripts == "1" && len(o.rest) > 1:
		scripts = o.rest[1].text
	case !known && verb == "" && c.name == "yarn":
		scripts = rules.Reason("package-verb", "install")
	case !known && contains("pnpm yarn bun", c.name): // yarn build
		scripts = verb
	case !known:
		return
	}
	for root := paths.Clean(inner.st.cwd); !paths.Marked(root); root = path.Dir(root) {
		file := path.Join(root, "package.json")
		j.ran(inner, file)
		f := j.recipeFile(file, code.Manifest)
		if f != nil {
			inner.st.cwd = root
			j.make(inner, f, nil, strings.Fields(scripts))
		}
		if f != nil || root == path.Dir(root) || !j.scope.places().Inside(path.Dir(root)) {
			return
		}
	}
}

// recipeFile returns the content of a file, or nil. Each file is read once.
func (j *analyzer) recipeFile(name string, read func(text string) *code.Recipes) *code.Recipes {
	if name == "" || j.scope.Read == nil || j.elsewhere || paths.Marked(name) {
		return nil
	}
	name = paths.Clean(name)
	f, known := j.recipes.files[name]
	if !known {
		if text, ok := j.scope.Read(name); ok && len(text) <= 1<<20 {
			f = read(text)
		}
		j.recipes.files[name] = f
	}
	return f
}

// make judges the recipes of targets and of their prerequisites, each once.
func (j *analyzer) make(c *call, f *code.Recipes, vars map[string]string, targets []string) {
	r := &j.recipes
	key := fmt.Sprintf("%q %q %q %q", c.st.cwd, j.rememberAs, targets, vars)
	if r.judged[key] {
		return
	}
	r.judged[key] = true
	if r.depth++; r.depth == 1 {
		j.budget, r.spare = r.spare, j.budget
	}
	before, end := len(j.findings), j.wrapped(c)
	inner := &call{name: c.name, words: c.words, st: &state{cwd: c.st.cwd}}
	seen := map[string]bool{}
	run := func(lines []string) {
		for _, line := range lines {
			if line = f.Expand(line, vars); len(line) <= maxSource && !j.gaveUp {
				j.shellFile(inner, line)
			}
		}
	}
	for i := 0; i < len(targets) && len(seen) < maxTargets && !j.gaveUp; i++ {
		if target := targets[i]; !seen[target] && !j.spent() {
			seen[target] = true
			for _, rule := range f.For(target) {
				run(rule.Lines)
				targets = append(targets[:len(targets):len(targets)], rule.Needs...)
			}
		}
	}
	run(f.Always)
	end()
	kept := j.findings[:before]
	for _, found := range j.findings[before:] {
		if found.level == Blocked || found.settings || !rules.Any("ordinary-in-recipes", found.reason, strings.Contains) {
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
