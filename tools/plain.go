package tools

// PlainText is a writer that turns what a program wrote for a terminal into the
// text that stays on the screen: escape sequences are gone, a line that was
// rewritten is there once, what is no UTF-8 is U+FFFD, and secrets are hidden. Its
// memory is bounded.
type PlainText struct{ text plainText }

// NewPlainText returns one that gives the text to out, in whole characters. out
// must not keep what it is given. One line may be held back until Close.
func NewPlainText(secrets *Secrets, out func(text []byte)) *PlainText {
	return &PlainText{text: plainText{out: out, hide: secrets}}
}

// Write takes the next bytes. It never fails.
func (p *PlainText) Write(b []byte) (int, error) { return p.text.Write(b) }

// Pending is what is held back: a line that may still be rewritten.
func (p *PlainText) Pending() []byte { return p.text.line }

// Close gives out what was held back.
func (p *PlainText) Close() { p.text.Close() }
