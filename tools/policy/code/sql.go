package code

import "strings"

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
