package policy

import "github.com/hermes-ls/hermes-ls/tools/policy/code"

// database judges the SQL that a database client reads, and the words of SQLite.
func database(j *analyzer, c *call) {
	switch c.name {
	case "sqlite3", "sqlite", "duckdb":
		rest := sqliteRest(j, c)
		if len(rest) > 0 {
			j.protected(c, rest[0])
		}
		for i, a := range rest {
			if i > 0 {
				sql(j, c, a.text)
			}
		}
	}
	switch {
	case j.stdin.known:
		sql(j, c, j.stdin.text)
	case j.stdin.how == downloads:
		j.ask(c, downloads+" in a database")
	}
}

// sqliteRest returns the file and the SQL after it. It judges the command of -cmd.
func sqliteRest(j *analyzer, c *call) (rest []field) {
	args := c.args
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; t {
		case "-cmd", "-init", "-separator", "-nullvalue", "-newline", "-c":
			if t == "-cmd" && i+1 < len(args) {
				sql(j, c, args[i+1].text)
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

func sql(j *analyzer, c *call, text string) {
	for _, reason := range code.Database(text) {
		j.ask(c, reason)
	}
}
