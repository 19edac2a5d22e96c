// Package syntax finds errors in the syntax of source files. It knows JSON, YAML, TOML and Go.
//
// Deeply nested text makes some parsers use all memory, or end the process. So [Check] parses all
// but short texts in a separate process.
package syntax

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	yaml "github.com/goccy/go-yaml/parser"

	"github.com/hermes-ls/hermes-ls/internal/helper"
)

const (
	mostErrors = 10      // maximum number returned
	shortText  = 2 << 10 // no text of this length takes more than a few megabytes
	hiddenWord = "__syntax"
)

// Error is a syntax error and its position.
type Error struct {
	Line int // 0: not known
	Text string
}

// ServeHelper parses a file and ends the process, if [Check] started this process. In any other
// process it returns at once. See package modes.
func ServeHelper() { helper.Serve(hiddenWord, child) }

// Known reports whether Check knows files with an extension such as ".go".
func Known(ext string) bool { return checks[ext] != nil }

// Check returns the syntax errors of text, a file with an extension such as ".go". If the
// extension is not known, or if parsing takes too much time or memory, it returns nil.
func Check(ctx context.Context, ext string, text []byte) (found []Error) {
	check := checks[ext]
	switch {
	case check == nil:
		return nil
	case len(text) <= shortText:
		return recovered(check, text)
	}
	limits := helper.Limits{Time: 3 * time.Second, Memory: 512 << 20, Answer: 1 << 20}
	answer, err := helper.Run(ctx, hiddenWord, limits, io.MultiReader(strings.NewReader(ext+"\n"), bytes.NewReader(text)))
	if err != nil || json.Unmarshal(answer, &found) != nil {
		return nil
	}
	return found
}

// child reads an extension and a text, and writes the syntax errors.
func child(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	ext, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		return err
	}
	check := checks[strings.TrimSpace(ext)]
	if check == nil {
		return errors.New("unknown extension")
	}
	return json.NewEncoder(out).Encode(recovered(check, text))
}

// recovered calls check. If the parser panics, it returns no errors.
func recovered(check func([]byte) []Error, text []byte) (found []Error) {
	defer func() {
		if recover() != nil {
			found = nil
		}
	}()
	found = check(text)
	return found[:min(len(found), mostErrors)]
}

var checks = map[string]func([]byte) []Error{
	".json": checkJSON, ".ipynb": checkJSON,
	".yaml": checkYAML, ".yml": checkYAML,
	".toml": checkTOML,
	".go":   checkGo,
}

func checkJSON(text []byte) []Error {
	var wrong *json.SyntaxError
	var v any
	if err := json.Unmarshal(text, &v); errors.As(err, &wrong) {
		at := min(int(wrong.Offset), len(text))
		return []Error{{1 + bytes.Count(text[:max(at-1, 0)], []byte{'\n'}), wrong.Error()}}
	}
	return nil
}

func checkYAML(text []byte) []Error {
	_, err := yaml.ParseBytes(text, 0)
	if err == nil {
		return nil
	}
	said, _, _ := strings.Cut(err.Error(), "\n")
	place, words, _ := strings.Cut(strings.TrimPrefix(said, "["), "] ")
	row, _, _ := strings.Cut(place, ":")
	if line, err := strconv.Atoi(row); err == nil && words != "" {
		return []Error{{line, words}}
	}
	return []Error{{0, said}}
}

func checkTOML(text []byte) []Error {
	var v map[string]any
	var wrong toml.ParseError
	if _, err := toml.Decode(string(text), &v); errors.As(err, &wrong) {
		return []Error{{wrong.Position.Line, wrong.Message}}
	}
	return nil
}

func checkGo(text []byte) (found []Error) {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.AllErrors|parser.SkipObjectResolution)
	var list scanner.ErrorList
	if errors.As(err, &list) {
		for _, e := range list {
			found = append(found, Error{e.Pos.Line, e.Msg})
		}
	}
	return found
}
