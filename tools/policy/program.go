package policy

import "strings"

// program judges a call by the rules of its program. A program that the rule files
// do not know runs; it may be given another one to run.
func (j *analyzer) program(c *call) {
	if asksForHelp(c.args) {
		return
	}
	j.remote(c)
	p := rulesOf(c.name)
	if j.apply(c, p) {
		return
	}
	for _, judge := range p.handlers {
		judge(j, c)
	}
	if len(p.handlers) > 0 || p.known {
		return
	}
	j.handsOn(c)
	if strings.HasPrefix(c.name, "ld-linux") || strings.HasPrefix(c.name, "ld-musl") {
		j.wrapper(c)
	}
}

// handlers returns the functions that the rule files name.
func handlers() map[string]func(*analyzer, *call) {
	return map[string]func(*analyzer, *call){
		"wrapper":     (*analyzer).wrapper,
		"runner":      (*analyzer).runner,
		"xargs":       (*analyzer).xargs,
		"ssh":         (*analyzer).ssh,
		"copyRemote":  (*analyzer).copyRemote,
		"shell":       (*analyzer).shell,
		"history":     (*analyzer).history,
		"eval":        (*analyzer).eval,
		"source":      (*analyzer).sourceFile,
		"trap":        (*analyzer).trap,
		"alias":       (*analyzer).alias,
		"builtin":     (*analyzer).builtin,
		"python":      (*analyzer).pythonProgram,
		"interpreter": (*analyzer).interpreter,
		"otherCode":   (*analyzer).unread,
		"awk":         (*analyzer).awk,
		"editor":      (*analyzer).editor,
		"handsOn":     (*analyzer).handsOn,
		"make":        (*analyzer).make,
		"remove":      (*analyzer).remove,
		"find":        (*analyzer).find,
		"copy":        (*analyzer).copy,
		"tee":         (*analyzer).tee,
		"pipe":        (*analyzer).pipe,
		"mktemp":      (*analyzer).mktemp,
		"dd":          (*analyzer).dd,
		"sed":         (*analyzer).sed,
		"tar":         (*analyzer).tar,
		"download":    (*analyzer).download,
		"kill":        (*analyzer).kill,
		"docker":      (*analyzer).docker,
		"inCluster":   (*analyzer).inCluster,
		"ourselves":   (*analyzer).ourselves,
		"database":    (*analyzer).database,
		"git":         (*analyzer).git,
	}
}

// asksForHelp tells whether a program is started for nothing but its help or version.
func asksForHelp(args []field) bool {
	return len(args) == 1 && contains("--help --version", args[0].text)
}
