package approval

import "strings"

// git judges git by its own options and its verb.
func (j *judge) git(c *call) {
	args := c.args
	st := c.st.clone()
	for len(args) > 0 && (args[0].option() || args[0].open()) {
		text := args[0].text
		if args[0].open() {
			j.ask(c, "runs git with arguments that cannot be seen")
			return
		}
		name, val, has := strings.Cut(text, "=")
		args = args[1:]
		if !has && len(args) > 0 {
			switch text {
			case "-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source":
				val, args = args[0].text, args[1:]
			}
		}
		switch name {
		case "-c":
			j.gitSetting(c, val)
		case "-C", "--work-tree":
			st.cwds = absolute(st, val)
		case "--git-dir":
			st.cwds = absolute(st, strings.TrimSuffix(strings.TrimSuffix(val, "/"), ".git"))
			if len(st.cwds) == 0 {
				st.cwds = c.st.cwds
			}
		case "--exec-path":
			if has {
				j.ask(c, "runs git's programs from another place")
			}
		case "--config-env":
			j.ask(c, "sets a git setting that cannot be seen")
		}
		if strings.HasPrefix(text, "-c") && len(text) > 2 {
			j.gitSetting(c, text[2:])
		}
	}
	if len(args) == 0 {
		return
	}
	if args[0].open() {
		j.ask(c, "runs a git command that cannot be seen")
		return
	}
	if len(args) < len(c.args) { // for deny rules: the command without what stands before its verb
		j.commands = append(j.commands, visible(render(append([]field{{text: "git"}}, args...))))
	}
	g := &call{name: args[0].text, args: args[1:], words: c.words, st: st}
	j.gitOpens(g)
	j.gitOutside(g)
	j.gitVerb(g)
	j.gitPrograms(g)
}

// gitOutside asks about changes to a repository outside the workspace.
func (j *judge) gitOutside(c *call) {
	switch c.name {
	case "log", "status", "diff", "show", "grep", "blame", "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list", "cat-file", "describe",
		"shortlog", "help", "version", "config", "branch", "tag", "remote", "clone", "init", "--version", "check-ignore", "name-rev", "merge-base",
		"for-each-ref", "show-ref", "symbolic-ref", "var", "whatchanged", "reflog", "stash", "worktree", "count-objects", "fsck", "diff-tree", "range-diff":
		return
	}
	for _, cwd := range c.st.cwds {
		if len(j.place.Roots) > 0 && !strings.HasPrefix(cwd, unknown) && !j.place.inside(cleanPath(cwd)) && !j.place.ownTemp(cleanPath(cwd)) {
			j.ask(c, "changes a repository outside the workspace")
			return
		}
	}
}

// gitSetting judges "key=value" as given with -c.
func (j *judge) gitSetting(c *call, setting string) {
	key, val, _ := strings.Cut(setting, "=")
	if gitRuns(key, val) {
		j.ranValue(c, strings.TrimPrefix(val, "!"))
		j.ask(c, "has a git setting that runs programs ("+visible(key)+")")
	}
}

// gitRuns tells whether a setting makes git run a program, or is not seen.
func gitRuns(key, val string) bool {
	key = strings.ToLower(key)
	if strings.Contains(key, unknown) {
		return true
	}
	if scheme, _, ok := strings.Cut(val, "::"); ok && !strings.ContainsAny(scheme, "/:.@ ") {
		return true // an address that is a command
	}
	section, _, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	switch section {
	case "alias":
		return true
	case "include", "includeif":
		return true
	case "pager":
		return val != "true" && val != "false" && !harmlessHelper(val)
	case "url":
		return true
	case "instaweb":
		return last == "httpd" || last == "browser" || last == "modulepath"
	case "sendemail":
		if last == "smtpserver" {
			return strings.ContainsAny(val, "/\\"+unknown)
		}
	case "protocol":
		return last == "allow" && strings.Contains(key, "ext") || key == "protocol.allow"
	}
	switch last {
	case "pager", "editor", "askpass":
		return !harmlessHelper(val)
	case "fsmonitor":
		return val != "true" && val != "false" && val != ""
	case "hookspath", "attributesfile":
		return val != "/dev/null" && val != ""
	case "helper":
		return val != "" && val != "cache" && val != "osxkeychain"
	case "sshcommand", "gitproxy", "external", "command", "textconv", "cmd", "path", "clean", "smudge", "process", "driver", "program",
		"difffilter", "browser", "packobjectshook", "uploadpack", "receivepack", "uploadarchive", "vcs", "templatedir", "defaultkeycommand", "tunnel",
		"sendmailcmd", "tocmd", "cccmd", "headercmd", "authorsprog", "smtpserver", "gitgui", "prog", "update", "alternaterefscommand", "sequenceeditor", "proxy", "guitool", "sshvariant", "worktree":
		if last == "proxy" || last == "path" {
			return section == "remote" && last == "proxy" || section == "difftool" || section == "mergetool" || section == "man" || section == "browser"
		}
		return true
	}
	return false
}

// gitVerb judges what a git command throws away.
func (j *judge) gitVerb(c *call) {
	o := parse(c.args, "mFCcbBtuSXsxor", "message file author date branch orphan source pathspec-from-file conflict strategy strategy-option format output exec upload-pack receive-pack push-option onto template origin depth reference config keep until expire prune-expire path")
	switch c.name {
	case "reset":
		if o.has("hard") || o.has("merge") || o.has("keep") {
			j.ask(c, "throws away changes that are not committed")
		} else if o.open {
			j.ask(c, "has an argument that cannot be seen")
		}
	case "clean":
		if !onlyTried(parse(c.args, "e", "exclude")) {
			j.ask(c, "deletes files that git does not know")
		}
	case "push":
		j.gitPush(c)
	case "checkout":
		j.gitCheckout(c)
	case "restore":
		p := parse(c.args, "s", "source conflict pathspec-from-file")
		if !p.has("S", "staged") || p.has("W", "worktree") {
			j.ask(c, "throws away changes that are not committed")
		}
	case "switch":
		p := parse(c.args, "cC", "create force-create orphan conflict")
		if p.has("f", "force", "discard-changes") {
			j.ask(c, "throws away changes that are not committed")
		} else if p.has("C", "force-create") {
			j.ask(c, "moves a branch, which can lose commits")
		}
	case "branch":
		p := parse(c.args, "u", "set-upstream-to format sort contains points-at merged no-merged")
		switch {
		case p.has("d", "D", "delete"):
			j.ask(c, "deletes a branch")
		case p.has("f", "force", "M", "C"):
			j.ask(c, "moves a branch by force, which can lose commits")
		case p.open:
			j.ask(c, "has an argument that cannot be seen")
		}
	case "tag":
		if p := parse(c.args, "muFn", "message file local-user sort format contains points-at"); p.has("d", "delete") {
			j.ask(c, "deletes a tag")
		} else if p.has("f", "force") {
			j.ask(c, "moves a tag by force")
		}
	default:
		j.gitRare(c, o)
	}
}

func (j *judge) gitRare(c *call, o options) {
	verb := ""
	if len(o.rest) > 0 {
		verb = o.rest[0].text
	}
	switch c.name {
	case "subtree", "lfs", "svn", "p4":
		if verb == "push" || verb == "dcommit" || verb == "submit" {
			j.ask(c, "publishes commits")
		}
	case "send-email":
		if !onlyShows(c.args, "") {
			j.ask(c, "sends commits to others")
		}
	case "stash":
		if verb == "drop" || verb == "clear" {
			j.ask(c, "deletes stashed changes")
		}
	case "rm":
		if p := parse(c.args, "", "pathspec-from-file"); !p.has("cached") && (p.has("r") || p.has("f", "force")) {
			j.ask(c, "deletes files recursively or by force")
		} else if !p.has("cached") {
			j.writes(c, p.rest...)
		}
	case "mv":
		j.writes(c, o.rest...)
	case "reflog":
		if verb == "expire" || verb == "delete" {
			j.ask(c, "deletes the record of lost commits")
		}
	case "gc", "prune":
		if p := parse(c.args, "", "expire"); c.name == "prune" && !onlyTried(p) || p.has("prune") {
			j.ask(c, "deletes commits that nothing refers to")
		}
	case "update-ref":
		if o.has("d", "stdin") {
			j.ask(c, "deletes a reference")
		} else if strings.HasPrefix(verb, "refs/heads/") {
			j.ask(c, "moves a branch, which can lose commits")
		}
	case "filter-branch", "filter-repo":
		j.ask(c, "rewrites the history")
	case "checkout-index", "read-tree":
		if o.has("f", "force", "u", "reset", "a", "all") {
			j.ask(c, "throws away changes that are not committed")
		}
	case "worktree":
		j.gitWorktree(c, o, verb)
	case "remote":
		if verb == "add" || verb == "set-url" {
			j.transports(c, o.rest[1:])
		}
	case "submodule":
		if verb == "deinit" && o.has("f", "force", "all") {
			j.ask(c, "throws away changes in submodules")
		}
		if verb == "foreach" {
			j.code(c, joined(afterWord(c.args, "foreach")))
		}
	case "config":
		j.gitConfig(c)
	case "clone", "init":
		j.gitClone(c)
	}
}

func afterWord(args []field, word string) []field {
	for i, a := range args {
		if a.text == word {
			args = args[i+1:]
			for len(args) > 0 && args[0].option() {
				args = args[1:]
			}
			return args
		}
	}
	return nil
}

// onlyTried tells whether git is told to show what it would do, and not to do it. Git
// takes the last of two options that contradict each other; here one of them is enough.
func onlyTried(o options) bool {
	return o.has("n", "dry-run") && !o.has("no-dry-run") && !o.open
}

func (j *judge) gitPush(c *call) {
	o := parse(c.args, "o", "repo push-option receive-pack exec")
	forced, deletes := false, o.has("d", "delete", "prune")
	for _, opt := range o.list {
		if opt.name == "f" && !opt.double || opt.double && strings.HasPrefix(opt.name, "for") || opt.double && opt.name == "mirror" {
			forced = true
		}
	}
	for i, ref := range o.rest {
		if ref.open() {
			j.ask(c, "pushes what cannot be seen")
			continue
		}
		forced = forced || i > 0 && strings.HasPrefix(ref.text, "+")
		deletes = deletes || i > 0 && strings.HasPrefix(ref.text, ":")
	}
	if forced {
		j.ask(c, "force-pushes, which can lose others' commits")
	}
	if deletes {
		j.ask(c, "deletes branches on the remote")
	}
	if !forced && !deletes && !onlyTried(o) && !o.has("h", "help") {
		j.ask(c, "publishes commits")
	}
}

func (j *judge) gitCheckout(c *call) {
	o := parse(c.args, "bB", "orphan conflict pathspec-from-file")
	discards := o.has("f", "force") || o.exact("pathspec-from-file")
	for i, a := range c.args {
		if a.text == "--" && i+1 < len(c.args) {
			discards = true
		}
	}
	for i, a := range o.rest {
		t := a.text
		discards = discards || t == "." || t == ".." || strings.HasPrefix(t, "./") || strings.HasPrefix(t, "../") || strings.HasPrefix(t, ":") ||
			strings.HasSuffix(t, "/") || a.glob || i > 0 && !o.has("b", "B", "t", "track", "orphan")
	}
	switch {
	case discards:
		j.ask(c, "throws away changes that are not committed")
	case o.has("B"):
		j.ask(c, "moves a branch, which can lose commits")
	case o.open && !o.has("b", "orphan"):
		j.ask(c, "checks out what cannot be seen")
	}
}

func (j *judge) gitWorktree(c *call, o options, verb string) {
	switch verb {
	case "add":
		if len(o.rest) > 1 {
			j.writes(c, o.rest[1])
		}
	case "remove":
		if o.has("f", "force") {
			j.ask(c, "deletes a worktree with its changes")
		}
	}
}

func (j *judge) gitConfig(c *call) {
	p := parse(c.args, "ft", "file blob type default get get-all get-regexp unset unset-all")
	if p.has("e", "edit") {
		j.ask(c, "edits git's configuration")
		return
	}
	reads := p.has("l", "list", "get", "get-all", "get-regexp", "get-urlmatch", "show-origin", "name-only", "get-color")
	rest := p.rest
	if len(rest) > 0 {
		switch rest[0].text {
		case "get", "list":
			reads = true
		case "set", "unset", "rename-section", "remove-section", "edit":
			rest = rest[1:]
			if len(rest) == 1 {
				rest = append(rest, field{})
			}
		}
	}
	if reads || len(rest) < 2 && !p.has("unset", "unset-all", "add", "replace-all", "remove-section", "rename-section") {
		return
	}
	if v, ok := p.get("f", "file"); ok && v.has {
		j.writes(c, v.value)
	}
	if p.has("global", "system") {
		j.ask(c, "changes git's configuration outside the workspace")
		return
	}
	if p.open {
		j.ask(c, "changes a git setting that cannot be seen")
		return
	}
	if len(rest) >= 2 && rest[0].seen() && rest[1].seen() {
		j.settings = append(j.settings, strings.ToLower(rest[0].text)+"="+rest[1].text)
	}
	if len(rest) >= 2 && gitRuns(rest[0].text, rest[1].text) {
		j.ask(c, "has a git setting that runs programs ("+visible(rest[0].text)+")")
		j.findings[len(j.findings)-1].settings = true
	}
}

func (j *judge) gitClone(c *call) {
	o := parse(c.args, "bocujd", "branch origin config upload-pack jobs depth template reference reference-if-able separate-git-dir filter shallow-since shallow-exclude server-option initial-branch object-format bundle-uri")
	for _, opt := range o.list {
		switch {
		case opt.name == "c" || opt.double && opt.name == "config":
			j.gitSetting(c, opt.value.text)
		case opt.double && opt.name == "template" && opt.value.text != "":
			j.ask(c, "takes git hooks from a template")
		case opt.double && opt.name == "separate-git-dir":
			j.writes(c, opt.value)
		}
	}
	to := field{text: "."}
	switch {
	case c.name == "init" && len(o.rest) > 0:
		to = o.rest[0]
	case c.name == "clone" && len(o.rest) > 1:
		to = o.rest[1]
	}
	j.writes(c, to)
}

// gitPrograms judges what makes a git command run other programs or write files.
func (j *judge) gitPrograms(c *call) {
	j.transports(c, c.args)
	for i, a := range c.args {
		name, val, has := strings.Cut(a.text, "=")
		if !has && i+1 < len(c.args) {
			val = c.args[i+1].text
		}
		switch name {
		case "--upload-pack", "--receive-pack", "--exec", "-x", "--extcmd", "--open-files-in-pager":
			j.gitExec(c, name, val)
		case "-u":
			if c.name == "clone" || c.name == "fetch" || c.name == "ls-remote" || c.name == "pull" {
				j.ask(c, "runs a program given as an option")
			}
		case "--output", "--output-directory", "-o":
			switch c.name {
			case "diff", "log", "show", "archive", "format-patch", "bugreport", "diagnose":
				if val != "" {
					j.writes(c, field{text: val})
				}
			}
		}
		if c.name == "grep" && strings.HasPrefix(a.text, "-O") && a.text != "-O" || c.name == "grep" && a.text == "-O" {
			j.ask(c, "opens a program on what it finds")
		}
	}
	if c.name == "bisect" && len(c.args) > 1 && c.args[0].text == "run" {
		j.call(c.with(c.args[1:]))
	}
}

func (j *judge) gitExec(c *call, name, val string) {
	switch c.name {
	case "rebase":
		j.code(c, field{text: val})
	case "difftool", "clone", "fetch", "fetch-pack", "send-pack", "ls-remote", "pull", "push", "archive", "grep":
		if name == "-x" && c.name != "difftool" {
			return
		}
		j.ask(c, "runs a program given as an option")
	}
}

// transports asks about addresses that are commands.
func (j *judge) transports(c *call, args []field) {
	switch c.name {
	case "clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive":
	default:
		return
	}
	for _, a := range args {
		if scheme, _, ok := strings.Cut(a.text, "::"); ok && !strings.ContainsAny(scheme, "/:.@") {
			j.ask(c, "has an address that is a command ("+visible(scheme)+"::)")
		}
	}
}
