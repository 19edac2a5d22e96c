package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// editor is a small LSP client with a single server. It keeps open documents, applies the server's
// edits to them, and saves after an edit, like editors with auto save.
type editor struct {
	cmd     *exec.Cmd
	conn    jsonrpc2.Conn
	screen  *screen
	session string

	mu      sync.Mutex
	docs    map[string]*document // by path
	turn    turn
	costs   usage
	pending map[string]*toolCall
	bars    map[string]*bar // of work in progress, by token
}

type document struct {
	version int32
	text    string
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

// startEditor starts the server and runs the handshake.
func startEditor(ctx context.Context, binary, folder, home, log string, s *screen) (*editor, error) {
	cmd := exec.Command(binary, "serve", "--log", log)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "HERMES_HOME="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	e := &editor{cmd: cmd, screen: s, docs: map[string]*document{}, pending: map[string]*toolCall{}, bars: map[string]*bar{}}
	e.conn = jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(pipes{out, in}))
	e.conn.Go(ctx, e.handle)
	if err := e.initialize(ctx, folder); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

func (e *editor) initialize(ctx context.Context, folder string) error {
	params := map[string]any{
		"processId":        os.Getpid(),
		"clientInfo":       map[string]any{"name": "hermes-ls demo"},
		"rootUri":          uriOf(folder),
		"workspaceFolders": []any{map[string]any{"uri": uriOf(folder), "name": filepath.Base(folder)}},
		"capabilities": map[string]any{
			"general":   map[string]any{"positionEncodings": []string{"utf-8"}},
			"window":    map[string]any{"workDoneProgress": true},
			"workspace": map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}},
			"experimental": map[string]any{
				"agentClientProtocol": map[string]any{"protocolVersion": acp.Version, "clientCapabilities": map[string]any{}},
			},
		},
		"initializationOptions": map[string]any{"model": map[string]any{"provider": "embedded"}},
	}
	var result struct {
		ServerInfo struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	if _, err := e.conn.Call(ctx, "initialize", params, &result); err != nil {
		return fmt.Errorf("initializing the server: %w", err)
	}
	e.screen.heading("%s %s started over stdio", result.ServerInfo.Name, result.ServerInfo.Version)
	return e.conn.Notify(ctx, "initialized", map[string]any{})
}

// open opens a document, which may have unsaved changes.
func (e *editor) open(ctx context.Context, path, text string) error {
	e.mu.Lock()
	e.docs[path] = &document{version: 1, text: text}
	e.mu.Unlock()
	return e.conn.Notify(ctx, "textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{"uri": uriOf(path), "languageId": "python", "version": 1, "text": text},
	})
}

func (e *editor) text(path string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.docs[path].text
}

func (e *editor) usage() usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.costs
}

// ask shows a prompt, sends it, and waits for the end of its turn.
func (e *editor) ask(ctx context.Context, p prompt) (turn, error) {
	script, err := responses.ReadFile("responses/" + p.responses)
	if err != nil {
		return turn{}, fmt.Errorf("reading the recorded responses: %w", err)
	}
	e.screen.prompt(p.text)
	return e.send(ctx, scripted(p.text, string(script)))
}

// scripted returns a prompt with the responses of the embedded model, one per line.
func scripted(prompt, script string) string {
	return prompt + "\n```hermes-script\n" + script + "```\n"
}

func (e *editor) send(ctx context.Context, prompt string) (turn, error) {
	e.mu.Lock()
	e.turn = turn{}
	before := e.costs
	e.mu.Unlock()
	args := protocol.PromptArgs{Prompt: prompt, SessionID: e.session, Wait: true}
	var result protocol.TurnResult
	_, err := e.conn.Call(ctx, "workspace/executeCommand", map[string]any{
		"command": protocol.CommandPrompt, "arguments": []any{args},
	}, &result)
	if err != nil {
		return turn{}, fmt.Errorf("asking %q: %w", prompt, err)
	}
	e.session = result.SessionID
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn.stopReason = result.StopReason
	e.turn.cost = usage{
		Requests: e.costs.Requests - before.Requests,
		Input:    e.costs.Input - before.Input,
		Output:   e.costs.Output - before.Output,
	}
	return e.turn, nil
}

// children returns the number of subagents of the session.
func (e *editor) children(ctx context.Context) (n int, err error) {
	var list protocol.SessionListResult
	_, err = e.conn.Call(ctx, "workspace/executeCommand", map[string]any{"command": protocol.CommandSessionList}, &list)
	if err != nil {
		return 0, fmt.Errorf("listing the sessions: %w", err)
	}
	for _, s := range list.Sessions {
		if s.ParentID == e.session {
			n++
		}
	}
	return n, nil
}

// handle answers the requests of the server and shows its notifications.
func (e *editor) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	switch req.Method() {
	case "workspace/applyEdit":
		return e.applyEdit(ctx, req.Params())
	case acp.MethodSessionUpdate:
		return nil, e.update(req.Params())
	case acp.MethodRequestPermission:
		// The demo needs no approval, so an approval request is an error.
		return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}, nil
	case "$/progress":
		return nil, e.progress(req.Params())
	case "window/workDoneProgress/create", "window/logMessage", "window/showMessage":
		return nil, nil
	}
	return nil, jsonrpc2.ErrMethodNotFound
}

// workspaceEdit is the part of LSP's WorkspaceEdit for the demo.
type workspaceEdit struct {
	Edit struct {
		DocumentChanges []struct {
			TextDocument struct {
				URI     string `json:"uri"`
				Version *int32 `json:"version"`
			} `json:"textDocument"`
			Edits []struct {
				Range   protocol.Range `json:"range"`
				NewText string         `json:"newText"`
			} `json:"edits"`
		} `json:"documentChanges"`
	} `json:"edit"`
}

func (e *editor) applyEdit(ctx context.Context, params []byte) (any, error) {
	var p workspaceEdit
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	for _, change := range p.Edit.DocumentChanges {
		path := pathOf(change.TextDocument.URI)
		e.mu.Lock()
		doc := e.docs[path]
		if doc == nil || change.TextDocument.Version == nil || *change.TextDocument.Version != doc.version {
			e.mu.Unlock()
			return map[string]any{"applied": false, "failureReason": "the document has changed"}, nil
		}
		text := []byte(doc.text)
		for i := len(change.Edits) - 1; i >= 0; i-- { // from the end, so the positions stay valid
			edit := change.Edits[i]
			start := textenc.Offset(text, textenc.Position(edit.Range.Start), "utf-8")
			end := textenc.Offset(text, textenc.Position(edit.Range.End), "utf-8")
			text = append(append(append([]byte{}, text[:start]...), edit.NewText...), text[end:]...)
		}
		doc.text = string(text)
		doc.version++
		e.turn.edits++
		version, whole := doc.version, doc.text
		e.mu.Unlock()
		if err := e.changed(ctx, path, version, whole); err != nil {
			return nil, err
		}
	}
	return map[string]any{"applied": true}, nil
}

// changed sends the new text of a document to the server and saves it.
func (e *editor) changed(ctx context.Context, path string, version int32, text string) error {
	id := map[string]any{"uri": uriOf(path), "version": version}
	err := e.conn.Notify(ctx, "textDocument/didChange", map[string]any{
		"textDocument": id, "contentChanges": []any{map[string]any{"text": text}},
	})
	if err != nil {
		return err
	}
	e.screen.note("editor: version %d of %s applied and saved", version, filepath.Base(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("saving: %w", err)
	}
	return e.conn.Notify(ctx, "textDocument/didSave", map[string]any{"textDocument": id})
}

// stop shuts the server down like an editor and waits for its end.
func (e *editor) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := e.conn.Call(ctx, "shutdown", nil, nil)
	if err == nil {
		err = e.conn.Notify(ctx, "exit", nil)
	}
	done := make(chan error, 1)
	go func() { done <- e.cmd.Wait() }()
	select {
	case ended := <-done:
		_ = e.conn.Close()
		if ended != nil {
			return fmt.Errorf("the server did not end well: %w", ended)
		}
		return err
	case <-ctx.Done():
		_ = e.cmd.Process.Kill()
		<-done
		return errors.New("the server did not end within 5 s of exit")
	}
}

func uriOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return u.Path
}
