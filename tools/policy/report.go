package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
)

// call is a simple command: a program and its arguments, perhaps run by another, as in "sudo rm x".
type call struct {
	name  string  // of the program, without folders and version
	args  []field // without the program
	words []field // the whole surrounding command, for the key
	st    *state
}

// with returns the call of another program within the same command.
func (c *call) with(args []field) *call { return &call{args: args, words: c.words, st: c.st} }

// report collects the findings about a command.
type report struct {
	scope      Scope
	src        string // the whole source
	findings   []finding
	commands   []string
	programs   []string // names of the programs; "" if unknown
	rememberAs string   // when set, the key of all findings
	wholeKey   string   // of the whole source, once it was needed
	elsewhere  bool     // the command runs in a container or on another machine
}

// finding is an effect of a command.
type finding struct {
	level    Level
	reason   string
	key      string
	settings bool
}

// start returns the state in which the whole source begins.
func (r *report) start() *state {
	return &state{cwd: cmp.Or(r.scope.Cwd, unknown)}
}

// note records a finding under a key.
func (r *report) note(level Level, reason, key string) {
	if r.rememberAs != "" {
		key = r.rememberAs
	}
	if r.elsewhere && level == Blocked {
		level = Asks
	}
	r.findings = append(r.findings, finding{level: level, reason: reason, key: key})
}

func (r *report) ask(c *call, reason string) { r.note(Asks, reason, r.key(c)) }

func (r *report) block(c *call, reason string) { r.note(Blocked, reason, r.key(c)) }

// key returns the subject of a remembered approval: the command's words with known values filled
// in, and the directory if it is not the main folder. If a part is unknown, it returns the whole
// source.
func (r *report) key(c *call) string {
	if len(c.words) == 0 || slices.ContainsFunc(c.words, func(w field) bool { return paths.Marked(w.text) }) {
		return r.whole()
	}
	return r.inFolder(c.st, escape.Line(render(c.words)))
}

// whole is the key of the whole source.
func (r *report) whole() string {
	if r.wholeKey == "" {
		r.wholeKey = r.inFolder(r.start(), escape.Line(r.src))
	}
	return r.wholeKey
}

// inFolder returns a key with the directory, unless it is the main folder. If the directory is
// unknown, it returns the whole source.
func (r *report) inFolder(st *state, key string) string {
	root, cwd := paths.Clean(append(r.scope.Roots, "")[0]), paths.Clean(st.cwd)
	switch marked := paths.Marked(cwd); {
	case len(r.scope.Roots) == 0, cwd == root, marked && r.scope.Cwd == "":
		return key
	case marked:
		return r.whole()
	}
	return "cd " + escape.Line(quote(field{text: strings.TrimPrefix(cwd, root+"/")})) + " && " + key
}

// render writes words as a command.
func render(words []field) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = quote(w)
	}
	return strings.Join(texts, " ")
}

// saw records a text for deny rules.
func (r *report) saw(text string) { r.commands = union(r.commands, []string{text}) }

// record keeps a command for deny rules: as it was written, by the name of its program, and
// from the subcommand on, as in "npm --silent publish": without the options before it and
// their possible values.
func (r *report) record(c *call) {
	known := c.name
	if paths.Marked(known) {
		known = ""
	}
	r.programs = union(r.programs, []string{known})
	add := func(args []field) { r.saw(paths.Visible(render(args))) }
	add(c.args)
	name, args := []field{{text: c.name}}, c.args[1:]
	if c.args[0].text != c.name {
		add(append(name[:1:1], args...))
	}
	option := func(f field) bool { return f.option() || strings.HasPrefix(f.text, "+") }
	for i := 1; i < len(args) && (option(args[i-1]) || i > 1 && option(args[i-2])); i++ {
		add(append(name[:1:1], args[i:]...))
	}
}

// versioned matches interpreter names with a version.
var versioned = lazyregexp.New(`^(python|pypy|perl|ruby|node|php|lua|pip|bash|tclsh)[\d.-]+$`)

// programName returns the name of a program without its directory and without an interpreter's
// version.
func programName(text string) string {
	name := strings.TrimSuffix(strings.ToLower(text[strings.LastIndexAny(text, `/\`)+1:]), ".exe")
	return versioned.ReplaceAllString(name, "$1")
}

// absolute returns the path of an argument. If the argument is empty, it returns "".
func absolute(st *state, name string) string {
	if name == "" {
		return ""
	}
	name = paths.Slashes(name)
	if name[0] == '/' || strings.HasPrefix(name, unknown) || strings.HasPrefix(name, fresh) || len(name) > 1 && name[1] == ':' {
		return name
	}
	return strings.TrimSuffix(st.cwd, "/") + "/" + name
}

// chdir changes the folder, unless the name is empty.
func (s *state) chdir(name string) { s.cwd = cmp.Or(absolute(s, name), s.cwd) }
