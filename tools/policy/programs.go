package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// handlers returns the functions that the rule files name.
func handlers() map[string]func(*analyzer, *call) {
	return map[string]func(*analyzer, *call){
		"scripts":   runScripts,
		"xargs":     xargs,
		"eval":      eval,
		"source":    sourceFile,
		"trap":      eval,
		"alias":     alias,
		"builtin":   builtin,
		"handsOn":   handsOn,
		"make":      runMake,
		"find":      find,
		"copy":      copyFiles,
		"download":  download,
		"git":       git,
		"gitConfig": gitConfig,
	}
}

// xargs judges commands that get arguments which are not seen.
func xargs(j *analyzer, c *call) {
	o := parse(rules.Of(c.name), c.args)
	placeholder := map[string]string{"parallel": "{}"}[c.name]
	if v, ok := o.get("I", "replace"); ok {
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
	from, found := starts(c.args), unknown // the files lie below the start of the search
	switch {
	case len(from) == 0:
		found = "./" + unknown
	case len(from) == 1 && !fd:
		found = from[0].text + "/" + unknown
	}
	if slices.ContainsFunc(c.args, func(a field) bool { return rules.In("find-test", a.text) }) {
		from = nil // with a test, it does not find all
	}
	var inner []field
	running, placed := false, false
	for i, a := range append(slices.Clip(c.args), field{text: ";"}) {
		name, _, _ := strings.Cut(a.text, "=")
		switch {
		case running && (a.text == ";" || a.text == "+" && placed):
			if fd {
				inner = append(inner, field{text: unknown})
			}
			if len(inner) > 0 && strings.Contains(inner[0].text, unknown) {
				j.ask(c, "runs the programs that it finds")
			} else if len(inner) > 0 {
				if programName(inner[0].text) == "rm" {
					j.destroys(c, true, from...)
				}
				j.call(c.with(inner))
			}
			running = false
		case running:
			if strings.Contains(a.text, "{}") {
				placed = true
				a = field{text: strings.ReplaceAll(a.text, "{}", found), dyn: a.dyn}
			}
			inner = append(inner, a)
		case contains("-exec -execdir -ok -okdir", a.text), fd && contains("-x -X --exec --exec-batch", a.text):
			running, placed, inner = true, false, nil
		case a.open() && !fd:
			j.ask(c, "has an argument that cannot be seen, which may be one that deletes")
		case a.text == "-delete":
			j.destroys(c, true, from...)
			j.ask(c, "deletes what it finds")
		case fd && (contains("--exec --exec-batch", name) || len(a.text) > 2 && contains("-x -X", a.text[:2])):
			j.ask(c, "runs a command on what it finds")
		case strings.HasPrefix(a.text, "-fprint"), a.text == "-fls":
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

// copyFiles judges cp, mv, ln, install, scp and rsync.
func copyFiles(j *analyzer, c *call) {
	o := parse(rules.Of(c.name), c.args)
	sources, to := o.rest, field{}
	if t, ok := o.get("t", "target-directory"); ok && t.has {
		to = t.value
	} else if n := len(o.rest); n > 1 {
		sources, to = o.rest[:n-1], o.rest[n-1]
	}
	moves, away := strings.HasSuffix(c.name, "mv"), contains("scp rsync", c.name)
	if away && (to.text == "" || remote(to.text)) {
		return
	}
	if to.text != "" {
		j.writes(c, to)
	}
	for _, s := range sources {
		if a := j.scope.places().Write(absolute(c.st, s.text)); contains("ln link", c.name) && s.text != "" && a.Reason != "" {
			if !a.Blocked { // a write through the link must not avoid the checks of paths
				a.Reason = "links to a place that is protected or outside the workspace"
			}
			j.note(levelOf(a), a.Reason, j.key(c))
		}
		if to.text == "" {
			continue
		}
		j.makes(c.st, to, absolute(c.st, strings.TrimSuffix(s.text, "/")))
		if strings.Contains(s.text, "/bin/") && isDangerous(programName(s.text)) {
			j.ask(c, "gives a program that deletes, or runs others, another place or name")
		}
		if moves {
			j.destroys(c, false, s)
			j.writes(c, s)
			j.openNamed(c, s)
		}
		in := field{text: strings.TrimSuffix(to.text, "/") + "/" + s.text[strings.LastIndexAny(s.text, `/\:`)+1:]}
		if away && remote(s.text) {
			j.put(c.st, to, input{some: true, how: downloads}, false)
			j.put(c.st, in, input{some: true, how: downloads}, false)
		}
		if strings.Trim(in.text[strings.LastIndexByte(in.text, '/')+1:], ".") != "" && to.text != "/dev/null" && !s.glob {
			j.protected(c, in) // into a folder, each keeps its name
		}
	}
	if moves && to.text == "/dev/null" {
		j.ask(c, "throws files away")
	}
	if away && o.has("delete") {
		j.destroys(c, true, to)
	}
}

func remote(s string) bool {
	host, _, ok := strings.Cut(s, ":")
	return ok && !strings.Contains(host, "/") && len(host) > 1 || strings.Contains(s, "://")
}

// download remembers the files that curl, wget or aria2c makes.
func download(j *analyzer, c *call) {
	to, dir, keeps := "", "", c.name != "curl"
	o := parse(rules.Of(c.name), c.args)
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
	for _, word := range slices.Sorted(maps.Keys(rules.List("code-word"))) {
		if strings.Contains(text, word) {
			j.ask(c, "may delete files or start programs ("+word+")")
			return
		}
	}
}

// handsOn judges a command that an unknown program may run: a program among its arguments,
// or code in one of them.
func handsOn(j *analyzer, c *call) {
	if rules.In("names-only", c.name) {
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
		case i+1 < len(c.args) && isDangerous(programName(a.text)):
			j.call(c.with(c.args[i:]))
			judged++
		case strings.HasPrefix(a.text, "--") && has && rules.In("destructive", val):
			j.ask(c, "runs a program given as an option")
		case len(words) > 1 && isDangerous(programName(words[0])):
			j.code(c, field{text: val})
			judged++
		}
	}
}

func isDangerous(name string) bool {
	return rules.In("destructive", name) || contains("sh bash zsh dash ksh fish git python perl ruby node", name) || strings.HasPrefix(name, "mkfs")
}

func unseen(args []field) bool {
	return slices.ContainsFunc(args, func(a field) bool { return strings.Contains(a.text, unknown) })
}
