package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// asker returns a function that calls the tool once in a session. The session's editor answers by
// query.
func asker(t *testing.T, mode string, query extension.ServerQuery) func(args string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a.py", "a.x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("one two\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() }) // nothing was written
	instance, err := New(Options{}).Open(t.Context(), &extension.Session{
		ID: "s", Cwd: dir, Folders: files.Folders, Files: files,
		Config: func(into any) error { s := into.(*Settings); s.Mode, s.WaitTimeout = mode, 1; return nil },
		Host: extension.Host{LanguageServers: query, Problems: func(context.Context) ([]extension.Problem, error) {
			return []extension.Problem{{Path: filepath.Join(dir, "a.py"), Line: 1, Severity: "warning", Message: "m", Source: "lint", Code: "E1"}}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { instance.Close(context.Background()) }) // no server runs
	list, err := instance.(extension.Tools).Tools(t.Context(), nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	return func(args string) string {
		result, err := list[0].Run(t.Context(), &tools.Env{SessionID: "s"}, tools.Call{ID: "c", Name: list[0].Name, Args: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return string(result.JSON)
	}
}

// An error or an empty list from the editor is no answer. If no server of our own answers either,
// the result reports this, with the reason of a server that rejected the request.
func TestEditorDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const (
		references = `{"action":"references","path":"a.py","line":1,"symbol":"one"}`
		python     = `{"error":"No language server for Python files. Use search_files; the user can install pyright"}`
	)
	empty := func(context.Context) ([]extension.ServerAnswer, error) { return nil, nil }
	fails := func(context.Context) ([]extension.ServerAnswer, error) { return nil, errors.New("boom") }
	rejects := func(context.Context) ([]extension.ServerAnswer, error) {
		return nil, &extension.RejectedRequest{Reason: "bad name"}
	}
	late := func(ctx context.Context) ([]extension.ServerAnswer, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, tt := range map[string]struct {
		answer     func(context.Context) ([]extension.ServerAnswer, error)
		args, want string
	}{
		"nothing":             {empty, references, python},
		"an error":            {fails, references, python},
		"a reason":            {rejects, references, `{"error":"editor: bad name"}`},
		"an unknown kind":     {empty, `{"action":"symbols","path":"a.x"}`, `{"error":"No language server for .x files. Use search_files"}`},
		"problems":            {empty, `{"action":"diagnostics","path":"a.py"}`, python},
		"late":                {late, references, `{"locations":[],"total":0,"truncated":false,"server":"editor","complete":false}`},
		"a late search":       {late, `{"action":"find","query":"one"}`, `{"symbols":[],"total":0,"truncated":false,"server":"editor","complete":false}`},
		"a search":            {empty, `{"action":"find","query":"one"}`, `{"error":"No language server for this file. Use search_files"}`},
		"problems of no file": {empty, `{"action":"diagnostics"}`, `{"diagnostics":[{"path":"a.py","line":1,"severity":"warning","source":"lint","code":"E1","message":"m"}],"complete":true,"server":"editor"}`},
	} {
		for _, mode := range []string{"editor", "auto"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				ask := asker(t, mode, func(ctx context.Context, _, _ string, _ map[string]any) ([]extension.ServerAnswer, error) {
					return tt.answer(ctx)
				})
				if got := ask(tt.args); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
			})
		}
	}
}
