package policy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
)

// lazily compiles a pattern when it is first needed: every process of ours would pay for it.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// effects notes what code would do.
func effects(j *analyzer, c *call, list []code.Effect) {
	for _, e := range list {
		fields := make([]field, len(e.Texts))
		for i, text := range e.Texts {
			fields[i].text = text
			if rest, ok := strings.CutPrefix(text, code.Home); ok && e.Kind != code.Shell && (rest == "" || rest[0] == '/') {
				fields[i].text = j.scope.Home + rest
			}
		}
		switch e.Kind {
		case code.Ask:
			j.ask(c, e.Reason)
		case code.Refuse:
			j.refuse(c, e.Reason)
		case code.Delete, code.Tree:
			j.destroys(c, e.Kind == code.Tree, fields...)
		case code.Write:
			j.writes(c, fields...)
		case code.WriteAny:
			writesAny(j, c, e.Texts)
		case code.Shell:
			j.code(c, fields[0])
		case code.Start:
			stdin := j.stdin
			j.stdin = input{}
			j.call(c.with(fields))
			j.stdin = stdin
		case code.Foreign:
			j.foreign = true
		}
	}
}

// writesAny judges the writing of a file that is not known by all parts of paths in the code:
// those count that name a protected place.
func writesAny(j *analyzer, c *call, paths []string) {
	for _, text := range paths {
		for _, name := range []string{"/" + text, j.scope.Home + "/" + text} {
			if a := j.scope.classify(name); a.level == Refused || a.settings {
				j.accessed(c, name, a)
				return
			}
		}
	}
}

// read judges code for an interpreter.
func read(j *analyzer, c *call, src string) {
	if strings.Contains(src, unknown) {
		j.ask(c, "runs code that cannot be seen whole")
	}
	if c.name == "osascript" {
		j.ask(c, "controls other programs by a script")
	}
	if c.name == "ipython" {
		for line := range strings.Lines(src) {
			if rest := strings.TrimLeft(strings.TrimSpace(line), "!%"); len(rest) < len(strings.TrimSpace(line)) {
				j.code(c, field{text: strings.TrimPrefix(strings.TrimPrefix(rest, "sx "), "system ")})
			}
		}
	}
	name := c.name
	if contains("python pypy ipython py python3", name) {
		name = "python"
	}
	src = strings.NewReplacer(unknown, " __unseen__ ", fresh, " __unseen__ ", number, "0").Replace(src)
	effects(j, c, code.Read(name, src, reasonOf))
}

// readInput judges an interpreter that reads its code from standard input.
func readInput(j *analyzer, c *call, where string) {
	j.ranInput(c)
	switch {
	case j.stdin.known:
		read(j, c, j.stdin.text)
	case j.stdin.how != "":
		j.note(Asks, j.stdin.how+where, j.whole())
	case j.stdin.some:
		j.note(Asks, "runs what comes through a pipe"+where, j.whole())
	}
}

// pythonProgram judges a Python interpreter by its code.
func pythonProgram(j *analyzer, c *call) {
	for i := 0; i < len(c.args); i++ {
		text := c.args[i].text
		if !c.args[i].option() {
			if text != "-" && text != "/dev/stdin" {
				j.script(c, c.args[i])
				return
			}
			break
		}
		k := strings.IndexAny(text, "cmWX")
		if strings.HasPrefix(text, "--") || k < 0 {
			continue
		}
		value := text[k+1:]
		if value == "" && i+1 < len(c.args) {
			i++
			value = c.args[i].text
		}
		switch text[k] {
		case 'c':
			read(j, c, value)
			return
		case 'm':
			pythonModule(j, c, value, c.args[i+1:])
			return
		}
	}
	readInput(j, c, " in Python")
}

// pythonModule judges "python -m". A module that runs other code runs the arguments behind it.
func pythonModule(j *analyzer, c *call, name string, args []field) {
	if strings.Contains(name, unknown) {
		j.ask(c, "runs a module that cannot be seen")
	} else {
		j.ran(c, moduleFiles(name)...)
	}
	if p := rulesOf(name); slices.ContainsFunc(p.rules, func(r rule) bool { return r.action == "changes" }) { // a program of that name, such as twine
		j.apply(&call{name: name, args: args, words: c.words, st: c.st}, p)
	}
	if !in("python-runs-arguments", name) {
		return
	}
	for _, a := range args { // commands and code, in one form or another
		if name == "timeit" && !a.option() || strings.ContainsAny(a.text, " (;!") {
			read(j, c, strings.TrimLeft(a.text, "! "))
		}
	}
	readInput(j, c, " in Python")
}

// interpreter judges Perl, Ruby, JavaScript and others by the code in their options or on
// their standard input.
func interpreter(j *analyzer, c *call) {
	if in("scanned-too", c.name) {
		j.otherCode(c)
	}
	p, args := rulesOf(c.name), c.args
	if contains("deno bun", c.name) && len(args) > 0 && !args[0].option() {
		verb := args[0].text
		args = args[1:]
		rest := p.parse(args).rest
		switch {
		case verb == "eval" && len(rest) > 0:
			read(j, c, rest[0].text)
			return
		case verb == "run" && len(rest) > 0 && rest[0].text != "-":
			j.ran(c, scriptFiles(c.name, rest[0].text)...)
			return
		case verb == "run":
		case verb != "repl" && strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz") == "":
			return
		}
	}
	if contains("perl ruby", c.name) {
		args = withoutSuffix(args, p.short)
	}
	args = slices.Clone(args)
	for i := range args {
		if c.name == "erl" && args[i].text == "-eval" {
			args[i].text = "--eval"
		}
	}
	if len(args) > 0 && args[0].text == "-pe" && in("javascript-program", c.name) {
		args = append([]field{{text: "-e"}}, args[1:]...)
	}
	options := p.parse(args)
	rest := options.rest
	letters := cmp.Or(reasonIn("code-letters", c.name), "eE")
	found := slices.ContainsFunc(args[:len(args)-len(rest)], func(a field) bool { return in("shows-itself", a.text) })
	for _, opt := range options.list {
		switch {
		case opt.double && in("code-option", opt.name), !opt.double && opt.has && strings.Contains(letters, opt.name):
			found = true
			read(j, c, opt.value.text)
		case strings.HasPrefix(opt.value.text, "data:"):
			j.ask(c, "runs code that is made up while it runs")
		case c.name == "perl" && contains("M m", opt.name) && strings.Contains(opt.value.text, ";"):
			read(j, c, opt.value.text)
		}
	}
	if contains("perl ruby", c.name) && options.has("i") {
		j.writes(c, rest...)
	}
	if c.name == "perl" && options.has("n", "p") {
		for _, a := range rest { // a file may be a command
			if text := strings.TrimSpace(a.text); len(text) > 1 && (text[0] == '|' || strings.HasSuffix(text, "|")) {
				j.code(c, field{text: strings.Trim(text, " |")})
			}
		}
	}
	switch {
	case found:
	case len(rest) > 0 && rest[0].text != "-" && rest[0].text != "/dev/stdin":
		j.script(c, rest[0])
	default:
		readInput(j, c, " in an interpreter")
	}
}

// awk judges an awk program: it can start others and write files.
func awk(j *analyzer, c *call) {
	o := parse(c.args, "vFfiEe", "assign field-separator file include exec source")
	file, fromFile := o.get("f", "file", "E", "exec")
	include, includes := o.get("i", "include")
	src, given := o.get("e", "source")
	switch {
	case contains("- /dev/stdin", file.value.text) && j.stdin.known:
		effects(j, c, code.Awk(j.stdin.text))
	case file.value.text == "-" || strings.HasPrefix(file.value.text, "/dev/"):
		j.ask(c, "runs what another command writes")
	}
	if include.value.text == "inplace" {
		j.writes(c, o.rest...)
	}
	switch {
	case given:
		effects(j, c, code.Awk(src.value.text))
	case !fromFile && (!includes || include.value.text == "inplace") && len(o.rest) > 0:
		effects(j, c, code.Awk(o.rest[0].text))
	}
}

// database judges the SQL that a database client reads, and the words of SQLite.
func database(j *analyzer, c *call) {
	if contains("sqlite3 sqlite duckdb", c.name) {
		files := 0
		for i, a := range c.args {
			valued := i > 0 && in("sqlite-valued", c.args[i-1].text)
			switch {
			case valued && c.args[i-1].text == "-cmd":
				sql(j, c, a.text)
			case valued, a.option():
			case files == 0:
				files++
				j.protected(c, a)
			default:
				sql(j, c, a.text)
			}
		}
	}
	if j.stdin.known {
		sql(j, c, j.stdin.text)
	} else if j.stdin.how == downloads {
		j.ask(c, downloads+" in a database")
	}
}

func sql(j *analyzer, c *call, text string) {
	for _, reason := range code.Database(text) {
		j.ask(c, reason)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
