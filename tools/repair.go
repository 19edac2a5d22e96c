package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// RepairArgs returns the model's arguments as one JSON object. Valid arguments are returned byte
// for byte. Invalid arguments are repaired only if a single reading is possible and no text is
// lost: an empty string, a doubled object, an object inside a string or a code fence, Python's
// literals, trailing commas, raw line breaks inside strings, missing closing brackets at the end.
// Otherwise it returns an error with the problem and its position.
func RepairArgs(args string) (json.RawMessage, error) {
	return repair(args, 3)
}

func repair(args string, depth int) (json.RawMessage, error) {
	text := strings.TrimSpace(strings.TrimPrefix(args, "\ufeff"))
	switch text {
	case "", "null", "None", "undefined":
		return json.RawMessage(`{}`), nil
	}
	if json.Valid([]byte(text)) {
		if text[0] == '{' {
			if json.Valid([]byte(args)) {
				text = args
			}
			return json.RawMessage(text), nil
		}
		return unwrap(text, depth)
	}
	if inner, fenced := unfence(text); fenced && depth > 0 {
		return repair(inner, depth-1)
	}
	if object, ok := undouble(text); ok {
		return object, nil
	}
	return lenient(text)
}

// unwrap extracts the object from another JSON value.
func unwrap(text string, depth int) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		if depth > 0 && strings.HasPrefix(strings.TrimSpace(v), "{") {
			return repair(v, depth-1)
		}
	case []any:
		var one []json.RawMessage
		if json.Unmarshal([]byte(text), &one) == nil && len(one) == 1 && one[0][0] == '{' {
			return one[0], nil
		}
	}
	kind := kindOf(v)
	if _, number := v.(float64); number {
		kind = "number"
	}
	return nil, fmt.Errorf("the arguments must be one JSON object, not %s", article(kind))
}

// unfence takes away ```json … ``` around the whole.
func unfence(text string) (string, bool) {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return "", false
	}
	if tag, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(tag, "{[\"") {
		return strings.TrimSpace(rest), true
	}
	return strings.TrimSpace(strings.TrimPrefix(inner, "json")), true
}

// undouble reads an object sent more than once, or after an empty object.
func undouble(text string) (json.RawMessage, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	var kept json.RawMessage
	for dec.More() {
		var next json.RawMessage
		if dec.Decode(&next) != nil || next[0] != '{' {
			return nil, false
		}
		switch {
		case kept == nil, isEmptyObject(kept):
			kept = next
		case isEmptyObject(next), sameJSON(kept, next):
		default:
			return nil, false
		}
	}
	return kept, kept != nil && dec.InputOffset() == int64(len(text))
}

func isEmptyObject(object json.RawMessage) bool {
	return len(bytes.TrimSpace(object[1:len(object)-1])) == 0
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// lenient reads an object in the spelling of JSON, Python or JavaScript.
func lenient(text string) (json.RawMessage, error) {
	p := &reader{src: text}
	err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err == nil && p.out.Len() > 0 && p.out.Bytes()[0] != '{' {
		err = errors.New("the arguments must be one JSON object")
	}
	var cut *cutError
	if errors.As(err, &cut) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	if !json.Valid(p.out.Bytes()) {
		return nil, errors.New("the arguments are not valid JSON")
	}
	return p.out.Bytes(), nil
}

// cutError is the error for arguments that end too early.
type cutError struct{ within string } // the parameter whose value is cut; "": none

func (e *cutError) Error() string {
	if e.within == "" {
		return "the arguments end too early: they were cut off"
	}
	return fmt.Sprintf("the arguments end within %q: they were cut off", e.within)
}

// reader turns a lenient spelling into JSON.
type reader struct {
	src    string
	pos    int
	out    bytes.Buffer
	within string // the current parameter
}

const maxNesting = 200

// fail is an error at the place i.
func (p *reader) fail(i int, format string, args ...any) error {
	i = min(i, len(p.src))
	line := 1 + strings.Count(p.src[:i], "\n")
	column := 1 + utf8.RuneCountInString(p.src[strings.LastIndexByte(p.src[:i], '\n')+1:i])
	near := OneLine(p.src[max(0, i-20):min(len(p.src), i+10)], 40)
	return fmt.Errorf("%s at line %d, column %d, near %q", fmt.Sprintf(format, args...), line, column, near)
}

// ends returns the error for text that ends too early. Only arguments that begin as an object count
// as cut.
func (p *reader) ends(format string) error {
	if strings.HasPrefix(strings.TrimSpace(p.src), "{") {
		return &cutError{p.within}
	}
	return p.fail(p.pos, "%s", format)
}

func (p *reader) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

// next returns the next byte after white space, or 0 at the end.
func (p *reader) next() byte {
	p.space()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

// end accepts nothing but closing brackets too many.
func (p *reader) end() error {
	for {
		switch p.next() {
		case '}', ']':
			p.pos++
		case 0:
			if p.pos == len(p.src) {
				return nil
			}
			fallthrough
		default:
			return p.fail(p.pos, "there is something after the object")
		}
	}
}

func (p *reader) value(depth int) error {
	if depth > maxNesting {
		return p.fail(p.pos, "it is nested too deeply")
	}
	switch c := p.next(); c {
	case '{':
		seen := map[string]bool{}
		return p.list(depth, '{', '}', func(depth int) error { return p.member(depth, seen) })
	case '[':
		return p.list(depth, '[', ']', p.value)
	case '"', '\'':
		s, err := p.text(c)
		if err != nil {
			return err
		}
		return p.write(s)
	case 0:
		return p.ends("it ends where a value is expected")
	default:
		return p.literal()
	}
}

// list reads the items between brackets. It removes a comma before the closing bracket. It adds a
// missing bracket at the very end if the last item is complete.
func (p *reader) list(depth int, open, shut byte, item func(int) error) error {
	p.pos++
	p.out.WriteByte(open)
	for n := 0; ; n++ {
		if p.next() == shut {
			p.pos++
			break
		}
		if n > 0 {
			p.out.WriteByte(',')
		}
		if err := item(depth + 1); err != nil {
			return err
		}
		switch c := p.next(); {
		case c == ',':
			p.pos++
		case c == shut:
		case p.pos == len(p.src) && strings.IndexByte("}]\"'", p.lastByte()) >= 0:
			p.out.WriteByte(shut)
			return nil
		case p.pos == len(p.src):
			return p.ends("it ends too early, and its last value may be cut")
		default:
			return p.fail(p.pos, "a comma or %q is missing", shut)
		}
	}
	p.out.WriteByte(shut)
	return nil
}

// lastByte returns the last byte before trailing white space.
func (p *reader) lastByte() byte {
	return p.src[len(strings.TrimRight(p.src, " \t\r\n"))-1]
}

func (p *reader) member(depth int, seen map[string]bool) error {
	name, err := p.name()
	if err != nil {
		return err
	}
	if seen[name] {
		return p.fail(p.pos, "%q is given twice", name)
	}
	seen[name] = true
	if depth == 1 {
		p.within = name
	}
	if err := p.write(name); err != nil {
		return err
	}
	if p.next() == 0 {
		return p.ends("a colon is missing")
	}
	if p.next() != ':' {
		return p.fail(p.pos, "a colon is missing")
	}
	p.pos++
	p.out.WriteByte(':')
	return p.value(depth)
}

func (p *reader) name() (string, error) {
	c := p.next()
	if c == '"' || c == '\'' {
		return p.text(c)
	}
	if word := p.word(); word != "" && (word[0] < '0' || word[0] > '9') {
		return word, nil
	}
	if p.next() == 0 {
		return "", p.ends("a parameter's name in quotes is missing")
	}
	return "", p.fail(p.pos, "a parameter's name in quotes is missing")
}

func (p *reader) word() string {
	start := p.pos
	for p.pos < len(p.src) && isWordByte(p.src[p.pos]) {
		p.pos++
	}
	return p.src[start:p.pos]
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *reader) literal() error {
	start := p.pos
	for p.pos < len(p.src) && (isWordByte(p.src[p.pos]) || strings.IndexByte("+-.", p.src[p.pos]) >= 0) {
		p.pos++
	}
	switch word := p.src[start:p.pos]; word {
	case "true", "True":
		p.out.WriteString("true")
	case "false", "False":
		p.out.WriteString("false")
	case "null", "None":
		p.out.WriteString("null")
	default:
		if !json.Valid([]byte(word)) {
			if p.pos == len(p.src) {
				return p.ends("a value is missing or not in quotes")
			}
			return p.fail(start, "a value is missing or not in quotes")
		}
		p.out.WriteString(word)
	}
	return nil
}

// text reads a string. If its quote is not closed, the string may have been cut, and text
// returns an error. It also returns an error if an invalid character follows the string:
// then a quote inside was not escaped, and the end of the string is unknown.
func (p *reader) text(quote byte) (string, error) {
	start := p.pos
	p.pos++
	var b strings.Builder
	escaped, bare := false, -1 // an escape of JSON's was seen; where a backslash stood alone
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; c {
		case quote:
			p.pos++
			if escaped && bare >= 0 {
				return "", p.fail(bare, `a backslash is not escaped (write \\)`)
			}
			if after := p.next(); p.pos < len(p.src) && strings.IndexByte(",:}]", after) < 0 {
				return "", p.fail(p.pos, "a quote inside a string is not escaped, or a comma is missing")
			}
			return b.String(), nil
		case '\\':
			at := p.pos
			kind, err := p.escape(&b)
			if err != nil {
				return "", err
			}
			escaped = escaped || kind == escapeJSON
			if kind == escapeBare && bare < 0 {
				bare = at
			}
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	if strings.HasPrefix(strings.TrimSpace(p.src), "{") {
		return "", &cutError{p.within}
	}
	return "", p.fail(start, "a string is not closed")
}

// escapeKind determines how the other escapes of its string are read: after a JSON escape, a single
// backslash is ambiguous.
type escapeKind int

const (
	escapeQuote escapeKind = iota // \", \' and \/: nothing else can be meant
	escapeJSON                    // \n, \\, \u00e9 …
	escapeBare                    // \d: a backslash without its double
)

func (p *reader) escape(b *strings.Builder) (escapeKind, error) {
	if p.pos+1 == len(p.src) {
		return 0, p.ends("a string is not closed")
	}
	switch c := p.src[p.pos+1]; {
	case strings.IndexByte("\"'/", c) >= 0:
		b.WriteByte(c)
		p.pos += 2
		return escapeQuote, nil
	case c == '\\':
		b.WriteByte(c)
		p.pos += 2
		return escapeJSON, nil
	case strings.IndexByte("ntrbf", c) >= 0:
		b.WriteByte("\n\t\r\b\f"[strings.IndexByte("ntrbf", c)])
		p.pos += 2
		return escapeJSON, nil
	case c == 'u':
		return escapeJSON, p.unicode(b)
	case c < ' ', c >= '0' && c <= '7', strings.IndexByte("xUN", c) >= 0:
		return 0, p.fail(p.pos, "an escape that JSON does not have")
	default:
		b.WriteByte('\\')
		p.pos++
		return escapeBare, nil
	}
}

// unicode reads \uXXXX, and the second half of a pair.
func (p *reader) unicode(b *strings.Builder) error {
	end := p.pos + 6
	if end > len(p.src) {
		return p.ends("an escape is cut")
	}
	if _, err := strconv.ParseUint(p.src[p.pos+2:end], 16, 16); err != nil {
		return p.fail(p.pos, "an escape that JSON does not have")
	}
	if pair := end + 6; pair <= len(p.src) && strings.HasPrefix(p.src[end:], `\u`) {
		var both string
		if json.Unmarshal([]byte(`"`+p.src[p.pos:pair]+`"`), &both) == nil && utf8.RuneCountInString(both) == 1 {
			b.WriteString(both)
			p.pos = pair
			return nil
		}
	}
	var one string
	if err := json.Unmarshal([]byte(`"`+p.src[p.pos:end]+`"`), &one); err != nil {
		return p.fail(p.pos, "an escape that JSON does not have")
	}
	b.WriteString(one)
	p.pos = end
	return nil
}

func (p *reader) write(s string) error {
	data, err := Marshal(s)
	p.out.Write(data)
	return err
}
