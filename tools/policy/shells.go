package policy

import (
	"slices"
	"strings"
)

// code judges the text of an argument as shell code that a program runs in a
// shell of its own.
func (j *analyzer) code(c *call, f field) {
	text := f.text
	if strings.ContainsAny(text, unknown+fresh) {
		j.ranSubstituted(c)
		j.foreign = true
		j.ask(c, "runs shell code that cannot be seen")
	}
	if strings.ContainsAny(text, unknown+fresh+number) {
		text = strings.NewReplacer(unknown, "${__unseen}", fresh, "${__unseen}", number, "0").Replace(text)
	}
	st := &state{cwds: c.st.cwds}
	if c.st.vars != nil {
		st.forget()
	}
	j.subsource(text, st, c)
}

// subsource judges code that a command runs. Its findings have keys of their
// own, unless the command is run by another one that changes their meaning, such as sudo.
func (j *analyzer) subsource(text string, st *state, c *call) {
	rememberAs, saved := j.rememberAs, j.environments
	if j.rememberAs == "" && len(c.words) > 0 && programName(c.words[0].text) != c.name {
		j.rememberAs = j.key(c)
	}
	j.environments = new(environments)
	if !slices.Contains(j.running, text) { // code that runs itself is judged once
		j.running = append(j.running, text)
		j.source(text, st, c)
		j.running = j.running[:len(j.running)-1]
	}
	j.rememberAs, j.environments = rememberAs, saved
}

// shell judges a shell by its code, its script or its standard input.
func (j *analyzer) shell(c *call) {
	args, code := c.args, false
	for len(args) > 0 && len(args[0].text) > 1 && (args[0].text[0] == '-' || args[0].text[0] == '+') {
		text := args[0].text
		if code && strings.ContainsAny(text, " \t\n/;&|") {
			break // no option looks like this
		}
		args = args[1:]
		if text == "--" {
			break
		}
		switch {
		case text == "--command", text == "--commands", text == "-C" && c.name == "fish":
			code = true
		case strings.HasPrefix(text, "--command="), strings.HasPrefix(text, "--commands="):
			_, val, _ := strings.Cut(text, "=")
			j.shellCode(c, field{text: val})
		case text == "--rcfile", text == "--init-file":
			if len(args) > 0 {
				j.ran(c, args[0].text)
				args = args[1:]
			}
		case strings.HasPrefix(text, "--"):
		default:
			code = code || text[0] == '-' && strings.Contains(text, "c")
			if strings.Contains(text, "s") && !strings.Contains(text, "c") {
				args = nil
			} else if (strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O")) && len(args) > 0 {
				args = args[1:]
			}
		}
	}
	switch {
	case code && len(args) > 0:
		j.shellCode(c, args[0])
	case len(args) == 0 || args[0].text == "-" || args[0].text == "/dev/stdin":
		j.shellInput(c)
	default:
		j.script(c, args[0])
	}
}

func (j *analyzer) shellCode(c *call, f field) {
	switch {
	case in("other-shell", c.name):
		if c.name == "zsh" && (strings.HasPrefix(strings.TrimSpace(f.text), "=") || strings.Contains(f.text, "zmodload") || strings.Contains(f.text, " =")) {
			j.ask(c, "runs code for zsh, which cannot be judged")
		}
		before := len(j.findings)
		j.code(c, f)
		for i := before; i < len(j.findings); i++ {
			if f := &j.findings[i]; f.level == Refused && strings.HasPrefix(f.reason, "does not parse as") {
				f.level, f.reason = Asks, "runs code for "+c.name+", which cannot be judged"
			}
		}
	default:
		j.code(c, f)
	}
}

// shellInput judges a shell that reads its code.
func (j *analyzer) shellInput(c *call) {
	j.ranInput(c)
	j.foreign = j.foreign || !j.stdin.known
	switch in := j.stdin; {
	case in.known:
		j.code(c, field{text: in.text})
	case in.how != "":
		j.ask(c, in.how+" in a shell")
	case in.some:
		j.ask(c, "runs in a shell what comes through a pipe")
	}
	// The piped text is the code: an approval does not cover other pipes.
	for i := range j.findings {
		if f := &j.findings[i]; !j.stdin.known && strings.HasSuffix(f.reason, "in a shell") {
			f.key = j.whole()
		}
	}
}

// script judges a file that a shell or an interpreter runs.
func (j *analyzer) script(c *call, f field) {
	j.foreign = true
	if strings.HasPrefix(f.text, "/dev/fd/") || strings.HasPrefix(f.text, "/proc/self/fd/") {
		j.ranSubstituted(c)
	}
	j.ran(c, scriptFiles(c.name, f.text)...)
	switch {
	case j.runsFile(c, f):
	case strings.HasPrefix(f.text, "/dev/fd/"), strings.HasPrefix(f.text, "/dev/tcp/"), strings.HasPrefix(f.text, "/proc/self/fd/"):
		j.note(Asks, "runs what another command writes", j.whole())
	case strings.Contains(f.text, unknown):
		if i := strings.LastIndexByte(f.text, '/'); i < 0 || strings.Contains(f.text[i:], unknown) {
			j.ask(c, "runs a script that cannot be seen")
		}
	}
}

func (j *analyzer) eval(c *call) {
	args := c.args
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	f := joined(args)
	if strings.ContainsAny(f.text, unknown+fresh) {
		j.code(c, f)
		c.st.forget()
		return
	}
	j.subsource(strings.ReplaceAll(f.text, number, "0"), c.st, c)
}

func (j *analyzer) sourceFile(c *call) {
	if len(c.args) > 0 {
		if c.args[0].text == "/dev/stdin" {
			j.shellInput(c)
		} else {
			j.script(c, c.args[0])
		}
	}
	c.st.forget()
}

func (j *analyzer) trap(c *call) {
	args := c.args
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) < 2 || args[0].text == "-" || args[0].text == "" || args[0].option() {
		return
	}
	if strings.ContainsAny(args[0].text, unknown+fresh) {
		j.code(c, args[0])
		return
	}
	j.subsource(args[0].text, c.st.clone(), c)
}

func (j *analyzer) alias(c *call) {
	for _, a := range c.args {
		name, val, ok := strings.Cut(a.text, "=")
		if !ok {
			continue
		}
		if j.aliases == nil {
			j.aliases = map[string]bool{}
		}
		j.aliases[name] = true
		j.code(c, field{text: val})
	}
}

// builtin judges the shell's own commands and applies their changes to the state.
func (j *analyzer) builtin(c *call) {
	switch c.name {
	case "cd", "pushd", "popd":
		j.cd(c)
	case "export", "declare", "typeset", "readonly", "local":
		for _, a := range c.args {
			name, val, ok := strings.Cut(a.text, "=")
			switch {
			case a.open():
				j.ask(c, "sets variables that cannot be seen")
			case ok:
				j.variableSet(c, name, val)
				c.st.set(name, []value{{text: val}})
			}
		}
	case "read", "mapfile", "readarray", "getopts", "unset":
		for _, a := range c.args {
			c.st.set(a.text, anything)
			if c.name == "unset" && contains("HISTFILE HISTSIZE HISTFILESIZE SAVEHIST", a.text) {
				j.ask(c, hidesHistory)
			}
		}
		if v, ok := parse(c.args, "C", "").get("C"); ok && c.name != "read" {
			j.code(c, v.value)
		}
	case "printf":
		if v, ok := parse(c.args, "v", "").get("v"); ok && len(c.args) > 1 && strings.HasPrefix(c.args[0].text, "-v") {
			c.st.set(v.value.text, anything)
		}
	case "let":
		c.st.forget()
	case "set":
		j.set(c)
	case "shift":
		c.st.argsKnown = false
	case "enable", "hash", "bind", "complete", "compgen":
		o := parse(c.args, "fpxCFAGWPS", "")
		if letter := map[string]string{"enable": "f", "hash": "p", "bind": "x", "complete": "C", "compgen": "C"}[c.name]; o.has(letter) {
			j.ask(c, "makes a name run something else")
		}
	}
}

// hidesHistory is the reason of commands that change the history of the shell.
const hidesHistory = "hides or deletes the history of commands"

func (j *analyzer) set(c *call) {
	for i, a := range c.args {
		if a.text == "history" && i > 0 && c.args[i-1].text == "+o" {
			j.ask(c, hidesHistory)
		}
		if a.text == "--" {
			c.st.args, c.st.argsKnown = c.args[i+1:], !unseen(c.args[i+1:])
			return
		}
		if a.open() || !a.option() && !strings.HasPrefix(a.text, "+") {
			c.st.argsKnown = false
		}
	}
}

func (j *analyzer) cd(c *call) {
	var to field
	for _, a := range c.args {
		if !a.option() && a.text != "--" {
			to = a
			break
		}
	}
	switch {
	case c.name == "popd", to.text == "-", to.glob, c.name == "pushd" && to.text == "":
		c.st.cwds = []string{unknown}
	case to.text == "":
		c.st.cwds = []string{j.home(c.st)}
	default:
		c.st.cwds = absolute(c.st, to.text)
		for i, d := range c.st.cwds {
			if !strings.ContainsAny(d, unknown+fresh) {
				c.st.cwds[i] = cleanPath(d)
			} else if strings.HasPrefix(d, unknown) {
				c.st.cwds[i] = unknown
			}
		}
	}
}
