package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// options are the options of a command and its operands.
type options struct {
	program *rules.Program
	list    []option
	rest    []field
	sets    []field // NAME=VALUE before the command
	open    []field // unknown arguments that may be options
}

type option struct {
	name  string // such as "-f" or "--file"
	value field
}

// parse reads the options of a program. Words after a single dash are clusters of letters.
func parse(p *rules.Program, args []field) options {
	if p.Is("bundled") && len(args) > 0 && !args[0].option() && !strings.ContainsAny(args[0].text, "/."+unknown) {
		before, after, file := strings.Cut(args[0].text, "f")
		if file {
			after += "f" // "tar xzf file"
		}
		args = append([]field{{text: "-" + before + after}}, args[1:]...)
	}
	o, ended := options{program: p}, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, val, valued := strings.Cut(a.text, "=")
		long := strings.HasPrefix(a.text, "--") || p.Is("words") && len(a.text) > 2
		switch {
		case ended:
			o.rest = append(o.rest, a)
		case a.text == "--":
			ended = true
		case a.option() && long && valued:
			o.list = append(o.list, option{longName(name), field{text: val, glob: a.glob}})
		case a.option() && long:
			i = o.add(longName(name), args, i)
		case a.option():
			if strings.Contains(a.text, unknown) {
				o.open = append(o.open, a)
			}
			i = o.cluster(args, i)
			ended = p.Is("last " + o.list[len(o.list)-1].name)
		case p.Is("assigns") && valued && envName(name):
			o.sets = append(o.sets, a)
		default:
			if a.open() {
				o.open = append(o.open, a)
			}
			o.rest = append(o.rest, a)
			ended = p.Is("leads")
		}
	}
	return o
}

// longName writes the name of a long option with two dashes.
func longName(name string) string { return "--" + strings.TrimPrefix(name[1:], "-") }

// cluster reads short options in a single word and returns the last index it used.
func (o *options) cluster(args []field, i int) int {
	text := args[i].text[1:]
	for k, r := range text {
		name := "-" + string(r)
		suffix := r == 'i' && o.program.Is("suffixed") // it takes the rest of the word, of BSD's also an empty argument
		if _, rest, _ := strings.Cut(text[k:], string(r)); rest != "" && (suffix || o.takes(name)) {
			o.list = append(o.list, option{name, field{text: strings.TrimPrefix(rest, "=")}})
			return i
		}
		if i = o.add(name, args, i); suffix && i+1 < len(args) && args[i+1].text == "" {
			i++
		}
	}
	return i
}

// add adds an option, with the next argument if it takes a value, and returns the last index used.
func (o *options) add(name string, args []field, i int) int {
	value := field{}
	if o.takes(name) && i+1 < len(args) {
		i++
		value = args[i]
	}
	o.list = append(o.list, option{name, value})
	return i
}

// takes reports whether an option takes a value.
func (o *options) takes(option string) bool {
	if o.program.Is("flags") {
		return !o.program.Is("flags " + option)
	}
	return o.program.Is("options " + option)
}

// values returns the values of options such as "-f" or "--file", which may be abbreviated. An
// option without a value has "".
func (o *options) values(names ...string) (list []field) {
	for _, opt := range o.list {
		for _, name := range names {
			abbreviated := len(opt.name) > 2 && strings.HasPrefix(name, opt.name) && !o.program.Is("options "+opt.name)
			if opt.name == name || abbreviated {
				list = append(list, opt.value)
			}
		}
	}
	return list
}

// opensWith reports whether a program runs no other code with these arguments.
func opensWith(p *rules.Program, args []field) bool {
	if !p.Is("opens") || p.Is("opens *") {
		return p.Is("opens")
	}
	o := parse(p, args)
	return len(o.open) == 0 && !slices.ContainsFunc(o.list, func(opt option) bool {
		return !p.Is("opens "+opt.name) && strings.Trim(opt.name, "-0123456789") != ""
	})
}
