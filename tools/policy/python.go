package policy

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// pythonProgram judges a Python interpreter by its code.
func (j *analyzer) pythonProgram(c *call) {
	args := c.args
	for len(args) > 0 && args[0].option() {
		text := args[0].text
		args = args[1:]
		if strings.HasPrefix(text, "--") {
			continue
		}
		for k := 1; k < len(text); k++ {
			switch text[k] {
			case 'c':
				code := field{text: text[k+1:]}
				if code.text == "" && len(args) > 0 {
					code = args[0]
				}
				j.pythonCode(c, code.text)
				return
			case 'm':
				j.pythonModule(c, text[k+1:], args)
				return
			case 'W', 'X':
				if k+1 == len(text) && len(args) > 0 {
					args = args[1:]
				}
				k = len(text)
			}
		}
	}
	if len(args) == 0 || args[0].text == "-" || args[0].text == "/dev/stdin" {
		j.ranInput(c)
	}
	switch {
	case len(args) > 0 && args[0].text != "-" && args[0].text != "/dev/stdin":
		j.script(c, args[0])
	case j.stdin.known:
		j.pythonCode(c, j.stdin.text)
	case j.stdin.some:
		how := j.stdin.how
		if how == "" {
			how = "runs what comes through a pipe"
		}
		j.note(Asks, how+" in Python", j.whole())
	}
}

// pythonModule judges "python -m". A module that runs other code runs the arguments behind it.
func (j *analyzer) pythonModule(c *call, name string, args []field) {
	if name == "" && len(args) > 0 {
		name, args = args[0].text, args[1:]
	}
	if strings.Contains(name, unknown) {
		j.ask(c, "runs a module that cannot be seen")
	} else {
		j.ran(c, moduleFiles(name)...)
	}
	if slices.ContainsFunc(rulesOf(name).rules, func(r rule) bool { return r.action == "changes" }) { // a program of that name, such as twine
		j.apply(&call{name: name, args: args, words: c.words, st: c.st}, rulesOf(name))
	}
	switch name {
	case "timeit":
		for _, a := range args {
			if !a.option() {
				j.pythonCode(c, a.text)
			}
		}
	case "code", "IPython", "ipython", "idlelib", "pdb", "ipdb", "bdb", "cProfile", "profile", "trace", "asyncio", "ptpython", "bpython", "pudb":
		for _, a := range args { // commands and code, in one form or another
			if strings.ContainsAny(a.text, " (;!") {
				j.pythonCode(c, strings.TrimLeft(a.text, "! "))
			}
		}
		if j.stdin.known {
			j.pythonCode(c, j.stdin.text)
		} else if j.stdin.some {
			j.note(Asks, "runs what comes through a pipe in Python", j.whole())
		}
	}
}

func (j *analyzer) pythonCode(c *call, src string) {
	if c.name == "ipython" {
		for line := range strings.Lines(src) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "!") || strings.HasPrefix(line, "%sx ") || strings.HasPrefix(line, "%system ") {
				j.code(c, field{text: strings.TrimLeft(line, "!%sxytem ")})
			}
		}
	}
	if strings.Contains(src, unknown) {
		j.ask(c, "runs Python code that cannot be seen whole")
	}
	j.python(c, strings.NewReplacer(unknown, " __unseen__ ", fresh, " __unseen__ ", number, "0").Replace(src))
}

// pyToken is one token of Python: a name, a string, or one character of the rest.
type pyToken struct {
	kind byte // 'n' name, 's' string, 'f' string with expressions in it, '\n' and the next line's indentation, 'o' other
	text string
}

// pyTokens reads Python without its comments. Expressions within f-strings come
// as tokens after the string.
func pyTokens(src string) []pyToken {
	var out []pyToken
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '\n':
			k := i + 1
			for k < len(src) && (src[k] == ' ' || src[k] == '\t') {
				k++
			}
			out = append(out, pyToken{'\n', src[i:k]})
			i = k
		case c == '\\' && i+1 < len(src) && src[i+1] == '\n':
			i += 2
		case c == '\'' || c == '"':
			var tok []pyToken
			tok, i = pyString(src, i, "")
			out = append(out, tok...)
		case wordByte(c):
			k := i
			for k < len(src) && wordByte(src[k]) {
				k++
			}
			word := src[i:k]
			if k < len(src) && (src[k] == '\'' || src[k] == '"') && len(word) <= 2 && strings.Trim(strings.ToLower(word), "rbuft") == "" {
				var tok []pyToken
				tok, i = pyString(src, k, strings.ToLower(word))
				out = append(out, tok...)
				continue
			}
			kind := byte('n')
			if c >= '0' && c <= '9' {
				kind = 'o'
			}
			out = append(out, pyToken{kind, word})
			i = k
		default:
			if c > ' ' {
				out = append(out, pyToken{'o', string(c)})
			}
			i++
		}
	}
	return out
}

// pyString reads the string whose quote stands at i, and returns where it ends.
func pyString(src string, i int, prefix string) ([]pyToken, int) {
	quote := src[i : i+1]
	if strings.HasPrefix(src[i:], strings.Repeat(quote, 3)) {
		quote = src[i : i+3]
	}
	i += len(quote)
	raw := strings.Contains(prefix, "r")
	var b []byte
	for i < len(src) && !strings.HasPrefix(src[i:], quote) {
		if src[i] == '\\' && i+1 < len(src) {
			if raw {
				b = append(b, src[i], src[i+1])
			} else if src[i+1] != '\n' {
				b = append(b, src[i], src[i+1])
			}
			i += 2
			continue
		}
		b = append(b, src[i])
		i++
	}
	i = min(len(src), i+len(quote))
	text := string(b)
	if !raw && strings.Contains(text, `\`) {
		text = ansiC(text)
	}
	if !strings.ContainsAny(prefix, "ft") {
		return []pyToken{{'s', clean(text)}}, i
	}
	out := []pyToken{{'f', clean(text)}}
	if strings.Contains(text, "{") && len(text) < 4096 {
		out[0].text = unknown
		for part := range strings.SplitSeq(strings.ReplaceAll(text, "{{", ""), "{") {
			if expr, _, ok := strings.Cut(part, "}"); ok {
				out = append(out, pyToken{'o', "+"})
				out = append(out, pyTokens(expr)...)
			}
		}
	} else {
		out[0].kind = 's'
	}
	return out, i
}

// python judges Python code by the names it mentions and calls.
func (j *analyzer) python(c *call, src string) {
	if !isASCII(src) {
		src = norm.NFKC.String(src) // as Python reads names
	}
	p := pyReader{j: j, c: c, src: src, toks: pyTokens(src), names: map[string]string{}}
	before := len(j.findings)
	defer func() {
		unseen := func(f finding) bool { return madeUp(f.reason) }
		j.foreign = j.foreign || slices.ContainsFunc(j.findings[before:], unseen)
	}()
	p.imports()
	p.variables()
	for p.at = 0; p.at < len(p.toks); p.at++ {
		if p.toks[p.at].kind == 'n' {
			p.name()
		}
	}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// madeUp tells whether a reason says that code runs which is not seen.
func madeUp(reason string) bool {
	return strings.Contains(reason, "made up") || strings.Contains(reason, "cannot be seen") || strings.Contains(reason, "another program") ||
		strings.Contains(reason, "ctypes") || strings.Contains(reason, "detour")
}

type pyReader struct {
	j     *analyzer
	c     *call
	src   string
	toks  []pyToken
	names map[string]string // meanings of names, such as rm → os.remove
	stars []string          // modules all of whose names were imported
	mods  []string          // modules that were imported, by their local names
	texts map[string]string // variables that are set once, to a plain text or path
	lists map[string][]pyToken
	forks int // so far
	at    int
}

func (p *pyReader) tok(i int) pyToken {
	if i < 0 || i >= len(p.toks) {
		return pyToken{}
	}
	return p.toks[i]
}

// imports notes the meaning of names: by import, and by plain assignment.
func (p *pyReader) imports() {
	for i := 0; i < len(p.toks); i++ {
		t := p.toks[i]
		switch {
		case t.kind == 'n' && t.text == "from" && p.tok(i+1).kind == 'n':
			module, k := p.dotted(i + 1)
			if p.tok(k).text == "import" {
				p.importList(k+1, module+".")
			}
		case t.kind == 'n' && t.text == "import" && p.tok(i-1).kind != 'n' && p.tok(i-1).text != ".":
			p.importList(i+1, "")
		case t.kind == 'n' && p.tok(i+1).text == "=" && p.tok(i+2).kind == 'n' && p.tok(i-1).text != ".":
			full, k := p.dotted(i + 2)
			if next := p.tok(k); next.kind == '\n' || next.kind == 0 || next.text == ";" {
				p.names[t.text] = p.resolve(full)
			}
		}
	}
}

// importList reads "a as b, c" up to the end of the statement.
func (p *pyReader) importList(i int, module string) {
	open := false
	for ; i < len(p.toks); i++ {
		t := p.toks[i]
		switch {
		case t.text == "(":
			open = true
		case t.kind == '\n' && !open, t.text == ")", t.text == ";":
			return
		case t.text == "*":
			p.stars = append(p.stars, module)
		case t.kind == 'n':
			full, k := p.dotted(i)
			if first, _, _ := strings.Cut(module+full, "."); !in("python-plain-module", first) {
				p.j.foreign = true
			}
			if strings.HasPrefix(module+full, "ctypes") {
				p.j.ask(p.c, "calls the system directly (ctypes)")
			}
			local := full
			if p.tok(k).text == "as" {
				local = p.tok(k + 1).text
				k += 2
			} else if module == "" {
				local, _, _ = strings.Cut(full, ".")
				full = local
			}
			if module == "" {
				p.mods = append(p.mods, local)
			}
			if p.tok(k-1).text != full || module != "" || local != full {
				p.names[local] = module + full
			}
			i = k - 1
		}
	}
}

// dotted reads a.b.c from token i and returns the index after it.
func (p *pyReader) dotted(i int) (string, int) {
	name := p.tok(i).text
	i++
	for p.tok(i).text == "." && p.tok(i+1).kind == 'n' {
		name += "." + p.tok(i+1).text
		i += 2
	}
	return name, i
}

func (p *pyReader) resolve(full string) string {
	for range 4 {
		first, rest, _ := strings.Cut(full, ".")
		to, ok := p.names[first]
		if !ok || to == first {
			break
		}
		if full = to; rest != "" {
			full += "." + rest
		}
	}
	return full
}

// name judges the dotted name at the current token.
func (p *pyReader) name() {
	if prev := p.tok(p.at - 1); prev.text == "import" || prev.text == "from" {
		_, k := p.dotted(p.at)
		p.at = k - 1
		return
	}
	attribute := p.tok(p.at-1).text == "."
	full, k := p.dotted(p.at)
	if !attribute {
		full = p.resolve(full)
	}
	last := full[strings.LastIndexByte(full, '.')+1:]
	var args [][]pyToken
	called := p.tok(k).text == "("
	if called {
		args = p.args(k)
	}
	candidates := []string{full}
	if !attribute && !strings.Contains(full, ".") {
		for _, m := range p.stars {
			candidates = append(candidates, m+full)
		}
	}
	for _, name := range candidates {
		p.assess(name, last, attribute, called, args)
	}
	p.at = k - 1
}

// args returns the arguments of the call whose bracket is token k.
func (p *pyReader) args(k int) [][]pyToken {
	var out [][]pyToken
	var cur []pyToken
	depth := 0
	for ; k < len(p.toks); k++ {
		t := p.toks[k]
		switch {
		case t.kind == '\n':
			continue
		case t.text == "(" || t.text == "[" || t.text == "{":
			if depth++; depth == 1 {
				continue
			}
		case t.kind == 'o' && (t.text == ")" || t.text == "]" || t.text == "}"):
			if depth--; depth == 0 {
				if len(cur) > 0 {
					out = append(out, cur)
				}
				return out
			}
		case t.kind == 'o' && t.text == "," && depth == 1:
			out = append(out, cur)
			cur = nil
			continue
		}
		cur = append(cur, t)
	}
	return append(out, cur)
}

// constant returns the text of an argument that is nothing but strings.
func constant(arg []pyToken) (string, bool) {
	if len(arg) == 0 {
		return "", false
	}
	var b strings.Builder
	for _, t := range arg {
		if t.kind != 's' {
			return "", false
		}
		b.WriteString(t.text)
	}
	return b.String(), true
}

func (p *pyReader) assess(full, last string, attribute, called bool, args [][]pyToken) {
	j, c := p.j, p.c
	for _, alias := range []string{"posix.", "nt.", "_os."} {
		if rest, ok := strings.CutPrefix(full, alias); ok && (p.imported(alias[:len(alias)-1]) || p.names[rest] == full) {
			full = "os." + rest
		}
	}
	if p.library(full, called, args) {
		return
	}
	if reason := reasonIn("python-call", full); reason != "" {
		j.ask(c, reason)
		return
	}
	switch {
	case full == "shutil.rmtree":
		p.tree(args)
	case in("python-starts", full):
		p.command(full, called, args)
	case full == "os.kill":
		if len(args) > 0 && len(args[0]) > 0 && args[0][0].text == "-" {
			j.refuse(c, "ends every process")
		}
	case full == "os.fork" || full == "os.forkpty":
		if p.forks++; p.forks > manyForks || p.loops() && !p.exits() {
			j.refuse(c, "is a fork bomb: it starts itself over and over")
		}
	case full == "importlib.import_module" && p.plainModule(args), in("python-namespace", full) && !p.takesFrom(full, called): // to look at them is nothing
	case in("python-made-up", full) || in("python-namespace", full):
		if !attribute {
			j.ask(c, "runs code that is made up while it runs ("+full+")")
		}
	case in("python-detour", full):
		p.getattr(full, args)
	case in("python-open", full):
		p.open(args, attribute)
	case in("python-path", full):
		p.paths(full, args)
	case beginsOf("python-exec", full):
		j.ask(c, "starts another program")
	default:
		p.attribute(full, last, attribute, called, args)
	}
}

// attribute judges methods by their names, whatever they are called on.
func (p *pyReader) attribute(full, last string, attribute, called bool, args [][]pyToken) {
	if !attribute && !strings.Contains(full, ".") {
		if last == "__builtins__" {
			p.j.ask(p.c, "runs code that is made up while it runs ("+last+")")
		}
		return
	}
	switch last {
	case "unlink", "rmdir", "removedirs":
		p.j.ask(p.c, "deletes files")
	case "rmtree", "_rmtree", "remove_tree":
		p.tree(args)
	case "name": // of a temporary folder, which is then deleted
		_, k := p.dotted(p.at)
		if p.tok(k).text == "=" && p.tok(k+1).text != "=" && strings.Contains(p.src, "tempfile") {
			p.j.ask(p.c, "deletes files")
		}
	case "extractall", "extract":
		if len(args) > 0 && called {
			p.writes(args[0][min(len(args[0]), named(args[0])):])
		}
	case "__dict__", "__getattribute__", "__subclasses__", "__globals__", "__builtins__", "__code__", "__import__":
		p.j.ask(p.c, "runs code that is made up while it runs ("+last+")")
	case "write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to":
		p.writes(p.receiver())
	case "execute", "executescript", "executemany":
		if called && len(args) > 0 {
			if text, ok := constant(args[0]); ok {
				for _, reason := range sqlReasons(text) {
					p.j.ask(p.c, reason)
				}
			}
		}
	}
}

// tree judges the deletion of a folder with all that is in it.
func (p *pyReader) tree(args [][]pyToken) {
	if len(args) > 0 {
		if text, ok := p.path(args[0]); ok && text != "" {
			p.j.destroys(p.c, true, field{text: text})
			p.j.writes(p.c, field{text: text})
		}
	}
	p.j.ask(p.c, "deletes files recursively")
}

// writes judges the writing of the file that an expression stands for.
func (p *pyReader) writes(expr []pyToken) {
	if name, ok := p.path(expr); ok {
		p.j.writes(p.c, field{text: name})
	} else {
		p.j.writesUnseen(p.c, p.src)
	}
}

func (p *pyReader) paths(full string, args [][]pyToken) {
	if strings.HasPrefix(full, "shutil.copy") && len(args) > 1 {
		args = args[1:]
	}
	for _, a := range args {
		text, ok := p.path(a)
		if !ok && full != "os.open" {
			p.j.writesUnseen(p.c, p.src)
		}
		if ok && (full != "os.open" || text != "") {
			if full == "os.open" && !slices.ContainsFunc(args[len(args)-1], func(t pyToken) bool {
				return t.text == "O_WRONLY" || t.text == "O_RDWR" || t.text == "O_CREAT" || t.text == "O_TRUNC"
			}) {
				continue
			}
			p.j.writes(p.c, field{text: text})
			if full == "shutil.move" || strings.HasPrefix(full, "os.re") {
				p.j.destroys(p.c, false, field{text: text})
			}
		}
	}
}

// open judges the opening of a file that is named, to write it.
func (p *pyReader) open(args [][]pyToken, attribute bool) {
	if attribute || len(args) == 0 {
		return
	}
	mode := "r"
	for i, a := range args[1:] {
		if len(a) > 2 && a[0].text == "mode" && a[1].text == "=" {
			a = a[2:]
		} else if i > 0 {
			continue
		}
		if text, ok := constant(a); ok {
			mode = text
		}
	}
	if strings.ContainsAny(mode, "wax+") {
		p.writes(args[0])
	}
}

func (p *pyReader) getattr(full string, args [][]pyToken) {
	i := 1
	if strings.HasPrefix(full, "operator.") {
		i = 0
	}
	if len(args) <= i {
		p.j.ask(p.c, "runs code that is made up while it runs ("+full+")")
		return
	}
	text, ok := constant(args[i])
	switch {
	case !ok && !strings.HasPrefix(full, "operator.") && p.plainVariable(args[0]):
	case !ok, strings.HasPrefix(text, "__"):
		p.j.ask(p.c, "runs code that is made up while it runs ("+full+")")
	case in("python-dangerous-name", text):
		p.j.ask(p.c, "calls "+text+" by a detour")
	}
}

// command judges a program or shell code that Python starts.
func (p *pyReader) command(full string, called bool, args [][]pyToken) {
	if !called {
		if tok := p.tok(p.at - 1); tok.text != "=" { // assignments are followed by name
			p.j.ask(p.c, "starts another program, which cannot be seen")
		}
		return
	}
	if len(args) == 0 {
		p.j.ask(p.c, "starts another program, which cannot be seen")
		return
	}
	first := args[0]
	if len(first) > 2 && first[0].kind == 'n' && first[1].text == "=" {
		first = first[2:]
	}
	if len(first) == 1 && p.lists[first[0].text] != nil {
		first = p.lists[first[0].text]
	}
	if len(first) > 3 && first[len(first)-1].text == ")" && first[0].text == "shlex" && first[2].text == "split" {
		first = first[4 : len(first)-1]
	}
	if text, ok := p.path(first); ok {
		if full == "asyncio.create_subprocess_exec" {
			p.run(args)
			return
		}
		p.j.code(p.c, field{text: text})
		return
	}
	if len(first) > 2 && (first[0].text == "[" || first[0].text == "(") {
		inner := pyReader{toks: first}
		p.run(inner.args(0))
		return
	}
	p.j.ask(p.c, "starts another program, which cannot be seen")
}

// run judges a program with its arguments as Python lists them.
func (p *pyReader) run(args [][]pyToken) {
	var fields []field
	for i, a := range args {
		text, ok := p.path(a)
		switch {
		case ok:
		case i == 0 && len(a) == 3 && a[0].text == "sys" && a[2].text == "executable":
			text = "python3"
		default:
			text = unknown
		}
		fields = append(fields, field{text: text})
	}
	stdin := p.j.stdin
	p.j.stdin = input{}
	p.j.call(p.c.with(fields))
	p.j.stdin = stdin
}
