package transcript

import "strings"

// mostNested is the maximum number of Markdown blocks opened by a line. Editors' parsers set
// such limits: Neovim's aborts at 256 open blocks.
const mostNested = 100

// Nesting limits how deeply the quotes and lists of a Markdown text are nested. The zero
// value is at the start of a line.
type Nesting struct {
	text  bool // after the block prefix
	mark  bool // the prefix contains a sign
	depth int  // maximum depth of the prefix, in halves
	last  byte
}

// Add returns the next piece of a text. If a line opens more than mostNested blocks, Add puts a
// backslash before the next sign, so it opens nothing.
func (n *Nesting) Add(piece string) string {
	var out strings.Builder
	from := 0
	for i := range len(piece) {
		if n.opens(piece[i]) {
			out.WriteString(piece[from:i])
			out.WriteByte('\\')
			from = i
		}
	}
	if out.Len() == 0 {
		return piece
	}
	out.WriteString(piece[from:])
	return out.String()
}

// opens takes the next byte, and reports whether it opens one block more than allowed. A list
// level needs a sign, or two columns in the lines below it.
func (n *Nesting) opens(c byte) bool {
	if c == '\n' {
		*n = Nesting{}
		return false
	}
	if n.text {
		return false
	}
	listed := strings.IndexByte("-+*.)", n.last) >= 0
	switch {
	case c == '>':
		n.mark, n.depth = true, n.depth+2
	case c == ' ':
		n.depth++
	case c == '\t':
		n.depth += 4
	case strings.IndexByte("-+*.)0123456789", c) < 0:
		n.text = true
		return false
	}
	if listed && (c == ' ' || c == '\t') {
		n.mark, n.depth = true, n.depth+2
	}
	n.last = c
	n.text = n.mark && n.depth > 2*mostNested
	return n.text
}
