//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
)

// The server works for every editor whose capabilities pytest-lsp has recorded, as they
// were recorded.
func TestRecordedClients(t *testing.T) {
	t.Parallel()
	installed(t, "pytest-lsp", "python-clients", "installed")
	files, err := filepath.Glob(filepath.Join(root(t), ".cache/hosts/python-clients/lib/python*/site-packages/pytest_lsp/clients/*.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recorded clients, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			recorded, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var params map[string]any
			if err := json.Unmarshal(recorded, &params); err != nil {
				t.Fatal(err)
			}
			b := newBed(t, map[string]string{"a.py": "x = 1\n"})
			folder, document := uri.File(b.workspace), uri.File(filepath.Join(b.workspace, "a.py"))
			params["processId"], params["trace"], params["rootUri"] = os.Getpid(), nil, folder
			params["workspaceFolders"] = []any{map[string]any{"uri": folder, "name": "ws"}}
			c := b.lsp(t)
			var initialized struct {
				ServerInfo struct {
					Name string `json:"name"`
				} `json:"serverInfo"`
			}
			c.call(t, "initialize", params, &initialized)
			if initialized.ServerInfo.Name != protocol.ServerName {
				t.Errorf("initialize: %+v", initialized)
			}
			c.notify(t, "initialized", struct{}{})
			c.notify(t, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
				"uri": document, "languageId": "python", "version": 1, "text": "x = 1\n",
			}})
			var actions []json.RawMessage
			c.call(t, "textDocument/codeAction", map[string]any{
				"textDocument": map[string]any{"uri": document}, "context": map[string]any{"diagnostics": []any{}},
				"range": map[string]any{"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 0, "character": 5}},
			}, &actions)
			if len(actions) == 0 {
				t.Error("no code actions")
			}
			var turn protocol.TurnResult
			c.call(t, "workspace/executeCommand", map[string]any{
				"command": protocol.CommandPrompt, "arguments": []any{protocol.PromptArgs{Prompt: "Hello", Wait: true}},
			}, &turn)
			if turn.StopReason != "end_turn" || turn.Text == nil || *turn.Text == "" {
				t.Errorf("the turn: %+v", turn)
			}
			c.call(t, "shutdown", nil, nil)
			c.notify(t, "exit", nil)
			if err := c.process.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

// lspClient is a client of a running server.
type lspClient struct {
	process *exec.Cmd
	conn    jsonrpc2.Conn
}

// lsp starts the server. It ends with the test at the latest.
func (b bed) lsp(t *testing.T) *lspClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, b.binary, "serve")
	cmd.Dir, cmd.Env, cmd.Stderr = b.workspace, b.environ(), os.Stderr
	in, out := startPiped(t, cmd)
	c := &lspClient{cmd, jsonrpc2.NewConn(wire.NewHeaderStream(out, wire.NewWriter(in, wire.HeaderFraming)))}
	c.conn.Go(ctx, c.answer)
	t.Cleanup(func() {
		cancel()
		_ = in.Close()
	})
	return c
}

// answer answers the server like an editor without any display.
func (c *lspClient) answer(_ context.Context, r *jsonrpc2.Request) (any, error) {
	switch r.Method() {
	case "workspace/applyEdit":
		return map[string]bool{"applied": false}, nil
	case "workspace/configuration":
		return []any{nil, nil}, nil
	case "window/showDocument":
		return map[string]bool{"success": false}, nil
	}
	return nil, nil
}

func (c *lspClient) call(t *testing.T, method string, params, result any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.conn.Call(ctx, method, params, result); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", method, err))
	}
}

func (c *lspClient) notify(t *testing.T, method string, params any) {
	t.Helper()
	if err := c.conn.Notify(t.Context(), method, params); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", method, err))
	}
}
