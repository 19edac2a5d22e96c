package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// keepsState reports whether a command does not change its shell's state: the shell is bash, and
// the command only starts programs or uses harmless builtins. The previous state must come from a
// command, because a shell adds its variables to any other state. Such a command does not store the
// state.
func (s *Shell) keepsState(c Command, before shellState) bool {
	if s.Name() != "bash" || c.pty || c.path != nil || c.Dir != "" && c.Dir != before.dir {
		return false
	}
	s.stateMu.Lock()
	left := s.last.after
	s.stateMu.Unlock()
	if left.dir != before.dir || !slices.Equal(left.env, before.env) || slices.ContainsFunc(before.env, changesBash) {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(c.Text), "")
	return err == nil && !slices.ContainsFunc(file.Stmts, func(s *syntax.Stmt) bool { return !onlyPrograms(s) })
}

// changesBash reports whether a variable can change the meaning of a command's words in bash: a
// startup file, its options, or a function.
func changesBash(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return !syntax.ValidName(name) || slices.Contains([]string{"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT"}, name)
}

// onlyPrograms reports whether a statement only starts programs, or uses builtins without effect on
// the state.
func onlyPrograms(s *syntax.Stmt) bool {
	if s.Background || s.Coprocess || s.Disown || slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
		return r.Hdoc != nil || r.N != nil && strings.HasPrefix(r.N.Value, "{") || !isPlain(r.Word)
	}) {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return onlyPrograms(cmd.X) && onlyPrograms(cmd.Y)
	case *syntax.CallExpr:
		return len(cmd.Assigns) == 0 && len(cmd.Args) > 0 && isProgram(cmd.Args[0].Lit()) &&
			!slices.ContainsFunc(cmd.Args, func(w *syntax.Word) bool { return !isPlain(w) })
	}
	return false
}

// isPlain reports whether a word contains no expansion that can change a variable.
func isPlain(word *syntax.Word) bool {
	plain := true
	syntax.Walk(word, func(node syntax.Node) bool {
		switch node.(type) {
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		default:
			plain = false
		}
		return plain
	})
	return plain
}

// harmless are bash builtins that change nothing, whatever their arguments are. test is excluded:
// "test -v" can assign.
var harmless = []string{":", "echo", "false", "pwd", "times", "true", "type"}

// builtins are the other builtins of bash.
var builtins = strings.Fields(`. [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown
	enable eval exec exit export fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd read readarray
	readonly return set shift shopt source suspend test trap typeset ulimit umask unalias unset wait`)

// isProgram reports whether the first word of a command names a program, or a harmless builtin. An empty word is
// not literal.
func isProgram(word string) bool {
	if slices.Contains(harmless, word) {
		return true
	}
	return word != "" && !slices.Contains(builtins, word) && !strings.ContainsAny(word, `\*?[]{}~=$!`)
}
