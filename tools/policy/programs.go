package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// xargs judges commands with unknown arguments.
func (t *terms) xargs() {
	placeholder, input, parallel := "\x03", t.j.stdin.below+unknown, t.c.name == "parallel"
	if with := t.o.values("-I", "--replace", "-i"); len(with) > 0 || parallel {
		placeholder = cmp.Or(append(with, field{})[0].text, "{}")
	}
	inner := t.o.rest
	if i := slices.IndexFunc(inner, func(a field) bool { return a.text == ":::" }); i >= 0 {
		inner = inner[:i]
	}
	command := insert(inner, placeholder, input)
	if len(inner) > 0 && (slices.Equal(inner, command) || parallel) {
		command = append(command, field{text: input})
	}
	t.j.call(t.c.with(command))
}

// insert returns a command with texts instead of placeholders.
func insert(command []field, placeholder, text string) (out []field) {
	for _, a := range command {
		a.text = strings.ReplaceAll(a.text, placeholder, text)
		out = append(out, a)
	}
	return out
}

// find judges the commands that find and fd run on their results, and removes them from the
// arguments.
func (t *terms) find() {
	c, fd := t.c, strings.HasPrefix(t.c.name, "fd")
	from, found := starts(c.args), unknown // the files are below the start of the search
	switch {
	case len(from) == 0:
		found = "./" + unknown
	case len(from) == 1 && !fd:
		found = from[0].text + "/" + unknown
	}
	var own []field
	for i := 0; i < len(c.args); i++ {
		if word := c.args[i].text; !contains("-exec -execdir -ok -okdir", word) && !(fd && contains("-x -X --exec --exec-batch", word)) {
			own = append(own, c.args[i])
			continue
		}
		begin := i + 1
		for i++; i < len(c.args) && c.args[i].text != ";" && (c.args[i].text != "+" || !strings.Contains(c.args[i-1].text, "{}")); {
			i++
		}
		inner := insert(c.args[begin:i], "{}", found)
		if fd {
			inner = append(inner, anything)
		}
		t.j.call(c.with(inner))
	}
	c.args = own
}

// starts returns the start directories of find.
func starts(args []field) []field {
	for len(args) > 0 && contains("-H -L -P", args[0].text) {
		args = args[1:]
	}
	if end := slices.IndexFunc(args, func(a field) bool { return a.option() || a.text == "!" || a.text == "(" }); end >= 0 {
		return args[:end]
	}
	return args
}

// links judges a link to a file: a write through it must not avoid the checks of paths.
func (j *analyzer) links(c *call, f field) {
	a := j.scope.places().Write(absolute(c.st, f.text))
	if a.Reason != "" && !a.Blocked {
		a = paths.Access{Reason: "links to a place that is protected or outside the workspace"}
	}
	j.accessed(c, f.text, a)
}

// copies judges a copied file. In a target directory it keeps its name.
func (t *terms) copies(f field) {
	base := baseName(f.text)
	for _, to := range t.selects("target") {
		if strings.Trim(base, ".") != "" && to.text != "/dev/null" && !f.glob {
			t.j.wrote(t.c, true, field{text: strings.TrimSuffix(to.text, "/") + "/" + base})
		}
	}
}

// handsOn judges a command that an unknown program may run: a program or code in its arguments.
func handsOn(j *analyzer, c *call) {
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

func unseen(args []field) bool { return strings.Contains(joined(args).text, unknown) }
