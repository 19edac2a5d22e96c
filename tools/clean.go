package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// cleaned removes secrets, escape sequences and other control characters, which can control a
// terminal. It is advisory: it catches accidents, but encoded text passes.
//
// For the model, file text keeps its control characters: they have no effect in JSON, and an edit
// must contain them. Text from servers, plugins and pages also loses marks that set the text
// direction.
func (s *Set) cleaned(t Tool, r Result) Result {
	switch {
	case t.outside():
		r.JSON = changeJSON(r.JSON,
			func(part []byte) bool { return suspicious(part) || directed(part) || s.Secrets.inJSON(part) },
			func(text string) string { return s.Secrets.Hide(Outside(text)) })
		r.Shown = undirected(r.Shown)
	case t.Kind == KindRead, t.Kind == KindEdit, t.Kind == KindSearch:
		r.JSON = changeJSON(r.JSON, s.Secrets.inJSON, s.Secrets.Hide)
	default:
		r.JSON = cleanJSON(r.JSON, s.Secrets)
	}
	r.Shown = cleanShown(r.Shown, s.Secrets)
	return r
}

// outside reports whether results of a tool have texts of a server, a plugin or a page.
func (t Tool) outside() bool { return t.Foreign || t.Group != nil || t.Kind == KindFetch }

// undirected returns contents without marks of text direction. It does not modify shown.
func undirected(shown []Content) []Content {
	out := slices.Clone(shown)
	for i := range out {
		out[i].Text = Outside(out[i].Text)
	}
	return out
}

// Outside cleans text from a server, a plugin, a hook, a page or a model's question. It removes
// control characters, marks of text direction, and invisible characters. These could hide text,
// show the model something else than the user, or fill a clipboard.
func Outside(text string) string {
	if strings.IndexFunc(text, control) >= 0 {
		text = StripControl(text)
	}
	text = escape.Visible(text)
	if strings.IndexFunc(text, direction) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if direction(r) {
			return -1
		}
		return r
	}, text)
}

// OutsideJSON does the work of [Outside] in the strings of a JSON value.
func OutsideJSON(value json.RawMessage) json.RawMessage {
	return changeJSON(value, func(part []byte) bool { return suspicious(part) || directed(part) }, Outside)
}

func direction(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// directed is a fast check for marks of text direction or invisible characters in JSON: U+061C,
// U+200E to U+2069, or the tag characters.
func directed(value []byte) bool {
	return bytes.Contains(value, []byte("\xf3\xa0")) || bytes.Contains(value, []byte(`\udb4`)) || bytes.Contains(value, []byte(`\uDB4`)) || bytes.Contains(value, []byte("\xef\xbb\xbf")) ||
		bytes.Contains(value, []byte(`\u20`)) || bytes.Contains(value, []byte(`\u06`)) || bytes.Contains(value, []byte("\u061c")) ||
		bytes.Contains(value, []byte("\xe2\x80")) || bytes.Contains(value, []byte("\xe2\x81"))
}

// watched returns an env for a tool. Its Progress shows cleaned content only.
func (s *Set) watched(t Tool, env *Env) *Env {
	if env.Progress == nil {
		return env
	}
	lent, show := *env, env.Progress
	lent.Progress = func(p Progress) {
		if t.outside() {
			p.Message, p.Line, p.Shown = Outside(p.Message), Outside(p.Line), undirected(p.Shown)
		}
		p.Message, p.Line = cleanText(p.Message, s.Secrets), cleanText(p.Line, s.Secrets)
		p.Shown = cleanShown(p.Shown, s.Secrets)
		show(p)
	}
	return &lent
}

// cleanShown does not modify its arguments: a tool may still hold them.
func cleanShown(shown []Content, secrets *Secrets) []Content {
	var out []Content
	for i, c := range shown {
		changed := c
		changed.Text = cleanText(c.Text, secrets)
		if c.Diff != nil {
			changed.Diff = hideInDiff(c.Diff, secrets)
		}
		if c.Inner != nil {
			if args := cleanJSON(c.Inner.Arguments, secrets); !bytes.Equal(args, c.Inner.Arguments) {
				inner := *c.Inner
				inner.Arguments = args
				changed.Inner = &inner
			}
		}
		if changed == c {
			continue
		}
		if out == nil {
			out = append([]Content(nil), shown...)
		}
		out[i] = changed
	}
	if out == nil {
		return shown
	}
	return out
}

// hideInDiff keeps control characters, because the file contains them.
func hideInDiff(d *Diff, secrets *Secrets) *Diff {
	changed := *d
	changed.New = secrets.Hide(d.New)
	if d.Old != nil {
		if old := secrets.Hide(*d.Old); old != *d.Old {
			changed.Old = &old
		}
	}
	if changed == *d {
		return d
	}
	return &changed
}

func cleanText(s string, secrets *Secrets) string {
	if strings.IndexFunc(s, control) >= 0 {
		s = StripControl(s)
	}
	return secrets.Hide(s)
}

// cleanJSON cleans the strings of a JSON value and leaves the rest unchanged.
func cleanJSON(value json.RawMessage, secrets *Secrets) json.RawMessage {
	return changeJSON(value,
		func(part []byte) bool { return suspicious(part) || secrets.inJSON(part) },
		func(s string) string { return cleanText(s, secrets) })
}

// changeJSON applies change to each string of a JSON value for which concerns returns true.
func changeJSON(value json.RawMessage, concerns func([]byte) bool, change func(string) string) json.RawMessage {
	if !concerns(value) {
		return value
	}
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); {
		if value[i] != '"' {
			out = append(out, value[i])
			i++
			continue
		}
		end := stringEnd(value, i)
		quoted := value[i:end]
		if concerns(quoted) {
			quoted = changeQuoted(quoted, change)
		}
		out = append(out, quoted...)
		i = end
	}
	return out
}

// stringEnd returns the end of the JSON string at i.
func stringEnd(value []byte, i int) int {
	for i++; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(value)
}

func changeQuoted(quoted []byte, change func(string) string) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	changed := change(s)
	if changed == s {
		return quoted
	}
	out, err := Marshal(changed)
	if err != nil {
		return quoted
	}
	return out
}

// suspicious is a fast check for control characters in JSON. Most results contain none and cost
// only this check.
func suspicious(value []byte) bool {
	if bytes.Contains(value, []byte(`\u00`)) || bytes.Contains(value, []byte(`\b`)) || bytes.IndexByte(value, 0x7f) >= 0 {
		return true
	}
	for rest := value; ; { // C1, in UTF-8 C2 80 to C2 9F
		i := bytes.IndexByte(rest, 0xc2)
		if i < 0 || i+1 == len(rest) {
			return false
		}
		if rest = rest[i+1:]; rest[0] < 0xa0 {
			return true
		}
	}
}

// control reports whether no text needs r. A form feed separates pages of source code.
func control(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' || r >= 0x7f && r < 0xa0
}

// WithoutControls returns a model's text without control characters and without characters that
// reorder text. They could hide a question, fill the clipboard of a terminal, or show the text in
// another order. Some editors treat a lone carriage return as a line end, or reject NUL. Line feeds
// and tabs stay, and the marks of right-to-left scripts, which order only their neighbors.
func WithoutControls(s string) string {
	drop := func(r rune) bool { return r == '\r' || r == '\f' || control(r) || reorders(r) }
	if !strings.ContainsFunc(s, drop) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if drop(r) {
			return -1
		}
		return r
	}, s)
}

// reorders reports whether r embeds, overrides or isolates the direction of the text behind it.
func reorders(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// StripControl removes escape sequences and other control characters from text. Unlike
// [PlainText], it changes nothing else.
func StripControl(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == 0x1b || r >= 0x90 && r < 0xa0:
			s = s[sequence(s):]
			continue
		case !control(r):
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// sequence returns the length of the escape sequence at the start of s.
func sequence(s string) int {
	kind, i := utf8.DecodeRuneInString(s)
	if kind == 0x1b {
		for i < len(s) && s[i] >= ' ' && s[i] <= '/' { // ESC ( B and its kind
			i++
		}
		if i == len(s) || s[i] < ' ' || s[i] >= 0x7f {
			return i
		}
		kind = rune(s[i]) + 0x40 // ESC [ is C1's CSI, and so on
		i++
	}
	switch kind {
	case 0x9b: // CSI, up to its final byte
		for i < len(s) && s[i] >= ' ' && s[i] < 0x40 {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] < 0x7f {
			i++
		}
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // a string, up to BEL or ST; a line's end breaks it off
		for i < len(s) && s[i] != '\n' && s[i] != '\r' {
			switch {
			case s[i] == 0x07:
				return i + 1
			case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
				return i + 2
			}
			i++
		}
	}
	return i
}
