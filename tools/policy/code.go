package policy

import (
	"cmp"
	"slices"
	"strings"
)

// interpreter judges Perl, Ruby, JavaScript and others by the code in their
// options or on their standard input.
func (j *analyzer) interpreter(c *call) {
	if (c.name == "deno" || c.name == "bun") && len(c.args) > 1 && c.args[0].text == "run" {
		if i := slices.IndexFunc(c.args[1:], func(a field) bool { return !a.option() }); i >= 0 {
			j.ran(c, scriptFiles(c.name, c.args[1+i].text)...)
		}
	}
	j.settingsOf(c)
	if in("scanned-too", c.name) {
		j.otherCode(c)
	}
	codes, script, none := interpreterCode(c)
	for _, code := range codes {
		j.scan(c, code.text)
	}
	j.inPlace(c)
	if c.name == "perl" {
		j.perlArguments(c)
	}
	if len(codes) > 0 {
		return
	}
	if !none {
		j.script(c, script)
		return
	}
	j.ranInput(c)
	switch {
	case j.stdin.known:
		j.scan(c, j.stdin.text)
	case j.stdin.some:
		how := j.stdin.how
		if how == "" {
			how = "runs what comes through a pipe"
		}
		j.note(Asks, how+" in an interpreter", j.whole())
	}
}

// settingsOf judges options that load other code, or code from elsewhere.
func (j *analyzer) settingsOf(c *call) {
	for i, a := range c.args {
		switch {
		case c.name == "php" && (strings.Contains(a.text, "auto_prepend_file") || strings.Contains(a.text, "auto_append_file") || strings.Contains(a.text, "extension=")):
			j.ask(c, "loads other code")
		case c.name == "deno" && i > 0 && (strings.HasPrefix(a.text, "data:") || strings.HasPrefix(a.text, "http:") || strings.HasPrefix(a.text, "https:")):
			j.ask(c, downloads)
		case c.name == "deno" && a.text == "--eval" && i+1 < len(c.args):
			j.scan(c, c.args[i+1].text)
		}
	}
}

// perlArguments judges modules that bring code with them, and files that are commands.
func (j *analyzer) perlArguments(c *call) {
	reads := false
	for _, a := range c.args {
		switch {
		case a.option() && (strings.HasPrefix(a.text, "-M") || strings.HasPrefix(a.text, "-m")) && strings.ContainsAny(a.text, ";(=") && strings.Contains(a.text, ";"):
			j.scan(c, a.text[2:])
		case a.option() && !strings.HasPrefix(a.text, "-M"):
			reads = reads || strings.ContainsAny(a.text, "np")
		case reads && (strings.HasSuffix(strings.TrimSpace(a.text), "|") || strings.HasPrefix(strings.TrimSpace(a.text), "|")) && len(a.text) > 1:
			j.code(c, field{text: strings.Trim(a.text, " |")})
		}
	}
}

// inPlace judges the files that Perl and Ruby change by -i.
func (j *analyzer) inPlace(c *call) {
	valued := map[string]string{"perl": "eEmMIF", "ruby": "eICKFrxE"}[c.name]
	if valued == "" {
		return
	}
	if o := parse(withoutSuffix(c.args, valued), valued, ""); o.has("i") {
		j.writes(c, o.rest...)
	}
}

// interpreterCode returns the code in options, else the script; none when the
// interpreter reads its standard input.
func interpreterCode(c *call) (codes []field, script field, none bool) {
	if codes, none, known := subcommandCode(c); known {
		return codes, field{}, none
	}
	for rest := c.args; len(rest) > 0; {
		text := rest[0].text
		switch {
		case text == "-" || text == "/dev/stdin":
			return codes, field{}, true
		case !rest[0].option():
			return codes, rest[0], false
		case slices.Contains(showOptions, text):
			return codes, field{}, false
		}
		code, found, taken := optionCode(c.name, rest)
		if found {
			codes = append(codes, code)
		}
		rest = rest[min(taken, len(rest)):]
	}
	return codes, field{}, len(codes) == 0
}

// showOptions have an interpreter say something of itself, or look at a script only.
var showOptions = []string{"--version", "--help", "--check", "-v", "-V", "-h"}

// subcommandCode is interpreterCode for programs with subcommands.
func subcommandCode(c *call) (codes []field, none, known bool) {
	args := c.args
	if c.name == "erl" {
		for i, a := range args[:max(0, len(args)-1)] {
			if a.text == "-eval" {
				codes = append(codes, args[i+1])
			}
		}
		return codes, false, true
	}
	if c.name != "deno" && c.name != "bun" || len(args) == 0 {
		return nil, false, false
	}
	switch args[0].text {
	case "eval":
		i := slices.IndexFunc(args[1:], func(a field) bool { return !a.option() })
		if i < 0 {
			return nil, false, false
		}
		return args[1+i : 2+i], false, true
	case "run":
		return nil, hasWord(args, "-"), true // its script: see runScript
	case "test", "task", "fmt", "lint", "install", "check", "cache", "compile", "repl", "add":
		return nil, false, true
	}
	return nil, false, false
}

// optionCode looks at an option, with which args begin: the code that it gives, if any,
// and how many arguments it takes with its value.
func optionCode(program string, args []field) (code field, found bool, taken int) {
	if strings.HasPrefix(args[0].text, "--") {
		return longOptionCode(args)
	}
	return lettersCode(program, args)
}

func longOptionCode(args []field) (code field, found bool, taken int) {
	name, val, has := strings.Cut(args[0].text[2:], "=")
	if contains("import require loader experimental-loader", name) {
		if !has && len(args) > 1 {
			val = args[1].text
		}
		if strings.HasPrefix(val, "data:") {
			return field{text: "eval(" + val + ")"}, true, 2 - min(1, len(args[0].text)-len(name)-2)
		}
	}
	switch name {
	case "eval", "print", "run", "execute", "expression":
		if !has && len(args) > 1 {
			return field{text: args[1].text}, true, 2
		}
		return field{text: val}, true, 1
	case "require", "import", "loader", "experimental-loader", "conditions", "env-file":
		if !has {
			return field{}, false, 2
		}
	}
	return field{}, false, 1
}

// valueLetters are options whose value is the rest of the letters, or the next argument.
var valueLetters = map[string]string{"ruby": "rICKFTx", "lua": "l", "php": "dcf", "node": "rC", "nodejs": "rC", "perl": "MmI"}

// codeLetters are options that give code; of a program that is not listed, e and E.
var codeLetters = map[string]string{
	"php": "rBRE", "node": "ep", "nodejs": "ep", "bun": "ep", "tsx": "ep", "ts-node": "ep", "tclsh": "c",
}

func lettersCode(program string, args []field) (code field, found bool, taken int) {
	text := args[0].text
	if strings.IndexByte(valueLetters[program], text[1]) >= 0 {
		if len(text) == 2 {
			return field{}, false, 2
		}
		return field{}, false, 1
	}
	k := strings.IndexAny(text[1:], cmp.Or(codeLetters[program], "eE"))
	if k < 0 {
		return field{}, false, 1
	}
	if program == "perl" && strings.ContainsAny(text[1:k+1], "MmIi0") && !strings.HasPrefix(text, "-0") {
		return field{}, false, 1 // the rest belongs to that option, as in -MList::Util or -i.bak
	}
	code = field{text: text[k+2:]}
	apart := program == "node" || program == "nodejs" || program == "bun" || code.text == "" || program == "ruby" && k > 0
	switch {
	case !apart:
		return code, true, 1
	case len(args) > 1:
		return args[1], true, 2
	}
	return field{}, true, 1
}

// scan judges code by the names in it. It does not parse: a name within a string
// counts too, except in JavaScript, where strings are skipped.
func (j *analyzer) scan(c *call, code string) {
	if strings.Contains(code, unknown) {
		j.ask(c, "runs code that cannot be seen whole")
	}
	if c.name == "osascript" {
		j.ask(c, "controls other programs by a script")
		return
	}
	if in("javascript-program", c.name) {
		j.scriptDetours(c, code)
	}
	s := scanner{j: j, c: c, src: code, js: in("javascript-program", c.name)}
	s.run()
}

// dynamicCall is a call of Perl whose function is a variable or a text.
var dynamicCall = lazily(`^&\s*(\$\w+\s*\(|\$\{|\{\s*["'$])`)

type scanner struct {
	j     *analyzer
	c     *call
	src   string
	js    bool
	prev  string // the name before, when only a dot, colon or arrow lies between
	loops bool
	forks bool
}

func (s *scanner) run() {
	for i := 0; i < len(s.src); {
		b := s.src[i]
		switch {
		case s.js && (b == '\'' || b == '"'):
			text, end, ok := quotedAt(s.src, i)
			if !ok {
				i++
				continue
			}
			s.computed(i, end, text)
			i = end
		case s.js && strings.HasPrefix(s.src[i:], "//") && (i == 0 || s.src[i-1] != ':'):
			i = skipTo(s.src, i, "\n")
		case s.js && strings.HasPrefix(s.src[i:], "/*"):
			i = skipTo(s.src, i+2, "*/")
		case b == '&' && s.c.name == "perl" && dynamicCall().MatchString(s.src[i:]):
			s.j.ask(s.c, "runs code that is made up while it runs")
			i++
		case b == '`' && i > 0 && s.src[i-1] == '$':
			text, end, ok := quotedAt(s.src, i)
			if !ok {
				end = i + 1
			}
			s.command(text, !strings.Contains(text, "${"))
			i = end
		case b == '`' && !s.js:
			text, end, ok := quotedAt(s.src, i)
			if ok {
				s.command(text, true)
				i = end
			} else {
				i++
			}
		case wordByte(b) && b < 0x80 && !(b >= '0' && b <= '9'):
			k := i
			for k < len(s.src) && wordByte(s.src[k]) {
				k++
			}
			s.name(s.src[i:k], i, k)
			s.prev = ""
			if k < len(s.src) && (s.src[k] == '.' || s.src[k] == ':' || s.src[k] == '-' || s.src[k] == '?') {
				s.prev = s.src[i:k]
			}
			i = k
		default:
			i++
		}
	}
	if s.loops && s.forks {
		s.j.refuse(s.c, "is a fork bomb: it starts itself over and over")
	}
}

// computed judges a member that is named by a string, fs["unlink"].
func (s *scanner) computed(i, end int, text string) {
	before := strings.TrimRight(s.src[:i], " \t\n")
	if !strings.HasSuffix(before, "[") {
		return
	}
	owner := strings.TrimRight(before[:len(before)-1], " \t\n?.")
	if owner == "" || !wordByte(owner[len(owner)-1]) && owner[len(owner)-1] != ')' {
		return // a list
	}
	if after := strings.TrimLeft(s.src[end:], " \t\n"); strings.HasPrefix(after, "+") {
		s.j.ask(s.c, "runs code that is made up while it runs")
	}
	s.name(text, i, end)
}

// name judges one name; it stands at src[i:k].
func (s *scanner) name(name string, i, k int) {
	next := strings.TrimLeft(s.src[k:], " \t")
	s.writes(name, next)
	switch {
	case in("code-deletes", name):
		s.deletes(name, next)
	case in("code-starts", name):
		s.starts(name, next)
	case in("code-made-up", name):
		s.madeUp(name, next)
	}
	switch name {
	case "while", "for", "until", "loop":
		s.loops = true
	case "fork":
		s.forks = true
	case "truncate":
		if s.c.name == "perl" || s.prev == "File" {
			s.deletes(name, next)
		}
	case "delete", "remove":
		if s.c.name == "ruby" && strings.HasSuffix(s.src[:i], ").") && strings.Contains(s.src, "Pathname") {
			s.deletes(name, next)
		}
		if in("code-delete-owner", s.prev) {
			s.deletes(name, next)
		}
	case "require":
		if list, whole := stringArgs(next); s.js && strings.HasPrefix(next, "(") && (!whole || len(list) != 1) {
			s.j.ask(s.c, "loads a module that cannot be seen")
		}
	case "kill", "killpg":
		if strings.Contains(next, "-1") {
			s.j.refuse(s.c, "ends every process")
		}
	}
}

// deletes judges a call that deletes its arguments, as far as they are known.
func (s *scanner) deletes(name, next string) {
	list, _ := stringArgs(next)
	for _, text := range list {
		s.j.destroys(s.c, !strings.HasPrefix(name, "unlink"), field{text: text})
		s.j.writes(s.c, field{text: text})
	}
	s.j.ask(s.c, "deletes files")
}

// starts judges a call that starts a program.
func (s *scanner) starts(name, next string) {
	if s.js && !strings.Contains(s.src, "child_process") && s.prev != "Bun" && s.prev != "Deno" && name != "execSync" && name != "execa" {
		return // exec of a regular expression, for one
	}
	switch name {
	case "Command":
		if list, _ := stringArgs(next); s.js && len(list) > 0 && isDangerous(programName(list[0])) {
			s.j.ask(s.c, "starts another program, which cannot be seen")
		}
	}
	switch name {
	case "execute", "sh", "Command":
		if s.prev != "os" && s.prev != "Deno" && !s.js {
			return
		}
	}
	list, whole := stringArgs(next)
	switch {
	case !whole || len(list) == 0:
		s.j.ask(s.c, "starts another program, which cannot be seen")
	case len(list) == 1:
		s.command(list[0], strings.HasPrefix(strings.TrimLeft(next, "( \t"), "'"))
	default:
		fields := make([]field, len(list))
		for i, text := range list {
			fields[i] = field{text: text}
		}
		s.j.call(s.c.with(fields))
	}
}

// command judges shell code in a string; literal when nothing is filled in.
func (s *scanner) command(text string, literal bool) {
	if !literal && !s.js && strings.ContainsAny(text, "$#@") {
		s.j.ask(s.c, "starts another program, which cannot be seen")
		return
	}
	s.j.code(s.c, field{text: text})
}

func (s *scanner) madeUp(name, next string) {
	switch name {
	case "eval":
		if s.c.name == "perl" && strings.HasPrefix(next, "{") {
			return // catches errors
		}
	case "method", "instance_method":
		if s.c.name != "ruby" || !strings.HasPrefix(next, "(:") {
			return
		}
	case "send", "load", "assert", "binding", "vm":
		if s.js && name != "vm" || name == "vm" && !s.js || name == "send" && s.c.name != "ruby" {
			return
		}
	}
	s.j.ask(s.c, "runs code that is made up while it runs ("+name+")")
}

// quotedAt reads the quoted string at i and returns where it ends.
func quotedAt(src string, i int) (text string, end int, ok bool) {
	quote := src[i]
	var b []byte
	for k := i + 1; k < len(src); k++ {
		switch {
		case src[k] == '\\' && k+1 < len(src):
			b = append(b, src[k], src[k+1])
			k++
		case src[k] == quote:
			text = string(b)
			if strings.Contains(text, `\`) {
				text = ansiC(text)
			}
			return clean(text), k + 1, true
		default:
			b = append(b, src[k])
		}
	}
	return "", len(src), false
}

// stringArgs reads the arguments of a call, in brackets or not, as far as they
// are strings, also within a list; whole tells whether all of them were.
func stringArgs(next string) (list []string, whole bool) {
	rest := strings.TrimLeft(next, " \t\n([{")
	for {
		if rest == "" || rest[0] != '\'' && rest[0] != '"' {
			return list, false
		}
		text, end, ok := quotedAt(rest, 0)
		if !ok {
			return list, false
		}
		list = append(list, text)
		rest = strings.TrimLeft(rest[end:], " \t\n")
		switch {
		case rest == "", strings.HasPrefix(rest, ";"), strings.HasPrefix(rest, ")"), strings.HasPrefix(rest, "]"), strings.HasPrefix(rest, "}"):
			return list, true
		case strings.HasPrefix(rest, ","):
			rest = strings.TrimLeft(rest[1:], " \t\n[(")
			if strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "func") || rest != "" && rest[0] == '(' {
				return list, true // settings or a callback follow
			}
		default:
			return list, false
		}
	}
}
