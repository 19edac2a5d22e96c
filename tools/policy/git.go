package policy

import "strings"

// git judges git by its own options and its verb.
func (j *analyzer) git(c *call) {
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
		j.foreign = j.foreign || name != "-c" && !in("git-opens-option", name)
		if !has && len(args) > 0 {
			if in("git-option-with-value", text) {
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
	if len(args) < len(c.args) { // for deny rules: the command without the options before its verb
		j.commands = append(j.commands, visible(render(append([]field{{text: "git"}}, args...))))
	}
	g := &call{name: args[0].text, args: args[1:], words: c.words, st: st}
	j.gitOpens(g)
	j.gitOutside(g)
	j.gitVerb(g)
}

// gitOutside asks about changes to a repository outside the workspace.
func (j *analyzer) gitOutside(c *call) {
	if in("git-harmless-outside", c.name) {
		return
	}
	for _, cwd := range c.st.cwds {
		if len(j.scope.Roots) > 0 && !strings.HasPrefix(cwd, unknown) && !j.scope.inside(cleanPath(cwd)) && !j.scope.ownTemp(cleanPath(cwd)) {
			j.ask(c, "changes a repository outside the workspace")
			return
		}
	}
}

// gitSetting judges "key=value" as given with -c.
func (j *analyzer) gitSetting(c *call, setting string) {
	key, val, _ := strings.Cut(setting, "=")
	j.foreign = j.foreign || !in("git-opens-setting", strings.ToLower(key))
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
	switch {
	case in("git-section-runs", section):
		return true
	case section == "lfs":
		return strings.Contains(key, "transfer") || strings.Contains(key, "extension")
	case section == "pager":
		return val != "true" && val != "false" && !harmlessHelper(val)
	case section == "instaweb":
		return last == "httpd" || last == "browser" || last == "modulepath"
	case section == "sendemail" && last == "smtpserver":
		return strings.ContainsAny(val, "/\\"+unknown)
	case section == "protocol":
		return last == "allow" && strings.Contains(key, "ext") || key == "protocol.allow"
	case last == "pager", last == "editor", last == "askpass":
		return !harmlessHelper(val)
	case last == "fsmonitor":
		return val != "true" && val != "false" && val != ""
	case last == "hookspath", last == "attributesfile":
		return val != "/dev/null" && val != ""
	case last == "helper":
		return val != "" && val != "cache" && val != "osxkeychain"
	}
	return in("git-setting-runs", last) || in("git-setting-runs", section+"."+last)
}

// gitVerb judges a command of git by its rules.
func (j *analyzer) gitVerb(c *call) {
	j.apply(c, rulesOf("git "+c.name))
	switch c.name {
	case "checkout":
		j.gitCheckout(c)
	case "config":
		j.gitConfig(c)
	}
	j.transports(c, c.args)
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

func (j *analyzer) gitCheckout(c *call) {
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

func (j *analyzer) gitConfig(c *call) {
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

// transports asks about addresses that are commands.
func (j *analyzer) transports(c *call, args []field) {
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
