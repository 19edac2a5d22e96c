// Package frontmatter reads Markdown files with YAML between two lines "---" at the start. Skills,
// commands and agents are such files.
//
// [Parse] accepts the encodings of [textfile.Decode], and unquoted texts that are invalid YAML,
// which many files contain.
package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Limit is the largest frontmatter in bytes.
const Limit = 16 << 10

// Fields are the values of a frontmatter by name.
type Fields map[string]any

// ErrTooLarge reports a frontmatter larger than Limit.
var ErrTooLarge = errors.New("the frontmatter has more than 16 KB")

// Parse returns the frontmatter and the text after it. If there is no frontmatter, fields are empty.
func Parse(data []byte) (fields Fields, body string, err error) {
	head, body, err := cut(data)
	if err != nil {
		return Fields{}, body, err
	}
	fields = Fields{}
	if strings.TrimSpace(head) == "" {
		return fields, body, nil
	}
	if err = decode(head, &fields); err == nil && fields != nil { // nil: there are only comments
		return fields, body, nil
	}
	fields = Fields{} // decode may have set some
	if err == nil || decode(quoted(head), &fields) == nil {
		return fields, body, nil
	}
	if fields, ok := loose(head); ok {
		return fields, body, nil
	}
	return Fields{}, body, broken(err)
}

// loose reads each field separately. An invalid YAML field is taken as text, with its continuation
// lines, as other programs do. If such a field begins like a list, a mapping or a quoted text, or a
// field occurs twice, loose returns false.
func loose(head string) (Fields, bool) {
	fields := Fields{}
	var name, block string
	add := func() bool {
		if name == "" {
			return strings.TrimSpace(block) == ""
		}
		if _, twice := fields[name]; twice {
			return false
		}
		one := Fields{}
		if decode(block, &one) == nil || decode(quoted(block), &one) == nil {
			fields[name] = one[name]
			return len(one) == 1
		}
		text := strings.Join(strings.Fields(strings.TrimPrefix(block, name+":")), " ")
		fields[name] = text
		if text == "" || opens(text, head) {
			return false
		}
		return !strings.ContainsAny(text[:1], `"'`) || strings.Contains(text[1:], text[:1]) // a quoted word and more
	}
	for line := range strings.Lines(head) {
		next, _, colon := strings.Cut(line, ":")
		if colon && isName(next) && next != "http" && next != "https" {
			if !add() {
				return nil, false
			}
			name, block = next, ""
		}
		block += line
	}
	return fields, add()
}

// isName reports whether a text can be the name of a field.
func isName(name string) bool {
	return name != "" && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z') && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// opens reports whether invalid YAML begins like a list, a mapping, a block, or an alias of head.
// "[a] b", "{a} b" and "*" are texts.
func opens(text, head string) bool {
	switch text[0] {
	case '[', '{':
		end := strings.IndexAny(text, "]}")
		return end < 0 || end == len(text)-1
	case '*':
		return valueBegins(head, "&")
	case '&':
		return valueBegins(head, "*")
	}
	return strings.ContainsAny(text[:1], "|>!")
}

// Check returns an error if the frontmatter is no YAML, also if Parse reads it.
func Check(data []byte) error {
	head, _, err := cut(data)
	if err != nil {
		return err
	}
	if err = decode(head, &Fields{}); err != nil {
		return broken(err)
	}
	return nil
}

func broken(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("the frontmatter is no YAML: %s", line)
}

// cut returns the YAML of the frontmatter and the text after it. If there is no frontmatter, head is empty.
func cut(data []byte) (head, body string, err error) {
	data, err = textfile.Decode(data)
	if err != nil {
		return "", "", err
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	first, rest, ok := strings.Cut(strings.TrimLeft(text, " \t\n"), "\n")
	if !ok || strings.TrimRight(first, " \t") != "---" {
		return "", text, nil
	}
	head, body, ok = cutLine(rest)
	switch {
	case !ok:
		return "", text, errors.New(`the frontmatter has no second line "---"`)
	case len(head) > Limit:
		return "", body, ErrTooLarge
	}
	return head, body, nil
}

func decode(head string, into *Fields) (err error) {
	defer func() {
		if p := recover(); p != nil { // the parser has had panics
			err = fmt.Errorf("%v", p)
		}
	}()
	if strings.ContainsAny(head, "&*") && valueBegins(head, "&*") {
		return errors.New("aliases are not supported")
	}
	return yaml.Unmarshal([]byte(head), into)
}

// valueBegins reports whether a value begins with any of some signs: & of an anchor, or * of an
// alias. Both together can make a small text large.
func valueBegins(head, signs string) bool {
	for line := range strings.Lines(head) {
		_, value, _ := strings.Cut(line, ":")
		if value = strings.TrimLeft(value, " -["); value != "" && strings.ContainsAny(value[:1], signs) {
			return true
		}
	}
	return false
}

// cutLine cuts text around the first "---" line.
func cutLine(text string) (before, after string, found bool) {
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		line, next := text[at:], len(text)
		if end >= 0 {
			line, next = text[at:at+end], at+end+1
		}
		if strings.TrimRight(line, " \t") == "---" {
			return text[:at], text[next:], true
		}
		at = next
	}
	return "", "", false
}

// quoted quotes values that are invalid YAML: with a colon, such as "a: b", or like "[a] [b]" and
// "@a".
func quoted(head string) string {
	var out []string
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\n")
		name, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		open := value == "" || strings.ContainsAny(value[:1], `"'{|>&*!`) || value[0] == '[' && !strings.HasSuffix(value, "]")
		if ok && !open && decode(line, &Fields{}) != nil {
			line = name + `: "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Text returns a value as text. If it is none, Text returns "".
func (f Fields) Text(name string) string {
	switch v := f[name].(type) {
	case string:
		return strings.TrimSpace(v)
	case nil, map[string]any, []any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// Bool returns a value as a bool. If it is none, Bool returns other.
func (f Fields) Bool(name string, other bool) bool {
	switch v := f[name].(type) {
	case bool:
		return v
	case string:
		switch strings.ToLower(v) {
		case "true", "yes":
			return true
		case "false", "no":
			return false
		}
	}
	return other
}

// List returns a value as texts: a YAML list, or words between commas, also in brackets.
func (f Fields) List(name string) (all []string) {
	switch v := f[name].(type) {
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				all = append(all, strings.TrimSpace(text))
			}
		}
	case string:
		for text := range strings.SplitSeq(strings.Trim(v, "[]"), ",") {
			if text = strings.Trim(strings.TrimSpace(text), `"'`); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// Sub returns the values of a mapping. If there is none, it is empty.
func (f Fields) Sub(name string) Fields {
	m, _ := f[name].(map[string]any)
	return m
}
