package lsp

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

// composer turns a turn's events into Markdown, piece by piece. What it has given
// out is never changed: a line that may become one of the chat's headings is held
// back until it is clear that it does not.
type composer struct {
	ready strings.Builder
	held  string // the start of a line
	mid   bool   // the line has begun, and is no heading
	block block
	blank int // line ends at the end of what was given out
}

type block int

const (
	nothing block = iota
	prose
	list
)

// newComposer begins after a heading and a blank line.
func newComposer() composer { return composer{blank: 2} }

// text adds a piece of the answer.
func (c *composer) text(s string) {
	s = tools.WithoutControls(s)
	if c.block != prose {
		if s = strings.TrimLeft(s, "\r\n"); s == "" {
			return
		}
		c.separate(2)
		c.block = prose
	}
	for s != "" {
		line, rest, whole := strings.Cut(s, "\n")
		if s = rest; whole {
			line += "\n"
		}
		c.piece(line, whole)
	}
}

// piece takes a line or the start of one.
func (c *composer) piece(s string, whole bool) {
	if c.mid {
		c.emit(s)
		c.mid = !whole
		return
	}
	c.held += s
	if !whole && maybeHeading(c.held) {
		return
	}
	s, c.held = c.held, ""
	c.emit(defuse(s))
	c.mid = !whole
}

// maybeHeading tells whether a start of a line can still become a heading.
func maybeHeading(start string) bool {
	bare := strings.TrimRight(start, " \t\r")
	return strings.HasPrefix(headingYou, start) || strings.HasPrefix(headingHermes, start) || bare == headingYou || bare == headingHermes
}

// item adds a line of the list of calls.
func (c *composer) item(s string) {
	c.release()
	if c.block == list {
		c.separate(1)
	} else {
		c.separate(2)
	}
	c.block = list
	c.emit("- " + s)
}

// note adds a paragraph that is no part of the answer.
func (c *composer) note(s string) {
	c.release()
	c.separate(2)
	c.emit(s)
	c.block = nothing
}

// close adds what comes last.
func (c *composer) close(tail string) {
	c.release()
	c.emit(strings.Repeat("\n", max(0, leadingLines(tail)-c.blank)) + strings.TrimLeft(tail, "\n"))
}

func leadingLines(s string) int { return len(s) - len(strings.TrimLeft(s, "\n")) }

// release gives out what was held back: nothing more comes on that line.
func (c *composer) release() {
	s := c.held
	c.held, c.mid = "", false
	c.emit(defuse(s))
}

func (c *composer) separate(lines int) {
	if c.blank < lines {
		c.emit(strings.Repeat("\n", lines-c.blank))
	}
}

func (c *composer) emit(s string) {
	if s == "" {
		return
	}
	c.ready.WriteString(s)
	trimmed := strings.TrimRight(s, "\n")
	if trimmed != "" {
		c.blank = 0
	}
	c.blank += len(s) - len(trimmed)
}

// take gives out what is ready, but for spaces at its end: editors take them away while
// somebody types below, and the next word would stick to the last one.
func (c *composer) take() string {
	s := c.ready.String()
	c.ready.Reset()
	whole := strings.TrimRight(s, " \t")
	c.ready.WriteString(s[len(whole):])
	return whole
}
