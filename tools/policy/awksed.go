package policy

import "strings"

// awk judges an awk program: it can start others and write files.
func (j *analyzer) awk(c *call) {
	o := parse(c.args, "vFfiEe", "assign field-separator file include exec source")
	if o.has("f", "file", "i", "include", "E", "exec") && !o.exact("source") {
		if v, _ := o.get("f", "file", "E", "exec"); strings.HasPrefix(v.value.text, "/dev/") || v.value.text == "-" {
			if v.value.text != "-" && v.value.text != "/dev/stdin" || !j.stdin.known {
				j.ask(c, "runs what another command writes")
			}
			j.awkCode(c, j.stdin.text)
		}
		if v, ok := o.get("i", "include"); ok && v.value.text == "inplace" {
			j.writes(c, o.rest...)
		} else {
			return
		}
	}
	src := field{}
	if v, ok := o.get("e", "source"); ok {
		src = v.value
	} else if len(o.rest) > 0 {
		src = o.rest[0]
	}
	j.awkCode(c, src.text)
}

func (j *analyzer) awkCode(c *call, src string) {
	if strings.HasPrefix(src, unknown) {
		j.ask(c, "runs awk code that cannot be seen")
	}
	printing, parens := false, 0
	for i := 0; i < len(src); {
		switch b := src[i]; {
		case b == '"':
			_, end, _ := quotedAt(src, i)
			i = end
			continue
		case b == '/' && regexAllowed(src[:i]):
			i++
			for i < len(src) && src[i] != '/' && src[i] != '\n' {
				if src[i] == '\\' {
					i++
				}
				i++
			}
		case b == '#':
			i = skipTo(src, i, "\n")
			continue
		case b == '(':
			parens++
		case b == ')':
			parens--
		case b == ';' || b == '}' || b == '\n' || b == '{':
			printing = false
		case b == '|':
			if i+1 < len(src) && src[i+1] == '|' {
				i++
			} else {
				j.awkCommand(c, src, i)
			}
		case b == '>' && printing && parens <= 0:
			rest := strings.TrimLeft(src[i+1:], "> \t")
			if strings.HasPrefix(rest, `"`) {
				name, _, _ := quotedAt(rest, 0)
				j.writes(c, field{text: name})
			} else {
				j.ask(c, "writes to files that cannot be seen")
			}
		case wordByte(b):
			k := i
			for k < len(src) && wordByte(src[k]) {
				k++
			}
			switch src[i:k] {
			case "print", "printf":
				printing, parens = true, 0
			case "system":
				list, whole := stringArgs(src[k:])
				if whole && len(list) == 1 {
					j.code(c, field{text: list[0]})
				} else {
					j.ask(c, "starts another program, which cannot be seen")
				}
			}
			i = k
			continue
		}
		i++
	}
}

// awkCommand judges a pipe at i: the command is the string after it, or before
// it for getline.
func (j *analyzer) awkCommand(c *call, src string, i int) {
	rest := strings.TrimLeft(src[i+1:], "& \t")
	if strings.HasPrefix(rest, `"`) {
		text, _, _ := quotedAt(rest, 0)
		j.code(c, field{text: text})
		return
	}
	before := strings.TrimRight(src[:i], " \t")
	if strings.HasPrefix(rest, "getline") && strings.HasSuffix(before, `"`) {
		if k := strings.LastIndexByte(before[:len(before)-1], '"'); k >= 0 {
			j.code(c, field{text: before[k+1 : len(before)-1]})
			return
		}
	}
	j.ask(c, "starts another program, which cannot be seen")
}

// regexAllowed tells whether a slash here begins a pattern and is no division.
func regexAllowed(before string) bool {
	before = strings.TrimRight(before, " \t")
	return before == "" || strings.IndexByte("({,;~!&|\n=", before[len(before)-1]) >= 0
}

// sedScript judges the commands of a sed script that run programs or write.
func (j *analyzer) sedScript(c *call, src string) {
	if strings.HasPrefix(src, unknown) {
		j.ask(c, "runs a sed script that cannot be seen")
		return
	}
	for i := 0; i < len(src); {
		switch b := src[i]; b {
		case 's', 'y':
			end, flags := sedSubstitute(src, i)
			if b == 's' {
				j.sedFlags(c, flags)
			}
			i = end
		case '/', '\\':
			i = sedPattern(src, i)
		case 'e':
			rest, _, _ := strings.Cut(src[i+1:], "\n")
			if strings.TrimSpace(rest) == "" {
				j.ask(c, "runs what it reads as commands")
			} else {
				j.code(c, field{text: rest})
			}
			i += 1 + len(rest)
		case 'w', 'W':
			rest, _, _ := strings.Cut(src[i+1:], "\n")
			j.writes(c, field{text: strings.TrimSpace(rest)})
			i += 1 + len(rest)
		case 'b', 't', 'T', ':':
			i += 1 + len(sedLabel(src[i+1:]))
		case 'a', 'i', 'c', 'r', 'R', '#':
			i += 1 + len(firstLine(src[i+1:]))
		default:
			i++
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// sedLabel returns the label of a branch or a colon.
func sedLabel(s string) string {
	if i := strings.IndexAny(s, ";}\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// sedPattern returns where the address pattern at i ends.
func sedPattern(src string, i int) int {
	delim := src[i]
	if delim == '\\' {
		if i++; i >= len(src) {
			return i
		}
		delim = src[i]
	}
	return sedDelimited(src, i+1, delim)
}

// sedDelimited returns the index after the next delim that counts.
func sedDelimited(src string, i int, delim byte) int {
	set := false
	for ; i < len(src); i++ {
		switch {
		case src[i] == '\\':
			i++
		case src[i] == '[' && !set:
			set = true
			if i+1 < len(src) && src[i+1] == ']' {
				i++
			}
		case src[i] == ']':
			set = false
		case src[i] == delim && !set, src[i] == delim && !strings.Contains(src[i:], "]"):
			return i + 1
		}
	}
	return len(src)
}

// sedSubstitute returns where s or y at i ends, and its flags.
func sedSubstitute(src string, i int) (end int, flags string) {
	if i+1 >= len(src) {
		return len(src), ""
	}
	delim := src[i+1]
	k := sedDelimited(src, i+2, delim)
	for ; k < len(src) && src[k] != delim; k++ {
		if src[k] == '\\' {
			k++
		}
	}
	k = min(k+1, len(src))
	start := k
	for k < len(src) && src[k] != '\n' && src[k] != ';' && src[k] != '}' {
		if src[k] == 'w' {
			k += len(firstLine(src[k:]))
			break
		}
		k++
	}
	return k, src[start:k]
}

func (j *analyzer) sedFlags(c *call, flags string) {
	before, file, writes := strings.Cut(flags, "w")
	if strings.Contains(before, "e") {
		j.ask(c, "runs what it makes of its input as commands")
	}
	if writes {
		j.writes(c, field{text: strings.TrimSpace(file)})
	}
}
