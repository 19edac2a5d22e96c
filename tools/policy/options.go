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
	open    []field // arguments that may be options, which cannot be seen
}

type option struct {
	name   string // without dashes; one character for a short one
	value  field
	has    bool // it has a value
	double bool
}

// parse reads the options of a program. Words behind one dash are clusters of letters.
func parse(p *rules.Program, args []field) (o options) {
	if p.Is("bundled") && len(args) > 0 && !args[0].option() && !strings.ContainsAny(args[0].text, "/."+unknown) {
		letters := strings.ReplaceAll(args[0].text, "f", "") // "tar xzf file"
		if letters != args[0].text {
			letters += "f"
		}
		args = append([]field{{text: "-" + letters}}, args[1:]...)
	}
	o.program = p
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a.text == "--":
			o.rest = append(o.rest, args[i+1:]...)
			return o
		case a.option() && (strings.HasPrefix(a.text, "--") || p.Is("words") && len(a.text) > 2):
			name, val, has := strings.Cut(strings.TrimPrefix(a.text[1:], "-"), "=")
			opt := option{name: name, value: field{text: val, glob: a.glob}, has: has, double: true}
			if !has && i+1 < len(args) && takes(p, "--"+name) {
				i++
				opt.value, opt.has = args[i], true
			}
			o.list = append(o.list, opt)
		case a.option():
			if strings.Contains(a.text, unknown) {
				o.open = append(o.open, a)
			}
			if i = o.cluster(p, args, i); p.Is("last -" + o.list[len(o.list)-1].name) {
				o.rest = args[i+1:]
				return o
			}
		default:
			name, _, assign := strings.Cut(a.text, "=")
			if p.Is("assigns") && assign && envName(name) {
				o.sets = append(o.sets, a)
				continue
			}
			if a.open() {
				o.open = append(o.open, a)
			}
			if p.Is("leads") {
				o.rest = append(o.rest, args[i:]...)
				return o
			}
			o.rest = append(o.rest, a)
		}
	}
	return o
}

// cluster reads short options in one word and returns the last index it used.
func (o *options) cluster(p *rules.Program, args []field, i int) int {
	text := args[i].text[1:]
	for k, r := range text {
		opt := option{name: string(r)}
		if takes(p, "-"+opt.name) {
			if rest := text[k+len(opt.name):]; rest == "" && i+1 < len(args) {
				i++
				opt.value, opt.has = args[i], true
			} else {
				opt.value, opt.has = field{text: strings.TrimPrefix(rest, "=")}, rest != ""
			}
			o.list = append(o.list, opt)
			return i
		}
		o.list = append(o.list, opt)
		if p.Is("suffixed") && r == 'i' { // the rest is its suffix, of BSD's also an empty argument
			if i+1 < len(args) && args[i+1].text == "" {
				i++
			}
			return i
		}
	}
	return i
}

// takes reports whether an option takes a value.
func takes(p *rules.Program, option string) bool {
	if p.Is("flags") {
		return !p.Is("flags " + option)
	}
	return p.Is("options " + option)
}

// values returns the values of options such as "-f" or "--file", which may be abbreviated: "" where one has none.
func (o options) values(names ...string) (list []field) {
	for _, opt := range o.list {
		for _, n := range names {
			name := strings.TrimLeft(n, "-")
			abbreviated := opt.name != "" && strings.HasPrefix(name, opt.name) && !o.program.Is("options --"+opt.name)
			if opt.double == (len(name) > 1) && (opt.name == name || abbreviated) {
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
		if opt.double {
			return !p.Is("opens --" + opt.name)
		}
		return !p.Is("opens -"+opt.name) && strings.Trim(opt.name, "0123456789") != ""
	})
}
