package references

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/search"
)

const (
	mostDefinitions = 5  // of a symbol
	longestSymbol   = 80 // lines of a definition
)

var name = lazyregexp.New(`^[\p{L}_$][\p{L}\p{N}_$]*[!?]?$`)

// keywords begin definitions in common languages.
const keywords = `func|fn|def|class|type|interface|struct|enum|trait|impl|union|record|object|module|namespace|package|protocol|extension|macro_rules!|function\*?|const|let|var|val|static|typedef|define|sub|procedure|message|service|table|view`

// symbol finds the definitions of a name by their keywords: no language server is needed.
func (x *instance) symbol(ctx context.Context, r Reference) (a extension.Attachment, err error) {
	parts := regexp.MustCompile(`\.|::|#|->`).Split(r.Value, -1)
	last := parts[len(parts)-1]
	if !name.MatchString(last) {
		return a, fmt.Errorf("%q is no name of a symbol", last)
	}
	word := regexp.QuoteMeta(last)
	pattern := `^\s*(export |default |public |private |protected |internal |pub(\([a-z]+\))? |static |async |abstract |final |override |unsafe |extern |inline |virtual |#)*\s*(` + keywords + `)\b(\s*\([^)]*\)|\s*<[^>]*>|\s+\*?)?\s*` + word + `(\W|$)`
	found, err := x.session.Files.Search(ctx, search.Query{Pattern: pattern, Limit: 50})
	if err != nil {
		return a, err
	}
	var b strings.Builder
	shown := 0
	for _, m := range found.Matches {
		abs, err := x.session.Files.Abs(m.Path)
		if err != nil || x.mayRead(abs) != nil {
			continue
		}
		f, err := x.session.Files.Read(ctx, abs)
		if err != nil {
			continue
		}
		if shown++; shown > mostDefinitions {
			fmt.Fprintf(&b, "%s:%d (not shown)\n", m.Path, m.Line)
			continue
		}
		text, from, to, _ := numbered(string(f.Text), m.Line, definitionEnd(string(f.Text), m.Line))
		fmt.Fprintf(&b, "%s, lines %d-%d:\n%s\n", m.Path, from, to, strings.TrimRight(text, "\n"))
	}
	if shown == 0 {
		return a, fmt.Errorf("no definition of %s was found in the workspace", r.Value)
	}
	return extension.Attachment{Name: "definitions of " + r.Value, Text: b.String()}, nil
}

// definitionEnd returns the last line of the definition that begins at line first. It ends before
// the next line with at most the same indentation; if this line only closes the definition, it is
// included.
func definitionEnd(text string, first int) int {
	lines := strings.Split(text, "\n")
	own := indent(lines[first-1])
	end := first
	for i := first; i < len(lines) && i < first+longestSymbol; i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		if indent(lines[i]) <= own {
			if strings.ContainsAny(line[:1], ")]}") || line == "end" {
				end = i + 1
			}
			break
		}
		end = i + 1
	}
	return end
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
