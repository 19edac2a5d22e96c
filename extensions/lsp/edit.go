package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/lsp/message"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
)

// rename answers rename.
func (q *question) rename(ctx context.Context, env *tools.Env, call tools.Call) (tools.Result, error) {
	if strings.TrimSpace(q.input.NewName) == "" {
		return tools.Result{}, needs("rename needs new_name")
	}
	if err := q.open(ctx); err != nil {
		return tools.Result{}, err
	}
	at, err := q.position()
	if err != nil {
		return tools.Result{}, err
	}
	a, err := q.ask(ctx, "textDocument/rename", map[string]any{"position": at, "newName": q.input.NewName})
	if err != nil {
		return tools.Result{}, err
	}
	if a.first() == nil && !a.complete {
		return tools.OK(map[string]any{"success": false, "complete": false, "server": a.server}), nil
	}
	return q.apply(ctx, env, call, a, a.first())
}

// apply applies the edit of an answer.
func (q *question) apply(ctx context.Context, env *tools.Env, call tools.Call, a answered, edit json.RawMessage) (tools.Result, error) {
	edits, err := message.WorkspaceEdit(edit)
	if err != nil {
		return tools.Result{}, fmt.Errorf("%w. Nothing was changed", err)
	}
	if len(edits) == 0 {
		return tools.Result{}, needs(a.server + " proposes no change. Nothing was changed")
	}
	var actions []workspace.Action
	replaced := 0
	for _, e := range edits {
		if err := ctx.Err(); err != nil {
			return tools.Result{}, err
		}
		action, err := q.action(ctx, a, e)
		if err != nil {
			return tools.Result{}, fmt.Errorf("%w. Nothing was changed", err)
		}
		actions, replaced = append(actions, action...), replaced+len(e.Edits)
	}
	if q.x.session.Edits != nil {
		if files, ok := q.x.session.Edits(); ok {
			return files.Edit(ctx, env, call, actions, replaced)
		}
	}
	return tools.Result{}, errors.New("files cannot be changed in this session. Nothing was changed")
}

// action returns the changes for a server's edit.
func (q *question) action(ctx context.Context, a answered, e message.FileEdit) ([]workspace.Action, error) {
	path, err := q.inside(e.URI)
	if err != nil {
		return nil, err
	}
	info, _ := q.x.reader().Stat(ctx, path)
	if info != nil && info.IsDir() {
		return nil, fmt.Errorf("the edit of %s changes the folder %s; only files are changed", a.server, q.x.reader().Name(path))
	}
	switch {
	case e.Create && info != nil && e.Skip, e.Delete && info == nil && e.Skip:
		return nil, nil
	case e.Create && info != nil && e.Overwrite:
		return []workspace.Action{{Path: path, Change: func([]byte) ([]byte, error) { return []byte{}, nil }}}, nil
	case e.Create:
		return []workspace.Action{{Path: path, Text: []byte{}}}, nil
	case e.Delete:
		return []workspace.Action{{Path: path, Remove: true}}, nil
	case e.NewURI != "":
		to, err := q.inside(e.NewURI)
		if there, _ := q.x.reader().Stat(ctx, to); err == nil && there != nil && e.Skip {
			return nil, nil
		}
		return []workspace.Action{{Path: path, MoveTo: to}}, err
	}
	if err := q.fresh(ctx, a, path, e.Version); err != nil {
		return nil, err
	}
	return []workspace.Action{{Path: path, Change: file.OnText(func(old string) (string, error) { return message.Apply(old, e.Edits) })}}, nil
}

// inside returns the path of a file changed by an edit.
func (q *question) inside(uri string) (string, error) {
	path := own.PathOf(uri)
	if path == "" {
		return "", fmt.Errorf("the edit changes %s, which is no file", tools.OneLine(uri, 200))
	}
	return q.x.reader().Abs(path)
}

// fresh returns an error if a file is not as the server had it.
func (q *question) fresh(ctx context.Context, a answered, path string, version *int32) error {
	now, err := q.x.reader().Read(ctx, path)
	if errors.Is(err, workspace.ErrNotFound) {
		return nil // an earlier change of the edit creates it
	}
	if err != nil {
		return err
	}
	changed := false
	switch {
	case a.ours:
		changed = q.x.own().Stale(path, own.Decode(now), version)
	case version != nil && *version > 0 && now.Version > 0:
		changed = *version != now.Version
	}
	if changed {
		return fmt.Errorf("%s has changed since %s answered; call again", now.Name, a.server)
	}
	// The server has this text. It does not matter whether the model has read it.
	_, err = q.x.session.Files.Read(ctx, path)
	return err
}

type fixOut struct {
	Title string `json:"title"`
	Kind  string `json:"kind"`
}

type fixesOut struct {
	Fixes  []fixOut `json:"fixes"`
	Server string   `json:"server"`
	incomplete
}

// fixes answers fixes.
func (q *question) fixes(ctx context.Context) (tools.Result, error) {
	all, a, err := q.actions(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	out := fixesOut{Fixes: []fixOut{}, Server: a.server, incomplete: completeness(a.complete)}
	for _, o := range all {
		out.Fixes = append(out.Fixes, fixOut{tools.OneLine(o.Title, 200), tools.OneLine(o.Kind, 60)})
	}
	return tools.OK(out), nil
}

// fix answers fix.
func (q *question) fix(ctx context.Context, env *tools.Env, call tools.Call) (tools.Result, error) {
	if q.input.Title == "" {
		return tools.Result{}, needs("fix needs path, line and title, a title that fixes lists")
	}
	all, a, err := q.actions(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	i := slices.IndexFunc(all, func(o message.Action) bool { return tools.OneLine(o.Title, 200) == tools.OneLine(q.input.Title, 200) })
	if i < 0 {
		var titles []string
		for _, o := range all {
			titles = append(titles, fmt.Sprintf("%q", tools.OneLine(o.Title, 200)))
		}
		if len(titles) == 0 {
			return tools.Result{}, needs(fmt.Sprintf("%s has no fix for line %d of %s. Nothing was changed", a.server, q.input.Line, q.name))
		}
		return tools.Result{}, needs(fmt.Sprintf("no fix of line %d has this title. Nothing was changed. Fixes:\n%s\nUse one of these titles", q.input.Line, strings.Join(titles, "\n")))
	}
	return q.apply(ctx, env, call, a, all[i].Edit)
}

// mostActions bounds the code actions of a line.
const mostActions = 50

// actions returns the code actions with edits for the question's line.
func (q *question) actions(ctx context.Context) (all []message.Action, a answered, err error) {
	if err := q.open(ctx); err != nil {
		return nil, a, err
	}
	line, ok := q.text.Line(q.input.Line - 1)
	if !ok {
		return nil, a, needs(fmt.Sprintf("%s needs path and line; %s has %d lines", q.input.Action, q.name, q.text.Lines()))
	}
	known, _, err := q.problemsOf(ctx)
	if err != nil {
		known = nil // the request contains more
	}
	area := message.Range{Start: message.Position{Line: uint32(q.input.Line - 1)}, End: message.Position{Line: uint32(q.input.Line - 1), Character: width(line)}}
	here := []message.Diagnostic{}
	for _, d := range known {
		if d.Range.Start.Line <= area.End.Line && d.Range.End.Line >= area.Start.Line {
			here = append(here, d)
		}
	}
	a, err = q.ask(ctx, "textDocument/codeAction", map[string]any{
		"range": area, "context": map[string]any{"diagnostics": here, "triggerKind": 1},
	})
	if err != nil {
		return nil, a, err
	}
	for _, r := range a.results {
		for _, one := range message.Actions(r) {
			if len(all) == mostActions {
				break
			}
			if !one.HasEdit() {
				q.resolve(ctx, a, &one)
			}
			if one.HasEdit() {
				all = append(all, one)
			}
		}
	}
	return all, a, nil
}

// resolve asks for the edit of a code action. If there is none, the action stays as it is.
func (q *question) resolve(ctx context.Context, a answered, action *message.Action) {
	var params map[string]any
	if json.Unmarshal(action.Raw, &params) != nil {
		return
	}
	var result json.RawMessage
	if a.ours {
		answer, err := q.x.own().Resolve(ctx, q.path, params)
		if err != nil {
			return
		}
		result = answer.Result
	} else {
		full, err := q.askEditor(ctx, "codeAction/resolve", "", params)
		if err != nil {
			return
		}
		result = full.first()
	}
	if resolved := message.Actions(result); len(resolved) == 1 {
		action.Edit = resolved[0].Edit
	}
}

// width returns the length of a line in UTF-16.
func width(line []byte) uint32 {
	return textenc.PositionAt(line, len(line), textenc.UTF16).Character
}
