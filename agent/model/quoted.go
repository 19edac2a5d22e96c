package model

import (
	"bytes"
	"slices"
	"strings"
)

// around records the text before a position, to determine whether the position is quoted.
type around struct {
	line  []byte   // the line so far, at most longestLine bytes
	fence []byte   // the start of the fenced block; empty: none
	tags  []string // the open tags, each on its own line
	wrote []string // the openings of thoughts in the lines before
}

const (
	longestLine = 200
	mostTags    = 32
)

// add records the next text.
func (a *around) add(text string) {
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if room := longestLine - len(a.line); room > 0 {
			a.line = append(a.line, line[:min(len(line), room)]...)
		}
		if !whole {
			return
		}
		if !a.fenced() && len(a.line) < longestLine {
			a.tag(strings.TrimSpace(string(a.line)))
		}
		a.note()
		a.line = a.line[:0]
		text = rest
	}
}

// note records the openings of thoughts in the line.
func (a *around) note() {
	if bytes.IndexByte(a.line, '<') < 0 {
		return
	}
	for i := range unopened {
		if open := unopened[i].open; open != "" && bytes.Contains(a.line, []byte(open)) && !slices.Contains(a.wrote, open) {
			a.wrote = append(a.wrote, open)
		}
	}
}

// opened reports whether the text contains an opening of a thought.
func (a *around) opened(open string) bool {
	return slices.Contains(a.wrote, open) || bytes.Contains(a.line, []byte(open))
}

// tag records a line with nothing but a tag.
func (a *around) tag(line string) {
	inside, opens := strings.CutPrefix(line, "<")
	inside, ends := strings.CutSuffix(inside, ">")
	if !opens || !ends || strings.ContainsAny(inside, "<>") || strings.HasSuffix(inside, "/") {
		return
	}
	if name, closes := strings.CutPrefix(inside, "/"); closes {
		if i := slices.Index(a.tags, name); i >= 0 {
			a.tags = a.tags[:i]
		}
		return
	}
	name, _, _ := strings.Cut(inside, " ")
	letter := name != "" && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
	if letter && name != "br" && name != "hr" && len(a.tags) < mostTags {
		a.tags = append(a.tags, name)
	}
}

// bare reports whether the line so far contains only white space and marks of quotations and
// lists, so a fence may follow.
func (a *around) bare() bool {
	return len(a.line) < longestLine && strings.Trim(string(a.line), " \t\r>-*+.)0123456789") == ""
}

func (a *around) fenced() bool { return len(a.fence) > 0 }

func (a *around) openFence(fence []byte) { a.fence = slices.Clone(fence) }

// closeFence ends the fenced block if the fence is at least as long as the opening fence, and
// nothing follows it on its line.
func (a *around) closeFence(fence []byte, next byte) {
	if fence[0] == a.fence[0] && len(fence) >= len(a.fence) && strings.IndexByte(" \t\r\n", next) >= 0 {
		a.fence = nil
	}
}

// quotes reports whether the text after the byte last is quoted: in a block of code, a
// block quote, quotation marks, or another tag.
func (a *around) quotes(last byte) bool {
	line := string(a.line)
	return a.fenced() || len(a.tags) > 0 || strings.IndexByte("`\"'>", last) >= 0 ||
		strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") || strings.HasPrefix(strings.TrimLeft(line, " "), ">")
}

// quoted reports whether a call, as the model wrote it, occurs in its input: a prompt, a tool
// result or the system prompt. White space, punctuation, line numbers and levels of escapes
// make no difference, and the lines of a call may be apart.
func quoted(bodies []string, req *Request) bool {
	if len(bodies) == 0 {
		return false
	}
	given := []string{letters(req.System)}
	for i := range req.Messages {
		if m := &req.Messages[i]; m.Role != Assistant {
			given = append(given, letters(m.Text()))
		}
	}
	return slices.ContainsFunc(bodies, func(body string) bool {
		lines := strings.Split(body, "\n")
		for i := range lines {
			lines[i] = letters(lines[i])
		}
		return slices.ContainsFunc(given, func(text string) bool {
			return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(text, line) })
		})
	})
}

// letters returns the letters of a text in lower case, without escapes such as \n.
func letters(text string) string {
	var b strings.Builder
	escaped := false
	for i := range len(text) {
		c := text[i]
		lower := c | 0x20
		switch {
		case c == '\\':
			escaped = true
			continue
		case escaped && (c == 'n' || c == 't' || c == 'r'):
		case c >= 0x80:
			b.WriteByte(c)
		case lower >= 'a' && lower <= 'z':
			b.WriteByte(lower)
		}
		escaped = false
	}
	return b.String()
}
