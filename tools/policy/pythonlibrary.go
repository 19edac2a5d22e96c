package policy

import "strings"

const (
	evaluates   = "runs code that is made up while it runs"
	startsOther = "starts another program"
	removesTree = "deletes files recursively"
)

// library judges a function by pythonLibrary, and tells whether that is all there is to it.
func (p *pyReader) library(full string, called bool, args [][]pyToken) bool {
	first, _, dotted := strings.Cut(full, ".")
	if !dotted || !p.imported(first) {
		return false
	}
	switch {
	case in("python-code-argument", full):
		for _, a := range args {
			if text, ok := constant(a[min(len(a), named(a)):]); ok {
				p.j.pythonCode(p.c, text)
			}
		}
		if full == "timeit.main" {
			p.j.ask(p.c, evaluates+" ("+full+")")
		}
		return true
	case full == "fileinput.input" || full == "fileinput.FileInput":
		for _, a := range args {
			for _, t := range a {
				if t.kind == 's' && strings.Contains(p.src, "inplace") {
					p.j.writes(p.c, field{text: t.text})
				}
			}
		}
		return true
	}
	for i := len(full); i > 0; i-- {
		if reason := reasonIn("python-prefix", full[:i]); reason != "" {
			p.j.ask(p.c, reason+" ("+full+")")
			return true
		}
	}
	return false
}

// imported tells whether a name stands for a module of that name, or for something of it.
func (p *pyReader) imported(module string) bool {
	for i, t := range p.toks {
		if t.kind == 'n' && t.text == module && i > 0 && (p.toks[i-1].text == "import" || p.toks[i-1].text == "from" || p.toks[i-1].text == ",") {
			return true
		}
	}
	return false
}

// named returns where the value of an argument begins: behind "name =".
func named(arg []pyToken) int {
	if len(arg) > 2 && arg[0].kind == 'n' && arg[1].text == "=" {
		return 2
	}
	return 0
}
