package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/lsp/message"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// incomplete is the field complete of a result: only false is shown.
type incomplete struct {
	Complete *bool `json:"complete,omitempty"`
}

func completeness(complete bool) incomplete {
	if complete {
		return incomplete{}
	}
	return incomplete{&complete}
}

type place struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`

	abs string // empty: it is no file
}

type locationsOut struct {
	Locations []place `json:"locations"`
	Total     int     `json:"total"`
	Truncated bool    `json:"truncated"`
	Server    string  `json:"server"`
	incomplete
}

var methods = map[action]string{
	definition: "textDocument/definition", references: "textDocument/references",
	implementation: "textDocument/implementation", typeDefinition: "textDocument/typeDefinition", hover: "textDocument/hover",
}

// askAt asks about the symbol of the question.
func (q *question) askAt(ctx context.Context) (answered, error) {
	if err := q.open(ctx); err != nil {
		return answered{}, err
	}
	at, err := q.position()
	if err != nil {
		return answered{}, err
	}
	params := map[string]any{"position": at}
	if q.input.Action == references {
		params["context"] = map[string]any{"includeDeclaration": true}
	}
	return q.ask(ctx, methods[q.input.Action], params)
}

// locations answers definition, references, implementation and type.
func (q *question) locations(ctx context.Context) (tools.Result, error) {
	a, err := q.askAt(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	all := []place{}
	seen := map[message.Location]bool{}
	for _, r := range a.results {
		for _, l := range message.Locations(r) {
			if !seen[l] && len(all) < q.input.limit() {
				all = append(all, q.place(l))
			}
			seen[l] = true
		}
	}
	out := locationsOut{Locations: all, Total: len(seen), Server: a.server, incomplete: completeness(a.complete)}
	out.Truncated = len(out.Locations) < out.Total
	q.texts(ctx, out.Locations)
	return tools.OK(out).With(links(out.Locations)...), nil
}

// place returns a location without its text.
func (q *question) place(l message.Location) place {
	line := int(l.Range.Start.Line) + 1
	path := own.PathOf(l.URI)
	if path == "" {
		return place{Path: tools.OneLine(l.URI, 500), Line: line}
	}
	files := q.x.reader()
	if abs, err := files.Abs(path); err == nil {
		path = abs
	}
	return place{Path: files.Name(path), Line: line, abs: path}
}

const (
	lineShown    = 200     // bytes of a line
	largestShown = 4 << 20 // bytes of a file outside of the workspace whose line is shown
)

// texts fills in the lines of places. Each file is read once.
func (q *question) texts(ctx context.Context, places []place) {
	files, hidden := map[string]*textenc.Index{}, q.x.session.Bounds.Sandbox.Hidden()
	for i := range places {
		p := &places[i]
		if p.abs == "" {
			continue
		}
		index, known := files[p.abs]
		if !known {
			index = q.readAny(ctx, p.abs, hidden)
			files[p.abs] = index
		}
		if index == nil {
			continue
		}
		if line, ok := index.Line(p.Line - 1); ok {
			p.Text = tools.OneLine(strings.TrimSpace(string(line)), lineShown)
		}
	}
}

// readAny reads a file of the workspace or of a library. If it is hidden, or not a file, readAny
// returns nil.
func (q *question) readAny(ctx context.Context, path string, hidden func(string) bool) *textenc.Index {
	if file, err := q.x.reader().Read(ctx, path); err == nil {
		return textenc.NewIndex(own.Decode(file))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || hidden(real) || tools.Local(q.x.session.Files) == nil {
		return nil
	}
	text, err := safefile.Read(real, largestShown)
	if err != nil {
		return nil
	}
	return textenc.NewIndex(text)
}

// links lists the places for the user to open in the editor.
func links(places []place) (shown []tools.Content) {
	var b strings.Builder
	for _, p := range places {
		if p.abs == "" {
			continue
		}
		fmt.Fprintf(&b, "- [%s:%d](%s#L%d) `%s`\n", p.Path, p.Line, own.URIOf(p.abs), p.Line, strings.ReplaceAll(p.Text, "`", "'"))
		shown = append(shown, tools.Content{Location: &tools.Location{Path: p.abs, Line: p.Line}})
	}
	if b.Len() == 0 {
		return nil
	}
	return append([]tools.Content{{Text: b.String()}}, shown...)
}

type hoverOut struct {
	Text   string `json:"text"`
	Server string `json:"server"`
	incomplete
}

const hoverShown = 4000 // bytes

func (q *question) hover(ctx context.Context) (tools.Result, error) {
	a, err := q.askAt(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	var texts []string
	for _, r := range a.results {
		if text := message.Hover(r); text != "" {
			texts = append(texts, text)
		}
	}
	return tools.OK(hoverOut{tools.CutMiddle(strings.Join(texts, "\n\n"), hoverShown), a.server, completeness(a.complete)}), nil
}

type symbolOut struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Path      string `json:"path"`
	Line      int    `json:"line"`
	EndLine   int    `json:"end_line,omitempty"`
	Container string `json:"container,omitempty"`
}

type symbolsOut struct {
	Symbols   []symbolOut `json:"symbols"`
	Total     int         `json:"total"`
	Truncated bool        `json:"truncated"`
	Server    string      `json:"server"`
	incomplete
}

// symbols answers symbols.
func (q *question) symbols(ctx context.Context) (tools.Result, error) {
	if err := q.open(ctx); err != nil {
		return tools.Result{}, err
	}
	a, err := q.ask(ctx, "textDocument/documentSymbol", nil)
	if err != nil {
		return tools.Result{}, err
	}
	return q.listed(a), nil
}

// find answers find. Without a path, all servers of the workspace's languages are asked.
func (q *question) find(ctx context.Context) (tools.Result, error) {
	if q.input.Query == "" {
		return tools.Result{}, needs("find needs a query: the name of a symbol, or a part of it")
	}
	params := map[string]any{"query": q.input.Query}
	a, refused := q.firstEditor(ctx, "workspace/symbol", params)
	if slices.ContainsFunc(a.results, func(r json.RawMessage) bool { return len(message.Symbols(r)) > 0 }) || len(a.results) > 0 && !q.settings.own() {
		return q.listed(a), nil
	}
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	servers := q.x.own()
	if !q.settings.own() || servers == nil {
		a, err := q.withoutOwn(a, refused, &own.NoServer{})
		if err != nil {
			return tools.Result{}, err
		}
		return q.listed(a), nil
	}
	files, err := q.samples(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	all := answered{complete: true, ours: true}
	var names []string
	var failed error
	for _, file := range files {
		answer, err := servers.Ask(ctx, file, "workspace/symbol", params)
		if err != nil {
			failed = err
			continue
		}
		all.results, all.complete = append(all.results, answer.Result), all.complete && answer.Complete
		if !slices.Contains(names, answer.Server) {
			names = append(names, answer.Server)
		}
	}
	switch {
	case len(names) == 0 && len(a.results) > 0: // the editor's list is empty, and no other server answers
		return q.listed(a), nil
	case len(names) == 0 && failed == nil:
		a, err := q.withoutOwn(a, refused, &own.NoServer{})
		if err != nil {
			return tools.Result{}, err
		}
		return q.listed(a), nil
	case len(names) == 0:
		return tools.Result{}, failed
	}
	all.server = strings.Join(names, ", ")
	return q.listed(all), nil
}

// samples returns a file for each server of the workspace, or for each server of the question's
// path.
func (q *question) samples(ctx context.Context) (files []string, err error) {
	reader := q.x.reader()
	if q.input.Path != "" {
		path, err := reader.Abs(q.input.Path)
		if err != nil {
			return nil, err
		}
		if info, err := reader.Stat(ctx, path); err != nil || !info.IsDir() {
			return []string{path}, err
		}
	}
	for _, extensions := range q.x.own().Extensions(ctx) {
		pattern := "*.{" + strings.Join(extensions, ",") + "}"
		found, err := reader.Search(ctx, search.Query{Files: true, Pattern: pattern, Path: q.input.Path, Limit: 1})
		if err != nil {
			return nil, err
		}
		for _, name := range found.Files {
			if path, err := reader.Abs(name); err == nil {
				files = append(files, path)
			}
		}
	}
	return files, nil
}

// mostSymbols bounds the symbols of an answer.
const mostSymbols = 10_000

func (q *question) listed(a answered) tools.Result {
	var all []symbolOut
	seen := map[symbolOut]bool{}
	files := q.x.reader()
	for _, r := range a.results {
		for _, s := range message.Symbols(r) {
			out := symbolOut{Name: tools.OneLine(s.Name, 200), Kind: s.Kind, Path: q.name, Line: s.Line, EndLine: s.End, Container: tools.OneLine(s.Container, 200)}
			if s.URI != "" {
				out.Path = tools.OneLine(s.URI, 500)
				if path := own.PathOf(s.URI); path != "" {
					out.Path = files.Name(path)
				}
			}
			if !seen[out] && len(all) < mostSymbols {
				seen[out] = true
				all = append(all, out)
			}
		}
	}
	all = q.nearby(all)
	out := symbolsOut{Total: len(all), Server: a.server, incomplete: completeness(a.complete)}
	out.Symbols = tools.OrEmpty(all[:min(len(all), q.input.limit())])
	out.Truncated = len(out.Symbols) < out.Total
	return tools.OK(out)
}

// nearby returns the symbols in the workspace. If there are none, it returns the libraries'
// symbols.
func (q *question) nearby(all []symbolOut) []symbolOut {
	var near []symbolOut
	for _, s := range all {
		if _, err := q.x.reader().Abs(s.Path); err == nil {
			near = append(near, s)
		}
	}
	if len(near) == 0 {
		return all
	}
	return near
}
