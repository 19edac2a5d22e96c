package shell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// dialect describes how a kind of shell runs a command and saves its state. words come before the
// script; the command follows it, as $1 or $argv[1].
type dialect struct {
	words  []string
	script string // with %s for the file; empty: nothing is carried over
	read   func(text []byte, before []string) (after shellState, ok bool)
}

// wrapper runs the command by eval. A syntax error, an open here-document, a comment or a backslash
// at its end then cannot affect the surrounding text. It is a single line, so the shell's messages
// count the command's lines. At its end, or from the trap when it calls exit, the state goes to the
// file. The dump uses only builtins: no process, and well under a millisecond. Its stderr is closed
// because of set -x. The trap does not repeat it. ksh and mksh export OLDPWD, which cd - reads,
// only if they have inherited it.
const wrapper = `__hermes_dump() { set +x; [ "${__hermes_done-}" ] || { export OLDPWD; { export -p; echo :; pwd -P; } >|%s; __hermes_done=1; }; return "$1"; }; ` +
	`trap '{ __hermes_dump "$?"; } 2>/dev/null' EXIT; __hermes=$1; set --; eval "$__hermes"; { __hermes_dump "$?"; } 2>/dev/null`

// evaluation runs a command as wrapper does, and does not store the state.
const evaluation = `__hermes=$1; set --; eval "$__hermes"; exit "$?"`

// fishWrapper is the same for fish, which lists its variables for people alone; so
// env does it.
const fishWrapper = `function __hermes_dump --on-event fish_exit; begin; command env -0; printf ':\0'; pwd -P; end >%s 2>/dev/null; end; eval $argv[1]`

// dialects by the name of a shell. zsh runs as ksh, which is nearly bash: models write bash,
// and the analysis reads bash; zsh's own patterns can run code.
var dialects = map[string]dialect{
	"bash":  {[]string{"--norc", "--noprofile"}, wrapper, parseState},
	"zsh":   {[]string{"--emulate", "ksh", "-f"}, wrapper, parseState},
	"fish":  {[]string{"--no-config"}, fishWrapper, parseEnviron},
	"sh":    {nil, wrapper, parseState},
	"dash":  {nil, wrapper, parseState},
	"ash":   {nil, wrapper, parseState},
	"ksh":   {nil, wrapper, parseState},
	"ksh93": {nil, wrapper, parseState},
	"mksh":  {nil, wrapper, parseState},
}

// findShell returns wanted, else the user's shell if it is bash or zsh, else an installed shell in
// the order in which models know them. Only wanted can be a program of dir, by its path.
func findShell(wanted, dir string) string {
	if runtime.GOOS == "windows" {
		return "cmd.exe"
	}
	own := os.Getenv("SHELL")
	if name := filepath.Base(own); name != "bash" && name != "zsh" || !filepath.IsAbs(own) {
		own = ""
	}
	for _, name := range []string{wanted, own, "bash", "zsh", "/bin/sh", "sh", "fish"} {
		if name == "" {
			continue
		}
		path, err := program.Find(name, []string{dir})
		if filepath.IsAbs(name) {
			path, err = exec.LookPath(name)
		}
		if err == nil {
			return path
		}
	}
	return "/bin/sh"
}

// dialect returns the dialect of the local shell; for an unknown shell, sh's.
func (s *Shell) dialect() dialect {
	if d, ok := dialects[s.Name()]; ok {
		return d
	}
	return dialects["sh"]
}

// args run text and leave the state in the file dump.
func (s *Shell) args(text, dump string) []string {
	d := s.dialect()
	if runtime.GOOS == "windows" || d.script == "" {
		return s.plainArgs(text)
	}
	quoted, err := syntax.Quote(dump, syntax.LangPOSIX)
	if err != nil {
		quoted = "/dev/null" // a temporary directory whose name no shell can quote: no state is carried over
	}
	args := append(slices.Concat([]string{s.program}, d.words), "-c", fmt.Sprintf(d.script, quoted))
	if s.Name() != "fish" { // where the first word is $0
		args = append(args, s.Name())
	}
	return append(args, text)
}

// unstoredArgs run text in bash as args does, and do not store the state.
func (s *Shell) unstoredArgs(text string) []string {
	return append(slices.Concat([]string{s.program}, s.dialect().words), "-c", evaluation, s.Name(), text)
}

// plainArgs runs a command and nothing besides.
func (s *Shell) plainArgs(text string) []string {
	if runtime.GOOS == "windows" {
		return []string{s.program, "/D", "/S", "/C", `"` + text + `"`}
	}
	return append(slices.Concat([]string{s.program}, s.dialect().words), "-c", text)
}

// parseState reads the output of export -p, a line ":", and the folder. The
// exports are shell code, quoted in the shell's own way.
func parseState(text []byte, before []string) (after shellState, ok bool) {
	i := bytes.LastIndex(text, []byte("\n:\n"))
	if i < 0 || text[len(text)-1] != '\n' || !plainExports(text[:i+1]) {
		return shellState{}, false
	}
	after.dir = strings.TrimSuffix(string(text[i+3:]), "\n")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(text[:i+1]), "")
	if err != nil {
		return shellState{}, false
	}
	literally := &expand.Config{} // not nil: the library's own default is shared, and written to
	for _, stmt := range file.Stmts {
		if decl, is := stmt.Cmd.(*syntax.DeclClause); is {
			after.env = appendExports(after.env, decl, literally)
		}
	}
	// The shell passes on names that are not shell variables, but does not list them: exported
	// functions, names with a dot.
	for _, kv := range before {
		name, _, _ := strings.Cut(kv, "=")
		if !syntax.ValidName(name) || name == "SHLVL" {
			after.env = append(after.env, kv)
		}
	}
	return after, true
}

func appendExports(env []string, decl *syntax.DeclClause, literally *expand.Config) []string {
	for _, a := range decl.Args {
		if a.Name == nil || a.Naked || a.Array != nil || a.Name.Value == "SHLVL" || a.Name.Value == "_" {
			continue // attributes, variables without a value, counters of the shell
		}
		value := ""
		if a.Value != nil {
			var err error
			unescape(a.Value)
			if value, err = expand.Literal(literally, a.Value); err != nil {
				continue
			}
		}
		env = append(env, a.Name.Value+"="+value)
	}
	return env
}

// unescape removes backslashes outside of quotes, which the library keeps: zsh and mksh
// write it's as 'it'\”s'.
func unescape(word *syntax.Word) {
	for _, part := range word.Parts {
		if lit, is := part.(*syntax.Lit); is {
			lit.Value = escaped.ReplaceAllString(lit.Value, "$1")
		}
	}
}

var escaped = lazyregexp.New(`\\(?s:(.))`)

// parseEnviron reads the output of env -0, ":" and the directory.
func parseEnviron(text []byte, before []string) (after shellState, ok bool) {
	i := bytes.LastIndex(text, []byte("\x00:\x00"))
	if i < 0 || text[len(text)-1] != '\n' {
		return shellState{}, false
	}
	after.dir = strings.TrimSuffix(string(text[i+3:]), "\n")
	for kv := range strings.SplitSeq(string(text[:i]), "\x00") {
		if name, _, is := strings.Cut(kv, "="); is && name != "SHLVL" && name != "_" {
			after.env = append(after.env, kv)
		}
	}
	for _, kv := range before {
		if strings.HasPrefix(kv, "SHLVL=") {
			after.env = append(after.env, kv)
		}
	}
	return after, true
}

// fishWords begin commands that fish reads differently from bash. Commands are judged by bash's
// grammar.
var fishWords = []string{"and", "or", "not", "begin", "if", "while", "for", "else", "switch", "function", "alias", "emit"}

// asFish returns the verdict of a command for fish: syntax that fish reads differently requires
// approval in every mode, because its effect is unknown.
func asFish(text string, v policy.Verdict) policy.Verdict {
	unparsed := v.Level == policy.Blocked && strings.HasPrefix(v.Reason, "does not parse as")
	own := escapesOfFish(text) || slices.ContainsFunc(v.Commands, func(c string) bool {
		word, _, _ := strings.Cut(c, " ")
		return slices.Contains(fishWords, word)
	})
	if !unparsed && !(own && v.Level == policy.Runs) {
		return v
	}
	return policy.Verdict{
		Level: policy.Asks, EveryMode: true, Commands: v.Commands, Keys: []string{escape.Line(text)},
		Reason: "is written in fish's own way, which cannot be judged",
	}
}

// escapesOfFish reports whether text contains a backslash escape of fish.
func escapesOfFish(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\\' && strings.IndexByte("xXuUoc01234567", text[i+1]) >= 0 {
			return true
		}
	}
	return false
}
