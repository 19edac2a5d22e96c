package policy

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// tracks follows the files that a command writes or runs.
//
// A command line may write a protected place, such as .vscode, after an approval. The place is open
// for the whole line, so only a line of known programs without other code opens it.
//
// If a command runs a file, its approval is for the present content of the file. So these files are
// part of its verdict.
type tracks struct {
	report
	opens    []string // protected places written by the command itself
	settings []string // git settings made by the command
	rewrites bool     // unnamed files change
	foreign  bool     // a program runs unknown code
	hooked   bool     // git runs hooks, installed by the user
	noConfig string   // a variable with which git ignores the user's settings

	stdin    input
	written  map[string]input    // texts of the line's written files, by path
	fetched  map[string]bool     // names of the line's downloaded files, without directories
	runFiles []string            // files whose content the command runs
	keyFiles map[string][]string // the same by the key of the command, with files that cannot be named
	sources  []string            // files that the line reads or copies: it may run their content in another form
}

// knows notes whether a program of a command may run unknown code. Only programs and options in the
// rule files, written out in full, do not.
func (t *tracks) knows(c *call) {
	program := c.args[0].text
	dir := path.Dir(paths.Slashes(program))
	plain := !strings.Contains(program, "/") || dir == "/bin" || dir == "/usr/bin"
	t.foreign = t.foreign || !plain || c.name != "git" && !opensWith(rules.Of(c.name), c.args[1:])
	for name := range rules.List("loader") {
		t.foreign = t.foreign || len(c.st.get(name)) > 0
	}
}

// sets notes the setting of a variable. Unless it is known to be harmless, a program may run or
// load something.
func (t *tracks) sets(name, value string) {
	t.foreign = t.foreign || !matches("HARMLESS", "--name="+name, "--value="+value)
	if rules.In("git-settings-from", name) {
		t.noConfig = name
	}
}

// Loads reports whether a known program may run or load something else by a variable with
// this value.
func Loads(variable, value string) bool {
	return (rules.In("loader", variable) || matches("LOADER", variable)) && !matches("HARMLESS", "--name="+variable, "--value="+value)
}

// open notes a protected place written by the command itself: the settings directory of the path,
// else the path.
func (t *tracks) open(name string) {
	if paths.Marked(name) || t.elsewhere {
		return
	}
	place := paths.Clean(name)
	parts := strings.Split(place, "/")
	folded := make([]string, len(parts))
	for i, part := range parts {
		folded[i] = paths.Fold(part)
	}
	for i := range parts {
		if paths.FolderReason(folded, i) != "" {
			place = strings.Join(parts[:i+1], "/")
			break
		}
	}
	t.opens = union(t.opens, []string{place})
	if t.scope.Resolve != nil {
		t.opens = union(t.opens, []string{t.scope.Resolve(place)})
	}
}

// moved notes a path removed or moved by the command itself: a directory may contain protected
// places. For a pattern, it notes the directory of its matches.
func (t *tracks) moved(c *call, target field) {
	name := absolute(c.st, target.text)
	if target.glob {
		name = name[:strings.LastIndexByte(name[:strings.IndexAny(name+"*", "*?[")], '/')+1]
	}
	if name != "" && t.scope.places().Inside(paths.Clean(name)) {
		t.open(name)
	}
}

// opened returns the places to open. If a program may run another program or unknown code, it
// returns none. If git runs hooks, it returns only git's places.
func (t *tracks) opened() []string {
	if t.foreign || slices.ContainsFunc(t.findings, func(f finding) bool {
		verb, _, _ := strings.Cut(f.reason, " ")
		return !f.settings && !rules.In("own-act", verb)
	}) {
		return nil
	}
	if !t.hooked {
		return t.opens
	}
	return slices.DeleteFunc(slices.Clone(t.opens), func(place string) bool { return !inGit.MatchString(place) })
}

// inGit finds the places of git.
var inGit = lazyregexp.New(`(?i)/\.git(/|$)`)

// repository returns the git directories that git uses for dir.
func (t *tracks) repository(dir string) []string {
	if paths.Marked(dir) {
		return nil
	}
	dir = paths.Clean(dir)
	if t.scope.Repository != nil {
		return t.scope.Repository(dir)
	}
	return []string{path.Join(dir, ".git")}
}

// writes judges arguments as files to write, create or delete.
func (t *tracks) writes(c *call, targets ...field) { t.wrote(c, false, targets...) }

// wrote judges written targets. If everywhere is set, only names protected in every directory
// count.
func (t *tracks) wrote(c *call, everywhere bool, targets ...field) {
	for _, f := range targets {
		name := absolute(c.st, f.text)
		if name == "" {
			continue
		}
		a := t.scope.places().Write(name)
		if a.Reason == "" && f.glob {
			a = paths.Matches(name)
		}
		if !everywhere || a.Blocked || a.Settings {
			t.accessed(c, name, a)
		}
		t.recordWrite(name)
	}
}

// accessed records a judgement of a path, unless it runs.
func (t *tracks) accessed(c *call, name string, a paths.Access) {
	if a.Reason == "" {
		return
	}
	if a.Settings && !a.Blocked {
		t.open(name)
	}
	t.note(levelOf(a), a.Reason, t.key(c))
	t.findings[len(t.findings)-1].settings = a.Settings
}

// recordWrite records a written path for deny rules, in the words of [Write]: as named, and with
// links resolved.
func (t *tracks) recordWrite(name string) {
	if t.elsewhere || strings.HasPrefix(name, unknown) || strings.HasPrefix(name, fresh) {
		return
	}
	name = paths.Clean(name)
	t.saw("write " + paths.Visible(name))
	if t.scope.Resolve != nil && !paths.Marked(name) {
		t.saw("write " + escape.Line(t.scope.Resolve(name)))
	}
}

// destroys blocks the deletion or replacement of protected folders.
func (t *tracks) destroys(c *call, deep bool, targets ...field) {
	for _, f := range targets {
		name := absolute(c.st, f.text)
		if why := t.scope.places().Protects(name, deep); why != "" && !strings.HasPrefix(name, unknown) && !strings.HasPrefix(name, fresh) {
			t.block(c, why)
		}
	}
}

const (
	maxFiles    = 256 // recorded files of a command
	maxFollowed = 16  // maximum number of these to search for others
)

// noted adds files to a list, up to the limit.
func noted(files []string, more ...string) []string {
	files = union(files, more)
	return files[:min(len(files), maxFiles)]
}

// ran notes the files of a field as run by a command.
func (t *tracks) ran(c *call, names ...string) {
	for _, name := range names {
		if name = absolute(c.st, name); name != "" && !t.elsewhere {
			t.ranFiles(c, name)
		}
	}
}

// ranValue notes the program path in the value of a variable or a setting.
func (t *tracks) ranValue(c *call, value string) {
	if program, _, _ := strings.Cut(strings.TrimSpace(value), " "); strings.Contains(program, "/") {
		t.ran(c, program)
	}
}

// ranFiles notes files run by a command, and the sources from which the line made them.
func (t *tracks) ranFiles(c *call, files ...string) {
	for _, file := range files {
		files = union(files, t.madeOf(paths.Clean(file)))
	}
	key := cmp.Or(t.rememberAs, t.key(c))
	for _, name := range files[:min(len(files), maxFiles)] {
		file := paths.Clean(name)
		system := paths.OfSystem(file) && !t.scope.places().Inside(file)
		t.foreign = t.foreign || !system
		if !paths.Marked(file) && !system && !paths.Under(file, "/dev") && !paths.Under(file, "/proc") {
			t.runFiles = noted(t.runFiles, file)
		}
		t.keyFiles[key] = noted(t.keyFiles[key], file)
	}
}

// reads notes files whose content a command may write elsewhere.
func (t *tracks) reads(st *state, list ...field) {
	for _, f := range list {
		if name := absolute(st, strings.TrimPrefix(f.text, "if=")); name != "" && !f.option() {
			t.sources = noted(t.sources, name)
		}
	}
}

// madeOf returns the possible sources of a file written by the line: any file that the line reads,
// or a file in a directory that it reads.
func (t *tracks) madeOf(file string) (from []string) {
	for _, to := range slices.Sorted(maps.Keys(t.written)) {
		if to == "/" || !paths.Under(file, to) {
			continue
		}
		rest := strings.TrimPrefix(file[len(to):], "/")
		base, below, _ := strings.Cut(rest, "/")
		for _, source := range t.sources {
			if from = union(from, []string{source, path.Join(source, rest)}); base == path.Base(source) {
				from = union(from, []string{path.Join(source, below)})
			}
		}
	}
	return from
}

// put records the text that a command writes or appends to a file, and its source files. A file
// that a command creates and then runs is judged like code that runs directly.
func (t *tracks) put(st *state, target field, in input, more bool) {
	name := absolute(st, target.text)
	if name == "" || paths.Marked(name) {
		return
	}
	name = paths.Clean(name)
	switch old := t.written[name]; {
	case more && old.known && in.known:
		in.text = old.text + in.text
	case more && (old.how != "" || !in.some), in.how == "" && !in.known:
		in = old
	}
	if len(t.written) < maxFiles {
		t.written[name] = in
	}
}

// made returns the content of a file, if the line has written it.
func (t *tracks) made(name string) input {
	if t.fetched[path.Base(name)] {
		return input{some: true, how: downloads}
	}
	return t.written[paths.Clean(name)]
}

// bind sets the files covered by the keys of a verdict.
func (t *tracks) bind(v *Verdict) {
	v.KeyFiles = map[string][]string{}
	for _, key := range v.Keys {
		files := t.keyFiles[key]
		if key == t.wholeKey {
			for _, more := range t.keyFiles {
				files = union(files, more)
			}
		}
		v.Once = v.Once || strings.Contains(strings.Join(files, ""), unknown)
		if files = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !slices.Contains(t.runFiles, f) }); len(files) > 0 {
			slices.Sort(files)
			v.KeyFiles[key] = files
		}
	}
}

// scriptFiles returns the file names that a program tries for its script.
func scriptFiles(program, name string) []string {
	files := []string{name}
	for _, end := range strings.Fields(rules.Reason("script-endings", program)) {
		files = append(files, strings.TrimSuffix(name, "/")+end)
	}
	return files
}

// moduleFiles returns the files for "python -m" or an import in a directory.
func moduleFiles(module string) (files []string) {
	name := ""
	for part := range strings.SplitSeq(module, ".") {
		name = path.Join(name, part)
		files = append(files, name+".py", name+"/__main__.py", name+"/__init__.py")
	}
	return files
}

// followed adds to files the files that run through shell and Python scripts among them.
func followed(files []string, p Scope) []string {
	looked := 0
	for i := 0; i < len(files) && p.Read != nil && looked < maxFollowed; i++ {
		text, ok := p.Read(files[i])
		if !ok || len(text) > maxSource {
			continue
		}
		looked++
		var more []string
		name := path.Base(paths.Clean(files[i]))
		switch known := strings.HasPrefix(text, "#!") || strings.HasSuffix(name, "sh") || !strings.Contains(name, "."); {
		case strings.HasSuffix(name, ".py"):
			more = imported(files[i], text)
		case known && strings.HasSuffix(interpreterOf(name, name, text), "sh"):
			j := newAnalyzer(text, p)
			st := j.start()
			st.set("0", field{text: clean(files[i])})
			j.line(st)
			more = j.runFiles
		}
		files = noted(files, more...)
	}
	return files
}

// imports matches Python lines that import modules.
var imports = lazyregexp.New(`(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))`)

// imported returns the files beside a Python script that its imports may load.
func imported(script, text string) (files []string) {
	for _, m := range imports.FindAllStringSubmatch(text, maxFiles) {
		for one := range strings.SplitSeq(m[1]+m[2], ",") {
			name := strings.TrimLeft(strings.Fields(one + " _")[0], ".")
			for _, file := range moduleFiles(name) {
				files = append(files, path.Join(path.Dir(paths.Slashes(script)), file))
			}
		}
	}
	return files
}
