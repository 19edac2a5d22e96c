package policy

import (
	"maps"
	"slices"
	"strings"
)

const runsOption = "runs a program given as an option"

// wordsOf returns all arguments as words, options too.
func wordsOf(args []field) []verb {
	words := make([]verb, len(args))
	for i, a := range args {
		words[i] = verb{text: a.text, value: a.option() && !contains("-E -C", a.text) || i > 0 && args[i-1].option() && args[i-1].text != "-E"}
	}
	return words
}

// unread judges a program that runs code in a language which is not read.
func (j *analyzer) unread(c *call) {
	j.foreign = true
	j.otherCode(c)
}

// otherCode judges interpreters whose languages are not read: by the words in their code
// that delete files or start programs.
func (j *analyzer) otherCode(c *call) {
	text := ""
	for i, a := range c.args {
		if i > 0 && c.args[i-1].option() || strings.ContainsAny(a.text, " (\"") || a.option() && strings.ContainsAny(a.text, "=:") {
			text += "\n" + a.text
		}
	}
	if j.stdin.known {
		text += "\n" + j.stdin.text
	} else if j.stdin.some && len(c.args) == 0 {
		j.note(Asks, "runs what comes through a pipe in an interpreter", j.whole())
	}
	lower := strings.ToLower(text)
	for _, word := range slices.Sorted(maps.Keys(rules().lists["code-word"])) {
		if strings.Contains(lower, word) {
			j.ask(c, "may delete files or start programs ("+word+")")
			return
		}
	}
}

// handsOn judges a command that an unknown program may run: a program among its arguments,
// or code in one of them.
func (j *analyzer) handsOn(c *call) {
	if in("names-only", c.name) {
		return
	}
	judged := 0
	for i, a := range c.args {
		if judged == 4 {
			return
		}
		name := programName(a.text)
		switch {
		case i+1 < len(c.args) && mayBeRun(name, c.args[i+1:]):
			j.call(c.with(c.args[i:]))
			judged++
		case a.option() && strings.HasPrefix(a.text, "--") && in("destructive", a.text[strings.IndexByte(a.text, '=')+1:]):
			j.ask(c, runsOption)
		case strings.ContainsAny(a.text, " \t"):
			text := a.text
			if _, val, ok := strings.Cut(text, "="); ok && a.option() {
				text = val
			}
			if words := strings.Fields(text); len(words) > 1 && isDangerous(programName(words[0])) {
				j.code(c, field{text: text})
				judged++
			}
		}
	}
}

func isDangerous(name string) bool {
	return in("destructive", name) || contains("sh bash zsh dash ksh fish git python perl ruby node", name) || strings.HasPrefix(name, "mkfs")
}

// mayBeRun tells whether a word names a program that destroys, or one that is given code.
func mayBeRun(name string, rest []field) bool {
	switch {
	case in("destructive", name), strings.HasPrefix(name, "mkfs"):
		return true
	case name == "git":
		return contains("push reset clean checkout restore branch tag stash rm reflog gc update-ref filter-branch", rest[0].text)
	case contains("sh bash zsh dash ksh fish python perl ruby node php lua", name):
		for _, a := range rest {
			if !a.option() {
				return false
			}
			if !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, "ce") {
				return true
			}
		}
	}
	return false
}
