package policy

import (
	"slices"
	"strings"
)

// remove judges rm and its like.
func (j *analyzer) remove(c *call) {
	valued := ""
	if c.name == "shred" {
		valued = "ns"
	}
	o := parse(c.args, valued, "iterations size random-source")
	j.writes(c, o.rest...)
	j.openNamed(c, o.rest...)
	recursive := o.has("r", "R", "recursive") || c.name == "rimraf" || c.name == "rd" || c.name == "del-cli"
	forced := o.has("f", "force") && c.name == "rm"
	if recursive || c.name != "rm" {
		j.destroys(c, recursive, o.rest...)
	}
	switch {
	case recursive:
		j.ask(c, "deletes files recursively")
	case forced:
		j.ask(c, "deletes files by force")
	case c.name == "shred", c.name == "srm":
		j.ask(c, "destroys files beyond recovery")
	case unseen(c.args):
		j.ask(c, "deletes what cannot be seen")
	}
}

func unseen(args []field) bool {
	for _, a := range args {
		if strings.Contains(a.text, unknown) {
			return true
		}
	}
	return false
}

// find judges find and fd by the actions on the files that they find.
func (j *analyzer) find(c *call) {
	fd := c.name == "fd" || c.name == "fdfind"
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch text := a.text; {
		case a.open() && !fd:
			j.ask(c, "has an argument that cannot be seen, which may be one that deletes")
		case text == "-delete":
			j.destroysAll(c)
			j.ask(c, "deletes what it finds")
		case text == "-exec", text == "-execdir", text == "-ok", text == "-okdir",
			fd && (text == "-x" || text == "-X" || text == "--exec" || text == "--exec-batch"):
			i = j.findExec(c, i+1)
		case fd && (strings.HasPrefix(text, "--exec=") || strings.HasPrefix(text, "--exec-batch=") ||
			len(text) > 2 && (strings.HasPrefix(text, "-x") || strings.HasPrefix(text, "-X"))):
			j.ask(c, "runs a command on what it finds")
		case strings.HasPrefix(text, "-fprint"), text == "-fls":
			if i+1 < len(c.args) {
				j.writes(c, c.args[i+1])
			}
			j.ask(c, "writes what it finds into a file")
		}
	}
}

// starts returns the folders that find begins from.
func starts(args []field) []field {
	var out []field
	for _, a := range args {
		if a.option() || a.text == "!" || a.text == "(" {
			if a.text == "-H" || a.text == "-L" || a.text == "-P" {
				continue
			}
			break
		}
		out = append(out, a)
	}
	return out
}

// findExec judges the command from argument i on and returns where it ends.
func (j *analyzer) findExec(c *call, i int) int {
	var inner []field
	placed := false
	found := unknown // the files lie below the start of the search
	if from := starts(c.args); len(from) == 1 && !strings.Contains(c.name, "fd") {
		found = from[0].text + "/" + unknown
	} else if len(from) == 0 {
		found = "./" + unknown
	}
	for ; i < len(c.args); i++ {
		a := c.args[i]
		if a.text == ";" || a.text == "+" && placed {
			break
		}
		if strings.Contains(a.text, "{}") {
			placed = true
			a.text = strings.ReplaceAll(a.text, "{}", found)
			a.glob = false
		}
		inner = append(inner, a)
	}
	if c.name == "fd" || c.name == "fdfind" {
		inner = append(inner, field{text: unknown})
	}
	if len(inner) > 0 {
		if strings.Contains(inner[0].text, unknown) {
			j.ask(c, "runs the programs that it finds")
			return i
		}
		if programName(inner[0].text) == "rm" {
			j.destroysAll(c)
		}
		j.call(c.with(inner))
	}
	return i
}

// destroysAll blocks the deletion of all folders that find starts from. With a test, such as
// -name, find does not delete all.
func (j *analyzer) destroysAll(c *call) {
	if slices.ContainsFunc(c.args, func(a field) bool { return in("find-test", a.text) }) {
		return
	}
	j.destroys(c, true, starts(c.args)...)
}

// copy judges cp, mv, ln and install.
func (j *analyzer) copy(c *call) {
	o := parse(c.args, "tSgmo", "target-directory suffix mode owner group")
	if c.name == "install" && o.has("d", "directory") {
		j.writes(c, o.rest...)
		return
	}
	sources, to := o.rest, field{}
	if t, ok := o.get("t", "target-directory"); ok && t.has {
		to = t.value
	} else if n := len(o.rest); n > 1 {
		sources, to = o.rest[:n-1], o.rest[n-1]
	} else if n == 1 && c.name == "ln" {
		j.links(c, o.rest[0])
		return
	}
	if to.text == "" {
		return
	}
	for _, s := range sources {
		j.makes(c.st, to, absolute(c.st, s.text)...)
	}
	j.writes(c, to)
	for _, s := range sources {
		if strings.Contains(s.text, "/bin/") && isDangerous(programName(s.text)) {
			j.ask(c, "gives a program that deletes, or runs others, another place or name")
		}
	}
	switch c.name {
	case "mv", "gmv":
		j.destroys(c, false, sources...)
		j.writes(c, sources...)
		j.openNamed(c, sources...)
		if to.text == "/dev/null" {
			j.ask(c, "throws files away")
		}
	case "ln", "link":
		for _, s := range sources {
			j.links(c, s)
		}
	}
	// Into a folder, each keeps its name.
	for _, s := range sources {
		name := s.text[strings.LastIndexAny(s.text, `/\`)+1:]
		if name != "" && name != "." && name != ".." && to.text != "/dev/null" && !s.glob {
			j.protected(c, field{text: strings.TrimSuffix(to.text, "/") + "/" + name})
		}
	}
}

// protected judges targets only by names that are protected in every folder.
func (j *analyzer) protected(c *call, targets ...field) {
	for _, t := range targets {
		for _, name := range absolute(c.st, t.text) {
			if a := j.scope.written(name); a.level == Refused || a.settings {
				j.accessed(c, name, a)
			}
			j.recordWrite(name)
		}
	}
}

// links judges the target of a link: a write through it must not avoid the checks of paths.
func (j *analyzer) links(c *call, target field) {
	for _, name := range absolute(c.st, target.text) {
		switch a := j.scope.written(name); a.level {
		case Refused:
			j.refuse(c, a.reason)
		case Asks:
			j.ask(c, "links to a place that is protected or outside the workspace")
		}
	}
}

// mktemp judges where a temporary file is made.
func (j *analyzer) mktemp(c *call) {
	o := rulesOf("mktemp").parse(c.args)
	if p, ok := o.get("p", "tmpdir"); ok && p.has {
		j.writes(c, p.value)
	}
	for _, t := range o.rest {
		if strings.Contains(t.text, "/") && !strings.HasPrefix(t.text, "/tmp/") {
			j.writes(c, t)
		}
	}
}

// pipe notes the named pipes that a command makes.
func (j *analyzer) pipe(c *call) {
	for _, f := range rulesOf(c.name).parse(c.args).rest {
		j.put(c.st, f, input{some: true, how: "runs what another command writes"}, false)
	}
}

// tee notes the text that is written into files.
func (j *analyzer) tee(c *call) {
	o := parse(c.args, "", "")
	for _, f := range o.rest {
		j.put(c.st, f, j.stdin, o.has("a", "append"))
		j.makes(c.st, f, j.stdin.files...)
	}
}

func (j *analyzer) dd(c *call) {
	for _, a := range c.args {
		if to, ok := strings.CutPrefix(a.text, "of="); ok {
			j.writes(c, field{text: to})
			for _, from := range c.args {
				if name, ok := strings.CutPrefix(from.text, "if="); ok {
					j.makes(c.st, field{text: to}, absolute(c.st, name)...)
				}
			}
			if to != "/dev/null" && to != "/dev/stdout" {
				j.ask(c, "overwrites a file or device block by block")
			}
		} else if a.open() {
			j.ask(c, "has an argument that cannot be seen")
		}
	}
}

// exact tells whether a long option is given by its whole name.
func (o options) exact(name string) bool {
	for _, opt := range o.list {
		if opt.double && opt.name == name {
			return true
		}
	}
	return false
}

func hasWord(args []field, word string) bool {
	for _, a := range args {
		if a.text == word {
			return true
		}
	}
	return false
}

func (j *analyzer) tar(c *call) {
	args := c.args
	if len(args) > 0 && !args[0].option() && !strings.ContainsAny(args[0].text, "/.\x00") {
		old := args[0].text // "tar xzf file": letters without a dash
		args = append([]field{{text: "-" + strings.ReplaceAll(old, "f", "") + "f"}}, args[1:]...)
		if !strings.Contains(old, "f") {
			args[0].text = "-" + old
		}
	}
	o := parse(args, "fCIXTbgFKLNV", "file directory use-compress-program to-command checkpoint-action rsh-command info-script new-volume-script exclude exclude-from files-from transform xform owner group mode strip-components")
	for _, opt := range o.list {
		switch {
		case opt.double && (strings.HasPrefix(opt.name, "to-c") || strings.HasPrefix(opt.name, "checkpoint-a") || strings.HasPrefix(opt.name, "rsh") ||
			strings.HasPrefix(opt.name, "info-s") || strings.HasPrefix(opt.name, "new-v") || strings.HasPrefix(opt.name, "rmt")), opt.name == "F":
			j.ask(c, "runs a program given as an option")
		case opt.name == "I", opt.double && strings.HasPrefix(opt.name, "use-c"):
			first, _, _ := strings.Cut(opt.value.text, " ")
			switch programName(first) {
			case "gzip", "pigz", "bzip2", "pbzip2", "xz", "zstd", "zstdmt", "lz4", "lzma", "brotli", "pixz", "lzip":
			default:
				j.ask(c, "runs a program given as an option")
			}
		case opt.double && strings.HasPrefix(opt.name, "remove-f"), opt.double && strings.HasPrefix(opt.name, "recursive-u"):
			j.ask(c, "deletes files recursively")
		}
	}
	extracts, creates := o.has("x", "extract", "get"), o.has("c", "create", "r", "append", "u", "update")
	if v, ok := o.get("C", "directory", "cd"); ok && extracts {
		j.writes(c, v.value)
	} else if extracts {
		j.writes(c, field{text: "."})
	}
	if extracts && o.has("P", "absolute-names") {
		j.ask(c, "may write outside the workspace, by absolute names in the archive")
	}
	if v, ok := o.get("f", "file"); ok && creates && v.value.text != "-" && !remote(v.value.text) {
		j.writes(c, v.value)
	}
	if o.open {
		j.ask(c, "has an argument that cannot be seen")
	}
}

// sed judges sed by its script and by the files it changes in place.
func (j *analyzer) sed(c *call) {
	o := parse(withoutSuffix(c.args, "efl"), "efl", "expression file line-length")
	inPlace := false
	files := o.rest
	scripts := []field{}
	for _, opt := range o.list {
		switch {
		case opt.name == "i" || opt.double && strings.HasPrefix(opt.name, "in-p") || opt.name == "I":
			inPlace = true
		case opt.name == "e" || opt.double && strings.HasPrefix(opt.name, "ex"):
			scripts = append(scripts, opt.value)
		}
	}
	_, fromFile := o.get("f", "file")
	if len(scripts) == 0 && !fromFile && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	if v, _ := o.get("f", "file"); v.value.text == "-" || v.value.text == "/dev/stdin" {
		scripts = append(scripts, field{text: j.stdin.text})
		if !j.stdin.known {
			j.ask(c, "runs what another command writes")
		}
	}
	for _, s := range scripts {
		j.sedScript(c, s.text)
	}
	if inPlace {
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
