package code

import (
	"regexp"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// The parts of awk code and of sed scripts. The first group is a file that is written, the others are shell
// code; an empty one cannot be seen. Parts without a group, such as texts and patterns, have no effect.
const (
	awkText    = `(?s:\\.|[^"\\])*`
	awkSkipped = `#[^\n]*|"` + awkText + `"|(?:\|\||[\n({},;~!&|=])` + pattern + `|\w+`
	awkInner   = `[^()"]|"` + awkText + `"`
	awkBracket = `\((?:` + awkInner + `|\((?:` + awkInner + `|\((?:` + awkInner + `|\((?:` + awkInner + `)*\))*\))*\))*\)`

	sedPart  = `(?:(?s:\\.)|\[\^?\]?[^\]]*\]|[^D\\])*D` // D is the sign that ends a part
	sedSigns = `/|,#@!:;%_+~^=&?*.-"'<>(){}$ `
)

var (
	awkCommands = lazyregexp.New(`(` + never + `)|\A\n\x00()|` +
		`\bsystem\s*\(\s*"(` + awkText + `)"\s*\)|\bsystem\b()|"(` + awkText + `)"\s*\|\s*getline\b|` +
		`\|\s*"(` + awkText + `)"[ \t]*(?:#[^\n]*)?(?:[)};|&\n]` + pattern + `|\z)|\|\|` + pattern + `|\|()|` + awkSkipped)
	// The sign of a file compares everywhere but in a print statement.
	awkFiles = lazyregexp.New(`\bprintf?\b(?:[^;{}\n>"()#]|\\\n|"` + awkText + `"|` + awkBracket + `)*>>?\s*("` + awkText + `"|)|` +
		`\bprint(?:[^;{}\n]*\(){5}[^;{}\n]*>()|` + awkSkipped)
	sedParts = lazyregexp.New(`[wW][ \t]*([^\n]*)|\A\x00()|` +
		`(?:` + each(sedSigns, `sD`+sedPart+sedPart) + `)[^;}\n#ew]*(?:e())?|` + each(sedSigns, `yD`+sedPart+sedPart) + `|` +
		each(sedSigns, `\\D`+sedPart) + `|` + each("/", `D`+sedPart) + `|[sy]()|e([^\n]*)|[aic](?s:\\.|[^\\\n])*|[rR#][^\n]*|[btT:][^\n;}]*`)
)

// each returns an expression that matches a template for each of some signs.
func each(signs, template string) string {
	var list []string
	for _, sign := range signs {
		list = append(list, strings.ReplaceAll(template, "D", regexp.QuoteMeta(string(sign))))
	}
	return strings.Join(list, "|")
}

// Awk applies the effects of awk code: the programs that it starts and the files that it writes.
func Awk(src string, do Do) {
	read := func(text string) string { return Unescape(strings.ReplaceAll(strings.Trim(text, `"`), "\\\n", "")) }
	scan(awkCommands, "\n"+src, read, do)
	scan(awkFiles, "\n"+src, read, do)
}

// Sed applies the effects of a script of sed.
func Sed(src string, do Do) { scan(sedParts, src, strings.TrimSpace, do) }

func scan(parts *lazyregexp.Regexp, src string, read func(string) string, do Do) {
	for _, m := range parts.FindAllStringSubmatchIndex(src, -1) {
		for group := 2; group < len(m); group += 2 {
			if m[group] < 0 {
				continue
			}
			action, unseen := "code", startsOther
			if group == 2 {
				action, unseen = "writes", "writes to files that cannot be seen"
			}
			if text := read(src[m[group]:m[group+1]]); text != "" {
				do(action, text)
			} else {
				do("asks", unseen)
				do("foreign")
			}
		}
	}
}
