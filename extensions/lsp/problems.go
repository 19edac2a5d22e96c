package lsp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/message"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
)

type problemOut struct {
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Severity string `json:"severity"`
	Source   string `json:"source"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

type problemsOut struct {
	Diagnostics []problemOut `json:"diagnostics"`
	Total       int          `json:"total,omitempty"` // if there are more
	Complete    bool         `json:"complete"`
	Server      string       `json:"server"`
}

var severities = [...]string{"error", "error", "warning", "information", "hint"}

func severityOf(n int) string {
	if n < 0 || n >= len(severities) {
		n = 1
	}
	return severities[n]
}

func (q *question) problem(name string, d message.Diagnostic) problemOut {
	return problemOut{
		Path: name, Line: int(d.Range.Start.Line) + 1, Severity: severityOf(d.Severity),
		Source: tools.OneLine(d.Source, 60), Code: tools.OneLine(d.CodeText(), 60), Message: tools.OneLine(string(d.Message), 500),
	}
}

// diagnostics answers diagnostics.
func (q *question) diagnostics(ctx context.Context) (tools.Result, error) {
	if q.input.Path == "" {
		return q.allProblems(ctx)
	}
	if err := q.open(ctx); err != nil {
		return tools.Result{}, err
	}
	list, a, err := q.problemsOf(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	var all []problemOut
	for _, d := range list {
		all = append(all, q.problem(q.name, d))
	}
	return q.problems(all, a.complete, a.server), nil
}

// problemsOf returns the diagnostics of the question's file.
func (q *question) problemsOf(ctx context.Context) (list []message.Diagnostic, a answered, err error) {
	a, refused := q.firstEditor(ctx, "textDocument/diagnostic", nil)
	if len(a.results) > 0 {
		for _, r := range a.results {
			list = append(list, message.Diagnostics(r)...)
		}
		return list, a, nil
	}
	if ctx.Err() != nil {
		return nil, answered{}, ctx.Err()
	}
	servers := q.x.own()
	if !q.settings.own() || servers == nil {
		a, err = q.withoutOwn(a, refused, own.Missing(q.path))
		return nil, a, err
	}
	limited, stop := context.WithTimeout(ctx, q.settings.wait())
	defer stop()
	list, answer, err := servers.Problems(limited, q.path, true)
	if none := (*own.NoServer)(nil); errors.As(err, &none) {
		a, err = q.withoutOwn(a, refused, err)
		return nil, a, err
	}
	if err != nil {
		return nil, answered{}, err
	}
	return list, answered{server: answer.Server, complete: answer.Complete, ours: true}, nil
}

// allProblems returns the known diagnostics of all files.
func (q *question) allProblems(ctx context.Context) (tools.Result, error) {
	if q.settings.editor() && q.x.editor != nil && q.x.session.Problems != nil {
		if known, err := q.x.session.Problems(ctx); err == nil {
			var all []problemOut
			for _, p := range known {
				all = append(all, problemOut{
					Path: q.x.reader().Name(p.Path), Line: p.Line, Severity: p.Severity,
					Source: tools.OneLine(p.Source, 60), Code: tools.OneLine(p.Code, 60), Message: tools.OneLine(p.Message, 500),
				})
			}
			return q.problems(all, true, "editor"), nil
		}
	}
	servers := q.x.own()
	if !q.settings.own() || servers == nil || !servers.AnyRuns() {
		return tools.Result{}, needs("No problems are known, because no language server runs. Give a path, or run the project's compiler or linter")
	}
	known, names := servers.All()
	var all []problemOut
	for _, path := range slices.Sorted(maps.Keys(known)) {
		for _, d := range known[path] {
			all = append(all, q.problem(q.x.reader().Name(path), d))
		}
	}
	return q.problems(all, true, strings.Join(names, ", ")), nil
}

// problems is the result of diagnostics: errors first, then by path and line.
func (q *question) problems(all []problemOut, complete bool, server string) tools.Result {
	slices.SortStableFunc(all, func(a, b problemOut) int {
		return cmp.Or(slices.Index(severities[1:], a.Severity)-slices.Index(severities[1:], b.Severity), cmp.Compare(a.Path, b.Path), a.Line-b.Line)
	})
	out := problemsOut{Diagnostics: tools.OrEmpty(all[:min(len(all), q.input.limit())]), Complete: complete, Server: server}
	if len(out.Diagnostics) < len(all) {
		out.Total = len(all)
	}
	return tools.OK(out)
}

// Diagnoser reports the new problems of edits: from the editor, else from our own server if it
// runs.
type Diagnoser struct {
	Editor file.Diagnoser // nil: it has none
	// Servers returns the extension of the session; nil: it has none.
	Servers func() *Instance
}

// Problems returns the Diagnoser of a session: that of its editor, then our own servers, if any runs.
func Problems(s *extension.Session) file.Diagnoser {
	return Diagnoser{Editor: s.Diagnoser, Servers: func() *Instance {
		if s.Extensions == nil {
			return nil
		}
		x, _ := extension.Find[*Instance](s.Extensions())
		return x
	}}
}

// CanDiagnose reports whether the editor or a server answers.
func (d Diagnoser) CanDiagnose() bool {
	if d.Editor != nil && d.Editor.CanDiagnose() {
		return true
	}
	x := d.Servers()
	return x != nil && x.watchesEdits()
}

// watchesEdits reports whether a server of our own runs, or may be started by an edit.
func (x *Instance) watchesEdits() bool {
	settings := x.settings()
	if !settings.own() {
		return false
	}
	x.mu.Lock()
	servers := x.servers
	x.mu.Unlock()
	return settings.OnEdit || servers != nil && servers.AnyRuns()
}

// WaitFor returns lsp.wait_timeout if a server of our own answers: it reports when it is done. See
// [file.Waiter].
func (d Diagnoser) WaitFor() time.Duration {
	if d.Editor != nil && d.Editor.CanDiagnose() {
		return 0
	}
	x := d.Servers()
	if x == nil {
		return 0
	}
	return x.settings().wait()
}

// Diagnose returns the errors and warnings of a file. See [file.Diagnoser].
func (d Diagnoser) Diagnose(ctx context.Context, path string, wait time.Duration) ([]file.Diagnostic, error) {
	if d.Editor != nil && d.Editor.CanDiagnose() {
		return d.Editor.Diagnose(ctx, path, wait)
	}
	x := d.Servers()
	if x == nil {
		return nil, errors.New("no language server runs")
	}
	return x.diagnose(ctx, path)
}

// Compare returns the errors and warnings of a file before and after an edit. See [file.Comparer].
func (d Diagnoser) Compare(ctx context.Context, path string, old []byte) (before, after []file.Diagnostic, known bool, err error) {
	x := d.Servers()
	if x == nil {
		return nil, nil, false, errors.New("no language server runs")
	}
	servers := x.own()
	if servers == nil {
		return nil, nil, false, errors.New("there are no language servers")
	}
	if _, err := x.reader().Stat(ctx, path); errors.Is(err, workspace.ErrNotFound) {
		return nil, nil, false, nil // it was removed since
	}
	c, err := servers.Compare(ctx, path, old, x.settings().OnEdit)
	return errorsAndWarnings(c.Before), errorsAndWarnings(c.After), c.Known, err
}

func (x *Instance) diagnose(ctx context.Context, path string) ([]file.Diagnostic, error) {
	servers := x.own()
	if servers == nil {
		return nil, errors.New("there are no language servers")
	}
	if _, err := x.reader().Stat(ctx, path); errors.Is(err, workspace.ErrNotFound) {
		return nil, nil // the edit creates it
	}
	list, answer, err := servers.Problems(ctx, path, x.settings().OnEdit)
	if err != nil {
		return nil, err
	}
	if !answer.Complete {
		return nil, errors.New(answer.Server + " has not answered in time")
	}
	return errorsAndWarnings(list), nil
}

func errorsAndWarnings(list []message.Diagnostic) (found []file.Diagnostic) {
	for _, d := range list {
		if severity := severityOf(d.Severity); severity == "error" || severity == "warning" {
			found = append(found, file.Diagnostic{
				Line: int(d.Range.Start.Line) + 1, Warning: severity == "warning",
				Source: d.Source, Code: d.CodeText(), Message: string(d.Message),
			})
		}
	}
	return found
}
