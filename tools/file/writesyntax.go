package file

import (
	"bytes"
	"context"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/syntax"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	syntaxBytes  = 1 << 20         // longer files are not checked
	syntaxErrors = 5               // shown for a single file
	syntaxLimit  = 3 * time.Second // for a check with an external program
)

// newSyntaxErrors returns the syntax errors caused by a change. old is nil for a new file. Without
// a parser, it returns nil.
func newSyntaxErrors(ctx context.Context, env *callEnv, name string, old, new []byte) []string {
	check := syntaxCheck(env, strings.ToLower(path.Ext(name)))
	if check == nil || len(new) > syntaxBytes || len(bytes.TrimSpace(new)) == 0 || isOtherFormat(name, new) {
		return nil
	}
	found := check(ctx, withoutBOM(new))
	if len(found) == 0 {
		return nil
	}
	if old != nil {
		found = slices.DeleteFunc(found, knownIn(check(ctx, withoutBOM(old)), strings.HasSuffix(name, ".go")))
	}
	var said []string
	for _, e := range found[:min(len(found), syntaxErrors)] {
		where := name
		if e.Line > 0 {
			where += ", line " + strconv.Itoa(e.Line)
		}
		said = append(said, where+": "+tools.OneLine(e.Text, 200))
	}
	return said
}

// knownIn reports which errors a file had before. If the parser stops at its first error, the
// others cannot be compared and count as known.
func knownIn(before []syntax.Error, all bool) func(syntax.Error) bool {
	return func(e syntax.Error) bool {
		return len(before) > 0 && !all || slices.ContainsFunc(before, func(b syntax.Error) bool { return b.Text == e.Text })
	}
}

// syntaxCheck is the check of files with an extension; nil: there is none.
func syntaxCheck(env *callEnv, ext string) func(context.Context, []byte) []syntax.Error {
	switch {
	case ext == ".py" || ext == ".pyi":
		return func(ctx context.Context, text []byte) []syntax.Error { return checkPython(ctx, env, text) }
	case ext == ".js" || ext == ".cjs" || ext == ".mjs":
		return func(ctx context.Context, text []byte) []syntax.Error { return checkJavaScript(ctx, env, ext, text) }
	case syntax.Known(ext):
		return func(ctx context.Context, text []byte) []syntax.Error { return syntax.Check(ctx, ext, text) }
	}
	return nil
}

func withoutBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// isOtherFormat reports whether a file differs from the format of its name: JSON with
// comments, templates.
func isOtherFormat(name string, text []byte) bool {
	base, dir := strings.ToLower(path.Base(name)), path.Base(path.Dir(name))
	switch path.Ext(base) {
	case ".json":
		return strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig") || strings.HasPrefix(base, ".") ||
			strings.HasPrefix(base, "devcontainer") || dir == ".vscode" || dir == ".devcontainer"
	case ".yml", ".yaml":
		return bytes.Contains(text, []byte("{{")) || bytes.Contains(text, []byte("{%")) || bytes.Contains(text, []byte("<%"))
	}
	return false
}

// pythonCheck only parses its input. It compiles and runs nothing.
const pythonCheck = `import ast, sys
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as e:
    print(e.lineno or 0, "%s: %s" % (type(e).__name__, e.msg))
except Exception:
    pass
`

func checkPython(ctx context.Context, env *callEnv, text []byte) []syntax.Error {
	for _, name := range []string{"python3", "python"} {
		if out, _, ok := parseWith(ctx, env, text, name, "-I", "-S", "-c", pythonCheck); ok {
			return numberedError(out)
		}
	}
	return nil
}

// A file with one of these lines is an ES module, or has syntax that node does not know.
var (
	moduleLine    = lazyregexp.New(`(?m)^\s*(import|export)\b`)
	otherLanguage = lazyregexp.New(`(?m)@flow\b|^\s*(export\s+(default\s+)?)?@\w`) // types, or decorators
)

// checkJavaScript has the user's node parse a file, which runs nothing. It takes a .js file as a script and as a module, and one
// of them must be right. If none is, it returns the error of the one that node could read further. Of JSX and other syntax that
// node does not know, it returns no errors.
func checkJavaScript(ctx context.Context, env *callEnv, ext string, text []byte) (found []syntax.Error) {
	if otherLanguage.Match(text) {
		return nil
	}
	kinds := []string{"commonjs", "module"}
	switch {
	case ext == ".cjs":
		kinds = kinds[:1]
	case ext == ".mjs":
		kinds = kinds[1:]
	case moduleLine.Match(text):
		slices.Reverse(kinds)
	}
	for _, kind := range kinds {
		out, exit, ok := parseWith(ctx, env, text, "node", "--input-type="+kind, "--check", "-")
		wrong := nodeError(out)
		if !ok || exit == 0 || wrong == nil {
			return nil
		}
		found = append(found, *wrong)
	}
	further := slices.MaxFunc(found, func(a, b syntax.Error) int { return a.Line - b.Line })
	return []syntax.Error{further}
}

// nodeError finds the error in what node writes: the place, the line of the file, a mark below it, and the error. If there is
// none, or JSX begins there, it returns nil.
func nodeError(out string) *syntax.Error {
	line := 0
	for said := range strings.Lines(out) {
		said = strings.TrimSpace(said)
		if row, ok := strings.CutPrefix(said, "[stdin]:"); ok && line == 0 {
			line, _ = strconv.Atoi(row) // 0: not known
		}
		if words, ok := strings.CutPrefix(said, "SyntaxError: "); ok {
			if strings.HasSuffix(words, "token '<'") {
				return nil
			}
			return &syntax.Error{Line: line, Text: words}
		}
	}
	return nil
}

// numberedError reads a line such as "12 invalid syntax".
func numberedError(out string) []syntax.Error {
	row, words, found := strings.Cut(strings.TrimSpace(out), " ")
	line, err := strconv.Atoi(row)
	if !found || err != nil {
		return nil
	}
	return []syntax.Error{{Line: line, Text: words}}
}

// parserMemory is far more megabytes than a parser needs for syntaxBytes.
const parserMemory = 1024

// parseWith passes text to the user's parser, never a program from the workspace. The parser runs
// in the session's sandbox, where it can only read. If it is missing or takes too long, ok is
// false.
func parseWith(ctx context.Context, env *callEnv, text []byte, name string, args ...string) (out string, exit int, ok bool) {
	folders := env.Files.Folders()
	found, err := program.Find(name, folders)
	if err != nil {
		return "", 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, syntaxLimit)
	defer cancel()
	environ, _ := proc.Environ(nil)
	environ = slices.DeleteFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "NODE_OPTIONS=") }) // they can load code
	output := &proc.Bounded{Limit: 16 << 10}
	c := proc.Cmd{
		Args: append([]string{found}, args...), Dir: "/", Env: program.Environ(environ, folders),
		Stdin: bytes.NewReader(text), Stdout: output, Stderr: output,
		Limits: proc.Limits{MemoryMB: parserMemory},
	}
	if runtime.GOOS == "windows" {
		c.Dir = os.TempDir()
	}
	if env.Sandbox.ConfineOwn(ctx, &c, sandbox.Own{}) != nil {
		return "", 0, false
	}
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return "", 0, false
	}
	return output.String(), ended.Code, true
}
