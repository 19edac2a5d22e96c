package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// setEditor keeps the state of the client's editor.
func (a *Agent) setEditor(_ context.Context, p *acp.EditorState) (any, error) {
	a.Client.SetEditor(p)
	return nil, nil
}

// mostEditorFiles limits the recorded files of an editor.
const mostEditorFiles = 500

// SetEditor sets the state of the client's editor.
func (c *Client) SetEditor(e *acp.EditorState) {
	kept := *e
	kept.Open, kept.Problems = e.Open[:min(len(e.Open), mostEditorFiles)], e.Problems[:min(len(e.Problems), mostEditorFiles)]
	c.editor.Store(&kept)
}

// TellsEditor reports whether the client has sent the state of its editor.
func (c *Client) TellsEditor() bool { return c.editor.Load() != nil }

// EditorState returns the last state of the client's editor.
func (c *Client) EditorState() (s extension.EditorState) {
	e := c.editor.Load()
	if e == nil {
		return s
	}
	if e.Active != nil {
		s.Active = activeOf(e.Active)
	}
	for _, f := range e.Open {
		if path := pathOf(f.URI); path != "" {
			s.Open = append(s.Open, extension.OpenFile{Path: path, Unsaved: f.Unsaved})
		}
	}
	for _, f := range e.Problems {
		if path := pathOf(f.URI); path != "" {
			s.Problems = append(s.Problems, extension.FileProblems{Path: path, Errors: f.Errors, Warnings: f.Warnings})
		}
	}
	return s
}

func activeOf(p *acp.EditorPlace) (a extension.ActiveFile) {
	a.Path = pathOf(p.URI)
	if p.Position != nil {
		a.Line, a.Column = int(p.Position.Line)+1, int(p.Position.Character)+1
	}
	if p.Selection != nil {
		a.First, a.Last = LinesOf(*p.Selection)
	}
	if p.Visible != nil {
		a.Top, a.Bottom = LinesOf(*p.Visible)
	}
	return a
}

// LinesOf returns the first and the last line of a range, from 1. If a range ends at the start of a
// line, its last line is the line before. If the range is empty, LinesOf returns zeros.
func LinesOf(r protocol.Range) (first, last int) {
	if r.Start == r.End {
		return 0, 0
	}
	first, last = int(r.Start.Line)+1, int(r.End.Line)+1
	if r.End.Character == 0 && last > first {
		last--
	}
	return first, last
}

// pathOf returns the path of a file. If the URI names no file, pathOf returns "".
func pathOf(u string) string {
	parsed, err := uri.Parse(u)
	if err != nil || !parsed.IsFile() {
		return ""
	}
	return parsed.FsPath()
}

// problemsLimit is the timeout of the request for all problems.
const problemsLimit = 5 * time.Second

var severities = [...]string{"problem", "error", "warning", "information", "hint"}

// Problems asks the client for all problems in its editor.
func (c *Client) Problems(ctx context.Context) ([]extension.Problem, error) {
	if !c.CanDiagnose() {
		return nil, errors.New("the editor does not tell its problems")
	}
	ctx, cancel := context.WithTimeout(ctx, problemsLimit)
	defer cancel()
	var r acp.DiagnosticsResponse
	if err := c.peer.Call(ctx, acp.MethodDiagnostics, acp.DiagnosticsRequest{}, &r); err != nil {
		return nil, fmt.Errorf("asking the editor for its problems: %w", err)
	}
	var all []extension.Problem
	for _, f := range r.Files {
		path := cmp.Or(pathOf(f.URI), f.URI)
		for _, d := range f.Diagnostics {
			code := ""
			if d.Code != nil {
				code = fmt.Sprint(d.Code)
			}
			severity := severities[0]
			if d.Severity > 0 && d.Severity < len(severities) {
				severity = severities[d.Severity]
			}
			all = append(all, extension.Problem{
				Path: path, Line: int(d.Range.Start.Line) + 1, Column: int(d.Range.Start.Character) + 1,
				Severity: severity, Message: d.Message, Source: d.Source, Code: code,
			})
		}
	}
	return all, nil
}
