package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// opening judges the files that a command itself writes, and collects the protected places among them.
//
// A command line may write a protected place, such as .vscode, after an approval. The place
// is open for the whole line, so only a line of which each program is known and runs no
// other code opens one.
type opening struct {
	report
	opens    []string // protected places that the command itself writes
	settings []string // git settings that the command makes
	rewrites bool     // files change that are not named
	foreign  bool     // a program runs code that is not known
	hooked   bool     // git runs hooks, which the user has put there
}

// knows notes whether a program of a command may run code that is not known. Only programs
// and options that the rule files name, written out in full, do not.
func (o *opening) knows(c *call) {
	program := c.args[0].text
	dir := path.Dir(paths.Slashes(program))
	plain := !strings.Contains(program, "/") || dir == "/bin" || dir == "/usr/bin"
	o.foreign = o.foreign || !plain || c.name != "git" && !opensWith(rules.Of(c.name), c.args[1:])
	for name := range rules.List("loader") {
		o.foreign = o.foreign || len(c.st.get(name)) > 0
	}
}

// sets notes the setting of a variable: of one that is not known to be harmless, a program
// may run or load something.
func (o *opening) sets(name, value string) {
	o.foreign = o.foreign || !matches("HARMLESS", "--name="+name, "--value="+value)
}

// Loads reports whether a known program may run or load something else by a variable with
// this value.
func Loads(variable, value string) bool {
	return (rules.In("loader", variable) || rules.Any("loader-prefix", variable, strings.HasPrefix)) && !matches("HARMLESS", "--name="+variable, "--value="+value)
}

// open notes that the command itself writes a protected place: the folder of settings that
// the path lies in, else the path.
func (o *opening) open(name string) {
	if paths.Marked(name) || o.elsewhere {
		return
	}
	place := paths.Clean(name)
	parts := strings.Split(place, "/")
	if i := slices.IndexFunc(parts, func(part string) bool { return rules.In("protected-folder", paths.Fold(part)) }); i >= 0 {
		place = strings.Join(parts[:i+1], "/")
	}
	o.opens = union(o.opens, []string{place})
	if o.scope.Resolve != nil {
		o.opens = union(o.opens, []string{o.scope.Resolve(place)})
	}
}

// moved notes a path that a command itself removes or moves: a folder may hold places
// that are protected. Of a pattern that is the folder in which it is matched.
func (o *opening) moved(c *call, target field) {
	name := absolute(c.st, target.text)
	if target.glob {
		name = name[:strings.LastIndexByte(name[:strings.IndexAny(name+"*", "*?[")], '/')+1]
	}
	if name != "" && o.scope.places().Inside(paths.Clean(name)) {
		o.open(name)
	}
}

// opened returns the places to open, or none: if a program was told to run another one, if
// code is not known, and, of a line on which git runs hooks, all but those of git.
func (o *opening) opened() []string {
	if o.foreign || slices.ContainsFunc(o.findings, func(f finding) bool {
		verb, _, _ := strings.Cut(f.reason, " ")
		return !f.settings && !rules.In("own-act", verb)
	}) {
		return nil
	}
	if !o.hooked {
		return o.opens
	}
	return slices.DeleteFunc(slices.Clone(o.opens), func(place string) bool { return !inGit.MatchString(place) })
}

// inGit finds the places of git.
var inGit = lazyregexp.New(`(?i)/\.git(/|$)`)

// repository returns the git folders that git uses in a folder.
func (o *opening) repository(dir string) []string {
	if paths.Marked(dir) {
		return nil
	}
	dir = paths.Clean(dir)
	if o.scope.Repository != nil {
		return o.scope.Repository(dir)
	}
	return []string{path.Join(dir, ".git")}
}

// writes judges arguments as files that a command writes, creates or deletes.
func (o *opening) writes(c *call, targets ...field) { o.wrote(c, false, targets...) }

// wrote judges targets that are written: of those that count everywhere, only names that are protected in every folder.
func (o *opening) wrote(c *call, everywhere bool, targets ...field) {
	for _, t := range targets {
		name := absolute(c.st, t.text)
		if name == "" {
			continue
		}
		a := o.scope.places().Write(name)
		if a.Reason == "" && t.glob {
			a = paths.Matches(name)
		}
		if !everywhere || a.Blocked || a.Settings {
			o.accessed(c, name, a)
		}
		o.recordWrite(name)
	}
}

// accessed records a judgement of a path, unless it runs.
func (o *opening) accessed(c *call, name string, a paths.Access) {
	if a.Reason == "" {
		return
	}
	if a.Settings && !a.Blocked {
		o.open(name)
	}
	o.note(levelOf(a), a.Reason, o.key(c))
	o.findings[len(o.findings)-1].settings = a.Settings
}

// recordWrite keeps the path of a file that is written for deny rules, in the words
// of [Write]: as it was named, and where its links lead.
func (o *opening) recordWrite(name string) {
	if o.elsewhere || strings.HasPrefix(name, unknown) || strings.HasPrefix(name, fresh) {
		return
	}
	name = paths.Clean(name)
	o.saw("write " + paths.Visible(name))
	if o.scope.Resolve != nil && !paths.Marked(name) {
		o.saw("write " + escape.Line(o.scope.Resolve(name)))
	}
}

// destroys blocks the deletion or replacement of protected folders.
func (o *opening) destroys(c *call, deep bool, targets ...field) {
	for _, t := range targets {
		name := absolute(c.st, t.text)
		if why := o.scope.places().Protects(name, deep); why != "" && !strings.HasPrefix(name, unknown) && !strings.HasPrefix(name, fresh) {
			o.block(c, why)
		}
	}
}
