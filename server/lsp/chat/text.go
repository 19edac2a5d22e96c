package chat

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// The headings of a chat document, each on a separate line.
const (
	HeadingYou    = "## You"
	headingHermes = "## Hermes"
)

// Text is the text of a chat document, and the position at which the answer grows. The
// position moves with the edits of the user. A Text knows no editor: it receives the changes
// of the document, and returns insertions.
type Text struct {
	mu      sync.Mutex
	text    []byte
	version int32
	open    bool // the editor holds it; else it is a file
	at      int  // where the answer goes on
	pending string
	overdue bool          // pending has been applied, and its change is late
	landed  chan struct{} // closed when pending has come back as a change
	gone    chan struct{} // closed when it will not
}

// Opened records that the editor has opened the document, perhaps with another text.
func (c *Text) Opened(version int32, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow(change{0, len(c.text), text})
	c.version, c.open = version, true
}

// Closed records that the document is a file again. The next piece also writes unsaved changes.
func (c *Text) Closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	c.giveUp()
}

// giveUp drops the pending piece. The caller holds the lock.
func (c *Text) giveUp() {
	if c.landed != nil {
		close(c.gone)
		c.pending, c.landed, c.overdue = "", nil, false
	}
}

// Changed applies changes of the editor.
func (c *Text) Changed(version int32, changes []workspace.Change, enc textenc.Encoding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		start, end := 0, len(c.text)
		if ch.Range != nil {
			start = textenc.Offset(c.text, ch.Range.Start, enc)
			end = max(start, textenc.Offset(c.text, ch.Range.End, enc))
		}
		c.follow(change{start, end, []byte(ch.Text)})
	}
	c.version = version
	if c.overdue && !c.find() {
		c.giveUp()
	}
}

// late records that the editor has applied the pending piece but not sent its change. The next
// change contains it, perhaps together with others; otherwise the piece is lost.
func (c *Text) late() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overdue = c.pending != "" && !c.find()
}

// find looks for the pending piece right after the position. The caller holds the lock.
func (c *Text) find() bool {
	i := bytes.Index(c.text[c.at:], []byte(c.pending))
	if i < 0 || normalized(string(c.text[c.at:c.at+i])) != "" {
		return false
	}
	c.at += i + len(c.pending)
	c.finishPending()
	return true
}

// change replaces [start, end) by text.
type change struct {
	start, end int
	text       []byte
}

// follow applies a change and moves the position with it.
func (c *Text) follow(ch change) {
	before := c.text
	after := make([]byte, 0, len(before)-(ch.end-ch.start)+len(ch.text))
	after = append(append(append(after, before[:ch.start]...), ch.text...), before[ch.end:]...)
	c.text = after
	if c.ours(before, after) {
		c.at = len(after) - (len(before) - c.at)
		c.finishPending()
		return
	}
	ch = ch.trim(before)
	switch {
	case c.at <= ch.start: // text typed right at the position comes after it
	case c.at == ch.end && blank(before[ch.start:ch.end]): // also if it replaces spaces
		c.at = ch.start
	case c.at >= ch.end:
		c.at += len(ch.text) - (ch.end - ch.start)
	default:
		c.at = ch.start
	}
}

// ours reports whether a change is the sent insertion, in any form in which an editor may report
// it.
func (c *Text) ours(before, after []byte) bool {
	if c.pending == "" || !bytes.HasPrefix(after, before[:c.at]) || !bytes.HasSuffix(after, before[c.at:]) {
		return false
	}
	if len(after) <= len(before) {
		return false
	}
	inserted := after[c.at : len(after)-(len(before)-c.at)]
	return normalized(string(inserted)) == normalized(c.pending)
}

// normalized removes differences that editors make: line ends, and spaces at the ends.
func normalized(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
}

// trim removes the unchanged text at both ends of a change.
func (ch change) trim(before []byte) change {
	old := before[ch.start:ch.end]
	for len(old) > 0 && len(ch.text) > 0 && old[0] == ch.text[0] {
		old, ch.text, ch.start = old[1:], ch.text[1:], ch.start+1
	}
	for len(old) > 0 && len(ch.text) > 0 && old[len(old)-1] == ch.text[len(ch.text)-1] {
		old, ch.text, ch.end = old[:len(old)-1], ch.text[:len(ch.text)-1], ch.end-1
	}
	return ch
}

func blank(text []byte) bool { return len(bytes.Trim(text, " \t")) == 0 }

// finishPending records that the pending insertion has arrived as a change.
func (c *Text) finishPending() {
	c.pending, c.overdue = "", false
	if c.landed != nil {
		close(c.landed)
		c.landed = nil
	}
}

// insertion is a piece during its insertion.
type insertion struct {
	doc    workspace.Document // before the piece
	at     int
	open   bool
	landed <-chan struct{}
	gone   <-chan struct{}
}

// with returns the text of the document with the piece.
func (in insertion) with(piece string) []byte {
	return slices.Concat(in.doc.Text[:in.at], []byte(piece), in.doc.Text[in.at:])
}

// insert returns where a piece goes now. If the document is open, send the piece to the
// editor; it is in the document when landed is closed. If not, write the file and call wrote.
func (c *Text) insert(path, piece string) insertion {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := insertion{at: c.at, open: c.open}
	if c.open {
		c.pending, c.landed, c.gone = piece, make(chan struct{}), make(chan struct{})
		in.landed, in.gone = c.landed, c.gone
	}
	in.doc = workspace.Document{Path: path, Version: c.version, Text: c.text}
	return in
}

// wrote records that a piece is in the file. If the editor has opened the document without the
// piece since, it returns false, and the caller must insert the piece there, too.
func (c *Text) wrote(in insertion, piece string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := in.with(piece)
	if c.open && !bytes.Equal(c.text, now) {
		return false
	}
	c.text, c.at = now, in.at+len(piece)
	return true
}

// missed records that a piece was not inserted.
func (c *Text) missed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending, c.landed, c.overdue = "", nil, false
}

// step moves the position back, before bytes that belong after it.
func (c *Text) step(back int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = max(0, c.at-back)
}

// begin sets the position for the next answer, and returns the text before and after it. If shown
// is not empty, it is a prompt missing in the document. Then head contains it, and precedes the
// prompt that the user is writing.
func (c *Text) begin(shown string) (head, tail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = len(c.text)
	tail = "\n\n" + HeadingYou + "\n"
	if shown == "" {
		return gap(c.text) + headingHermes + "\n\n", tail
	}
	start, draft, ok := lastPrompt(c.text)
	exchange := EscapeHeadings(strings.TrimSpace(shown)) + "\n\n" + headingHermes + "\n\n"
	switch {
	case !ok:
		return gap(c.text) + HeadingYou + "\n\n" + exchange, tail
	case strings.TrimSpace(draft) == "":
		return gap(c.text) + exchange, tail
	}
	c.at = start
	return HeadingYou + "\n\n" + exchange, "\n"
}

// gap returns the line ends between text and a block after it.
func gap(text []byte) string {
	body := bytes.ReplaceAll(text[max(0, len(text)-4):], []byte("\r"), nil)
	switch {
	case len(body) == 0 || bytes.HasSuffix(body, []byte("\n\n")):
		return ""
	case bytes.HasSuffix(body, []byte("\n")):
		return "\n"
	}
	return "\n\n"
}

func (c *Text) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// reset sets the text of the file. The position moves with the difference.
func (c *Text) reset(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow(change{0, len(c.text), text})
}

// end returns an insertion at the end of the document.
func (c *Text) end(path string) insertion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return insertion{doc: workspace.Document{Path: path, Version: c.version, Text: c.text}, at: len(c.text), open: c.open}
}

// draft returns the text after the position, which the user has written during an answer.
func (c *Text) draft() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(string(c.text[c.at:]))
}

// snapshot returns the text.
func (c *Text) snapshot() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

// lastPrompt returns the start of the last line “## You” and the text after it.
func lastPrompt(text []byte) (start int, prompt string, ok bool) {
	start = -1
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if string(bytes.TrimRight(text[at:end], " \t\r\n")) == HeadingYou {
			start, prompt = at, string(text[end:])
		}
		at = end
	}
	return max(start, 0), prompt, start >= 0
}

// PromptLine returns the line of the last “## You”, from 0.
func PromptLine(text []byte) (uint32, bool) {
	start, _, ok := lastPrompt(text)
	return uint32(bytes.Count(text[:start], []byte("\n"))), ok
}

// unfinished reports whether a prompt contains an answer, which was cut off.
func unfinished(prompt string) bool {
	for line := range strings.Lines(prompt) {
		if strings.TrimRight(line, " \t\r\n") == headingHermes {
			return true
		}
	}
	return false
}

// EscapeHeadings escapes lines of text if they look like a heading of the chat or open too many
// nested blocks.
func EscapeHeadings(text string) string {
	var b strings.Builder
	var nesting transcript.Nesting
	for line := range strings.Lines(text) {
		if bare := strings.TrimRight(line, " \t\r\n"); bare == HeadingYou || bare == headingHermes {
			b.WriteByte('\\')
		}
		b.WriteString(nesting.Add(line))
	}
	return b.String()
}
