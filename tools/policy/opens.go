package policy

import (
	"path"
	"slices"
	"strings"
)

// A command line may write a protected place, such as .vscode, after an approval. The place
// is open for the whole line, so only a line of which each program is known and runs no
// other code opens one.

// known notes whether a program of a command may run code that is not known. Only programs
// and options that the rule files name, written out in full, do not.
func (j *analyzer) known(c *call, program string) {
	dir := path.Dir(slashes(program))
	plain := !strings.Contains(program, "/") || dir == "/bin" || dir == "/usr/bin"
	if p := rulesOf(c.name); !plain || j.funcs[c.name] != nil || j.aliases[c.name] || c.name != "git" && !p.opensWith(c.args[1:]) {
		j.foreign = true
	}
	for name := range rules().lists["loader"] {
		_, set := c.st.get(name)
		j.foreign = j.foreign || set
	}
}

// sets notes the setting of a variable: of one that is not known to be harmless, a program
// may run or load something.
func (j *analyzer) sets(name, value string) {
	helper := strings.Contains(name, "PAGER") || strings.Contains(name, "EDITOR") || name == "VISUAL"
	if name == "GIT_ALLOW_PROTOCOL" && !slices.ContainsFunc(strings.Split(value, ":"), func(p string) bool { return !in("harmless-protocol", p) }) {
		return
	}
	if name != strings.ToLower(name) && !in("harmless-variable", name) && !(helper && harmlessHelper(value)) {
		j.foreign = true
	}
}

// Loads reports whether a known program may run or load something else by a variable with
// this value.
func Loads(variable, value string) bool {
	if helper := strings.Contains(variable, "PAGER") || strings.Contains(variable, "EDITOR") || variable == "VISUAL"; helper && harmlessHelper(value) {
		return false
	}
	return in("loader", variable) || beginsOf("loader-prefix", variable) && !in("harmless-variable", variable)
}

// runsOthers reports whether a program that is known was told to run another one.
func (j *analyzer) runsOthers() bool {
	return slices.ContainsFunc(j.findings, func(f finding) bool {
		verb, _, _ := strings.Cut(f.reason, " ")
		return !f.settings && !in("own-act", verb)
	})
}

// open notes that the command itself writes a protected place.
func (j *analyzer) open(name string) {
	if strings.ContainsAny(name, unknown+fresh+number) || j.elsewhere {
		return
	}
	place := protectedPlace(cleanPath(name))
	for _, p := range []string{place, j.resolved(place)} {
		if p != "" && !slices.Contains(j.opens, p) {
			j.opens = append(j.opens, p)
		}
	}
}

// openNamed notes the paths that a command itself removes or moves: a folder may hold places
// that are protected. Of a pattern that is the folder in which it is matched.
func (j *analyzer) openNamed(c *call, targets ...field) {
	for _, t := range targets {
		for _, name := range absolute(c.st, t.text) {
			if t.glob {
				name = name[:strings.LastIndexByte(name[:strings.IndexAny(name+"*", "*?[")], '/')+1]
			}
			if name != "" && j.scope.inside(cleanPath(name)) {
				j.open(name)
			}
		}
	}
}

func (j *analyzer) resolved(name string) string {
	if j.scope.Resolve == nil {
		return name
	}
	return j.scope.Resolve(name)
}

// opened returns the places to open, or none.
func (j *analyzer) opened() []string {
	if j.foreign || j.runsOthers() {
		return nil
	}
	if !j.hooked {
		return j.opens
	}
	var git []string
	for _, place := range j.opens {
		if inside, _ := gitPath(place); inside || slices.Contains(j.gitMoves, place) {
			git = append(git, place)
		}
	}
	return git
}

// gitPath tells whether a path lies in a git folder, and returns that folder.
func gitPath(name string) (bool, string) {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if strings.EqualFold(part, ".git") {
			return true, strings.Join(parts[:i+1], "/")
		}
	}
	return false, ""
}

// gitOpens notes the settings of its repository that a command of git writes.
func (j *analyzer) gitOpens(c *call) {
	j.hooked = j.hooked || in("git-hooked", c.name)
	if !rulesOf("git "+c.name).opensWith(c.args) || hasWord(c.args, "foreach") {
		j.foreign = true // an option, or an alias, may run something
	}
	if !contains("init clone help version --version --help", c.name) && slices.ContainsFunc(c.st.cwds, func(dir string) bool { return len(j.repository(dir)) == 0 }) {
		j.foreign = true // the settings of another repository may run programs
	}
	j.rewrites = j.rewrites || in("git-rewrites", c.name)
	switch c.name {
	case "clean":
		j.openNamed(c, field{text: "."})
	case "rm", "mv":
		j.openNamed(c, parse(c.args, "", "pathspec-from-file").rest...)
	case "worktree":
		if rest := parse(c.args, "bB", "reason expire").rest; len(rest) > 1 && (rest[0].text == "remove" || rest[0].text == "move") {
			before := len(j.opens)
			j.openNamed(c, rest[1])
			j.gitMoves = append(j.gitMoves, j.opens[before:]...)
		}
	}
	if !in("git-configures", c.name) {
		return
	}
	for _, cwd := range c.st.cwds {
		for _, dir := range j.repository(cwd) {
			if !contains("fetch pull push", c.name) || hasWord(c.args, "-u") || hasWord(c.args, "--set-upstream") {
				j.open(dir + "/config")
			}
			switch c.name {
			case "config", "sparse-checkout", "worktree":
				j.open(dir + "/config.worktree")
			}
			switch c.name {
			case "worktree":
				j.open(dir + "/worktrees")
			case "submodule", "checkout", "switch", "pull", "fetch":
				j.open(dir + "/modules")
			}
			if c.name == "sparse-checkout" || c.name == "init" {
				j.open(dir + "/info")
			}
		}
	}
}

// repository returns the git folders that git uses in a folder.
func (j *analyzer) repository(dir string) []string {
	if strings.ContainsAny(dir, unknown+fresh+number) {
		return nil
	}
	dir = cleanPath(dir)
	if j.scope.Repository != nil {
		return j.scope.Repository(dir)
	}
	return []string{path.Join(dir, ".git")}
}

// protectedPlace returns the place that protects a path: the folder, if the path lies in a
// folder of settings, else the path.
func protectedPlace(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if in("protected-folder", fold(part)) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return name
}
