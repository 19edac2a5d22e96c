package file

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/tools"
)

// searchOtherwise tries other readings of a pattern without results: its own text, a pattern of
// grep, or a regular expression for names. how names the reading. If it finds nothing either, the
// result is nil.
func searchOtherwise(ctx context.Context, files tools.Files, in searchIn, q search.Query) (found *search.Found, _ search.Query, how string) {
	for _, other := range otherReadings(in) {
		q.Pattern = other.pattern
		if named, err := files.Search(ctx, q); err == nil && named.Total > 0 {
			return named, q, other.how
		}
	}
	return nil, q, ""
}

// otherReading is another meaning of a pattern.
type otherReading struct{ pattern, how string }

// slashed is a regular expression as JavaScript and sed write it.
var slashed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/(.+)/([gimsuy]*)$`) })

// grepSigns are signs that only basic regular expressions write with a backslash.
var grepSigns = strings.NewReplacer(`\|`, `|`, `\(`, `(`, `\)`, `)`, `\+`, `+`, `\?`, `?`, `\{`, `{`, `\}`, `}`, `\<`, `\b`, `\>`, `\b`)

func otherReadings(in searchIn) (all []otherReading) {
	if in.Target == "files" {
		if glob, ok := globOf(in.Pattern); ok {
			all = append(all, otherReading{glob, fmt.Sprintf("the pattern of names is a glob, not a regular expression; it was read as %s", glob)})
		}
		return all
	}
	if quoted := regexp.QuoteMeta(in.Pattern); !in.literal && quoted != in.Pattern {
		all = append(all, otherReading{quoted, "nothing matches the pattern as a regular expression, so it was searched as it is"})
	}
	if m := slashed().FindStringSubmatch(in.Pattern); m != nil {
		pattern := m[1]
		if strings.Contains(m[2], "i") {
			pattern = "(?i)" + pattern
		}
		all = append(all, otherReading{pattern, "the pattern was searched without its slashes"})
	}
	if strings.Contains(in.Pattern, `\|`) || strings.Contains(in.Pattern, `\<`) || strings.Contains(in.Pattern, `\>`) {
		all = append(all, otherReading{grepSigns.Replace(in.Pattern), "the pattern was read as a basic regular expression of grep; here | ( ) + ? need no backslash"})
	}
	return all
}

// regexpSigns match signs of a regular expression that globs do not use.
var regexpSigns = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[.\w$]|\.[*+]|^\^|\$$|\([^)]*\)`) })

// globOf translates a simple regular expression for names, such as ^test_.*\.(py|pyi)$. If pattern
// contains no sign of a regular expression, or a sign without a glob equivalent, ok is false.
func globOf(pattern string) (glob string, ok bool) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || !regexpSigns().MatchString(pattern) {
		return "", false
	}
	var w globWriter
	if !w.write(tree) {
		return "", false
	}
	glob = w.String()
	if !w.first && !strings.HasPrefix(glob, "*") {
		glob = "*" + glob
	}
	if !w.last && !strings.HasSuffix(glob, "*") {
		glob += "*"
	}
	return "**/" + glob, true
}

// globWriter writes a regular expression as a glob.
type globWriter struct {
	strings.Builder
	first, last bool // the expression is bound to the beginning and the end
}

// write adds a part. If a glob cannot express it, write returns false.
func (w *globWriter) write(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch:
	case syntax.OpLiteral:
		w.WriteString(literalGlob.Replace(string(re.Rune)))
	case syntax.OpBeginText, syntax.OpBeginLine:
		w.first = true
	case syntax.OpEndText, syntax.OpEndLine:
		w.last = true
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.WriteByte('?')
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		w.WriteByte('*')
	case syntax.OpCharClass:
		return w.oneOf(re.Rune)
	case syntax.OpCapture:
		return w.write(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !w.write(sub) })
	case syntax.OpQuest:
		return w.choice(re.Sub[0], &syntax.Regexp{Op: syntax.OpEmptyMatch})
	case syntax.OpAlternate:
		return w.choice(re.Sub...)
	default:
		return false
	}
	return true
}

func (w *globWriter) choice(parts ...*syntax.Regexp) bool {
	sep := byte('{')
	for _, part := range parts {
		w.WriteByte(sep)
		if !w.write(part) {
			return false
		}
		sep = ','
	}
	w.WriteByte('}')
	return true
}

// oneOf writes a class of a few characters, or any character.
func (w *globWriter) oneOf(ranges []rune) bool {
	var all []string
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1] && len(all) <= mostRunes; r++ {
			all = append(all, literalGlob.Replace(string(r)))
		}
	}
	if len(all) > mostRunes {
		w.WriteByte('?')
		return true
	}
	w.WriteString("{" + strings.Join(all, ",") + "}")
	return true
}

// mostRunes limits the runes of a class written individually.
const mostRunes = 10

var literalGlob = strings.NewReplacer("[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "*", `\*`, "?", `\?`, ",", `\,`)
