package references

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// Reference is a word of a prompt such as @file:main.go:3-9.
type Reference struct {
	Kind  string // without the @
	Value string // after the colon; empty if the kind has none
	// First and Last are the lines of a file. If both are 0, it is all of it. If only Last is
	// 0, First is a place in it.
	First, Last int
	Text        string // as it stands in the prompt
	// Mention: it stands without a kind, as @src/main.go, and could be something else.
	Mention bool
	// Link is the name in a client's link to a file, [@NAME](URI). Value is the URI then.
	Link string
}

// Shown returns the reference as users read it.
func (r Reference) Shown() string {
	if r.Link == "" {
		return r.Text
	}
	return "@" + r.Link
}

// IsFile reports whether the reference is a whole file.
func (r Reference) IsFile() bool { return r.Kind == kindFile && r.First == 0 }

// The kinds of references.
const (
	kindFile     = "file"
	kindFolder   = "folder"
	kindDiff     = "diff"
	kindStaged   = "staged"
	kindGit      = "git"
	kindURL      = "url"
	kindProblems = "problems"
	kindSymbol   = "symbol"
)

var kinds = []string{kindFile, kindFolder, kindGit, kindURL, kindSymbol}

var (
	// quoted names have \" for a quotation mark. A backslash before another character is one.
	start = lazyregexp.New(`@(?:(file|folder|git|url|symbol):("(?:\\"|[^"\n])+"|[^\s"]+)|(diff|staged|problems)\b)`)
	lines = lazyregexp.New(`^(.+?):(\d{1,9})(?:-(\d{1,9}))?$`)
	after = lazyregexp.New(`^:(\d{1,9})(?:-(\d{1,9}))?`)
	// mention is a path alone; hashed are its lines in the notation of repository web pages.
	mention = lazyregexp.New(`^@("(?:\\"|[^"\n])+"|[^\s"@(]*/[^\s"@(]*(?:\([^\s"'@()]*\)[^\s"@(]*)*|[^\s"@(]+)`)
	// link is what a client's mention of a file becomes. Its name may have brackets, its URI pairs of them.
	link        = lazyregexp.New(`^@((?:[^\[\n]|\[[^@\n])+?)\]\(([A-Za-z][A-Za-z0-9+.-]*:[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)`)
	afterQuoted = lazyregexp.New(`^(?::\d{1,9}(?:-\d{1,9})?|#L\d{1,9}(?:-L?\d{1,9})?)`)
	hashed      = lazyregexp.New(`^(.+?)#L(\d{1,9})(?:-L?(\d{1,9}))?$`)
	// likeFile matches names that can only be files.
	likeFile = lazyregexp.New(`^(\.{1,2}/|~/|/)|/[^/]*\.[A-Za-z0-9]+$|^[^/]+\.[A-Za-z0-9]{1,5}$|/$`)
)

// Parse returns the references of a prompt in their order, each once. It leaves out code: text
// in backticks, and fenced blocks.
func Parse(prompt string) (all []Reference) {
	seen := map[string]bool{}
	fence := ""
	for line := range strings.Lines(prompt) {
		if mark := fenceOf(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence != "" {
				mark = ""
			}
			fence = mark
			continue
		}
		if fence != "" {
			continue
		}
		for _, r := range inLine(line) {
			if !seen[r.Text] {
				seen[r.Text] = true
				all = append(all, r)
			}
		}
	}
	return all
}

// fenceOf returns the marks with which a line begins or ends a fenced block.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	rest := strings.TrimLeft(line, "`")
	if n := len(line) - len(rest); n >= 3 {
		return line[:n]
	}
	return ""
}

// inLine returns the references of a line.
func inLine(line string) (all []Reference) {
	for at := 0; at < len(line); {
		rest := line[at:]
		if rest[0] == '`' {
			at += 1 + codeLength(rest)
			continue
		}
		if rest[0] != '@' || !opens(line[:at]) {
			at++
			continue
		}
		r, size := Reference{}, 1
		if m := link.FindStringSubmatch(rest); m != nil && strings.HasSuffix(line[:at], "[") {
			r, size = linked(m), len(m[0])
		} else if m := start.FindStringSubmatchIndex(rest); m != nil && m[0] == 0 && !(m[6] >= 0 && goesOn(rest[m[1]:])) {
			r, size = referenceAt(rest, m)
		} else {
			r, size = mentionAt(rest)
		}
		if r.Kind != "" {
			all = append(all, r)
		}
		at += size
	}
	return all
}

// codeLength returns how many bytes after a backtick belong to its code.
func codeLength(text string) int {
	if i := strings.IndexByte(text[1:], '`'); i >= 0 {
		return i + 1
	}
	return 0
}

// opens reports whether a reference can begin after a text: a mail address is none.
func opens(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsSpace(r) || strings.ContainsRune("([{,;", r)
}

// goesOn reports whether a word goes on as a path does, as in @diff.md.
func goesOn(text string) bool {
	return len(text) > 1 && strings.ContainsRune("./-", rune(text[0])) && (text[1] == '_' || unicode.IsLetter(rune(text[1])) || unicode.IsDigit(rune(text[1])))
}

// linked returns the file of a link. If the link leads to a part of a file or to something else, the
// kind is "": the client has attached the part, and the rest is no file.
func linked(m []string) Reference {
	if !strings.HasPrefix(m[2], "file:") || strings.Contains(m[2], "#") {
		return Reference{}
	}
	return Reference{Kind: kindFile, Value: m[2], Text: m[0], Mention: true, Link: m[1]}
}

// unquoted returns a name without its quotation marks.
func unquoted(name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, `"`), `"`)
	return strings.ReplaceAll(name, `\"`, `"`)
}

// brackets maps each closing bracket to its opening bracket.
var brackets = map[byte]string{')': "(", ']': "[", '}': "{", '>': "<"}

// withoutEnd returns a name without the characters at its end that belong to the sentence. A closing
// bracket with its opening bracket in the name belongs to the name, except in a Markdown link.
func withoutEnd(name, sentence string) string {
	for name != "" {
		last := name[len(name)-1]
		opening, closes := brackets[last]
		if !strings.ContainsRune(sentence, rune(last)) || closes && !strings.Contains(name, "](") && strings.Count(name, opening) >= strings.Count(name, string(last)) {
			break
		}
		name = name[:len(name)-1]
	}
	return name
}

// mentionAt reads a path at the start of text. If there is none, its kind is "".
func mentionAt(text string) (r Reference, size int) {
	m := mention.FindStringSubmatch(text)
	if m == nil {
		return r, 1
	}
	size = len(m[0])
	value, isQuoted := m[1], strings.HasPrefix(m[1], `"`)
	if isQuoted {
		value = unquoted(value)
		place := ""
		if at := afterQuoted.FindStringSubmatch(text[size:]); at != nil {
			place = at[0]
		}
		value += place
		size += len(place)
	} else {
		trimmed := withoutEnd(value, ".,;:!?)]}'`>*")
		size -= len(value) - len(trimmed)
		value = trimmed
	}
	rest := text[size:]
	if strings.HasPrefix(rest, "@") || strings.HasPrefix(rest, "(") && !strings.Contains(value, "/") || value == "" || slices.Contains(kinds, value) || strings.Contains(value, "://") {
		return Reference{}, max(size, 1) // an address, a call of a function, or a URL
	}
	r = Reference{Kind: kindFile, Value: value, Mention: true}
	for _, form := range []*lazyregexp.Regexp{hashed, lines} {
		if at := form.FindStringSubmatch(r.Value); at != nil {
			r.Value = at[1]
			r.First, _ = strconv.Atoi(at[2]) // are digits
			r.Last, _ = strconv.Atoi(at[3])
		}
	}
	r.Text = text[:size]
	return r, size
}

// referenceAt reads the reference at the start of text. If the value is missing, its kind is "".
func referenceAt(text string, m []int) (r Reference, size int) {
	if m[6] >= 0 {
		kind := text[m[6]:m[7]]
		return Reference{Kind: kind, Text: "@" + kind}, m[1]
	}
	r.Kind, r.Value, size = text[m[2]:m[3]], text[m[4]:m[5]], m[1]
	var at []string
	if strings.HasPrefix(r.Value, `"`) {
		r.Value = unquoted(r.Value)
		if r.Kind == kindFile {
			if at = after.FindStringSubmatch(text[size:]); at != nil {
				size += len(at[0])
			}
		}
	} else {
		trimmed := withoutEnd(r.Value, ".,;:!?)]}'`")
		size -= len(r.Value) - len(trimmed)
		r.Value = trimmed
		if found := lines.FindStringSubmatch(r.Value); r.Kind == kindFile && found != nil {
			r.Value, at = found[1], found[1:]
		}
	}
	if at != nil {
		r.First, _ = strconv.Atoi(at[1]) // are digits
		r.Last, _ = strconv.Atoi(at[2])
	}
	r.Text = text[:size]
	if r.Value == "" {
		r.Kind = ""
	}
	return r, max(size, 1)
}
