// Package frontmatter reads Markdown files that begin with YAML between two lines "---". Skills, commands and agents are
// such files.
//
// [Parse] accepts a byte order mark and texts that YAML does not read without quotes, which many files have.
package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// Limit is the largest frontmatter in bytes.
const Limit = 16 << 10

// Fields are the values of a frontmatter by name.
type Fields map[string]any

// ErrTooLarge says that the frontmatter is larger than Limit.
var ErrTooLarge = errors.New("the frontmatter has more than 16 KB")

// Parse returns the frontmatter and the text after it. If there is no frontmatter, fields are empty.
func Parse(data []byte) (fields Fields, body string, err error) {
	head, body, err := cut(data)
	if err != nil {
		return Fields{}, body, err
	}
	if fields, ok := simple(head); ok {
		return fields, body, nil
	}
	fields = Fields{}
	if err = decode(head, &fields); err == nil {
		return fields, body, nil
	}
	fields = Fields{} // decode may have set some
	if decode(quoted(head), &fields) != nil {
		return Fields{}, body, broken(err)
	}
	return fields, body, nil
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
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
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
	if strings.ContainsAny(head, "&*") && aliased(head) {
		return errors.New("aliases are not supported")
	}
	return yaml.Unmarshal([]byte(head), into)
}

// aliased reports whether a value begins with an anchor or an alias, which can make a small text large.
func aliased(head string) bool {
	for line := range strings.Lines(head) {
		_, value, _ := strings.Cut(line, ":")
		if value = strings.TrimLeft(value, " -["); strings.HasPrefix(value, "&") || strings.HasPrefix(value, "*") {
			return true
		}
	}
	return false
}

// cutLine cuts text around the first line that is "---".
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

// simple reads the usual frontmatter, in which each line is "name: text", without the YAML parser. If it has anything
// else, simple returns false.
func simple(head string) (Fields, bool) {
	fields := Fields{}
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \t\n")
		name, value, ok := strings.Cut(line, ":")
		if line == "" {
			continue
		}
		if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || !strings.HasPrefix(value, " ") {
			return nil, false
		}
		value = strings.TrimSpace(value)
		if value == "" || fields[name] != nil || !plainValue(value) {
			return nil, false
		}
		switch value {
		case "true", "false":
			fields[name] = value == "true"
		default:
			fields[name] = value
		}
	}
	return fields, true
}

// plainValue reports whether YAML reads the value as exactly this text, or as a bool.
func plainValue(value string) bool {
	if c := value[0]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
		return false
	}
	if strings.Contains(value, ": ") || strings.Contains(value, " #") || strings.HasSuffix(value, ":") {
		return false
	}
	switch strings.ToLower(value) {
	case "null", "yes", "no", "on", "off", "y", "n", "true", "false":
		return value == "true" || value == "false"
	}
	return true
}

// quoted quotes values that YAML does not read: with a colon, such as "a: b", or like "[a] [b]" and "@a".
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
