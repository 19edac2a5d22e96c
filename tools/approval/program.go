package approval

import "strings"

// program judges a call by what its program is known to do. A program that the rule files
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
	for _, handler := range p.handlers {
		j.by(handler, c)
	}
	if len(p.handlers) > 0 || p.known {
		return
	}
	j.handsOn(c)
	if strings.HasPrefix(c.name, "ld-linux") || strings.HasPrefix(c.name, "ld-musl") {
		j.wrapper(c)
	}
}

// by judges a call by the function that the rule files name.
func (j *analyzer) by(handler string, c *call) {
	switch handler {
	case "wrapper":
		j.wrapper(c)
	case "runner":
		j.runner(c)
	case "xargs":
		j.xargs(c)
	case "ssh":
		j.ssh(c)
	case "copyRemote":
		j.copyRemote(c)
	case "shell":
		j.shell(c)
	case "history":
		j.history(c)
	case "eval":
		j.eval(c)
	case "source":
		j.sourceFile(c)
	case "trap":
		j.trap(c)
	case "alias":
		j.alias(c)
	case "builtin":
		j.builtin(c)
	case "python":
		j.pythonProgram(c)
	case "interpreter":
		j.interpreter(c)
	case "otherCode":
		j.foreign = true
		j.otherCode(c)
	case "awk":
		j.awk(c)
	case "editor":
		j.editor(c)
	case "handsOn":
		j.handsOn(c)
	case "make":
		j.make(c)
	case "remove":
		j.remove(c)
	case "find":
		j.find(c)
	case "copy":
		j.copy(c)
	case "tee":
		j.tee(c)
	case "pipe":
		j.pipe(c)
	case "mktemp":
		j.mktemp(c)
	case "dd":
		j.dd(c)
	case "sed":
		j.sed(c)
	case "tar":
		j.tar(c)
	case "download":
		j.download(c)
	case "kill":
		j.kill(c)
	case "docker":
		j.docker(c)
	case "inCluster":
		j.inCluster(c)
	case "ourselves":
		j.ourselves(c)
	case "database":
		j.database(c)
	case "git":
		j.git(c)
	default:
		panic("no function judges " + handler) // a test calls each
	}
}

// asksForHelp tells whether a program is started for nothing but its help or version.
func asksForHelp(args []field) bool {
	return len(args) == 1 && contains("--help --version", args[0].text)
}
