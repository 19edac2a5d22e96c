package policy

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// make judges build tools by the code that their arguments give them, and by the recipes
// that they would run.
func (j *analyzer) make(c *call) {
	o := parse(c.args, "fCjlIoWE", "file makefile directory eval old-file new-file include-dir")
	if c.name == "just" && (hasWord(c.args, "--command") || hasWord(c.args, "-c")) {
		handsOn(j, c)
	}
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "SHELL=") || strings.HasPrefix(a.text, ".SHELLFLAGS=") || strings.HasPrefix(a.text, "--eval") ||
			strings.HasPrefix(a.text, "MAKEFLAGS=") || strings.HasSuffix(nameOf(a.text), "!") ||
			strings.Contains(a.text, "=") && (strings.Contains(a.text, "$(shell") || strings.Contains(a.text, "${shell")) {
			j.ask(c, "gives make code of its own")
		}
	}
	if c.name != "just" && c.name != "ninja" && o.has("E") {
		j.ask(c, "gives make code of its own")
	}
	file, given := o.get("f", "file", "makefile")
	if given && (file.value.text == "-" || strings.HasPrefix(file.value.text, "/dev/")) {
		j.ranInput(c)
		j.ask(c, "gives make code of its own")
		return
	}
	st := c.st.clone()
	for _, opt := range o.list {
		if opt.name == "C" || opt.double && opt.name == "directory" {
			st.cwds = absolute(st, opt.value.text)
		}
	}
	names := map[string][]string{"ninja": {"build.ninja"}, "just": {"justfile", "Justfile", ".justfile"}}[c.name]
	if names == nil {
		names = []string{"GNUmakefile", "makefile", "Makefile"}
	}
	if given {
		names = []string{file.value.text}
	}
	inner := &call{name: c.name, args: o.rest, words: c.words, st: st}
	j.ran(inner, names...)
	if c.name == "make" || c.name == "gmake" {
		j.makefile(inner, names)
	}
}

// nameOf returns the part before "=".
func nameOf(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return name
}

// makefile judges the recipes of the targets that make is given, as far as they can be
// read: make is ordinary work, so nothing that cannot be resolved asks.
func (j *analyzer) makefile(c *call, names []string) {
	text, dir := j.firstText(c.st, names)
	if text == "" {
		return
	}
	if !j.once("make", dir, render(c.args)) {
		return
	}
	if j.makefiles == nil {
		j.makefiles = map[string]*makefile{}
	}
	if j.makefiles[text] == nil {
		j.makefiles[text] = readMakefile(text)
	}
	shared := *j.makefiles[text]
	m := &shared
	m.vars = maps.Clone(m.vars)
	for _, a := range c.args {
		if name, val, ok := strings.Cut(a.text, "="); ok {
			m.vars[strings.TrimRight(name, ":?+")] = val
		}
	}
	targets := slices.DeleteFunc(slices.Clone(c.args), func(a field) bool { return strings.Contains(a.text, "=") })
	if len(targets) == 0 {
		targets = []field{{text: m.first}}
	}
	seen := map[string]bool{}
	for _, t := range targets {
		j.recipes(c, m, t.text, dir, seen)
	}
	for _, code := range m.shell {
		j.recipe(c, m.expand(code), dir)
	}
}

// once reports whether a recipe is judged for the first time.
func (j *analyzer) once(what ...string) bool {
	key := strings.Join(what, "\x00")
	if j.judged[key] {
		return false
	}
	if j.judged == nil {
		j.judged = map[string]bool{}
	}
	j.judged[key] = true
	return true
}

// firstText returns the content of the first file that there is, and its folder.
func (j *analyzer) firstText(st *state, names []string) (text, dir string) {
	if j.scope.Read == nil || j.elsewhere || len(st.cwds) != 1 {
		return "", ""
	}
	for _, name := range names {
		for _, file := range absolute(st, name) {
			if strings.ContainsAny(file, unknown+fresh+number) {
				continue
			}
			if text, ok := j.scope.Read(cleanPath(file)); ok && len(text) <= 1<<20 {
				return text, cleanPath(st.cwds[0])
			}
		}
	}
	return "", ""
}

// recipes judges the recipe of a target and those of its prerequisites.
func (j *analyzer) recipes(c *call, m *makefile, target, dir string, seen map[string]bool) {
	if seen[target] || len(seen) > 500 || j.recipeGaveUp() {
		return
	}
	if j.recipeDepth > 0 {
		j.spent() // a look through all rules is work, too
	}
	seen[target] = true
	for _, r := range m.rules {
		if !slices.Contains(r.targets, target) && !slices.ContainsFunc(r.targets, func(p string) bool { return stem(p, target) }) {
			continue
		}
		for _, need := range r.needs {
			j.recipes(c, m, need, dir, seen)
		}
		for _, line := range r.recipe {
			j.recipe(c, m.expand(line), dir)
		}
	}
}

func stem(pattern, target string) bool {
	before, after, ok := strings.Cut(pattern, "%")
	return ok && len(target) >= len(pattern)-1 && strings.HasPrefix(target, before) && strings.HasSuffix(target, after)
}

// recipe judges shell code of a file of the project. Deletions in the workspace and parts
// that cannot be seen run without approval: they are ordinary there.
func (j *analyzer) recipe(c *call, text, dir string) {
	if j.recipeGaveUp() {
		return
	}
	if j.recipeDepth++; j.recipeDepth == 1 {
		j.budget, j.recipeBudget = j.recipeBudget, j.budget
	}
	defer func() {
		if j.recipeDepth--; j.recipeDepth == 0 {
			j.budget, j.recipeBudget = j.recipeBudget, j.budget
			if j.recipeBudget.gaveUp {
				j.note(Asks, "runs recipes that are too involved to be judged", j.whole())
			}
		}
	}()
	before, rememberAs := len(j.findings), j.rememberAs
	wrapped := len(c.words) > 0 && programName(c.words[0].text) != c.name
	if j.rememberAs == "" && wrapped {
		j.rememberAs = j.key(c)
	}
	j.shellFile(&call{name: c.name, words: c.words, st: &state{cwds: []string{dir}}}, text)
	j.rememberAs = rememberAs
	kept := j.findings[:before]
	for _, f := range j.findings[before:] {
		if f.level == Refused || f.settings || !ordinaryInRecipes(f.reason) {
			kept = append(kept, f)
		}
	}
	j.findings = kept
}

// recipeGaveUp reports whether recipes were too involved to be judged.
func (j *analyzer) recipeGaveUp() bool {
	return j.recipeBudget.gaveUp && j.recipeDepth == 0 || j.gaveUp && j.recipeDepth > 0
}

// ordinaryInRecipes tells whether a reason to ask is none in a recipe.
func ordinaryInRecipes(reason string) bool {
	for _, part := range []string{"cannot be", "deletes files", "deletes what it finds", "variable or a substitution", "that is a pattern", "recursively",
		"too long", "too deeply", "sets ", "made up", "throws files away", "writes outside the workspace", "runs an alias", "ends ", "subscript", "detour",
		"destroys files", "overwrites a file", "through a pipe", "of its own"} {
		if strings.Contains(reason, part) {
			return true
		}
	}
	return false
}

// makefile holds the parts of a Makefile that can be read.
type makefile struct {
	rules []makeRule
	vars  map[string]string
	shell []string // code that runs when the file is read
	first string
}

type makeRule struct{ targets, needs, recipe []string }

// readMakefile reads rules and plain assignments; conditionals count as if all their
// branches were taken.
func readMakefile(text string) *makefile {
	m := &makefile{vars: map[string]string{}}
	text = strings.ReplaceAll(text, "\\\n", " ")
	var at []int // the rules that a recipe belongs to
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "\t") {
			for _, i := range at {
				m.rules[i].recipe = append(m.rules[i].recipe, strings.TrimLeft(line, "\t @-+"))
			}
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		m.shellIn(line)
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if name, val, ok := assignment(line); ok {
			m.vars[name] = val
			continue
		}
		left, right, ok := strings.Cut(line, ":")
		if !ok || len(m.rules) > 5000 {
			continue
		}
		at = []int{len(m.rules)}
		m.rules = append(m.rules, m.rule(left, strings.TrimLeft(right, ":")))
	}
	return m
}

func (m *makefile) rule(left, right string) makeRule {
	needs, recipe, has := strings.Cut(right, ";")
	r := makeRule{targets: strings.Fields(m.expand(left)), needs: strings.Fields(m.expand(strings.ReplaceAll(needs, "|", " ")))}
	if has {
		r.recipe = []string{strings.TrimLeft(recipe, "\t @-+")}
	}
	if m.first == "" && len(r.targets) > 0 && !strings.HasPrefix(r.targets[0], ".") && !strings.Contains(r.targets[0], "%") {
		m.first = r.targets[0]
	}
	return r
}

// assignment reads NAME = value in the forms that make has.
func assignment(line string) (name, val string, ok bool) {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "export "), "override ")
	i := strings.IndexByte(line, '=')
	if i < 1 {
		return "", "", false
	}
	name = strings.TrimRight(line[:i], ":?+! \t")
	if name == "" || strings.ContainsAny(name, " \t:") {
		return "", "", false
	}
	return name, strings.TrimSpace(line[i+1:]), true
}

// shellIn notes the code that a line runs when make reads it.
func (m *makefile) shellIn(line string) {
	if _, code, ok := strings.Cut(line, "!="); ok {
		m.shell = append(m.shell, code)
	}
	for _, open := range []string{"$(shell ", "${shell "} {
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, open)
			if !ok {
				break
			}
			depth, end := 1, 0
			for ; end < len(after) && depth > 0; end++ {
				switch after[end] {
				case '(', '{':
					depth++
				case ')', '}':
					depth--
				}
			}
			m.shell = append(m.shell, strings.TrimRight(after[:end], ")}"))
			rest = after
		}
	}
}

// unseenWord stands in code of a recipe for a part that cannot be resolved.
const unseenWord = "${__unseen}"

// expand fills in the variables of make that are known; the others become one of the shell
// that is not.
func (m *makefile) expand(text string) string {
	for range 8 {
		out, more := m.expandOnce(text)
		if text = out; !more || len(text) > maxSource {
			break
		}
	}
	return strings.ReplaceAll(text, "\x00", "$")
}

func (m *makefile) expandOnce(text string) (out string, more bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case '$':
			b.WriteByte(0) // one of the shell
		case '(', '{':
			end := strings.IndexAny(text[i:], ")}")
			if end < 0 {
				return b.String() + text[i-1:], false
			}
			val, ok := m.vars[text[i+1:i+end]]
			if !ok {
				val = "\x00" + unseenWord[1:]
			}
			more = more || ok
			b.WriteString(val)
			i += end
		default:
			b.WriteString("\x00" + unseenWord[1:])
		}
	}
	return b.String(), more
}

// packageScripts judges the scripts of package.json that a package manager would run.
func (j *analyzer) packageScripts(c *call, dir []string, names ...string) {
	st := c.st.clone()
	st.cwds = dir
	if len(dir) != 1 || strings.ContainsAny(dir[0], unknown+fresh+number) {
		return
	}
	inner := &call{name: c.name, words: c.words, st: st}
	root := cleanPath(dir[0])
	for {
		file := path.Join(root, "package.json")
		j.ran(inner, file)
		if j.scope.Read == nil {
			return
		}
		if text, ok := j.scope.Read(file); ok {
			j.scriptsOf(inner, text, root, names)
			return
		}
		if root == path.Dir(root) || !j.scope.inside(path.Dir(root)) {
			return
		}
		root = path.Dir(root)
	}
}

func (j *analyzer) scriptsOf(c *call, text, dir string, names []string) {
	if j.recipeGaveUp() {
		return
	}
	if j.manifests == nil {
		j.manifests = map[string]map[string]string{}
	}
	scripts, parsed := j.manifests[text]
	if !parsed {
		var manifest struct {
			Scripts map[string]string `json:"scripts"`
		}
		if json.Unmarshal([]byte(text), &manifest) == nil {
			scripts = manifest.Scripts
		}
		j.manifests[text] = scripts
	}
	for _, name := range names {
		for _, script := range []string{"pre" + name, name, "post" + name} {
			if code := scripts[script]; code != "" && j.once("script", dir, script, j.rememberAs) {
				j.recipe(c, code, dir)
			}
		}
	}
}

// packageVerb judges the scripts of package.json that a package manager runs.
func (j *analyzer) packageVerb(c *call) {
	if !contains("npm pnpm yarn bun", c.name) {
		return
	}
	dir := c.st.cwds
	var words []string
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch name, val, has := strings.Cut(a.text, "="); {
		case contains("--prefix -C --cwd --dir", name):
			if !has && i+1 < len(c.args) {
				i++
				val = c.args[i].text
			}
			dir = absolute(c.st, val)
		case a.text == "--":
			i = len(c.args)
		case a.option():
		default:
			words = append(words, a.text)
		}
	}
	if len(words) == 0 {
		if c.name == "yarn" {
			j.packageScripts(c, dir, "install", "prepare")
		}
		return
	}
	switch words[0] {
	case "run", "run-script", "rum", "urn":
		if len(words) > 1 {
			j.packageScripts(c, dir, words[1])
		}
	case "test", "t", "tst", "start", "stop", "restart":
		j.packageScripts(c, dir, fullVerb(words[0]))
	case "install", "i", "ci", "add", "rebuild":
		j.packageScripts(c, dir, "install", "prepare")
	case "publish", "pack", "version":
		j.packageScripts(c, dir, words[0], "prepare", "prepublishOnly", "prepack")
	default:
		if c.name != "npm" {
			j.packageScripts(c, dir, words[0]) // yarn build
		}
	}
}

func fullVerb(word string) string {
	if word == "t" || word == "tst" {
		return "test"
	}
	return word
}
