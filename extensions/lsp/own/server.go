package own

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/extensions/lsp/message"
	"github.com/hermes-ls/hermes-ls/internal/peer"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/tools"
)

// grace is the time between shutdown, SIGTERM and SIGKILL.
const grace = 150 * time.Millisecond

// mostQueued limits the bytes unread by a server. At the limit, the server is ended.
const mostQueued = 128 << 20

// server is a running language server. The fields below ready are zero until the server has
// started.
type server struct {
	spec   spec
	folder string // root of the project
	owner  *Servers

	ready chan struct{} // is closed when the server has started, or could not
	err   error         // why it could not; is read after ready is closed

	process *peer.Peer
	rpc     *jsonrpc2.Conn
	docs    documents
	changes *watcher

	mu       sync.Mutex
	moved    chan struct{} // is closed when anything below changes; nil: no call waits
	working  map[string]bool
	idles    bool // it has reported that it is idle; not all servers report it
	problems map[string]published
	notes    map[*note]bool
	silent   bool   // its diagnostics before an edit were late
	size     int    // of the messages with problems, in bytes
	missed   int    // calls without an answer, in a row
	said     string // last line of its other output
	asked    int    // running calls
	idle     *time.Timer
	closed   bool
}

// published are the diagnostics of a document as the server published them last.
type published struct {
	version *int32
	number  int // counts publications of the document
	list    []message.Diagnostic
	size    int // of the message, in bytes
}

// start starts the server and initializes it. It runs until the server has ended.
func (x *server) start(ctx context.Context, path string) {
	x.err = x.initialize(ctx, path)
	close(x.ready)
	if x.err != nil {
		x.stop()
		x.owner.ended(x, x.err)
		return
	}
	<-x.process.Done()
	x.rpc.Close() // the process has ended
	x.owner.ended(x, x.why())
}

func (x *server) initialize(ctx context.Context, path string) error {
	f := found{program: path}
	if x.owner.config.Interpreter != nil && x.spec.language == "Python" {
		f.python = x.owner.config.Interpreter(ctx)
		x.owner.setPython(f.python)
	}
	var options any
	if x.spec.initialize != nil {
		var err error
		if options, err = x.spec.initialize(f); err != nil {
			return err
		}
	}
	if err := x.launch(ctx, path); err != nil {
		return err
	}
	var result json.RawMessage
	if err := x.rpc.Call(ctx, "initialize", initializeParams(x.folder, x.owner.config.Folders(), options), &result); err != nil {
		return x.failed("initialize", err)
	}
	if err := x.rpc.Notify(ctx, "initialized", struct{}{}); err != nil {
		return x.failed("initialized", err)
	}
	if x.spec.push {
		_ = x.rpc.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": x.spec.settings(f)}) // it may have ended
	}
	return nil
}

// launch starts the process.
func (x *server) launch(ctx context.Context, path string) error {
	c := x.owner.config
	env := program.Environ(c.Path.Environ(ctx, c.Environ), c.Folders())
	for name, value := range x.spec.env {
		env = append(env, name+"="+program.ListInHome(value))
	}
	cmd := proc.Cmd{
		Args: append(append([]string{path}, x.spec.command[1:]...), x.spec.args...), Dir: x.folder, Env: env,
		Stderr: &lastLine{x: x}, Runs: x.spec.script(),
		Limits: proc.Limits{MemoryMB: c.Limits().MemoryMB},
	}
	if c.Confine != nil {
		own, err := c.Confine(ctx, &cmd, x.spec.name)
		if err != nil {
			return fmt.Errorf("%s was not started, because the sandbox cannot bound it: %w", x.spec.name, err)
		}
		cmd.Env = append(cmd.Env, x.spec.buildsIn(own)...)
	}
	process, err := peer.Start(ctx, cmd, peer.Options{Grace: grace, Most: mostQueued})
	if err != nil {
		return err
	}
	x.process = process
	x.rpc = jsonrpc2.NewConn(context.Background(), newStream(process.Out, process.In, process.Fail), x, jsonrpc2.SetLogger(nothing{}))
	go func() { // ends with the connection: a server that closes it is useless
		<-x.rpc.DisconnectNotify()
		process.Out.Close() // never fails
		process.Stop(grace)
	}()
	unwatched := func(err error) {
		x.owner.unwatched(x.spec.name, err)
	}
	if x.changes, err = watch(x.folder, x.spec, unwatched); err != nil {
		unwatched(err)
	}
	return nil
}

type nothing struct{}

func (nothing) Printf(string, ...any) {}

// failed describes the failure of a request that starts the server.
func (x *server) failed(method string, err error) error {
	select {
	case <-x.process.Done():
		return x.why()
	case <-time.After(grace):
	}
	return fmt.Errorf("%s did not answer %s: %w", x.spec.name, method, err)
}

// errMemory means that a server was stopped because of its memory.
type errMemory struct {
	name string
	mb   int
}

func (e errMemory) Error() string {
	return fmt.Sprintf("%s used more than %d MB and was stopped. It stays off in this session.", e.name, e.mb)
}

// why describes how the process ended.
func (x *server) why() error {
	exit, _ := x.process.Wait() // exit describes the end in any case
	if exit.Limit == proc.LimitMemory {
		return errMemory{x.spec.name, x.owner.config.Limits().MemoryMB}
	}
	text := x.spec.name + " " + x.process.Exit()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.said != "" {
		text += ": " + tools.OneLine(x.said, 200)
	}
	return errors.New(text)
}

// stop ends the server, and returns when it has ended.
func (x *server) stop() {
	x.mu.Lock()
	x.closed = true
	if x.idle != nil {
		x.idle.Stop()
	}
	x.mu.Unlock()
	if x.changes != nil {
		x.changes.close()
	}
	if x.process == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	if x.rpc.Call(ctx, "shutdown", nil, nil) == nil {
		_ = x.rpc.Notify(ctx, "exit", nil) // it is ended in any case
	}
	x.process.Close()
}

// begin records a running call of the server. end must follow.
func (x *server) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked++
	if x.idle != nil {
		x.idle.Stop()
	}
}

func (x *server) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked--; x.asked > 0 || x.closed {
		return
	}
	if limit := x.owner.config.Limits().Idle; limit > 0 {
		x.idle = time.AfterFunc(limit, func() { x.owner.retire(x) })
	}
}

// call sends a request. If the server reports its answer as out of date, call repeats the request.
func (x *server) call(ctx context.Context, method string, params any) (result json.RawMessage, err error) {
	for {
		waiter, err := x.rpc.DispatchCall(ctx, method, params)
		if err != nil {
			return nil, x.failed(method, err)
		}
		if err = waiter.Wait(ctx, &result); err == nil {
			return result, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var answered *jsonrpc2.Error
		if !errors.As(err, &answered) {
			return nil, x.failed(method, err)
		}
		if answered.Code != contentModified && answered.Code != serverCancelled {
			return nil, fmt.Errorf("%s: %s", x.spec.name, tools.OneLine(answered.Message, 300))
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// Error codes of LSP with which a server asks to send the request again.
const (
	contentModified = -32801
	serverCancelled = -32802
)

// pause waits before a request is sent again.
func pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loading reports whether the server still loads the project.
func (x *server) loading() bool {
	return len(x.working) > 0 || (x.spec.status || x.spec.loaded != "") && !x.idles
}

// loaded waits until the server has loaded the project. If ctx ends first, it returns false.
func (x *server) loaded(ctx context.Context) bool {
	return x.wait(ctx, func() bool { return !x.loading() })
}

// wait waits for a condition, which it checks with the lock held. If ctx ends first, it returns
// false.
func (x *server) wait(ctx context.Context, met func() bool) bool {
	for {
		x.mu.Lock()
		if met() {
			x.mu.Unlock()
			return true
		}
		if x.moved == nil {
			x.moved = make(chan struct{})
		}
		moved := x.moved
		x.mu.Unlock()
		select {
		case <-moved:
		case <-x.process.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// change changes the state of the server and wakes waiting goroutines.
func (x *server) change(do func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do()
	if x.moved != nil {
		close(x.moved)
		x.moved = nil
	}
}

// Handle handles a message of the server. It runs in the reading goroutine, so it does not wait.
func (x *server) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	if r.Notif {
		x.notified(r.Method, params)
		return
	}
	result, err := x.answer(r.Method, params)
	if err != nil {
		_ = conn.ReplyWithError(ctx, r.ID, err) // it may have ended
		return
	}
	_ = conn.Reply(ctx, r.ID, result) // it may have ended
}

// answer answers a request of the server. No request of a server changes or starts anything.
func (x *server) answer(method string, params json.RawMessage) (any, *jsonrpc2.Error) {
	switch method {
	case "workspace/configuration":
		return x.configuration(params), nil
	case "workspace/workspaceFolders":
		return folders(x.owner.config.Folders()), nil
	case "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability", "window/showMessageRequest",
		"workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh", "workspace/diagnostic/refresh":
		return nil, nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "edits are applied only as answers of rename and code actions"}, nil
	case "window/showDocument":
		return map[string]any{"success": false}, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "unknown method " + tools.OneLine(method, 80)}
}

// configuration returns the settings of the sections requested by a server.
func (x *server) configuration(params json.RawMessage) []any {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	_ = json.Unmarshal(params, &p) // then nothing is asked for
	var all any
	if x.spec.settings != nil {
		f := found{}
		if x.owner.config.Interpreter != nil && x.spec.language == "Python" {
			f.python = x.owner.python()
		}
		all = asTree(x.spec.settings(f))
	}
	answers := make([]any, len(p.Items))
	for i, item := range p.Items {
		answers[i] = sectionOf(all, item.Section)
	}
	return answers
}

func asTree(v any) (tree any) {
	if data, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(data, &tree) // our values, or checked with the configuration
	}
	return tree
}

// sectionOf returns the value at a section such as "python.analysis". If there is none, it returns
// nil.
func sectionOf(tree any, section string) any {
	if section == "" {
		return tree
	}
	for name := range strings.SplitSeq(section, ".") {
		m, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = m[name]
	}
	return tree
}

// mostWorking limits the recorded tasks of a server.
const mostWorking = 1000

// notified takes a notification of the server.
func (x *server) notified(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		x.publish(params)
	case "$/progress":
		var p struct {
			Token json.RawMessage `json:"token"`
			Value struct {
				Kind string `json:"kind"`
			} `json:"value"`
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		x.change(func() {
			switch {
			case p.Value.Kind == "begin" && len(x.working) < mostWorking:
				x.working[string(p.Token)] = true
			case p.Value.Kind == "end":
				delete(x.working, string(p.Token))
			}
		})
	case "experimental/serverStatus":
		var p struct {
			Quiescent bool `json:"quiescent"`
		}
		if json.Unmarshal(params, &p) == nil {
			x.change(func() { x.idles = p.Quiescent })
		}
	case "window/logMessage", "window/showMessage":
		var p struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(params, &p) == nil {
			x.owner.config.Log(x.spec.name, tools.OneLine(p.Message, 500))
			if x.spec.loaded != "" && strings.Contains(p.Message, x.spec.loaded) {
				x.change(func() { x.idles = true })
			}
		}
	}
}

// Limits of the stored diagnostics of a server.
const (
	mostPublished    = 5000     // files
	largestPublished = 32 << 20 // bytes of all messages
)

func (x *server) publish(params json.RawMessage) {
	var p struct {
		URI         string          `json:"uri"`
		Version     *int32          `json:"version"`
		Diagnostics json.RawMessage `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path := PathOf(p.URI)
	if path == "" {
		return
	}
	list := message.Diagnostics(p.Diagnostics)
	x.change(func() {
		before, known := x.problems[path]
		if !known && len(x.problems) >= mostPublished {
			return
		}
		now := published{p.Version, before.number + 1, list, len(params)}
		if x.size += now.size - before.size; x.size > largestPublished {
			x.size, now.list, now.size = x.size-now.size, nil, 0
		}
		for n := range x.notes {
			if n.path == path && p.Version != nil && *p.Version == n.version && !x.loading() {
				n.came, n.list = true, list
			}
		}
		x.problems[path] = now
	})
}

// PathOf returns the path of a file. If the URI names no file, it returns "".
func PathOf(address string) string {
	parsed, err := uri.Parse(address)
	if err != nil || !parsed.IsFile() {
		return ""
	}
	return filepath.Clean(parsed.FsPath())
}

// URIOf returns the URI of a file.
func URIOf(path string) string { return string(uri.File(path)) }

// lastLine keeps the last line of the other output of a server.
type lastLine struct {
	x    *server
	line []byte
}

const longestLine = 2000 // bytes

func (l *lastLine) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n':
			l.take()
		case len(l.line) < longestLine:
			l.line = append(l.line, b)
		}
	}
	return len(p), nil
}

func (l *lastLine) take() {
	text := strings.TrimSpace(string(l.line))
	l.line = l.line[:0]
	if text == "" {
		return
	}
	l.x.mu.Lock()
	l.x.said = text
	l.x.mu.Unlock()
	l.x.owner.config.Log(l.x.spec.name, tools.OneLine(text, 500))
}

func folders(paths []string) []map[string]any {
	all := []map[string]any{}
	for _, p := range paths {
		all = append(all, map[string]any{"uri": URIOf(p), "name": filepath.Base(p)})
	}
	return all
}

// initializeParams returns the parameters of initialize. The folder of the project is the first
// workspace folder, for servers that support only one.
func initializeParams(root string, workspace []string, options any) map[string]any {
	all := []string{root}
	for _, f := range workspace {
		if rel, err := filepath.Rel(root, f); err != nil || filepath.IsLocal(rel) {
			continue // inside of the root
		}
		if rel, err := filepath.Rel(f, root); err == nil && filepath.IsLocal(rel) {
			continue // around the root
		}
		all = append(all, f)
	}
	p := map[string]any{
		// A server ends if it does not see this process, which the sandbox hides. Its supervisor ends it.
		"processId": nil, "clientInfo": map[string]any{"name": "hermes-ls"},
		"rootUri": URIOf(root), "rootPath": root, "workspaceFolders": folders(all),
		"capabilities": json.RawMessage(capabilities),
	}
	if options != nil {
		p["initializationOptions"] = options
	}
	return p
}

// capabilities are the capabilities of a client that sends requests and applies edits itself.
const capabilities = `{
	"general": {"positionEncodings": ["utf-16"]},
	"window": {"workDoneProgress": true},
	"workspace": {
		"applyEdit": false, "configuration": true, "workspaceFolders": true, "didChangeConfiguration": {}, "didChangeWatchedFiles": {},
		"symbol": {}, "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"], "failureHandling": "abort"}
	},
	"textDocument": {
		"synchronization": {"didSave": true},
		"definition": {"linkSupport": true}, "implementation": {"linkSupport": true}, "typeDefinition": {"linkSupport": true}, "references": {},
		"hover": {"contentFormat": ["markdown", "plaintext"]},
		"documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
		"publishDiagnostics": {"versionSupport": true},
		"rename": {"prepareSupport": true},
		"codeAction": {
			"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll"]}},
			"isPreferredSupport": true, "disabledSupport": true, "dataSupport": true, "resolveSupport": {"properties": ["edit"]}
		}
	},
	"experimental": {"serverStatusNotification": true}
}`
