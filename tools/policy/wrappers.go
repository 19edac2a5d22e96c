package policy

import "strings"

// wrapper judges programs that run the rest of their arguments as a command.
func (j *analyzer) wrapper(c *call) {
	rest, ok := j.unwrap(c)
	if !ok {
		j.ask(c, "runs something that cannot be seen")
		return
	}
	if len(rest) == 0 {
		return
	}
	if rest[0].open() {
		j.ask(c, "runs a command that cannot be seen")
		if len(rest) > 1 {
			j.call(c.with(rest[1:]))
		}
		return
	}
	if (c.name == "sudo" || c.name == "doas") && len(rest) == 1 && !j.stdin.some && contains("bash sh zsh dash ksh fish su", programName(rest[0].text)) {
		j.ask(c, "becomes another user, who runs what cannot be seen")
	}
	j.call(c.with(rest))
}

// leading returns the arguments behind the options and variables of a wrapper.
func (j *analyzer) leading(c *call, p *program) []field {
	args := c.args
	for len(args) > 0 {
		name, _, assign := strings.Cut(args[0].text, "=")
		switch {
		case args[0].text == "--":
			return args[1:]
		case assign && envName(name) && in("sets-variables", c.name):
			args = args[1:]
		case args[0].option():
			next := takesNext(args[0].text, p.short, p.long)
			if args = args[1:]; next && len(args) > 0 {
				args = args[1:]
			}
		default:
			return args
		}
	}
	return nil
}

// unwrap returns the command that a wrapper runs. If that cannot be seen, ok is false.
func (j *analyzer) unwrap(c *call) (rest []field, ok bool) {
	p := rulesOf(c.name)
	args := j.leading(c, p)
	for _, a := range c.args[:len(c.args)-len(args)] {
		if name, val, assign := strings.Cut(a.text, "="); assign && envName(name) && in("sets-variables", c.name) {
			j.variableSet(c, name, val)
		}
	}
	hides := p.parse(c.args[:len(c.args)-len(args)])
	if in("hides-command", c.name) && hides.has("e", "i", "s", "edit", "shell", "login") || c.name == "env" && hides.has("S", "split-string") {
		return nil, false
	}
	if c.name == "setarch" && len(args) > 1 && args[0].seen() && archNames().MatchString(args[0].text) {
		args = args[1:]
	}
	if len(args) < p.skips {
		return nil, true
	}
	if c.name == "hyperfine" {
		for _, a := range args[p.skips:] {
			j.code(c, a)
		}
		return nil, true
	}
	return args[p.skips:], !in("other-root", c.name) // paths there are not those that are known
}

var archNames = lazily(`^(linux(32|64)|uname26|i[3-6]86|x86_64|amd64|athlon|ppc.*|powerpc.*|arm.*|aarch64|s390x?|sparc.*|mips.*|riscv.*|alpha|ia64|parisc.*|loong.*)$`)

func envName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "-/. \x00") && !(s[0] >= '0' && s[0] <= '9')
}

// takesNext tells whether an option's value is the next argument.
func takesNext(text, short, long string) bool {
	if strings.HasPrefix(text, "--") {
		return !strings.Contains(text, "=") && contains(long, text[2:])
	}
	i := strings.IndexAny(text[1:], short)
	return short != "" && i >= 0 && i == len(text)-2
}

// runner judges package managers that can also run a program.
func (j *analyzer) runner(c *call) {
	j.packageVerb(c)
	if contains("uv hatch mise pixi rye pdm conda mamba", c.name) {
		j.handsOn(c)
	}
	args := c.args
	o := parse(args, "c", "call")
	if o.exact("script-shell") || hasWord(args, "script-shell") {
		j.ask(c, "sets the shell that runs scripts")
	}
	if v, ok := o.get("c", "call"); ok && v.has && (c.name == "npx" || c.name == "npm") {
		j.code(c, v.value)
	}
	skip := func(values string) {
		for len(args) > 0 && args[0].option() {
			next := takesNext(args[0].text, values, "package with python from project directory workspace filter prefix")
			args = args[1:]
			if next && len(args) > 0 {
				args = args[1:]
			}
		}
	}
	if c.name == "bun" && len(args) > 0 && args[0].option() && o.has("e", "p", "eval", "print") {
		j.interpreter(c)
		return
	}
	switch c.name {
	case "npx", "bunx", "pnpx", "uvx":
		skip("p")
	default:
		skip("CpnF")
		if len(args) == 0 {
			return
		}
		verb := args[0].text
		args = args[1:]
		switch verb {
		case "allow", "permit":
			if c.name == "direnv" {
				j.ask(c, "trusts what .envrc runs")
			}
			return
		case "exec", "x", "dlx":
		case "run":
			switch c.name {
			case "npm", "pnpm", "yarn", "bun": // a script of the project
				return
			}
		case "rimraf", "del-cli", "shx": // yarn runs installed programs without a word before them
			args = append([]field{{text: verb}}, args...)
		default:
			return
		}
		skip("pnFC")
		if c.name == "direnv" && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if c.name == "stack" && len(args) > 1 && args[1].text == "--" {
		args = append([]field{args[0]}, args[2:]...)
	}
	if len(args) > 0 {
		j.call(c.with(args))
	}
}

// xargs judges commands that get arguments which are not seen.
func (j *analyzer) xargs(c *call) {
	args := c.args
	placeholder := ""
	if c.name == "parallel" {
		placeholder = "{}"
	}
	for len(args) > 0 && (args[0].option() || args[0].text == "--") {
		text := args[0].text
		args = args[1:]
		if text == "--" {
			break
		}
		next := takesNext(text, "EIILnPsdaj", "replace arg-file delimiter max-args max-procs max-lines max-chars jobs")
		switch {
		case strings.HasPrefix(text, "-I") && len(text) > 2:
			placeholder = text[2:]
		case text == "-I" && len(args) > 0:
			placeholder = args[0].text
		case text == "-i", strings.HasPrefix(text, "--replace"):
			if placeholder = "{}"; strings.Contains(text, "=") {
				_, placeholder, _ = strings.Cut(text, "=")
			}
			next = false
		case strings.HasPrefix(text, "-i"):
			placeholder = text[2:]
		}
		if next && len(args) > 0 {
			args = args[1:]
		}
	}
	inner := make([]field, 0, len(args)+1)
	for _, a := range args {
		if a.text == ":::" {
			break
		}
		if placeholder != "" {
			a.text = strings.ReplaceAll(a.text, placeholder, j.stdin.below+unknown)
		}
		inner = append(inner, a)
	}
	if len(inner) == 0 {
		if c.name == "parallel" {
			j.ask(c, "runs commands that it reads, which cannot be seen")
		}
		return
	}
	if placeholder == "" || c.name == "parallel" {
		inner = append(inner, field{text: j.stdin.below + unknown})
	}
	if inner[0].open() {
		j.ask(c, "runs programs that it reads, which cannot be seen")
		return
	}
	j.call(c.with(inner))
}

// joined returns the arguments as one text, as programs hand them to a shell.
func joined(args []field) field {
	var f field
	for i, a := range args {
		if i > 0 {
			f.text += " "
		}
		f.text += a.text
	}
	return f
}

func (j *analyzer) ssh(c *call) {
	args := c.args
	for len(args) > 0 && args[0].option() {
		text := args[0].text
		next := takesNext(text, "BbcDEeFIiJLlmOopQRSWw", "")
		opt := strings.ToLower(text)
		if next && len(args) > 1 {
			opt += strings.ToLower(args[1].text)
		}
		if strings.HasPrefix(opt, "-o") && (strings.Contains(opt, "command") || strings.Contains(opt, unknown)) {
			j.ask(c, "has an ssh setting that runs a program")
		}
		if args = args[1:]; next && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].open() {
		j.ask(c, "connects to a place that cannot be seen")
	}
	if len(args) > 1 {
		j.code(c, joined(args[1:]))
	} else if j.stdin.known {
		j.code(c, field{text: j.stdin.text})
	}
}

// copyRemote judges scp, sftp and rsync.
func (j *analyzer) copyRemote(c *call) {
	o := rulesOf(c.name).parse(c.args)
	if v, ok := o.get("S", "rsh", "rsync-path", "e"); ok && v.has && c.name != "sftp" {
		first, _, _ := strings.Cut(v.value.text, " ")
		if programName(first) != "ssh" || strings.Contains(strings.ToLower(v.value.text), "command") {
			j.ask(c, "has a setting that runs a program")
		}
	}
	for _, opt := range o.list {
		if opt.name == "o" && strings.Contains(strings.ToLower(opt.value.text), "command") {
			j.ask(c, "has an ssh setting that runs a program")
		}
	}
	if len(o.rest) < 2 || c.name == "sftp" {
		return
	}
	to := o.rest[len(o.rest)-1]
	if !remote(to.text) {
		j.writes(c, to)
		for _, from := range o.rest[:len(o.rest)-1] {
			j.makes(c.st, to, absolute(c.st, strings.TrimSuffix(from.text, "/"))...)
			if remote(from.text) {
				j.putDownloaded(c.st, to, from.text[strings.LastIndexAny(from.text, ":/")+1:])
			}
		}
		if c.name == "rsync" && o.has("delete") {
			j.destroys(c, true, to)
		}
	}
}

func remote(s string) bool {
	host, _, ok := strings.Cut(s, ":")
	return ok && !strings.Contains(host, "/") && len(host) > 1 || strings.Contains(s, "://")
}
