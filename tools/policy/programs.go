package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// handlers returns the functions that the rule files name.
func handlers() map[string]func(*analyzer, *call) {
	return map[string]func(*analyzer, *call){
		"recipes":   runRecipes,
		"xargs":     xargs,
		"eval":      eval,
		"source":    sourceFile,
		"trap":      eval,
		"alias":     alias,
		"builtin":   builtin,
		"handsOn":   handsOn,
		"find":      find,
		"git":       git,
		"gitConfig": gitConfig,
	}
}

// xargs judges commands that get arguments which are not seen.
func xargs(j *analyzer, c *call) {
	o := parse(rules.Of(c.name), c.args)
	placeholder, input := "", field{text: j.stdin.below + unknown}
	if with := o.values("-I", "--replace", "-i"); len(with) > 0 || c.name == "parallel" {
		placeholder = cmp.Or(append(with, field{})[0].text, "{}")
	}
	inner, placed := o.rest, false
	if i := slices.IndexFunc(inner, func(a field) bool { return a.text == ":::" }); i >= 0 {
		inner = inner[:i]
	}
	inner = slices.Clone(inner)
	for i, a := range inner {
		if placeholder != "" && strings.Contains(a.text, placeholder) {
			inner[i].text, placed = strings.ReplaceAll(a.text, placeholder, input.text), true
		}
	}
	if len(inner) > 0 && (!placed || c.name == "parallel") {
		inner = append(inner, input)
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
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		name, _, _ := strings.Cut(a.text, "=")
		switch {
		case contains("-exec -execdir -ok -okdir", a.text), fd && contains("-x -X --exec --exec-batch", a.text):
			var inner []field
			for i++; i < len(c.args) && c.args[i].text != ";" && (c.args[i].text != "+" || !strings.Contains(c.args[i-1].text, "{}")); i++ {
				inner = append(inner, field{text: strings.ReplaceAll(c.args[i].text, "{}", found), dyn: c.args[i].dyn, glob: c.args[i].glob})
			}
			if fd {
				inner = append(inner, anything)
			}
			if len(inner) > 0 && strings.Contains(inner[0].text, unknown) {
				j.ask(c, "runs the programs that it finds")
			} else if len(inner) > 0 {
				if programName(inner[0].text) == "rm" {
					j.destroys(c, true, from...)
				}
				j.call(c.with(inner))
			}
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

// links judges a link to a file: a write through it must not avoid the checks of paths.
func (j *analyzer) links(c *call, f field) {
	a := j.scope.places().Write(absolute(c.st, f.text))
	switch {
	case f.text == "" || a.Reason == "":
	case a.Blocked:
		j.block(c, a.Reason)
	default:
		j.ask(c, "links to a place that is protected or outside the workspace")
	}
}

// copies judges a file that is copied, perhaps into a folder, where it keeps its name.
func (j *analyzer) copies(c *call, f, to field) {
	base := f.text[strings.LastIndexAny(f.text, `/\:`)+1:]
	if strings.Trim(base, ".") != "" && to.text != "/dev/null" && !f.glob {
		j.protected(c, field{text: strings.TrimSuffix(to.text, "/") + "/" + base})
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
