package tools

// PlainText is a writer that converts terminal output to the text that stays on the screen.
// It removes escape sequences, keeps the last state of a rewritten line, replaces invalid
// UTF-8 by U+FFFD, and redacts secrets. Its memory is bounded.
type PlainText struct{ text plainText }

// NewPlainText returns a writer that passes the text to out in whole characters. out must
// not keep its argument. One line may be held until Close.
func NewPlainText(secrets *Secrets, out func(text []byte)) *PlainText {
	return &PlainText{text: plainText{out: out, hide: secrets}}
}

// Write takes the next bytes. It never fails.
func (p *PlainText) Write(b []byte) (int, error) { return p.text.Write(b) }

// Pending returns the line that may still be rewritten.
func (p *PlainText) Pending() []byte { return p.text.line }

// Close writes the pending line.
func (p *PlainText) Close() { p.text.Close() }
