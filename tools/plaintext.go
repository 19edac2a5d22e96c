package tools

import (
	"bytes"
	"unicode/utf8"
)

// plainText converts terminal output to the text left on the screen. It removes escape sequences
// (so no OSC 52 reaches a clipboard), keeps the last state of a line rewritten after a carriage
// return, replaces invalid UTF-8 by U+FFFD, and redacts secrets. It works on a stream, in bounded
// memory.
type plainText struct {
	out   func(text []byte) // takes whole characters; must not keep text
	hide  *Secrets
	line  []byte // the last line so far: it may still be rewritten
	cr    bool   // a carriage return came; the next character starts the line again
	state textState
	left  []byte // the start of a character cut at the end of a write
}

type textState int

const (
	inText         textState = iota
	inEscape                 // after ESC
	inCSI                    // ESC [ …, up to its final byte
	inString                 // ESC ] … and the like, up to BEL or ST
	inStringEscape           // after ESC within it
)

// longLine is how much of a line is kept back; beyond it, it is not rewritten.
const longLine = 16 << 10

// Write takes the next bytes. It never fails.
func (p *plainText) Write(b []byte) (int, error) {
	n := len(b)
	if len(p.left) > 0 {
		b = append(p.left, b...)
		p.left = nil
	}
	for len(b) > 0 {
		if p.state == inText {
			if run := printable(b); run > 0 {
				p.print(b[:run])
				b = b[run:]
				continue
			}
		}
		if !utf8.FullRune(b) {
			p.left = bytes.Clone(b)
			break
		}
		r, size := utf8.DecodeRune(b)
		p.step(r, b[:size])
		b = b[size:]
	}
	return n, nil
}

// Close writes the rest of the text.
func (p *plainText) Close() {
	if len(p.left) > 0 && p.state == inText {
		p.print([]byte("\uFFFD"))
	}
	p.left = nil
	p.flush()
}

// printable returns the length of the plain ASCII at the start of b, which is nearly all of it.
func printable(b []byte) int {
	for i, c := range b {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return i
		}
	}
	return len(b)
}

// step processes one character.
func (p *plainText) step(r rune, raw []byte) {
	switch p.state {
	case inText:
		p.text(r, raw)
	case inEscape:
		p.escape(r, raw)
	case inCSI:
		p.csi(r, raw)
	case inString:
		p.str(r, raw)
	case inStringEscape:
		if p.state = inText; r != '\\' {
			p.escape(r, raw)
		}
	}
}

func (p *plainText) text(r rune, raw []byte) {
	switch {
	case r == '\n':
		p.line, p.cr = append(p.line, '\n'), false
		p.flush()
	case r == '\r':
		p.cr = true
	case r == '\b':
		p.back()
	case r == 0x1b:
		p.state = inEscape
	case r == 0x9b: // C1: the same as a single character
		p.state = inCSI
	case r == 0x90 || r == 0x98 || r >= 0x9d && r <= 0x9f:
		p.state = inString
	case r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0: // other controls
	case r == utf8.RuneError && len(raw) == 1:
		p.print([]byte("\uFFFD"))
	default:
		p.print(raw)
	}
}

// escape reads the character after ESC: a short sequence, or the start of a longer sequence.
func (p *plainText) escape(r rune, raw []byte) {
	switch {
	case r == '[':
		p.state = inCSI
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		p.state = inString
	case r >= 0x20 && r <= 0x2f || r == 0x1b: // more to come
		p.state = inEscape
	case r < ' ': // the sequence is incomplete
		p.state = inText
		p.text(r, raw)
	default:
		p.state = inText
	}
}

func (p *plainText) csi(r rune, raw []byte) {
	switch {
	case r == 0x1b:
		p.state = inEscape
	case r < ' ': // the sequence is incomplete
		p.state = inText
		p.text(r, raw)
	case r >= 0x40:
		p.state = inText
	}
}

// str skips a string. The end of the line also ends it: otherwise a stray byte of a binary file
// would swallow all further output.
func (p *plainText) str(r rune, raw []byte) {
	switch r {
	case 0x07, 0x9c, 0x18, 0x1a:
		p.state = inText
	case 0x1b:
		p.state = inStringEscape
	case '\n', '\r':
		p.state = inText
		p.text(r, raw)
	}
}

func (p *plainText) print(text []byte) {
	if p.cr {
		p.line, p.cr = p.line[:0], false
	}
	p.line = append(p.line, text...)
	if len(p.line) > longLine {
		p.flushMost()
	}
}

func (p *plainText) back() {
	if _, size := utf8.DecodeLastRune(p.line); len(p.line) > 0 {
		p.line = p.line[:len(p.line)-size]
	}
}

func (p *plainText) flush() {
	if len(p.line) > 0 {
		p.out(p.hide.hideIn(p.line))
	}
	p.line = p.line[:0]
}

// flushMost writes the line except for its end, which may hold the start of a secret.
func (p *plainText) flushMost() {
	line := p.hide.hideIn(p.line)
	cut := len(line) - p.hide.longest()
	for cut > 0 && cut < len(line) && !utf8.RuneStart(line[cut]) {
		cut--
	}
	if cut <= 0 {
		return
	}
	p.out(line[:cut])
	p.line = append(p.line[:0], line[cut:]...)
}

// PlainText is a writer that converts terminal output to the text left on the screen. It removes
// escape sequences, keeps the last state of a rewritten line, replaces invalid UTF-8 by U+FFFD, and
// redacts secrets. Its memory is bounded.
type PlainText struct{ text plainText }

// NewPlainText returns a writer that passes whole characters to out. out must not keep its
// argument. A line may be held until Close.
func NewPlainText(secrets *Secrets, out func(text []byte)) *PlainText {
	return &PlainText{text: plainText{out: out, hide: secrets}}
}

// Write takes the next bytes. It never fails.
func (p *PlainText) Write(b []byte) (int, error) { return p.text.Write(b) }

// Pending returns the line that may yet be rewritten.
func (p *PlainText) Pending() []byte { return p.text.line }

// Close writes the pending line.
func (p *PlainText) Close() { p.text.Close() }
