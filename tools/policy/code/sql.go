package code

import (
	"slices"
	"strings"
)

// clientRuns finds commands and functions of databases and their clients that run programs or
// write files.
var clientRuns = lazily(`(?i)\b(edit|writefile|load_extension|executable|runProgram|runNonMongoProgram|removeFile|sys_exec|sys_eval|lo_export|os\.execute)\s*\(|` +
	`\bcopy\b[^;]*\b(from|to)\s+program\b|\bxp_cmdshell\b|\binto\s+(outfile|dumpfile)\b|^\s*(\.(excel|www)|system |(pager|tee)\s)|\bsetenv\s+(PAGER|EDITOR|PSQL_)|\brun\s*\(\s*["']|\bcopy\b[^;]*\bto\s+'[/~.]|` +
	`(?m:^\s*\.(sh|sy|load)|^\s*\.(imp|o|read|backup|save).*\||\\!|\\.*(\||program))`)

// Database returns why commands for a database client require approval.
func Database(src string) (reasons []string) {
	if strings.HasPrefix(strings.TrimSpace(src), Unknown) {
		return []string{"runs SQL that cannot be seen"}
	}
	if clientRuns().MatchString(src) {
		reasons = append(reasons, "runs a command from within the database client")
	}
	return append(reasons, SQL(src)...)
}

// SQL returns the deletions of SQL or of a script for Mongo.
func SQL(src string) (reasons []string) {
	var words []string
	for _, t := range append(syntax{sql: true}.tokens(src), token{kind: signToken, text: ";"}) {
		switch {
		case t.kind == textToken:
			words = append(words, "''")
		case t.kind == lineToken:
		case t.kind != signToken || t.text != ";":
			words = append(words, strings.ToUpper(t.text))
		default:
			if reason := statement(words); reason != "" && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
			words = nil
		}
	}
	return reasons
}

// statement returns why one statement requires approval.
func statement(words []string) string {
	for i, word := range words {
		near := strings.Join(words[i+1:min(i+4, len(words))], " ") + " "
		begins := func(any ...string) bool {
			return slices.ContainsFunc(any, func(s string) bool { return strings.HasPrefix(near, s+" ") })
		}
		before := append([]string{""}, words...)[i]
		switch word {
		case "DROP":
			if !begins("NOT") && !(before == "''" && begins("''")) {
				return "drops tables or other parts of a database (SQL DROP)"
			}
		case "DROPDATABASE", "DROPCOLLECTION":
			return "drops tables or other parts of a database"
		case "FLUSHALL", "FLUSHDB":
			return "empties or stops a database"
		case "TRUNCATE":
			if !begins("(") {
				return "empties tables (SQL TRUNCATE)"
			}
		case "DELETEMANY", "REMOVE":
			if begins("( )", "( { }") {
				return "deletes every row (no condition)"
			}
		case "DELETE":
			of := i == 0 || before == ")" || begins("FROM", "AS", "BEGIN", "THEN", "''") && !slices.Contains([]string{"ON", "GRANT", "BEFORE", "AFTER", "FOR", "REVOKE"}, before)
			if of && everyRow(words[i+1:]) {
				return "deletes every row (SQL DELETE without WHERE)"
			}
		}
	}
	return ""
}

func everyRow(words []string) bool {
	i := slices.Index(words, "WHERE")
	return i < 0 || slices.Contains([]string{"1", "TRUE", "1 = 1", "'' = ''", ""}, strings.Join(words[i+1:], " "))
}
