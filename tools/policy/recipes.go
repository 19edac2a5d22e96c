package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// recipes are the Makefiles and package.json files of build tools. Their shell code is judged as
// far as it can be read. It is ordinary work: unresolved parts do not require approval.
type recipes struct {
	files  map[string]*code.Recipes // by path; nil: there is none
	judged map[string]bool
	budget budget
}

const maxTargets = 500 // of a single make call

// runRecipes judges build tools and package managers by their recipes. A package manager looks for
// its file in the parent directories, too.
func (t *terms) runRecipes() {
	j, c := t.j, t.c
	names := strings.Fields(rules.Reason("recipe-files", c.name))
	manifest := names[0] == "package.json"
	o := parse(rules.Of(names[0]), c.args)
	inner := &call{name: c.name, words: c.words, st: c.st.clone()}
	for _, folder := range o.values("-C", "--directory", "--prefix", "--cwd", "--dir") {
		inner.st.chdir(folder.text)
	}
	if given := o.values("-f", "--file", "--makefile"); len(given) > 0 && !manifest {
		if names = []string{given[0].text}; names[0] == "-" || strings.HasPrefix(names[0], "/dev/") {
			j.ranFiles(c, j.sources...)
			return
		}
	}
	vars, targets, read := map[string]string{}, []string(nil), code.Makefile
	for _, a := range o.rest {
		if name, val, ok := strings.Cut(a.text, "="); ok && !manifest {
			vars[strings.TrimRight(name, ":?+")] = val
		} else {
			targets = append(targets, a.text)
		}
	}
	if manifest {
		if targets, read = scripts(c.name, targets), code.Manifest; len(targets) == 0 || paths.Marked(inner.st.cwd) {
			return
		}
	}
	for again := true; again; {
		for _, name := range names {
			file := absolute(inner.st, name)
			j.ran(c, file)
			if f := j.recipeFile(file, read); f != nil && (manifest || strings.HasSuffix(c.name, "make")) {
				j.make(inner, f, vars, targets)
				return
			}
		}
		above := path.Dir(paths.Clean(inner.st.cwd))
		again = manifest && above != inner.st.cwd && j.scope.places().Inside(above)
		inner.st.cwd = above
	}
}

// scripts returns the package.json scripts that a package manager runs for its words.
func scripts(manager string, words []string) []string {
	verb := append(words[:len(words):len(words)], manager)[0] // yarn alone installs
	list, known := rules.List("package-verb")[verb]
	switch {
	case list == "1":
		return words[1:min(2, len(words))]
	case known || !contains("pnpm yarn bun", manager):
		return strings.Fields(list)
	}
	return []string{verb} // yarn build
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
	outer := j.budget
	j.budget = &r.budget
	before, end := len(j.findings), j.wrapped(c)
	inner := &call{name: c.name, words: c.words, st: &state{cwd: c.st.cwd}}
	if len(targets) == 0 {
		targets = []string{f.First}
	}
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
			needs, lines := f.For(target)
			run(lines)
			targets = append(targets[:len(targets):len(targets)], needs...)
		}
	}
	run(f.Always)
	end()
	kept := slices.DeleteFunc(j.findings[before:], func(f finding) bool {
		return f.level != Blocked && !f.settings && matches("ORDINARY_IN_RECIPES", f.reason)
	})
	j.findings = j.findings[:before+len(kept)]
	if j.budget = outer; r.budget.gaveUp && outer != &r.budget {
		j.note(Asks, "runs recipes that are too involved to be judged", j.whole())
	}
}
