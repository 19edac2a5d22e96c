package code

import "strings"

// Awk applies the effects of awk code: started programs and written files.
func Awk(src string, do Do) {
	read := func(text string) string { return Unescape(strings.ReplaceAll(strings.Trim(text, `"`), "\\\n", "")) }
	scan("awk-commands", "\n"+src, read, do)
	scan("awk-files", "\n"+src, read, do)
}

// Sed applies the effects of a script of sed.
func Sed(src string, do Do) { scan("sed", src, strings.TrimSpace, do) }

func scan(parts, src string, read func(string) string, do Do) {
	for _, m := range expression(parts).FindAllStringSubmatchIndex(src, -1) {
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
				do.ask(unseen)
			}
		}
	}
}

// Statements splits SQL, or a script for Mongo, into statements for the rules: words in upper
// case between single spaces, ” for each text, and § for WHERE. Phrases that name DROP or
// DELETE and do neither are left out.
func Statements(src string) (list []string) {
	words := ""
	for _, t := range append(language("sql").tokens(src), token{kind: signToken, text: ";"}) {
		switch {
		case t.kind == textToken:
			words += " ''"
		case t.kind == lineToken:
		case t.kind != signToken || t.text != ";":
			words += " " + strings.ToUpper(t.text)
		default:
			words = expression("sql-harmless").ReplaceAllString(words+" ", " ")
			list, words = append(list, strings.ReplaceAll(words, " WHERE ", " § ")), ""
		}
	}
	return list
}
