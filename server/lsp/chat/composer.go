package chat

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/tools"
)

// composer converts the events of a turn to Markdown, piece by piece. It never changes a returned
// piece: it holds a line until it is clear whether it becomes a heading of the chat.
type composer struct {
	ready strings.Builder
	held  string // the start of a line
	mid   bool   // the line has begun, and is no heading
	block block
	blank int // line ends at the end of the pieces so far

	nesting transcript.Nesting // of the pieces so far
}

type block int

const (
	nothing block = iota
	prose
	list
)

// newComposer returns a composer for text after a heading and a blank line.
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

// piece adds a line or its start.
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
	c.emit(EscapeHeadings(s))
	c.mid = !whole
}

// maybeHeading reports whether the start of a line can still become a heading.
func maybeHeading(start string) bool {
	bare := strings.TrimRight(start, " \t\r")
	return strings.HasPrefix(HeadingYou, start) || strings.HasPrefix(headingHermes, start) || bare == HeadingYou || bare == headingHermes
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

// note adds a paragraph outside of the answer.
func (c *composer) note(s string) {
	c.release()
	c.separate(2)
	c.emit(s)
	c.block = nothing
}

// close adds the end.
func (c *composer) close(tail string) {
	c.release()
	c.emit(strings.Repeat("\n", max(0, leadingLines(tail)-c.blank)) + strings.TrimLeft(tail, "\n"))
}

func leadingLines(s string) int { return len(s) - len(strings.TrimLeft(s, "\n")) }

// release emits the kept start of a line, which is complete.
func (c *composer) release() {
	s := c.held
	c.held, c.mid = "", false
	c.emit(EscapeHeadings(s))
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
	s = c.nesting.Add(s)
	c.ready.WriteString(s)
	trimmed := strings.TrimRight(s, "\n")
	if trimmed != "" {
		c.blank = 0
	}
	c.blank += len(s) - len(trimmed)
}

// drain returns the next piece, without spaces at its end: editors remove them while the
// user types below, and the next word would follow without a space.
func (c *composer) drain() string {
	s := c.ready.String()
	c.ready.Reset()
	whole := strings.TrimRight(s, " \t")
	c.ready.WriteString(s[len(whole):])
	return whole
}
