package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	outputLimit = 50_000  // characters of output for a script
	modelLimit  = 26_000  // characters of output for a model
	modelTokens = 7_600   // estimated tokens of output for a model
	modelBytes  = 29_000  // bytes of output for a model, as JSON
	fullLimit   = 5 << 20 // bytes of a whole output stored in a file
	liveTail    = 4000    // characters shown while it runs
)

// capture keeps the output of a command in bounded memory: all of it up to a limit, then the
// head and the tail. If the middle is cut, the whole output goes to a file in dir, if set.
type capture struct {
	dir   string
	limit int // characters to keep; of longer output, two fifths come from its beginning

	textMu sync.Mutex
	plain  *tools.PlainText
	head   []byte // at most limit characters; two fifths of limit once more came
	tail   []byte // the end of the later text
	chars  int    // all characters received
	inTail int    // characters in tail
	lines  int
	file   *os.File
	filed  int
}

func newCapture(dir string, limit int, secrets *tools.Secrets) *capture {
	c := &capture{dir: dir, limit: limit}
	c.plain = tools.NewPlainText(secrets, c.add)
	return c
}

// Write stores output. It never fails.
func (c *capture) Write(b []byte) (int, error) {
	c.textMu.Lock()
	defer c.textMu.Unlock()
	return c.plain.Write(b)
}

// add takes plain text. Its caller holds textMu.
func (c *capture) add(text []byte) {
	n := utf8.RuneCount(text)
	c.lines += bytes.Count(text, []byte("\n"))
	if c.chars+n <= c.limit {
		c.head = append(c.head, text...)
		c.chars += n
		return
	}
	if c.chars <= c.limit {
		c.split()
	}
	c.chars += n
	c.keep(text)
	c.tail, c.inTail = append(c.tail, text...), c.inTail+n
	if keep := c.tailLimit(); c.inTail > 2*keep {
		c.tail, c.inTail = append(c.tail[:0], lastChars(c.tail, keep)...), keep
	}
}

// headLimit and tailLimit are how many characters of each end are kept.
func (c *capture) headLimit() int { return c.limit * 2 / 5 }
func (c *capture) tailLimit() int { return c.limit - c.headLimit() }

// split is when the limit is passed: the head's end becomes the tail's beginning.
func (c *capture) split() {
	c.openFile()
	c.keep(c.head)
	cut := len(firstChars(c.head, c.headLimit()))
	c.tail = append(make([]byte, 0, 2*c.tailLimit()), c.head[cut:]...)
	c.inTail = utf8.RuneCount(c.tail)
	c.head = c.head[:cut]
}

func (c *capture) openFile() {
	if c.dir == "" || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	c.file, _ = os.CreateTemp(c.dir, "terminal-*.txt")
}

// keep writes to the file, up to its limit. If a write fails, the file is abandoned.
func (c *capture) keep(text []byte) {
	if c.file == nil || c.filed >= fullLimit {
		return
	}
	text = text[:min(len(text), fullLimit-c.filed)]
	c.filed += len(text)
	if _, err := c.file.Write(text); err != nil {
		c.giveUp()
	}
}

func (c *capture) giveUp() {
	c.file.Close()           // it failed already
	os.Remove(c.file.Name()) // nothing better to do
	c.file = nil
}

// finish ends the stream. It returns the text for the model and the file with the whole output, if
// any.
func (c *capture) finish() (output, full string) {
	c.textMu.Lock()
	defer c.textMu.Unlock()
	c.plain.Close()
	output = c.text()
	if c.limit == modelLimit && (tools.TokensInJSON(output) > modelTokens || tools.Size(output) > modelBytes) {
		if c.chars <= c.limit {
			c.openFile()
			c.keep(c.head)
		}
		output = shortenDense(output)
	}
	if c.file != nil {
		full = c.file.Name()
		if err := c.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			os.Remove(full) // nothing better to do
			full = ""
		}
		c.file = nil
	}
	return output, full
}

// shortenDense removes more of the middle from an output with unusually many tokens or escapes.
func shortenDense(output string) string {
	for limit := len(output); tools.TokensInJSON(output) > modelTokens || tools.Size(output) > modelBytes; {
		limit = limit * 9 / 10
		output = tools.CutMiddle(output, limit)
	}
	return output
}

// live returns the end of the output so far, and its total length.
func (c *capture) live() (end string, lines, chars int) {
	c.textMu.Lock()
	defer c.textMu.Unlock()
	all := c.tail
	if c.chars <= c.limit {
		all = c.head
	}
	end = string(lastChars(all, liveTail)) + string(c.plain.Pending())
	return end, c.lines, c.chars + len(c.plain.Pending())
}

func (c *capture) text() string {
	if c.chars <= c.limit {
		return string(c.head)
	}
	end := lastChars(c.tail, c.tailLimit())
	out := c.chars - utf8.RuneCount(c.head) - min(c.inTail, c.tailLimit())
	return fmt.Sprintf("%s\n[output truncated: %d characters left out]\n%s", c.head, out, end)
}

// firstChars and lastChars are at most n characters of an end of text.
func firstChars(text []byte, n int) []byte {
	i := 0
	for ; n > 0 && i < len(text); n-- {
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	return text[:i]
}

func lastChars(text []byte, n int) []byte {
	i := len(text)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:i])
		i -= size
	}
	return text[i:]
}
