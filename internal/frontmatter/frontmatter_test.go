package frontmatter_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/frontmatter"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       frontmatter.Fields
		body       string
	}{
		{"none", "# x\n", frontmatter.Fields{}, "# x\n"},
		{"simple", "---\nname: a\ndescription: Does it.\n---\nbody\n", frontmatter.Fields{"name": "a", "description": "Does it."}, "body\n"},
		{"a byte order mark and CRLF", "\xef\xbb\xbf---\r\nname: a\r\n---\r\nbody", frontmatter.Fields{"name": "a"}, "body"},
		{"an unquoted colon", "---\nname: a\ndescription: Use when: always \"now\"\n---\n", frontmatter.Fields{"name": "a", "description": `Use when: always "now"`}, ""},
		{"two brackets", "---\nname: a\nargument-hint: [action: list|add] [type]\ntags: [x, y]\n---\n",
			frontmatter.Fields{"name": "a", "argument-hint": "[action: list|add] [type]", "tags": []any{"x", "y"}}, ""},
		{"an at sign", "---\ndescription: @Observable\nmetadata:\n  hermes: {tags: [a]}\n  deps: [@a/b>=1, c]\n---\n", frontmatter.Fields{"description": "@Observable",
			"metadata": map[string]any{"hermes": map[string]any{"tags": []any{"a"}}, "deps": "[@a/b>=1, c]"}}, ""},
		{"lists", "---\nname: 'a'\ntags: [x, y]\n---\n", frontmatter.Fields{"name": "a", "tags": []any{"x", "y"}}, ""},
		{"a bool", "---\nuser-invocable: false\n---\n", frontmatter.Fields{"user-invocable": false}, ""},
		{"some lines", "---\nname: a\ndescription: Does\n  it.\nmetadata: {tags: [a, b]}\n\nlist:\n- x\nlicense: MIT\n---\n", frontmatter.Fields{"name": "a", "description": "Does it.",
			"metadata": map[string]any{"tags": []any{"a", "b"}}, "list": []any{"x"}, "license": "MIT"}, ""},
		{"a block", "---\ndescription: |\n  name: b\n\n  c: d\nname: a\n---\n", frontmatter.Fields{"description": "name: b\n\nc: d\n", "name": "a"}, ""},
		{"a late line", "---\nname: a\n\n  b\nlicense: x\n---\n", frontmatter.Fields{"name": "a\nb", "license": "x"}, ""},
		{"empty", "---\n---\nx", frontmatter.Fields{}, "x"},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00a\x00:\x00 \x00b\x00\n\x00-\x00-\x00-\x00\n\x00c\x00", frontmatter.Fields{"a": "b"}, "c"},
		{"a colon in further lines", "---\nname: a\ndescription: Use it when:\n  Context: the user says: \"b\"\n\n  <example>user: \"c\"</example>\ntools:\n  - Read\n  - Grep\n---\n",
			frontmatter.Fields{"name": "a", "description": `Use it when: Context: the user says: "b" <example>user: "c"</example>`, "tools": []any{"Read", "Grep"}}, ""},
		{"brackets and more", "---\ndescription: [WIP] does it: now\nargument-hint: [file] <x>\nname: {a} b\n---\n", frontmatter.Fields{"description": "[WIP] does it: now", "argument-hint": "[file] <x>", "name": "{a} b"}, ""},
		{"a star", "---\nname: a\ntools: *\ndescription: *Very* useful & fast\n---\n", frontmatter.Fields{"name": "a", "tools": "*", "description": "*Very* useful & fast"}, ""},
		{"blanks at the lines", "\n \n--- \nname: a\n---\t\nbody\n", frontmatter.Fields{"name": "a"}, "body\n"},
		{"a colon in lines without indentation", "---\nname: a\ndescription: Use it: now\n<example>\nuser: \"b\" and c\n</example>\nmodel: x\n---\n",
			frontmatter.Fields{"name": "a", "description": "Use it: now <example>", "user": `"b" and c </example>`, "model": "x"}, ""},
	} {
		fields, body, err := frontmatter.Parse([]byte(c.text))
		if err != nil || !reflect.DeepEqual(fields, c.want) || body != c.body {
			t.Errorf("%s: %#v %q %v", c.name, fields, body, err)
		}
		if broken := frontmatter.Check([]byte(c.text)) != nil; broken != slices.Contains([]string{"an unquoted colon", "two brackets", "an at sign", "brackets and more", "a star", "a colon in further lines", "a colon in lines without indentation"}, c.name) {
			t.Errorf("%s: broken is %v", c.name, broken)
		}
	}
	for name, text := range map[string]string{
		"no end":    "---\nname: a\n",
		"broken":    "---\nname: [a\n---\n",
		"too large": "---\nname: " + strings.Repeat("x", frontmatter.Limit) + "\n---\n",
		"twice":     "---\nname: a\nmetadata: {}\nname: b\n---\n",
		"a text":    "---\nmetadata: {a: \"b\nname: c\n---\n",
		"a bomb":    "---\na: &a [x]\nb: *a\n---\n",
	} {
		if _, _, err := frontmatter.Parse([]byte(text)); err == nil || frontmatter.Check([]byte(text)) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\na: b\n---\nc"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _, _ = frontmatter.Parse(data) })
}
