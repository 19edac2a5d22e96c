package memory

import (
	_ "embed"
	"regexp"
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
	blocked, allowed []string // examples
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
		for _, re := range t.patterns {
			if re.MatchString(entry) {
				return t.reason
			}
		}
	}
	return ""
}

// invisible reports whether a text contains invisible characters, or characters that reorder text.
func invisible(text string) bool { return escape.Text(text) != text }
