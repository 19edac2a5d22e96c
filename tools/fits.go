package tools

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// fitsAsIs reports, in one pass, whether args are an object of plain values that fit schema without
// correction. Nearly all arguments do. False means only that fit must check them.
func fitsAsIs(schema *jsonschema.Schema, args []byte) bool {
	p := plainReader{src: args}
	var seen [16]string
	given := seen[:0]
	if !p.skip('{') {
		return false
	}
	for first := true; !p.skip('}'); first = false {
		if !first && !p.skip(',') {
			return false
		}
		name, ok := p.text()
		if !ok || !p.skip(':') || len(given) == cap(given) {
			return false
		}
		sub := schema.Properties[string(name)]
		if sub == nil || !p.value(sub) {
			return false
		}
		given = append(given, string(name))
	}
	for _, name := range schema.Required {
		if !slices.Contains(given, name) {
			return false
		}
	}
	for i, name := range given {
		if slices.Contains(given[:i], name) {
			return false
		}
	}
	return p.space() == len(p.src)
}

// plainReader reads JSON without nesting.
type plainReader struct {
	src []byte
	pos int
}

// space skips white space.
func (p *plainReader) space() int {
	for p.pos < len(p.src) && (p.src[p.pos] == ' ' || p.src[p.pos] == '\n' || p.src[p.pos] == '\t' || p.src[p.pos] == '\r') {
		p.pos++
	}
	return p.pos
}

func (p *plainReader) skip(c byte) bool {
	if p.space() == len(p.src) || p.src[p.pos] != c {
		return false
	}
	p.pos++
	return true
}

// value reads a value allowed by schema.
func (p *plainReader) value(schema *jsonschema.Schema) bool {
	if len(schema.Types) > 0 || len(schema.Enum) > 0 || p.space() == len(p.src) {
		return false
	}
	switch c := p.src[p.pos]; {
	case c == '"':
		_, ok := p.text()
		return ok && schema.Type == "string"
	case c == 't':
		return p.word("true") && schema.Type == "boolean"
	case c == 'f':
		return p.word("false") && schema.Type == "boolean"
	default:
		return p.integer() && (schema.Type == "integer" || schema.Type == "number")
	}
}

func (p *plainReader) word(w string) bool {
	if len(p.src)-p.pos < len(w) || string(p.src[p.pos:p.pos+len(w)]) != w {
		return false
	}
	p.pos += len(w)
	return true
}

// integer reads a decimal integer of at most nine digits without a leading zero.
func (p *plainReader) integer() bool {
	begin := p.pos
	for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
		p.pos++
	}
	digits := p.pos - begin
	return digits > 0 && digits < 10 && (digits == 1 || p.src[begin] != '0') &&
		(p.pos == len(p.src) || p.src[p.pos] != '.' && p.src[p.pos] != 'e' && p.src[p.pos] != 'E')
}

// text reads a string and returns its raw text between the quotes.
func (p *plainReader) text() (quoted []byte, ok bool) {
	if !p.skip('"') {
		return nil, false
	}
	for i := p.pos; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			quoted = p.src[p.pos:i]
			p.pos = i + 1
			return quoted, true
		case c < ' ':
			return nil, false
		case c == '\\':
			if i++; i == len(p.src) || !plainEscape(p.src[i]) {
				return nil, false
			}
		}
	}
	return nil, false
}

// plainEscape accepts the escapes without digits.
func plainEscape(c byte) bool {
	switch c {
	case 'n', 't', 'r', 'b', 'f', '"', '\\', '/':
		return true
	}
	return false
}
