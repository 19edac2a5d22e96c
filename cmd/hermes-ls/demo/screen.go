package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// prompts is the number of prompts that the user sees.
const prompts = 4

// screen writes to the terminal. Text is written in pieces, everything else on separate lines.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	color bool
	pace  time.Duration
	open  bool // the last line is not complete
	muted bool
	asked int // prompts, of all
	all   int
}

// newScreen returns the screen of a demo with this number of prompts.
func newScreen(out io.Writer, color bool, pace time.Duration, prompts int) *screen {
	return &screen{out: out, color: color, pace: pace, all: prompts}
}

const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	blue  = "36"
)

func (s *screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// mute turns the output off or on.
func (s *screen) mute(muted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = muted
}

func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.muted {
		return
	}
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
	fmt.Fprintln(s.out, text)
}

func (s *screen) heading(format string, args ...any) {
	s.line("\n" + s.paint(bold, "━━ "+fmt.Sprintf(format, args...)))
}

// prompt shows a prompt with its number.
func (s *screen) prompt(text string) {
	s.asked++
	s.line("\n" + s.paint(faint, fmt.Sprintf("%d of %d ", s.asked, s.all)) + s.paint(blue, "› "+text))
}

func (s *screen) lines(text string) { s.line(strings.TrimRight(text, "\n")) }

// text writes a piece of the answer.
func (s *screen) text(piece string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.muted {
		return
	}
	s.open = true
	fmt.Fprint(s.out, piece)
	time.Sleep(s.pace)
	if strings.HasSuffix(piece, "\n") {
		s.open = false
	}
}

func (s *screen) call(c *toolCall) {
	mark := s.paint(green, "✓")
	if c.status == "failed" {
		mark = s.paint(red, "✗")
	}
	s.line(fmt.Sprintf("  %s %s %s", mark, c.title, s.paint(faint, c.summary())))
}

func (s *screen) note(format string, args ...any) {
	s.line(s.paint(faint, "  "+fmt.Sprintf(format, args...)))
}

func (s *screen) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "+"):
			line = s.paint(green, line)
		case strings.HasPrefix(line, "-"):
			line = s.paint(red, line)
		}
		s.line(line)
	}
}
