package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
)

// handlers returns the functions that the rule files name.
func handlers() map[string]func(*analyzer, *call) {
	return map[string]func(*analyzer, *call){
		"wrapper":     wrapper,
		"scripts":     runScripts,
		"xargs":       xargs,
		"copyRemote":  copyRemote,
		"shell":       runShell,
		"eval":        eval,
		"source":      sourceFile,
		"trap":        trap,
		"alias":       alias,
		"builtin":     builtin,
		"python":      pythonProgram,
		"interpreter": interpreter,
		"otherCode":   unread,
		"awk":         awk,
		"handsOn":     handsOn,
		"make":        runMake,
		"find":        find,
		"copy":        copyFiles,
		"tee":         tee,
		"pipe":        pipe,
		"sed":         sed,
		"download":    download,
		"kill":        kill,
		"database":    database,
		"git":         git,
		"gitConfig":   gitConfig,
	}
}

// wrapper judges programs that run the rest of their arguments as a command.
func wrapper(j *analyzer, c *call) {
	t := newTerms(j, c, rulesOf(c.name))
	for _, a := range t.o.sets {
		name, val, _ := strings.Cut(a.text, "=")
		j.variableSet(c, name, val)
	}
	if rest := t.command(); len(rest) > 0 {
		t.run(rest)
	}
}

// xargs judges commands that get arguments which are not seen.
func xargs(j *analyzer, c *call) {
	o := rulesOf(c.name).parse(c.args)
	placeholder := map[string]string{"parallel": "{}"}[c.name]
	if v, ok := o.get("I"); ok {
		placeholder = v.value.text
	} else if v, ok := o.get("replace"); ok {
		placeholder = cmp.Or(v.value.text, "{}")
	}
	for _, a := range c.args[:len(c.args)-len(o.rest)] {
		if mark, ok := strings.CutPrefix(a.text, "-i"); ok {
			placeholder = cmp.Or(mark, "{}")
		}
	}
	var inner []field
	for _, a := range o.rest {
		if a.text == ":::" {
			break
		}
		if placeholder != "" {
			a.text = strings.ReplaceAll(a.text, placeholder, j.stdin.below+unknown)
		}
		inner = append(inner, a)
	}
	if len(inner) > 0 && (placeholder == "" || c.name == "parallel") {
		inner = append(inner, field{text: j.stdin.below + unknown})
	}
	switch {
	case len(inner) == 0 && c.name == "parallel", len(inner) > 0 && inner[0].open():
		j.ask(c, "runs programs that it reads, which cannot be seen")
	case len(inner) > 0:
		j.call(c.with(inner))
	}
}

// find judges find and fd by the actions on the files that they find.
func find(j *analyzer, c *call) {
	fd := strings.HasPrefix(c.name, "fd")
	from := starts(c.args)
	if slices.ContainsFunc(c.args, func(a field) bool { return in("find-test", a.text) }) {
		from = nil // with a test, it does not find all
	}
	for i := 0; i < len(c.args); i++ {
		text := c.args[i].text
		name, _, _ := strings.Cut(text, "=")
		switch {
		case c.args[i].open() && !fd:
			j.ask(c, "has an argument that cannot be seen, which may be one that deletes")
		case text == "-delete":
			j.destroys(c, true, from...)
			j.ask(c, "deletes what it finds")
		case contains("-exec -execdir -ok -okdir", text), fd && contains("-x -X --exec --exec-batch", text):
			i = findExec(j, c, i+1, from)
		case fd && (contains("--exec --exec-batch", name) || len(text) > 2 && contains("-x -X", text[:2])):
			j.ask(c, "runs a command on what it finds")
		case strings.HasPrefix(text, "-fprint"), text == "-fls":
			j.writes(c, c.args[i+1:min(i+2, len(c.args))]...)
			j.ask(c, "writes what it finds into a file")
		}
	}
}

// starts returns the folders that find begins from.
func starts(args []field) []field {
	var out []field
	for _, a := range args {
		switch {
		case contains("-H -L -P", a.text):
		case a.option(), a.text == "!", a.text == "(":
			return out
		default:
			out = append(out, a)
		}
	}
	return out
}

// findExec judges the command from argument i on and returns where it ends.
func findExec(j *analyzer, c *call, i int, all []field) int {
	var inner []field
	placed, fd := false, strings.HasPrefix(c.name, "fd")
	found := unknown // the files lie below the start of the search
	if from := starts(c.args); len(from) == 1 && !fd {
		found = from[0].text + "/" + unknown
	} else if len(from) == 0 {
		found = "./" + unknown
	}
	for ; i < len(c.args) && c.args[i].text != ";" && !(c.args[i].text == "+" && placed); i++ {
		a := c.args[i]
		if strings.Contains(a.text, "{}") {
			placed = true
			a = field{text: strings.ReplaceAll(a.text, "{}", found), dyn: a.dyn}
		}
		inner = append(inner, a)
	}
	if fd {
		inner = append(inner, field{text: unknown})
	}
	switch {
	case len(inner) == 0:
	case strings.Contains(inner[0].text, unknown):
		j.ask(c, "runs the programs that it finds")
	default:
		if programName(inner[0].text) == "rm" {
			j.destroys(c, true, all...)
		}
		j.call(c.with(inner))
	}
	return i
}

// copyFiles judges cp, mv, ln and install.
func copyFiles(j *analyzer, c *call) {
	o := rulesOf(c.name).parse(c.args)
	sources, to := o.rest, field{}
	if t, ok := o.get("t", "target-directory"); ok && t.has {
		to = t.value
	} else if n := len(o.rest); n > 1 {
		sources, to = o.rest[:n-1], o.rest[n-1]
	}
	link := c.name == "ln" || c.name == "link"
	if to.text != "" {
		j.writes(c, to)
	}
	for _, s := range sources {
		if link { // a write through it must not avoid the checks of paths
			for _, name := range absolute(c.st, s.text) {
				switch a := j.scope.written(name); a.level {
				case Refused:
					j.refuse(c, a.reason)
				case Asks:
					j.ask(c, "links to a place that is protected or outside the workspace")
				}
			}
		}
		if to.text == "" {
			continue
		}
		j.makes(c.st, to, absolute(c.st, s.text)...)
		if strings.Contains(s.text, "/bin/") && isDangerous(programName(s.text)) {
			j.ask(c, "gives a program that deletes, or runs others, another place or name")
		}
		if strings.HasSuffix(c.name, "mv") {
			j.destroys(c, false, s)
			j.writes(c, s)
			j.openNamed(c, s)
		}
	}
	if to.text == "" {
		return
	}
	if strings.HasSuffix(c.name, "mv") && to.text == "/dev/null" {
		j.ask(c, "throws files away")
	}
	for _, s := range sources { // into a folder, each keeps its name
		if name := s.text[strings.LastIndexAny(s.text, `/\`)+1:]; strings.Trim(name, ".") != "" && to.text != "/dev/null" && !s.glob {
			j.protected(c, field{text: strings.TrimSuffix(to.text, "/") + "/" + name})
		}
	}
}

// copyRemote judges what scp and rsync write.
func copyRemote(j *analyzer, c *call) {
	o := rulesOf(c.name).parse(c.args)
	n := len(o.rest) - 1
	if n < 1 || remote(o.rest[n].text) {
		return
	}
	to := o.rest[n]
	j.writes(c, to)
	for _, from := range o.rest[:n] {
		j.makes(c.st, to, absolute(c.st, strings.TrimSuffix(from.text, "/"))...)
		if remote(from.text) {
			j.put(c.st, to, input{some: true, how: downloads}, false)
			j.put(c.st, field{text: to.text + "/" + from.text[strings.LastIndexAny(from.text, ":/")+1:]}, input{some: true, how: downloads}, false)
		}
	}
	if o.has("delete") {
		j.destroys(c, true, to)
	}
}

func remote(s string) bool {
	host, _, ok := strings.Cut(s, ":")
	return ok && !strings.Contains(host, "/") && len(host) > 1 || strings.Contains(s, "://")
}

// pipe notes the named pipes that a command makes.
func pipe(j *analyzer, c *call) {
	for _, f := range rulesOf(c.name).parse(c.args).rest {
		j.put(c.st, f, input{some: true, how: "runs what another command writes"}, false)
	}
}

// tee notes the text that is written into files.
func tee(j *analyzer, c *call) {
	o := rulesOf(c.name).parse(c.args)
	for _, f := range o.rest {
		j.put(c.st, f, j.stdin, o.has("a", "append"))
		j.makes(c.st, f, j.stdin.files...)
	}
}

// download remembers the files that curl, wget or aria2c makes.
func download(j *analyzer, c *call) {
	to, dir, keeps := "", "", c.name != "curl"
	o := rulesOf(c.name).parse(c.args)
	for _, opt := range o.list {
		switch name := opt.name; {
		case contains("output output-document out", name), name == "O" && c.name == "wget", name == "o" && c.name != "wget":
			to = opt.value.text
		case contains("output-dir directory-prefix dir", name), name == "P" && c.name == "wget", name == "d" && c.name == "aria2c":
			dir = opt.value.text + "/"
		case name == "O", strings.HasPrefix(name, "remote-name"):
			keeps = true
		}
	}
	if to == "" && !keeps {
		return // to its output
	}
	for _, a := range o.rest {
		name, _, _ := strings.Cut(a.text, "?")
		j.put(c.st, field{text: dir + cmp.Or(to, name[strings.LastIndexByte(name, '/')+1:])}, input{some: true, how: downloads}, false)
	}
}

// sed judges sed by its script and by the files it changes in place.
func sed(j *analyzer, c *call) {
	o := parse(withoutSuffix(c.args, "efl"), "efl", "expression file line-length")
	files := o.rest
	var scripts []field
	for _, opt := range o.list {
		if opt.name == "e" || opt.double && strings.HasPrefix(opt.name, "ex") {
			scripts = append(scripts, opt.value)
		}
	}
	file, fromFile := o.get("f", "file")
	if len(scripts) == 0 && !fromFile && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	if contains("- /dev/stdin", file.value.text) {
		scripts = append(scripts, field{text: j.stdin.text})
		if !j.stdin.known {
			j.ask(c, "runs what another command writes")
		}
	}
	for _, s := range scripts {
		effects(j, c, code.Sed(s.text))
	}
	if o.has("i", "I", "in-place") {
		j.writes(c, files...)
	}
}

// withoutSuffix drops the suffix that -i carries, which is no cluster of options. valued
// are the letters that take a value.
func withoutSuffix(args []field, valued string) []field {
	var out []field
	for i, a := range args {
		if i > 0 && a.text == "" && args[i-1].text == "-i" {
			continue // the BSD form, -i ''
		}
		if a.option() && a.text[1] != '-' {
			if k := strings.IndexByte(a.text, 'i'); k > 0 && !strings.ContainsAny(a.text[:k], valued) {
				a.text = a.text[:k+1]
			}
		}
		out = append(out, a)
	}
	return out
}

// kill judges the ending of processes.
func kill(j *analyzer, c *call) {
	pids := killed(c.args)
	for _, p := range pids {
		switch {
		case p.text == "-1" || strings.Trim(p.text, "-0") == "1" && strings.HasPrefix(p.text, "-"):
			j.refuse(c, "ends every process")
		case p.text == "1" || p.text == "0":
			j.ask(c, "ends many processes")
		case strings.HasPrefix(p.text, "-"):
			j.ask(c, "ends a whole group of processes")
		case strings.Contains(p.text, unknown):
			j.ask(c, "ends processes that cannot be seen")
		}
	}
	if len(pids) > 2 {
		j.ask(c, "ends many processes")
	}
}

// killed returns the processes that kill is given.
func killed(args []field) []field {
	if len(args) == 1 && args[0].text == "-1" {
		return args
	}
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case contains("-l -L --list --table", t):
			return nil
		case contains("-s -n --signal -q", t):
			i++
		case t == "--":
			return args[i+1:]
		case strings.HasPrefix(t, "--"), len(t) > 1 && t[0] == '-' && (i == 0 || t[1] < '0' || t[1] > '9'):
		default:
			return args[i:]
		}
	}
	return nil
}

// unread judges a program that runs code in a language which is not read.
func unread(j *analyzer, c *call) {
	j.foreign = true
	j.otherCode(c)
}

// otherCode judges interpreters whose languages are not read: by the words in their code
// that delete files or start programs.
func (j *analyzer) otherCode(c *call) {
	text := ""
	for i, a := range c.args {
		if i > 0 && c.args[i-1].option() || strings.ContainsAny(a.text, " (\"") || a.option() && strings.ContainsAny(a.text, "=:") {
			text += "\n" + a.text
		}
	}
	if j.stdin.known {
		text += "\n" + j.stdin.text
	} else if j.stdin.some && len(c.args) == 0 {
		j.note(Asks, "runs what comes through a pipe in an interpreter", j.whole())
	}
	text = strings.ToLower(text)
	for _, word := range slices.Sorted(maps.Keys(rules().lists["code-word"])) {
		if strings.Contains(text, word) {
			j.ask(c, "may delete files or start programs ("+word+")")
			return
		}
	}
}

// handsOn judges a command that an unknown program may run: a program among its arguments,
// or code in one of them.
func handsOn(j *analyzer, c *call) {
	if in("names-only", c.name) {
		return
	}
	judged := 0
	for i, a := range c.args {
		_, val, has := strings.Cut(a.text, "=")
		if !has || !a.option() {
			val = a.text
		}
		words := strings.Fields(val)
		switch {
		case judged == 4:
			return
		case i+1 < len(c.args) && mayBeRun(programName(a.text), c.args[i+1:]):
			j.call(c.with(c.args[i:]))
			judged++
		case strings.HasPrefix(a.text, "--") && has && in("destructive", val):
			j.ask(c, "runs a program given as an option")
		case len(words) > 1 && isDangerous(programName(words[0])):
			j.code(c, field{text: val})
			judged++
		}
	}
}

func isDangerous(name string) bool {
	return in("destructive", name) || contains("sh bash zsh dash ksh fish git python perl ruby node", name) || strings.HasPrefix(name, "mkfs")
}

// mayBeRun tells whether a word names a program that destroys, or one that is given code.
func mayBeRun(name string, rest []field) bool {
	switch {
	case in("destructive", name), strings.HasPrefix(name, "mkfs"):
		return true
	case name == "git":
		return contains("push reset clean checkout restore branch tag stash rm reflog gc update-ref filter-branch", rest[0].text)
	case contains("sh bash zsh dash ksh fish python perl ruby node php lua", name):
		for _, a := range rest {
			if !a.option() {
				return false
			}
			if !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, "ce") {
				return true
			}
		}
	}
	return false
}

func unseen(args []field) bool {
	return slices.ContainsFunc(args, func(a field) bool { return strings.Contains(a.text, unknown) })
}
