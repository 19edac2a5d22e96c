package policy

import (
	"regexp"
	"strings"
	"sync"
)

// Writes of code in an interpreter are judged by the file, if that is a plain text. If it is
// not, every text in the code counts that names a protected place.

// They are compiled when they are first needed: every process of ours would pay for it.
var (
	writeMode = lazily(`['"](w|a|x|r\+|c)[bt+]{0,2}(:[^'"]*)?['"]|O_(WRONLY|RDWR|CREAT)|File::(WRONLY|RDWR|CREAT|APPEND)|['"]\s*\+?>|\+<`)
	glued     = lazily(`['"]\s*(\+|\.\.?)\s*['"]`)
	listed    = lazily(`['"]\s*[,/]\s*['"]`)
	pathText  = lazily("['\"`}>/]~?[\\w./-]+")
)

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// writes judges a call by the files that it writes, if it is one that writes.
func (s *scanner) writes(name, next string) {
	call := next
	if end := strings.IndexAny(next, ";\n"); end >= 0 {
		call = next[:end]
	}
	switch {
	case in("code-opens", name):
		if !writeMode().MatchString(call) || name == "new" && s.prev != "File" {
			return
		}
		if target, ok := s.opened(call); ok {
			s.j.writes(s.c, field{text: target})
			return
		}
	case in("code-writes", name), s.prev != "" && in("code-writes", s.prev+"."+name):
		list, whole := stringArgs(next)
		if writesFirst(name) && len(list) > 0 {
			list, whole = list[:1], true
		}
		plain := whole && len(list) > 0
		for _, text := range list {
			plain = plain && !s.filled(text)
			s.j.writes(s.c, field{text: text})
		}
		if plain {
			return
		}
	default:
		return
	}
	s.j.writesUnseen(s.c, s.src)
}

// writesFirst tells whether the arguments after the first are no files.
func writesFirst(name string) bool {
	lower := strings.ToLower(name)
	for _, part := range []string{"write", "append", "put", "output", "spew", "stream"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// filled tells whether something is filled into a text when the code runs.
func (s *scanner) filled(text string) bool {
	return strings.Contains(text, "#{") || strings.Contains(text, "$") || strings.Contains(text, unknown)
}

// opened returns the file that a call opens, if that is plain: the first text, or in
// Perl the text behind the mode.
func (s *scanner) opened(call string) (string, bool) {
	if s.c.name != "perl" {
		list, _ := stringArgs(call)
		if len(list) == 0 || s.filled(list[0]) {
			return "", false
		}
		return list[0], true
	}
	var list []string
	for i := 0; i < len(call); i++ {
		if call[i] != '\'' && call[i] != '"' {
			continue
		}
		text, end, ok := quotedAt(call, i)
		if !ok {
			break
		}
		list, i = append(list, text), end-1
	}
	for i, text := range list {
		mode := strings.TrimLeft(text, "+<>")
		if len(mode) == len(text) {
			continue
		}
		if target := strings.TrimSpace(mode); target != "" && target[0] != ':' {
			return target, !s.filled(target)
		}
		return strings.Join(list[i+1:min(i+2, len(list))], ""), i+1 < len(list) && !s.filled(list[i+1])
	}
	return "", false
}

// writesUnseen judges code that writes a file whose path is made up when it runs: any
// part of a path in it that names a protected place counts.
func (j *analyzer) writesUnseen(c *call, src string) {
	src = glued().ReplaceAllString(src, "")
	joined := listed().ReplaceAllString(src, "/") // the parts of a path may be given one by one
	for _, text := range append(pathText().FindAllString(joined, -1), pathText().FindAllString(src, -1)...) {
		text = strings.TrimPrefix(strings.TrimLeft(text, "'\"`}>"), "~")
		for _, name := range []string{"/" + strings.TrimLeft(text, "/"), j.scope.Home + "/" + strings.TrimLeft(text, "/")} {
			if a := j.scope.classify(name); a.level == Refused || a.settings {
				j.accessed(c, name, a)
				return
			}
		}
	}
}
