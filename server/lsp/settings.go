package lsp

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// settingsLimit is how long the first session waits for the editor's settings.
const settingsLimit = time.Second

// settings reports when the editor's settings are known, so the first session gets them: a session
// keeps its interpreter and its model.
type settings struct {
	log     *slog.Logger
	editor  *editor.Editor
	service *service.Service
	work    *work

	mu      sync.Mutex
	unknown chan struct{} // closed when they are known; nil: none are expected
}

// expect has sessions wait until known is called.
func (x *settings) expect() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unknown = make(chan struct{})
}

// known ends the waiting.
func (x *settings) known() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unknown != nil {
		close(x.unknown)
		x.unknown = nil
	}
}

// wait returns when the settings are known, when ctx ends, or after settingsLimit. After
// the limit no other session waits.
func (x *settings) wait(ctx context.Context) {
	x.mu.Lock()
	unknown := x.unknown
	x.mu.Unlock()
	if unknown == nil {
		return
	}
	limit := time.NewTimer(settingsLimit)
	defer limit.Stop()
	select {
	case <-unknown:
	case <-ctx.Done():
	case <-limit.C:
		x.known()
	}
}

// read asks for the editor's settings. They may come from the repository, so the service applies
// only harmless keys.
func (x *settings) read() {
	section, python := protocol.Section, "python"
	params := &lsp.ConfigurationParams{Items: []lsp.ConfigurationItem{{Section: &section}, {Section: &python}}}
	var answer jsonrpc2.RawMessage
	if err := x.editor.Call(x.editor.Ctx, editor.AnswerLimit, lsp.MethodWorkspaceConfiguration, params, &answer); err != nil {
		x.log.Debug("no settings from the editor", "error", err)
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(answer, &list) != nil || len(list) == 0 {
		return
	}
	settings := list[0]
	if len(list) > 1 {
		settings = withPython(settings, list[1])
	}
	if string(settings) != "null" {
		x.service.SetEditor(settings)
	}
}

// withPython adds the interpreter selected in the editor's Python extension to our settings, unless
// they name an interpreter.
func withPython(settings, extension json.RawMessage) json.RawMessage {
	var python struct{ DefaultInterpreterPath, PythonPath string }
	ours := map[string]any{}
	if json.Unmarshal(extension, &python) != nil || json.Unmarshal(settings, &ours) != nil {
		return settings
	}
	if ours == nil { // there are none
		ours = map[string]any{}
	}
	path := orElse(python.DefaultInterpreterPath, python.PythonPath)
	if path == "" || path == "python" || path == "python3" { // the extension's own default: nothing was selected
		return settings
	}
	if _, named := ours["python"]; !named {
		ours["python"] = path
	}
	merged, err := json.Marshal(ours)
	if err != nil {
		return settings
	}
	return merged
}

// changed is workspace/didChangeConfiguration.
func (x *settings) changed(context.Context) error {
	if x.editor.Client.Configuration {
		x.work.start("reading the editor's settings", x.read)
	}
	return nil
}
