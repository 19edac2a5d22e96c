package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is one simple command: a program and its arguments, perhaps run by
// another, as in "sudo rm x".
type call struct {
	name  string  // of the program, without folders and version
	args  []field // without the program
	words []field // the whole command that it is part of, for the key
	st    *state
}

// with returns the call of another program within the same command.
func (c *call) with(args []field) *call {
	return &call{args: args, words: c.words, st: c.st}
}

// note records a finding under a key.
func (j *analyzer) note(level Level, reason, key string) {
	if j.rememberAs != "" {
		key = j.rememberAs
	}
	if j.elsewhere && level == Refused {
		level = Asks
	}
	j.findings = append(j.findings, finding{level: level, reason: reason, key: key})
}

func (j *analyzer) ask(c *call, reason string) { j.note(Asks, reason, j.key(c)) }

func (j *analyzer) refuse(c *call, reason string) { j.note(Refused, reason, j.key(c)) }

// key returns the subject that a remembered approval of a command covers: its words with
// known values filled in, and the folder if that is not the main one. If a part is not
// known, it returns the whole source.
func (j *analyzer) key(c *call) string {
	if len(c.words) == 0 {
		return j.whole()
	}
	for _, w := range c.words {
		if strings.ContainsAny(w.text, unknown+fresh+number) {
			return j.whole()
		}
	}
	return j.inFolder(c.st, Escape(render(c.words)))
}

// whole is the key of the whole source.
func (j *analyzer) whole() string {
	if j.wholeKey == "" {
		j.wholeKey = j.inFolder(j.start(), Escape(j.src))
	}
	return j.wholeKey
}

func (j *analyzer) inFolder(st *state, key string) string {
	if st == nil || len(j.scope.Roots) == 0 {
		return key
	}
	if len(st.cwds) != 1 || strings.Contains(st.cwds[0], unknown) {
		if j.scope.Cwd == "" {
			return key
		}
		return j.whole()
	}
	root := path.Clean(slashes(j.scope.Roots[0]))
	cwd := path.Clean(slashes(st.cwds[0]))
	if cwd == root {
		return key
	}
	if rest, ok := strings.CutPrefix(cwd, root+"/"); ok {
		cwd = rest
	}
	return "cd " + Escape(quote(field{text: cwd})) + " && " + key
}

// render writes words as a command.
func render(words []field) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if w.dyn && w.glob && strings.Trim(w.text, "<>&|") == "" {
			b.WriteString(w.text) // an operator
			continue
		}
		b.WriteString(quote(w))
	}
	return b.String()
}

// simple judges assignments, or a command with those before it.
func (j *analyzer) simple(c *syntax.CallExpr, st *state) {
	for _, a := range c.Assigns {
		j.assign(a, st)
	}
	if len(c.Args) == 0 {
		j.keep(c.Assigns, st)
		return
	}
	j.words(st, c.Args...)
	before, after := st.cwds, []string(nil)
	j.eachEnvironment(func() {
		st.cwds = before
		defer func() { after = union(after, st.cwds) }()
		args := j.expand(st, c.Args)
		words := args
		if len(c.Assigns) > 0 {
			words = append(j.assigned(st, c.Assigns), args...)
		}
		for _, a := range c.Assigns {
			if a.Name != nil && a.Value != nil {
				j.variableSet(&call{words: words, st: st}, a.Name.Value, j.text(st, a.Value).text)
			}
		}
		if len(args) == 0 { // the program may be empty: "$x" that is nothing
			return
		}
		j.call(&call{args: args, words: words, st: st})
	})
	st.cwds = after
}

// assign judges the value of an assignment.
func (j *analyzer) assign(a *syntax.Assign, st *state) {
	j.words(st, a.Value)
	if a.Index != nil || a.Array != nil {
		j.foreign = true
	}
	if a.Name != nil {
		j.sets(a.Name.Value, j.text(st, a.Value).text)
	}
	if a.Index != nil {
		j.inner(st, a.Index)
	}
	if a.Array != nil {
		j.inner(st, a.Array)
	}
}

// keep puts assignments into the state and judges the variables they set.
func (j *analyzer) keep(assigns []*syntax.Assign, st *state) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		vals := anything
		if a.Array == nil && a.Index == nil {
			if vals = j.values(st, a.Value); a.Append {
				vals = appended(st, a.Name.Value, vals)
			}
		}
		for _, v := range vals {
			c := &call{st: st, words: []field{{text: a.Name.Value + "=" + v.text}}}
			j.variableSet(c, a.Name.Value, v.text)
		}
		st.set(a.Name.Value, vals)
	}
}

func appended(st *state, name string, vals []value) []value {
	old, ok := st.get(name)
	if !ok || len(old) != 1 || len(vals) != 1 {
		return anything
	}
	return []value{{text: old[0].text + vals[0].text}}
}

// assigned writes assignments as words, for a key.
func (j *analyzer) assigned(st *state, assigns []*syntax.Assign) []field {
	var out []field
	for _, a := range assigns {
		if a.Name == nil || a.Array != nil || a.Index != nil {
			out = append(out, field{text: unknown})
			continue
		}
		out = append(out, field{text: a.Name.Value + "=" + j.text(st, a.Value).text})
	}
	return out
}

// declare judges export, declare, local, readonly and typeset.
func (j *analyzer) declare(c *syntax.DeclClause, st *state) {
	word := c.Variant.Value
	j.foreign = j.foreign || word != "export"
	for _, a := range c.Args {
		j.assign(a, st)
		if !a.Naked {
			j.keep([]*syntax.Assign{a}, st)
			continue
		}
		var f field
		if a.Name != nil {
			f.text = a.Name.Value
		} else {
			f = j.text(st, a.Value)
		}
		cc := &call{st: st, words: []field{{text: word}, f}}
		switch {
		case strings.Contains(f.text, unknown):
			j.ask(cc, "sets variables that cannot be seen")
		case f.option() && strings.ContainsAny(f.text, "f") && word == "export":
			j.ask(cc, "exports a function, which can take the place of a program")
		case f.option() && strings.Contains(f.text, "n"):
			st.forget() // a name for another variable
		}
	}
}

// variableSet judges the setting of a variable that makes later programs run
// something else.
func (j *analyzer) variableSet(c *call, name, val string) {
	unseen := strings.Contains(val, unknown)
	asks := func(why string) { j.ask(c, "sets "+name+", "+why) }
	const other = "which makes later programs run something else"
	switch {
	case in("variable-program", name):
		if !harmlessHelper(val) {
			j.ranValue(c, val)
			asks("a program that others then run")
		}
	case in("variable-loads", name):
		if val != "" && val != "/dev/null" {
			if name == "BASH_ENV" || name == "ENV" {
				j.ran(c, val)
			} else {
				j.ranValue(c, val)
			}
			asks("which makes later programs run or load something else")
		}
	case in("variable-options", name):
		if unseen || containsOf("option-that-runs", val) || strings.Contains(name, "RUSTC") && val != "" && val != "sccache" {
			asks(other)
		}
	case in("variable-prompt", name):
		if strings.Contains(val, "$(") || strings.Contains(val, "`") || strings.Contains(val, "\\044") && strings.Contains(val, "$") {
			asks("in which a shell runs commands")
		}
	case in("variable-history", name):
		j.ask(c, hidesHistory)
	case beginsOf("variable-prefix", name):
		asks(other)
	}
}

// harmlessHelper tells whether a pager or editor is one that does nothing else.
func harmlessHelper(val string) bool { return val == "" || in("harmless-helper", val) }

// call judges a program with its arguments; the first is the program.
func (j *analyzer) call(c *call) {
	if len(c.args) == 0 {
		return
	}
	if !j.enter() {
		return
	}
	defer j.leave()
	if j.spent() {
		return
	}
	program := c.args[0]
	c.name = programName(program.text)
	if program.dyn || c.name == "" || strings.ContainsAny(c.name, unknown+fresh+number) {
		j.ask(c, "runs a program that is a variable or a substitution")
		if program.text == unknown {
			j.call(c.with(c.args[1:])) // it may be empty
			return
		}
	} else if program.glob && program.text != "[" {
		j.ask(c, "runs a program that is a pattern")
	}
	if strings.ContainsFunc(c.name, func(r rune) bool { return r > 0x7F }) {
		j.ask(c, "runs a program whose name has characters that look like others")
	}
	j.record(c)
	j.known(c, program.text)
	c.args = c.args[1:]
	if strings.HasPrefix(program.text, "/etc/init.d/") {
		j.apply(c, rulesOf("service"))
		return
	}
	if strings.Contains(program.text, "/") {
		j.runsFile(c, program)
		j.ran(c, program.text)
	}
	j.ranOptions(c)
	j.rewrites = j.rewrites || contains("patch tar bsdtar unzip 7z rsync cpio", c.name)
	if bodies := j.funcs[program.text]; bodies != nil {
		j.callFunction(c, bodies)
	}
	if j.aliases[program.text] {
		j.ask(c, "runs an alias")
	}
	j.program(c)
}

// record keeps a command for deny rules: as it was written and, where the
// program was called by a path, by its name.
func (j *analyzer) record(c *call) {
	text := visible(render(c.args))
	if !slices.Contains(j.commands, text) {
		j.commands = append(j.commands, text)
	}
	if c.args[0].text != c.name {
		short := append([]field{{text: c.name}}, c.args[1:]...)
		j.commands = append(j.commands, visible(render(short)))
	}
	for _, args := range withoutOptions(c.args[1:]) {
		text := visible(render(append([]field{{text: c.name}}, args...)))
		if !slices.Contains(j.commands, text) {
			j.commands = append(j.commands, text)
		}
	}
}

// withoutOptions returns the arguments from the subcommand on, as in "npm --silent
// publish": without the options before it and their possible values.
func withoutOptions(args []field) (all [][]field) {
	if len(args) < 2 || !args[0].option() && !strings.HasPrefix(args[0].text, "+") {
		return nil
	}
	for _, values := range []bool{false, true} {
		rest := args
		for len(rest) > 0 && (rest[0].option() || strings.HasPrefix(rest[0].text, "+")) {
			valued := values && rest[0].option() && !strings.Contains(rest[0].text, "=")
			if rest = rest[1:]; valued && len(rest) > 1 && !rest[0].option() {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			all = append(all, rest)
		}
	}
	return all
}

// visible writes unknown parts as "$…".
func visible(s string) string {
	if !strings.ContainsAny(s, unknown+fresh+number) {
		return Escape(s)
	}
	return Escape(strings.NewReplacer(unknown, "$…", fresh, "$…", number, "$…").Replace(s))
}

// programName returns the name of a program without its folder, and without the
// version that interpreters carry.
func programName(text string) string {
	if i := strings.LastIndexAny(text, `/\`); i >= 0 {
		text = text[i+1:]
	}
	name := strings.TrimSuffix(strings.ToLower(text), ".exe")
	for _, base := range [...]string{"python", "pypy", "perl", "ruby", "node", "php", "lua", "pip", "bash", "tclsh"} {
		if rest, ok := strings.CutPrefix(name, base); ok && rest != "" && strings.Trim(rest, "0123456789.-") == "" {
			return base
		}
	}
	return name
}

// absolute returns the paths that an argument may stand for.
func absolute(st *state, name string) []string {
	if name == "" {
		return nil
	}
	name = slashes(name)
	if name[0] == '/' || strings.HasPrefix(name, unknown) || strings.HasPrefix(name, fresh) || len(name) > 1 && name[1] == ':' {
		return []string{name}
	}
	out := make([]string, 0, len(st.cwds))
	for _, cwd := range st.cwds {
		out = append(out, strings.TrimSuffix(cwd, "/")+"/"+name)
	}
	return out
}

// writes judges arguments as files that a command writes, creates or deletes.
func (j *analyzer) writes(c *call, targets ...field) {
	for _, t := range targets {
		for _, name := range absolute(c.st, t.text) {
			a := j.scope.written(name)
			if a.level == Runs && t.glob {
				a = matches(name)
			}
			j.accessed(c, name, a)
			j.recordWrite(name)
		}
	}
}

// recordWrite keeps the path of a file that is written for deny rules, in the words
// of [Write]: as it was named, and where its links lead.
func (j *analyzer) recordWrite(name string) {
	if j.elsewhere || strings.HasPrefix(name, unknown) || strings.HasPrefix(name, fresh) {
		return
	}
	if strings.ContainsAny(name, unknown+fresh+number) {
		j.commands = append(j.commands, "write "+visible(name))
		return
	}
	name = cleanPath(name)
	j.commands = append(j.commands, "write "+Escape(name))
	if j.scope.Resolve == nil {
		return
	}
	if real := j.scope.Resolve(name); real != name {
		j.commands = append(j.commands, "write "+Escape(real))
	}
}

// matches judges a pattern that may stand for a file that asks.
func matches(name string) access {
	for part := range strings.SplitSeq(name, "/") {
		if !strings.ContainsAny(part, "*?[") {
			continue
		}
		if name := patternMayMatch(part); name != "" {
			return access{Asks, "may change " + name + ", which the pattern matches", true}
		}
	}
	return access{}
}

// accessed records a judgement of a path, unless it runs.
func (j *analyzer) accessed(c *call, name string, a access) {
	if a.level == Runs {
		return
	}
	if a.settings && a.level == Asks {
		j.open(name)
	}
	j.note(a.level, a.reason, j.key(c))
	j.findings[len(j.findings)-1].settings = a.settings
}

// destroys blocks the deletion or replacement of protected folders.
func (j *analyzer) destroys(c *call, deep bool, targets ...field) {
	for _, t := range targets {
		for _, name := range absolute(c.st, t.text) {
			if strings.HasPrefix(name, unknown) || strings.HasPrefix(name, fresh) {
				continue
			}
			if why := j.scope.protects(name, deep); why != "" {
				j.refuse(c, why)
			}
		}
	}
}
