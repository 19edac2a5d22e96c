package approval

import (
	"path"
	"slices"
	"strings"
)

// A command line may write a protected place, such as .vscode, after a yes. The place is
// opened for the whole line, so only a line of which every program is known, and runs
// nobody else's code, opens one.

// ownCode are programs that run nothing but themselves, or only what is judged with them.
// The others, such as scripts, interpreters and package managers, run code of their own.
const ownCode = "git cp mv ln rm rmdir unlink mkdir touch install tee sed gsed cat head tail tac echo printf true false : test [ [[ cd pushd popd pwd ls " +
	"stat file wc sort uniq cut tr grep egrep fgrep rg find diff cmp chmod basename dirname realpath readlink date sleep export declare local readonly " +
	"typeset unset set shift read exit return break continue wait let shopt jq yq truncate patch du df which type command builtin exec env nice nohup timeout " +
	"time sudo doas sh bash dash eval id whoami uname hostname seq mktemp tar unzip zip gzip gunzip base64 awk gawk mawk xargs"

// gitHooked are commands of git that run hooks, filters or other programs which the user
// has set up already.
const gitHooked = "commit merge rebase am pull push checkout switch cherry-pick revert worktree submodule clone fetch gc maintenance restore reset stash apply add read-tree"

// gitForeign are commands of git that run what they are given, or what cannot be told.
const gitForeign = "bisect filter-branch filter-repo difftool mergetool send-email instaweb gui citool svn p4 lfs subtree flow"

// gitConfigures are commands of git that write the settings of a repository.
const gitConfigures = "config remote branch checkout switch push pull fetch submodule worktree sparse-checkout init clone maintenance"

// known notes whether a program of a command runs code that is not known.
func (j *judge) known(c *call, program string) {
	dir := path.Dir(slashes(program))
	if strings.Contains(program, "/") && dir != "/bin" && dir != "/usr/bin" || !contains(ownCode, c.name) || j.funcs[c.name] != nil || j.aliases[c.name] {
		j.foreign = true
	}
	if c.name == "install" && slices.ContainsFunc(c.args, func(a field) bool { return strings.HasPrefix(a.text, "--strip-program") }) {
		j.foreign = true
	}
	j.foreign = j.foreign || slices.ContainsFunc(loaders, func(name string) bool { _, set := c.st.get(name); return set })
}

// loaders are variables by which a program that is known runs or loads another one. Those
// that ask when they are set are among them, since a script can set them for the session,
// too. See [Loads].
var loaders = strings.Fields("PATH HOME XDG_CONFIG_HOME LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV PROMPT_COMMAND SHELLOPTS BASHOPTS ZDOTDIR PS4 " +
	"GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_TEMPLATE_DIR GIT_EXEC_PATH GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT " +
	"GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_EDITOR GIT_SEQUENCE_EDITOR EDITOR VISUAL GIT_PAGER PAGER GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS " +
	"AWKPATH AWKLIBPATH RIPGREP_CONFIG_PATH TAR_OPTIONS ZIPOPT UNZIP GZIP IFS GCONV_PATH GLIBC_TUNABLES")

// Loads reports whether a known program may run or load something else by a variable with
// this value.
func Loads(variable, value string) bool {
	if helper := strings.Contains(variable, "PAGER") || strings.Contains(variable, "EDITOR") || variable == "VISUAL"; helper && harmlessHelper(value) {
		return false
	}
	return slices.Contains(loaders, variable) || strings.HasPrefix(variable, "BASH_FUNC_") ||
		strings.HasPrefix(variable, "GIT_CONFIG_KEY_") || strings.HasPrefix(variable, "GIT_CONFIG_VALUE_")
}

// ownActs begin the reasons of what a program does by itself. Other reasons say that
// it runs or loads something, or that this cannot be told.
const ownActs = "changes deletes removes destroys empties overwrites moves rewrites discards throws edits writes links checks ends publishes pushes sends stops erases"

// runsOthers reports whether a program that is known was told to run another one.
func (j *judge) runsOthers() bool {
	return slices.ContainsFunc(j.findings, func(f finding) bool {
		verb, _, _ := strings.Cut(f.reason, " ")
		return !f.settings && !contains(ownActs, verb)
	})
}

// open notes that the command itself writes a protected place.
func (j *judge) open(name string) {
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

// openNamed notes what a command removes or moves away by itself: a folder may hold places
// that are protected. Of a pattern that is the folder in which it is matched.
func (j *judge) openNamed(c *call, targets ...field) {
	for _, t := range targets {
		for _, name := range absolute(c.st, t.text) {
			if t.glob {
				name = name[:strings.LastIndexByte(name[:strings.IndexAny(name+"*", "*?[")], '/')+1]
			}
			if name != "" && j.place.inside(cleanPath(name)) {
				j.open(name)
			}
		}
	}
}

func (j *judge) resolved(name string) string {
	if j.place.Resolve == nil {
		return name
	}
	return j.place.Resolve(name)
}

// opened returns the places to open, or none.
func (j *judge) opened() []string {
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

// gitOpens notes what a command of git writes in the settings of its repository.
func (j *judge) gitOpens(c *call) {
	switch {
	case contains(gitForeign, c.name), c.name == "submodule" && hasWord(c.args, "foreach"),
		c.name == "rebase" && slices.ContainsFunc(c.args, func(a field) bool { return strings.HasPrefix(a.text, "-x") || strings.HasPrefix(a.text, "--exec") }):
		j.foreign = true
	case contains(gitHooked, c.name):
		j.hooked = true
	case !contains(gitPlain, c.name):
		j.foreign = true // an alias
	}
	if !contains("init clone help version --version --help", c.name) && slices.ContainsFunc(c.st.cwds, func(dir string) bool { return len(j.repository(dir)) == 0 }) {
		j.foreign = true // the settings of another repository may run programs
	}
	j.rewrites = j.rewrites || contains(gitRewrites, c.name)
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
	if !contains(gitConfigures, c.name) {
		return
	}
	for _, cwd := range c.st.cwds {
		for _, dir := range j.repository(cwd) {
			j.open(dir + "/config")
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

// gitPlain are commands of git that run no other program.
const gitPlain = "config remote branch status log diff show grep blame ls-files ls-tree ls-remote rev-parse rev-list cat-file describe shortlog help version tag init " +
	"check-ignore check-attr name-rev merge-base for-each-ref show-ref symbolic-ref var whatchanged reflog count-objects fsck diff-tree diff-index diff-files range-diff " +
	"mv rm clean notes update-ref update-index write-tree hash-object mktree commit-tree sparse-checkout archive bundle format-patch prune repack pack-refs --version --help"

// gitRewrites are commands of git that change the files of a worktree.
const gitRewrites = "merge rebase am pull checkout switch cherry-pick revert restore reset stash apply clean submodule read-tree checkout-index mv rm bisect filter-branch filter-repo lfs"

// repository returns the git folders that git uses in a folder.
func (j *judge) repository(dir string) []string {
	if strings.ContainsAny(dir, unknown+fresh+number) {
		return nil
	}
	dir = cleanPath(dir)
	if j.place.Repository != nil {
		return j.place.Repository(dir)
	}
	return []string{path.Join(dir, ".git")}
}

// protectedPlace returns the place that protects a path: the folder for what lies in a
// folder of settings, else the path.
func protectedPlace(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if protectedFolders[fold(part)] != "" {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return name
}
