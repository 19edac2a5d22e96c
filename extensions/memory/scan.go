package memory

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/escape"
)

//go:embed threats.txt
var threatList string

// threat is a kind of text with commands for the model instead of facts.
type threat struct {
	name, reason     string
	patterns         []*regexp.Regexp
	harmless         []*regexp.Regexp // left out of a text before it is compared
	blocked, allowed []string         // examples
}

// threats returns the kinds of threats.txt.
var threats = sync.OnceValue(func() (all []threat) {
	for line := range strings.Lines(threatList) {
		if line[0] == '#' || line[0] == '\n' {
			continue
		}
		if line[0] != ' ' {
			name, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
			all = append(all, threat{name: name, reason: reason})
			continue
		}
		last := &all[len(all)-1]
		switch line = strings.TrimSpace(line); line[0] {
		case '/':
			last.patterns = append(last.patterns, regexp.MustCompile("(?i)"+line[1:]))
		case '!':
			last.harmless = append(last.harmless, regexp.MustCompile("(?i)"+line[1:]))
		case '+':
			last.blocked = append(last.blocked, line[2:])
		case '-':
			last.allowed = append(last.allowed, line[2:])
		}
	}
	return all
})

// poisoned returns why an entry must not reach the model. If it may, the reason is empty.
func poisoned(entry string) (reason string) {
	if invisible(entry) {
		return "it has invisible characters"
	}
	entry = strings.Join(strings.Fields(strings.ReplaceAll(entry, "’", "'")), " ")
	for _, t := range threats() {
		if t.fits(entry) && (len(t.harmless) == 0 || t.fits(t.withoutHarmless(entry))) {
			return t.reason
		}
	}
	return ""
}

func (t threat) fits(text string) bool {
	return slices.ContainsFunc(t.patterns, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

func (t threat) withoutHarmless(text string) string {
	for _, re := range t.harmless {
		text = re.ReplaceAllLiteralString(text, " … ")
	}
	return text
}

// invisible reports whether a text contains invisible characters, or characters that reorder text.
func invisible(text string) bool { return escape.Text(text) != text }
