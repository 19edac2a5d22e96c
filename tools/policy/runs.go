package policy

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// An approval of a command that runs a file is for the present content of the file. So the
// files whose content a command runs are part of its verdict.

// ran notes the files that a field may stand for as run by a command.
func (j *analyzer) ran(c *call, names ...string) {
	if j.elsewhere {
		return
	}
	for _, name := range names {
		j.ranFiles(c, absolute(c.st, name)...)
	}
}

// ranValue notes the program that a variable or a setting names by its path.
func (j *analyzer) ranValue(c *call, value string) {
	if program, _, _ := strings.Cut(strings.TrimSpace(value), " "); strings.Contains(program, "/") {
		j.ran(c, program)
	}
}

// ranFiles notes files that a command runs, and those that the line has made them of.
func (j *analyzer) ranFiles(c *call, files ...string) {
	for i := 0; i < len(files) && i < maxFiles; i++ {
		j.ranFile(files[i])
		j.bound(c, files[i])
		for _, source := range j.madeOf(files[i]) {
			if !slices.Contains(files, source) {
				files = append(slices.Clip(files), source)
			}
		}
	}
}

// bound notes that an approval of a command covers the content of a file.
func (j *analyzer) bound(c *call, file string) {
	key := cmp.Or(j.rememberAs, j.key(c))
	if j.keyFiles == nil {
		j.keyFiles = map[string][]string{}
	}
	if list := j.keyFiles[key]; len(list) < maxFiles && !slices.Contains(list, file) {
		j.keyFiles[key] = append(list, file)
	}
}

// bind sets the files that the keys of a verdict cover.
func (j *analyzer) bind(v *Verdict) {
	for _, key := range v.Keys {
		files := j.keyFiles[key]
		if key == j.wholeKey {
			for _, more := range j.keyFiles {
				files = union(files, more)
			}
		}
		named := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return strings.ContainsAny(file, unknown+fresh+number) })
		v.Once = v.Once || slices.ContainsFunc(files, func(file string) bool { return strings.Contains(file, unknown) })
		for i, file := range named {
			named[i] = cleanPath(file)
		}
		if named = slices.DeleteFunc(named, func(file string) bool { return !slices.Contains(j.runFiles, file) }); len(named) == 0 {
			continue
		}
		if v.KeyFiles == nil {
			v.KeyFiles = map[string][]string{}
		}
		slices.Sort(named)
		v.KeyFiles[key] = named
	}
}

// copied is a file or a folder that the line makes of another.
type copied struct{ from, to string }

// makes notes that a command makes a file of others.
func (j *analyzer) makes(st *state, to field, from ...string) {
	for _, name := range absolute(st, to.text) {
		for _, source := range from {
			if len(j.made) < maxFiles && !strings.ContainsAny(name+source, unknown+fresh+number) {
				j.made = append(j.made, copied{cleanPath(source), cleanPath(name)})
			}
		}
	}
}

// madeOf returns the files that a file may be a copy of: of one in a folder that was copied
// that is the file in the source.
func (j *analyzer) madeOf(file string) (from []string) {
	file = cleanPath(file)
	for _, c := range j.made {
		if rest, ok := strings.CutPrefix(file+"/", c.to+"/"); ok {
			rest = strings.TrimSuffix(rest, "/")
			from = append(from, path.Join(c.from, rest))
			if base, below, _ := strings.Cut(rest, "/"); rest != "" {
				from = append(from, c.from)
				if base == path.Base(c.from) {
					from = append(from, path.Join(c.from, below))
				}
			}
		}
	}
	return from
}

func (j *analyzer) ranFile(file string) {
	if clean := cleanPath(file); !ofSystem(clean) || j.scope.inside(clean) {
		j.foreign = true
	}
	if strings.ContainsAny(file, unknown+fresh+number) || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") {
		return
	}
	if file = cleanPath(file); ofSystem(file) && !j.scope.inside(file) || len(j.runFiles) >= maxFiles {
		return
	}
	if !slices.Contains(j.runFiles, file) {
		j.runFiles = append(j.runFiles, file)
	}
}

// maxFiles is how many files of one command are noted.
const maxFiles = 256

// ofSystem tells whether a path lies where only an administrator writes.
func ofSystem(name string) bool {
	for dir := range rules().lists["system-program-folder"] {
		if under(name, dir) && !under(name, "/usr/local") {
			return true
		}
	}
	return false
}

// ranInput notes the files that standard input comes from.
func (j *analyzer) ranInput(c *call) { j.ranFiles(c, j.stdin.files...) }

// sources returns the files whose content a statement may write.
func (j *analyzer) sources(n syntax.Node, st *state) (files []string) {
	add := func(names ...field) {
		for _, f := range names {
			if !f.option() && f.text != "" {
				files = append(files, absolute(st, strings.TrimPrefix(f.text, "if="))...)
			}
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut {
				add(j.text(st, n.Word))
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && in("passes-on", programName(n.Args[0].Lit())) {
				add(j.expand(st, n.Args[1:])...)
			}
		}
		return len(files) < maxFiles
	})
	return files
}

// substitutes notes the files that substitutions within a word read: a command that runs
// their text runs these files.
func (j *analyzer) substitutes(st *state, n syntax.Node) {
	if len(j.substFiles) < maxFiles {
		j.substFiles = append(j.substFiles, j.sources(n, st)...)
	}
}

// ranSubstituted notes that the text of a substitution is run.
func (j *analyzer) ranSubstituted(c *call) { j.ranFiles(c, j.substFiles...) }

// scriptFiles are the names that a program tries for the script it is given.
func scriptFiles(program, name string) []string {
	switch program {
	case "node", "nodejs", "bun", "tsx", "ts-node", "deno":
		name = strings.TrimSuffix(name, "/")
		return []string{name, name + ".js", name + ".mjs", name + ".cjs", name + ".ts", name + "/package.json", name + "/index.js"}
	case "python", "pypy", "ipython":
		return []string{name, strings.TrimSuffix(name, "/") + "/__main__.py"}
	case "make", "gmake":
		return []string{name}
	}
	return []string{name}
}

// moduleFiles are the files that "python -m" looks for in a folder.
func moduleFiles(module string) []string {
	name := strings.ReplaceAll(module, ".", "/")
	parts := strings.Split(name, "/")
	files := []string{name + ".py", name + "/__main__.py", name + "/__init__.py"}
	for i := 1; i < len(parts); i++ {
		files = append(files, strings.Join(parts[:i], "/")+"/__init__.py")
	}
	return files
}

// ranOptions notes the files that options of a program name as its code.
func (j *analyzer) ranOptions(c *call) {
	letters := reasonIn("code-file-letters", c.name)
	if letters == "" {
		return
	}
	for i, a := range c.args {
		if len(a.text) < 2 || a.text[0] != '-' {
			continue
		}
		switch name, val, has := strings.Cut(strings.TrimLeft(a.text, "-"), "="); {
		case strings.HasPrefix(a.text, "--"):
			if has && contains("file source command init-file arg-file script", name) {
				j.ran(c, val)
			} else if contains("file source command init-file arg-file script", name) && i+1 < len(c.args) {
				j.ran(c, c.args[i+1].text)
			}
		case strings.IndexByte(letters, a.text[1]) >= 0 && len(a.text) > 2:
			j.ran(c, a.text[2:])
		case strings.IndexByte(letters, a.text[1]) >= 0 && i+1 < len(c.args):
			j.ran(c, c.args[i+1].text)
		}
	}
}

// followed adds to files that a command runs those that scripts of shells and of Python
// among them run.
func followed(files []string, p Scope) []string {
	if p.Read == nil {
		return files
	}
	for i, looked := 0, 0; i < len(files) && looked < maxFollowed; i++ {
		text, ok := p.Read(files[i])
		if !ok || len(text) > maxSource {
			continue
		}
		looked++
		var more []string
		switch {
		case strings.HasSuffix(files[i], ".py"):
			more = imported(files[i], text)
		case shellScript(files[i], text):
			j := newAnalyzer(text, p)
			st := j.start()
			st.set("0", []value{{text: clean(files[i])}})
			j.source(text, st, nil)
			more = j.runFiles
		}
		for _, file := range more {
			if !slices.Contains(files, file) && len(files) < maxFiles {
				files = append(files, file)
			}
		}
	}
	return files
}

// imports are lines of Python that import modules.
var imports = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))`)

// imported returns the files beside a Python script that its imports may mean.
func imported(script, text string) (files []string) {
	for _, m := range imports.FindAllStringSubmatch(text, maxFiles) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			if name = strings.TrimLeft(name, "."); name == "" {
				continue
			}
			for _, file := range moduleFiles(name) {
				if path.Base(file) != "__main__.py" {
					files = append(files, path.Join(path.Dir(slashes(script)), file))
				}
			}
		}
	}
	return files
}

// ranRead notes the files that a command reads or copies, if it runs text that cannot be
// seen: it may be theirs.
func (j *analyzer) ranRead(file *syntax.File, st *state) {
	if !slices.ContainsFunc(j.findings, func(f finding) bool { return strings.HasPrefix(f.reason, "runs ") }) {
		return
	}
	j.ranFiles(&call{st: st}, j.sources(file, st)...)
}

// maxFollowed is how many files of one command are looked into for others.
const maxFollowed = 16

// shellScript tells whether a file is one of a shell, by its name or its first line.
func shellScript(name, text string) bool {
	first := firstLine(text)
	if strings.HasPrefix(first, "#!") {
		return strings.Contains(first, "sh")
	}
	return strings.HasSuffix(name, "sh") || !strings.Contains(cleanPath(name)[strings.LastIndexByte(cleanPath(name), '/')+1:], ".")
}
