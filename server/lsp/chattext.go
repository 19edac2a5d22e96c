package lsp

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// The headings of a chat document, each a line of its own.
const (
	headingYou    = "## You"
	headingHermes = "## Hermes"
)

// chatText is a chat document, and the place in it where the answer grows. The
// place follows whatever the user does to the document meanwhile. It knows no
// editor: it is told of changes, and says what to insert where.
type chatText struct {
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

// opened says that the editor has opened the document, perhaps with other text
// than the last known.
func (c *chatText) opened(version int32, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow(change{0, len(c.text), text})
	c.version, c.open = version, true
}

// closed says that the document is a file again; what was not saved is kept here
// and written with the next piece.
func (c *chatText) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	c.giveUp()
}

// giveUp says that pending does not come any more; the lock is held.
func (c *chatText) giveUp() {
	if c.landed != nil {
		close(c.gone)
		c.pending, c.landed, c.overdue = "", nil, false
	}
}

// changed takes the editor's changes.
func (c *chatText) changed(version int32, changes []workspace.Change, enc textenc.Encoding) {
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

// late says that the edit with pending was applied and that its change is late. The next
// change tells all, perhaps in one with other changes: what is not there then, is lost.
func (c *chatText) late() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overdue = c.pending != "" && !c.find()
}

// find looks for pending right behind the place; the lock is held.
func (c *chatText) find() bool {
	i := bytes.Index(c.text[c.at:], []byte(c.pending))
	if i < 0 || plain(string(c.text[c.at:c.at+i])) != "" {
		return false
	}
	c.at += i + len(c.pending)
	c.land()
	return true
}

// change puts text in the place of [start, end).
type change struct {
	start, end int
	text       []byte
}

// follow applies a change and moves the place with it.
func (c *chatText) follow(ch change) {
	before := c.text
	after := make([]byte, 0, len(before)-(ch.end-ch.start)+len(ch.text))
	after = append(append(append(after, before[:ch.start]...), ch.text...), before[ch.end:]...)
	c.text = after
	if c.ours(before, after) {
		c.at = len(after) - (len(before) - c.at)
		c.land()
		return
	}
	ch = ch.trim(before)
	switch {
	case c.at <= ch.start: // what is typed right at the place comes after it
	case c.at == ch.end && blank(before[ch.start:ch.end]): // so does what takes spaces away with it
		c.at = ch.start
	case c.at >= ch.end:
		c.at += len(ch.text) - (ch.end - ch.start)
	default:
		c.at = ch.start
	}
}

// ours tells whether a change is the insertion that was sent, however the editor
// words it.
func (c *chatText) ours(before, after []byte) bool {
	if c.pending == "" || !bytes.HasPrefix(after, before[:c.at]) || !bytes.HasSuffix(after, before[c.at:]) {
		return false
	}
	if len(after) <= len(before) {
		return false
	}
	inserted := after[c.at : len(after)-(len(before)-c.at)]
	return plain(string(inserted)) == plain(c.pending)
}

// plain makes texts comparable that an editor may have changed in passing: its
// line ends, spaces at the ends.
func plain(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
}

// trim leaves out what a change replaces by itself.
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

func (c *chatText) land() {
	c.pending, c.overdue = "", false
	if c.landed != nil {
		close(c.landed)
		c.landed = nil
	}
}

// insertion is a piece on its way into the document.
type insertion struct {
	doc    workspace.Document // before the piece
	at     int
	open   bool
	landed <-chan struct{}
	gone   <-chan struct{}
}

// with is the document's text with the piece in it.
func (in insertion) with(piece string) []byte {
	return slices.Concat(in.doc.Text[:in.at], []byte(piece), in.doc.Text[in.at:])
}

// insert says where a piece goes now. In an open document it has to be sent to the
// editor, and has got in when landed is closed; in a file it has to be written, and
// wrote then told.
func (c *chatText) insert(path, piece string) insertion {
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

// wrote says that a piece is in the file. It is false when the editor has opened
// the document meanwhile, as it was before: then the piece has to go there too.
func (c *chatText) wrote(in insertion, piece string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := in.with(piece)
	if c.open && !bytes.Equal(c.text, now) {
		return false
	}
	c.text, c.at = now, in.at+len(piece)
	return true
}

// missed says that a piece did not get in.
func (c *chatText) missed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending, c.landed, c.overdue = "", nil, false
}

// step moves the place back over bytes that belong behind it.
func (c *chatText) step(back int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = max(0, c.at-back)
}

// begin finds the place for the next answer, and says what comes before and after
// it. Where the prompt stands in the document already, shown is empty; else the
// prompt is put there too, before whatever the user is just writing.
func (c *chatText) begin(shown string) (head, tail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = len(c.text)
	tail = "\n\n" + headingYou + "\n"
	if shown == "" {
		return gap(c.text) + headingHermes + "\n\n", tail
	}
	start, draft, ok := lastPrompt(c.text)
	exchange := defuse(strings.TrimSpace(shown)) + "\n\n" + headingHermes + "\n\n"
	switch {
	case !ok:
		return gap(c.text) + headingYou + "\n\n" + exchange, tail
	case strings.TrimSpace(draft) == "":
		return gap(c.text) + exchange, tail
	}
	c.at = start
	return headingYou + "\n\n" + exchange, "\n"
}

// gap is what separates a block from the text before.
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

func (c *chatText) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// reset takes up the text of the file; the place follows what has changed.
func (c *chatText) reset(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow(change{0, len(c.text), text})
}

// end is the end of the document.
func (c *chatText) end(path string) insertion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return insertion{doc: workspace.Document{Path: path, Version: c.version, Text: c.text}, at: len(c.text), open: c.open}
}

// draft is the text behind the place: what the user has written while an answer
// was on its way.
func (c *chatText) draft() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(string(c.text[c.at:]))
}

// snapshot is the document as it is known.
func (c *chatText) snapshot() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

// lastPrompt is what stands behind the last “## You”: where that line starts, and
// the text after it.
func lastPrompt(text []byte) (start int, prompt string, ok bool) {
	start = -1
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if string(bytes.TrimRight(text[at:end], " \t\r\n")) == headingYou {
			start, prompt = at, string(text[end:])
		}
		at = end
	}
	return max(start, 0), prompt, start >= 0
}

// promptLine is the line of the last “## You”, from 0.
func promptLine(text []byte) (uint32, bool) {
	start, _, ok := lastPrompt(text)
	return uint32(bytes.Count(text[:start], []byte("\n"))), ok
}

// unfinished tells that a prompt holds an answer: one that was cut off.
func unfinished(prompt string) bool {
	for line := range strings.Lines(prompt) {
		if strings.TrimRight(line, " \t\r\n") == headingHermes {
			return true
		}
	}
	return false
}

// defuse takes from text the power to look like a heading of the chat.
func defuse(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if bare := strings.TrimRight(line, " \t\r\n"); bare == headingYou || bare == headingHermes {
			b.WriteByte('\\')
		}
		b.WriteString(line)
	}
	return b.String()
}
