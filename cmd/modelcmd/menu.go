package modelcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/hermes-ls/hermes-ls/cli"
)

// entry is a line of a [menu].
type entry struct {
	name string // the answer
	more string // is shown behind it
}

// menu is a list in a terminal. Arrow keys, Page Up, Page Down, Home and End move. Letters narrow
// the list to the names containing them. Backspace removes a letter, Return chooses, and Ctrl-C
// cancels.
type menu struct {
	in            *bufio.Reader
	out           io.Writer
	title         string
	all           []entry
	other         bool // a typed text is an answer if no name contains it
	width, height int
	size          func() (width, height int, err error) // of the terminal; nil: it stays the same

	typed string
	at    int // in the matching entries
	first int // the first shown entry
	drawn int // lines
}

var errGivenUp = &noAnswerError{errors.New("canceled")}

// The smallest terminal that shows a menu.
const leastWidth, leastHeight = 20, 6

// shownIn returns the number of entries that a terminal shows.
func shownIn(height int) int { return min(height-3, 15) }

// choose shows a menu, with the usual answer first. If the input or the output is no terminal, ok is false.
func (a *asker) choose(title string, all []entry, usual string, other bool) (answer string, ok bool, err error) {
	out, isFile := a.out.(*os.File)
	if a.terminal < 0 || !isFile || !cli.Terminal(out) || len(all) == 0 || os.Getenv("TERM") == "dumb" {
		return "", false, nil
	}
	size := func() (width, height int, err error) { return term.GetSize(int(out.Fd())) }
	width, height, err := size()
	if err != nil || width < leastWidth || height < leastHeight {
		return "", false, nil
	}
	before, err := term.MakeRaw(a.terminal)
	if err != nil {
		return "", false, nil
	}
	defer term.Restore(a.terminal, before) // the terminal is gone
	m := menu{in: a.in, out: out, title: title, all: all, other: other, width: width, height: shownIn(height), size: size}
	for i, e := range all {
		if e.name == usual {
			m.at = i
		}
	}
	answer, err = m.run()
	return answer, true, err
}

// run returns the answer.
func (m *menu) run() (string, error) {
	for {
		fit := m.fit()
		m.draw(fit)
		key, err := m.key()
		if err != nil {
			m.clear()
			return "", &noAnswerError{err}
		}
		switch key {
		case "ctrl-c":
			m.clear()
			return "", errGivenUp
		case "return":
			answer := strings.TrimSpace(m.typed)
			if len(fit) > 0 {
				answer = fit[m.at].name
			} else if !m.other {
				continue
			}
			m.clear()
			fmt.Fprintf(m.out, "%s: %s\r\n", m.title, cli.Plain(answer))
			return answer, nil
		case "backspace":
			if letters := []rune(m.typed); len(letters) > 0 {
				m.typed, m.at = string(letters[:len(letters)-1]), 0
			}
		case "clear":
			m.typed, m.at = "", 0
		case "":
		default:
			if by, moves := m.moves(len(fit))[key]; moves {
				m.at = min(max(m.at+by, 0), max(len(fit)-1, 0))
			} else if letter := []rune(key); len(letter) == 1 && unicode.IsPrint(letter[0]) {
				m.typed, m.at = m.typed+key, 0
			}
		}
	}
}

// moves returns by how many entries keys move.
func (m *menu) moves(n int) map[string]int {
	return map[string]int{"up": -1, "down": 1, "page up": -m.height, "page down": m.height, "home": -n, "end": n}
}

// fit returns the entries whose names contain the typed text.
func (m *menu) fit() (fit []entry) {
	for _, e := range m.all {
		if strings.Contains(strings.ToLower(e.name), strings.ToLower(strings.TrimSpace(m.typed))) {
			fit = append(fit, e)
		}
	}
	return fit
}

// resize takes the size of the terminal. If it has changed, the drawn lines have moved, so resize
// clears the terminal.
func (m *menu) resize() {
	if m.size == nil {
		return
	}
	width, height, err := m.size()
	if err != nil || width == m.width && shownIn(height) == m.height || width < leastWidth || height < leastHeight {
		return
	}
	m.width, m.height, m.drawn = width, shownIn(height), 0
	fmt.Fprint(m.out, "\x1b[H\x1b[2J")
}

// draw replaces the drawn lines.
func (m *menu) draw(fit []entry) {
	m.resize()
	m.first = max(min(m.first, m.at, max(len(fit)-m.height, 0)), m.at-m.height+1, 0)
	lines := []string{fmt.Sprintf("%s (arrow keys, Return; type to search): %s", m.title, m.typed)}
	for i, e := range fit[m.first:min(m.first+m.height, len(fit))] {
		mark := "  "
		if m.first+i == m.at {
			mark = "> "
		}
		lines = append(lines, mark+strings.TrimSpace(cli.Plain(e.name+"  "+e.more)))
	}
	switch rest := len(fit) - m.height; {
	case rest > 0:
		lines = append(lines, fmt.Sprintf("  %d of %d", m.at+1, len(fit)))
	case len(fit) == 0 && m.other:
		lines = append(lines, "  Not in the list. Return takes it as it is.")
	case len(fit) == 0:
		lines = append(lines, "  Not in the list.")
	}
	m.clear()
	for i, line := range lines {
		if i > 0 {
			fmt.Fprint(m.out, "\r\n")
		}
		fmt.Fprint(m.out, cut(line, m.width-1))
	}
	m.drawn = len(lines)
}

// clear removes the drawn lines.
func (m *menu) clear() {
	if m.drawn > 1 {
		fmt.Fprintf(m.out, "\x1b[%dA", m.drawn-1)
	}
	if m.drawn > 0 {
		fmt.Fprint(m.out, "\r\x1b[J")
	}
	m.drawn = 0
}

// cut shortens a line to a number of columns. Letters of some scripts take two.
func cut(line string, columns int) string {
	for i, r := range line {
		if columns--; r >= 0x1100 {
			columns--
		}
		if columns < 0 {
			return line[:i]
		}
	}
	return line
}

// sequences are the terminals' texts for keys, without the first byte.
var sequences = map[string]string{
	"[A": "up", "OA": "up", "[B": "down", "OB": "down", "[5~": "page up", "[6~": "page down", "[H": "home", "OH": "home", "[1~": "home",
	"[F": "end", "OF": "end", "[4~": "end",
}

// key reads a key: its name, or the letter. If it does not know the key, it returns "".
func (m *menu) key() (string, error) {
	r, _, err := m.in.ReadRune()
	if err != nil {
		return "", err
	}
	switch r {
	case '\r', '\n':
		return "return", nil
	case 3:
		return "ctrl-c", nil
	case 4:
		return "", io.EOF
	case 0x7f, '\b':
		return "backspace", nil
	case 21: // Ctrl-U
		return "clear", nil
	case 16: // Ctrl-P
		return "up", nil
	case 14: // Ctrl-N
		return "down", nil
	case 0x1b:
		return m.sequence(), nil
	}
	return string(r), nil
}

// sequence reads the rest of a key after Escape. A single Escape clears the typed text.
func (m *menu) sequence() string {
	if m.in.Buffered() == 0 {
		return "clear"
	}
	text := ""
	for m.in.Buffered() > 0 && len(text) < 8 {
		c, _ := m.in.ReadByte() // it is buffered
		text += string(rune(c))
		if len(text) > 1 && (c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '~') {
			break
		}
	}
	return sequences[text]
}

// providerEntries returns the menu of providers.
func providerEntries(names []string) []entry {
	all := make([]entry, len(names))
	for i, name := range names {
		all[i].name = name
	}
	if i := slices.Index(names, "custom"); i >= 0 {
		all[i].more = "any endpoint with OpenAI's Chat Completions"
	}
	return all
}
