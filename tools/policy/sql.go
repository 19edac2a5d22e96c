package policy

import "strings"

// database judges the SQL that a database client reads, and the words of SQLite.
func (j *analyzer) database(c *call) {
	switch c.name {
	case "sqlite3", "sqlite", "duckdb":
		rest := j.sqliteRest(c)
		if len(rest) > 0 {
			j.protected(c, rest[0])
		}
		for i, a := range rest {
			if i > 0 {
				j.sql(c, a.text)
			}
		}
	}
	switch {
	case j.stdin.known:
		j.sql(c, j.stdin.text)
	case j.stdin.how == downloads:
		j.ask(c, downloads+" in a database")
	}
}

// sqliteRest returns the file and the SQL after it. It judges the command of -cmd.
func (j *analyzer) sqliteRest(c *call) (rest []field) {
	args := c.args
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; t {
		case "-cmd", "-init", "-separator", "-nullvalue", "-newline", "-c":
			if t == "-cmd" && i+1 < len(args) {
				j.sql(c, args[i+1].text)
			}
			i++
		default:
			if !args[i].option() {
				rest = append(rest, args[i])
			}
		}
	}
	return rest
}

func (j *analyzer) sql(c *call, text string) {
	if strings.HasPrefix(strings.TrimSpace(text), unknown) {
		j.ask(c, "runs SQL that cannot be seen")
		return
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, p := range []string{".sh", ".sy", `\!`, ".load", ".imp", ".o", ".on", ".read", ".backup", ".save"} {
			if strings.HasPrefix(line, p) && (line[0] == '\\' || p == ".sh" || p == ".sy" || p == ".load" || strings.Contains(line, "|")) {
				j.ask(c, "runs a command from within the database client")
			}
		}
	}
	if psqlRuns(text) || strings.Contains(text, `\!`) || strings.HasPrefix(strings.TrimSpace(text), "system ") {
		j.ask(c, "runs a command from within the database client")
	}
	if sqlRuns().MatchString(text) {
		j.ask(c, "runs a command from within the database client")
	}
	for _, reason := range sqlReasons(text) {
		j.ask(c, reason)
	}
}

// sqlRuns finds functions of databases and their clients that run programs or write files.
var sqlRuns = lazily(`(?i)\b(edit|writefile|load_extension|executable|runProgram|runNonMongoProgram|removeFile|sys_exec|sys_eval|lo_export|os\.execute)\s*\(|` +
	`\bcopy\b[^;]*\b(from|to)\s+program\b|\bxp_cmdshell\b|\binto\s+(outfile|dumpfile)\b|^\s*\.(excel|www|sh|sys)|^\s*(pager|tee)\s|\bsetenv\s+(PAGER|EDITOR|PSQL_)|\brun\s*\(\s*["']|\bcopy\b[^;]*\bto\s+'[/~.]`)

// psqlRuns tells whether a meta-command of psql, such as \o or \copy, may run a program.
func psqlRuns(text string) bool {
	for line := range strings.Lines(text) {
		_, meta, found := strings.Cut(line, `\`)
		if found && (strings.Contains(meta, "|") || strings.Contains(strings.ToLower(meta), "program")) {
			return true
		}
	}
	return false
}

// sqlReasons returns the deletions of SQL or a Mongo script.
func sqlReasons(text string) []string {
	var reasons []string
	var stmt []string
	end := func() {
		if r := sqlStatement(stmt); r != "" {
			reasons = union(reasons, []string{r})
		}
		stmt = stmt[:0]
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'' || c == '"' || c == '`':
			k := strings.IndexByte(text[i+1:], c)
			if k < 0 {
				i = len(text)
				break
			}
			i += k + 2
			stmt = append(stmt, "''")
		case strings.HasPrefix(text[i:], "--"):
			i = skipTo(text, i, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = skipTo(text, i+2, "*/")
		case c == ';':
			end()
			i++
		case wordByte(c):
			k := i
			for k < len(text) && wordByte(text[k]) {
				k++
			}
			stmt = append(stmt, strings.ToUpper(text[i:k]))
			i = k
		default:
			if c > ' ' {
				stmt = append(stmt, string(c))
			}
			i++
		}
	}
	end()
	return reasons
}

func skipTo(text string, from int, mark string) int {
	if k := strings.Index(text[from:], mark); k >= 0 {
		return from + k + len(mark)
	}
	return len(text)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func sqlStatement(words []string) string {
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	for i, w := range words {
		switch w {
		case "DROP":
			if at(i+1) == "NOT" || at(i-1) == "''" && at(i+1) == "''" {
				continue
			}
			return "drops tables or other parts of a database (SQL DROP)"
		case "DROPDATABASE", "DROPCOLLECTION":
			return "drops tables or other parts of a database"
		case "FLUSHALL", "FLUSHDB":
			return "empties or stops a database"
		case "TRUNCATE":
			if at(i+1) != "(" {
				return "empties tables (SQL TRUNCATE)"
			}
		case "DELETEMANY", "REMOVE":
			if at(i+1) == "(" && (at(i+2) == ")" || at(i+2) == "{" && at(i+3) == "}") {
				return "deletes every row (no condition)"
			}
		case "DELETE":
			if i == 0 || contains("FROM AS BEGIN THEN ''", at(i+1)) && !contains("ON GRANT BEFORE AFTER FOR REVOKE", at(i-1)) || at(i-1) == ")" {
				if everyRow(words[i+1:]) {
					return "deletes every row (SQL DELETE without WHERE)"
				}
			}
		}
	}
	return ""
}

func everyRow(words []string) bool {
	for i, w := range words {
		if w != "WHERE" {
			continue
		}
		rest := strings.Join(words[i+1:], " ")
		return rest == "1" || rest == "TRUE" || rest == "1 = 1" || rest == "'' = ''" || rest == ""
	}
	return true
}
