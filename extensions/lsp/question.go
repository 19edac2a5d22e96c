package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/message"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// question is a call of the tool.
type question struct {
	x        *Instance
	settings Settings
	input    input

	path string // absolute; empty: none was given
	name string // of the path, for the model
	text *textenc.Index
}

// answered holds the answers of the servers.
type answered struct {
	server   string
	results  []json.RawMessage
	complete bool
	ours     bool // a server of our own has answered
}

// first returns the first result. If there is none, it returns nil.
func (a answered) first() json.RawMessage {
	for _, r := range a.results {
		if len(r) > 0 && string(r) != "null" {
			return r
		}
	}
	return nil
}

// open reads the file of the question.
func (q *question) open(ctx context.Context) error {
	if q.input.Path == "" {
		return needs(fmt.Sprintf("%s needs a path", q.input.Action))
	}
	files := q.x.reader()
	file, err := files.Read(ctx, q.input.Path)
	if err != nil {
		return err
	}
	q.path, q.name, q.text = file.Path, file.Name, textenc.NewIndex(own.Decode(file))
	return nil
}

// ask asks the servers about the file of the question, the editor's first.
func (q *question) ask(ctx context.Context, method string, params map[string]any) (answered, error) {
	a, refused := q.firstEditor(ctx, method, params)
	if len(a.results) > 0 {
		return a, nil
	}
	if ctx.Err() != nil {
		return answered{}, ctx.Err()
	}
	servers := q.x.own()
	if !q.settings.own() || servers == nil {
		return q.withoutOwn(a, refused, own.Missing(q.path))
	}
	answer, err := servers.Ask(ctx, q.path, method, withDocument(params, q.path))
	if none := (*own.NoServer)(nil); errors.As(err, &none) {
		return q.withoutOwn(a, refused, err)
	}
	if err != nil {
		return answered{}, err
	}
	return answered{server: answer.Server, results: []json.RawMessage{answer.Result}, complete: answer.Complete, ours: true}, nil
}

// firstEditor asks the servers of the editor, if there are any. If they have not answered in time,
// the answer names the editor without a result. refused is the reason.
func (q *question) firstEditor(ctx context.Context, method string, params map[string]any) (a answered, refused error) {
	if !q.settings.editor() || q.x.editor == nil {
		return answered{}, nil
	}
	a, err := q.askEditor(ctx, method, q.path, params)
	if errors.Is(err, context.DeadlineExceeded) {
		return answered{server: "editor"}, err
	}
	return a, err
}

// withoutOwn is the answer without a server of our own: the late answer of an editor, the reason of
// one of its servers, or that there is no server.
func (q *question) withoutOwn(late answered, refused, none error) (answered, error) {
	if errors.Is(refused, context.DeadlineExceeded) {
		return late, nil
	}
	if reason := (*extension.RejectedRequest)(nil); errors.As(refused, &reason) {
		return answered{}, needs("editor: " + tools.OneLine(reason.Reason, 300))
	}
	return answered{}, none
}

func withDocument(params map[string]any, path string) map[string]any {
	all := map[string]any{}
	for name, value := range params {
		all[name] = value
	}
	if path != "" {
		all["textDocument"] = map[string]any{"uri": own.URIOf(path)}
	}
	return all
}

// askEditor asks the servers of the editor.
func (q *question) askEditor(ctx context.Context, method, path string, params map[string]any) (answered, error) {
	ctx, stop := context.WithTimeout(ctx, q.settings.wait())
	defer stop()
	list, err := q.x.editor(ctx, method, path, params)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return answered{}, err
	}
	return gather(list), nil
}

func gather(list []extension.ServerAnswer) answered {
	a := answered{complete: true}
	var names []string
	for _, one := range list {
		a.results = append(a.results, one.Result)
		if name := tools.OneLine(one.Server, 60); name != "" {
			names = append(names, name)
		}
	}
	if a.server = strings.Join(names, ", "); a.server == "" {
		a.server = "editor"
	}
	return a
}

// position returns the position of the question's symbol.
func (q *question) position() (message.Position, error) {
	if q.input.Line <= 0 || q.input.Symbol == "" {
		return message.Position{}, needs(fmt.Sprintf("%s needs path, line (from 1) and symbol, a text of that line", q.input.Action))
	}
	line, ok := q.text.Line(q.input.Line - 1)
	if !ok {
		return message.Position{}, needs(fmt.Sprintf("%s has %d lines, not %d", q.name, q.text.Lines(), q.input.Line))
	}
	at := locate(string(line), q.input.Symbol)
	if at < 0 {
		return message.Position{}, needs(fmt.Sprintf("%s is not in line %d of %s, which is: %s", q.input.Symbol, q.input.Line, q.name, tools.OneLine(string(line), 200)))
	}
	character := textenc.PositionAt(line, at, textenc.UTF16).Character
	return message.Position{Line: uint32(q.input.Line - 1), Character: character}, nil
}

// locate returns where a symbol is in a line: NAME is its first occurrence, NAME#2 its second. Of
// a qualified name such as pkg.Name, it is the place of the last part. Occurrences within longer
// names count only if there are no others. If the symbol is not there, locate returns -1.
func locate(line, symbol string) int {
	number := 1
	if i := strings.LastIndexByte(symbol, '#'); i > 0 {
		if n, err := strconv.Atoi(symbol[i+1:]); err == nil && n > 0 && !strings.Contains(line, symbol) {
			symbol, number = symbol[:i], n
		}
	}
	at := occurrence(line, symbol, number, true)
	if at < 0 {
		at = occurrence(line, symbol, number, false)
	}
	if at < 0 {
		return -1
	}
	return at + lastPart(symbol)
}

func occurrence(line, symbol string, number int, whole bool) int {
	for from := 0; ; {
		i := strings.Index(line[from:], symbol)
		if i < 0 {
			return -1
		}
		at := from + i
		if !whole || isWhole(line, at, at+len(symbol)) {
			if number--; number == 0 {
				return at
			}
		}
		from = at + max(len(symbol), 1)
	}
}

// isWhole reports whether a part of a line is not within a longer name.
func isWhole(line string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(line[:from])
	first, _ := utf8.DecodeRuneInString(line[from:])
	last, _ := utf8.DecodeLastRuneInString(line[:to])
	after, _ := utf8.DecodeRuneInString(line[to:])
	return !(inName(before) && inName(first)) && !(inName(last) && inName(after))
}

func inName(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) && r != utf8.RuneError || unicode.IsDigit(r)
}

// lastPart returns where the last name of a qualified name begins.
func lastPart(symbol string) int {
	end := len(strings.TrimRightFunc(symbol, func(r rune) bool { return !inName(r) }))
	if end == 0 {
		return 0
	}
	return strings.LastIndexFunc(symbol[:end], func(r rune) bool { return !inName(r) }) + 1
}

// explain describes an error to the model: the problem, and the next step.
func (q *question) explain(err error) string {
	text := err.Error()
	if none := (*own.NoServer)(nil); errors.As(err, &none) {
		text += ". Use search_files"
		if none.Install != "" {
			text += "; the user can install " + none.Install
		}
		return text
	}
	if mistake := errInput(""); errors.As(err, &mistake) {
		return text
	}
	if own.OutOfMemory(err) {
		return text + " Use search_files"
	}
	return text
}
