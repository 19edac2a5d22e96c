package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/evanw/esbuild/pkg/api"
	yaml "github.com/goccy/go-yaml/parser"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

const (
	syntaxBytes  = 1 << 20         // longer files are not checked
	syntaxErrors = 5               // said of one file
	syntaxLimit  = 3 * time.Second // for a check that needs a program
)

// syntaxError is a place that a parser did not understand.
type syntaxError struct {
	line int // 0: not said
	text string
}

// newSyntaxErrors tells what is wrong with the syntax of a file now and was not
// before. old is nil for a new file. Where there is no parser, nothing is wrong.
func newSyntaxErrors(ctx context.Context, name string, old, new []byte) []string {
	check := syntaxChecks[strings.ToLower(path.Ext(name))]
	if check == nil || len(new) > syntaxBytes || len(bytes.TrimSpace(new)) == 0 || notReally(name, new) {
		return nil
	}
	found := check(ctx, withoutMark(new))
	if len(found) == 0 {
		return nil
	}
	if old != nil {
		found = slices.DeleteFunc(found, knownIn(check(ctx, withoutMark(old)), strings.HasSuffix(name, ".go")))
	}
	var said []string
	for _, e := range found[:min(len(found), syntaxErrors)] {
		where := name
		if e.line > 0 {
			where += ", line " + strconv.Itoa(e.line)
		}
		said = append(said, where+": "+oneLine(e.text, 200))
	}
	return said
}

// knownIn tells which errors a file had before. A parser that stops at the first one
// leaves it open whether the others are new.
func knownIn(before []syntaxError, all bool) func(syntaxError) bool {
	return func(e syntaxError) bool {
		return len(before) > 0 && !all || slices.ContainsFunc(before, func(b syntaxError) bool { return b.text == e.text })
	}
}

func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// notReally knows files that are not quite what their name says: JSON with comments,
// templates.
func notReally(name string, text []byte) bool {
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

var syntaxChecks = map[string]func(context.Context, []byte) []syntaxError{
	".json": checkJSON, ".ipynb": checkJSON,
	".yaml": checkYAML, ".yml": checkYAML,
	".toml": checkTOML,
	".go":   checkGo,
	".py":   checkPython, ".pyi": checkPython,
	".js": checkJS(api.LoaderJSX), ".mjs": checkJS(api.LoaderJSX), ".cjs": checkJS(api.LoaderJSX), ".jsx": checkJS(api.LoaderJSX),
	".ts": checkJS(api.LoaderTS), ".mts": checkJS(api.LoaderTS), ".cts": checkJS(api.LoaderTS), ".tsx": checkJS(api.LoaderTSX),
}

func checkJSON(_ context.Context, text []byte) []syntaxError {
	var wrong *json.SyntaxError
	var v any
	if err := json.Unmarshal(text, &v); errors.As(err, &wrong) {
		at := min(int(wrong.Offset), len(text))
		return []syntaxError{{1 + bytes.Count(text[:max(at-1, 0)], []byte{'\n'}), wrong.Error()}}
	}
	return nil
}

func checkYAML(_ context.Context, text []byte) (found []syntaxError) {
	defer func() {
		if recover() != nil { // a parser that fails has not found anything
			found = nil
		}
	}()
	_, err := yaml.ParseBytes(text, 0)
	if err == nil {
		return nil
	}
	said, _, _ := strings.Cut(err.Error(), "\n")
	place, words, _ := strings.Cut(strings.TrimPrefix(said, "["), "] ")
	row, _, _ := strings.Cut(place, ":")
	if line, err := strconv.Atoi(row); err == nil && words != "" {
		return []syntaxError{{line, words}}
	}
	return []syntaxError{{0, said}}
}

func checkTOML(_ context.Context, text []byte) []syntaxError {
	var v map[string]any
	var wrong toml.ParseError
	if _, err := toml.Decode(string(text), &v); errors.As(err, &wrong) {
		return []syntaxError{{wrong.Position.Line, wrong.Message}}
	}
	return nil
}

func checkGo(_ context.Context, text []byte) (found []syntaxError) {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.AllErrors|parser.SkipObjectResolution)
	var list scanner.ErrorList
	if errors.As(err, &list) {
		for _, e := range list {
			found = append(found, syntaxError{e.Pos.Line, e.Msg})
		}
	}
	return found
}

// pythonCheck compiles nothing and runs nothing: it parses what comes in.
const pythonCheck = `import ast, sys
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as e:
    print(e.lineno or 0, "%s: %s" % (type(e).__name__, e.msg))
except Exception:
    pass
`

func checkPython(ctx context.Context, text []byte) []syntaxError {
	for _, name := range []string{"python3", "python"} {
		if out, _, ok := parseWith(ctx, text, name, "-I", "-S", "-c", pythonCheck); ok {
			return numberedError(out)
		}
	}
	return nil
}

// numberedError reads "12 what is wrong".
func numberedError(out string) []syntaxError {
	row, words, found := strings.Cut(strings.TrimSpace(out), " ")
	line, err := strconv.Atoi(row)
	if !found || err != nil {
		return nil
	}
	return []syntaxError{{line, words}}
}

// checkJS is a check of JavaScript or TypeScript. Where the language allows both, a
// file may have JSX in it.
func checkJS(loader api.Loader) func(context.Context, []byte) []syntaxError {
	return func(_ context.Context, text []byte) (found []syntaxError) {
		if bytes.Contains(text, []byte("@flow")) {
			return nil // types of another kind
		}
		result := api.Transform(string(text), api.TransformOptions{Loader: loader, JSX: api.JSXPreserve, LogLevel: api.LogLevelSilent, LogLimit: 2 * syntaxErrors})
		for _, e := range result.Errors {
			line := 0
			if e.Location != nil {
				line = e.Location.Line
			}
			found = append(found, syntaxError{line, e.Text})
		}
		return found
	}
}

// parseWith gives text to a parser of the user's. ok is false when it is not there or
// took too long.
func parseWith(ctx context.Context, text []byte, program string, args ...string) (out string, exit int, ok bool) {
	found, err := exec.LookPath(program)
	if err != nil {
		return "", 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, syntaxLimit)
	defer cancel()
	env, _ := proc.Environ(nil)
	var said bytes.Buffer
	ended, err := proc.Run(ctx, proc.Cmd{
		Args: append([]string{found}, args...), Dir: os.TempDir(), Env: env,
		Stdin: bytes.NewReader(text), Stdout: &limited{to: &said}, Stderr: &limited{to: &said},
	})
	if err != nil {
		return "", 0, false
	}
	return said.String(), ended.Code, true
}

// limited keeps the first of what a parser says.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	l.to.Write(b[:min(len(b), max(0, 16<<10-l.to.Len()))])
	return len(b), nil
}
