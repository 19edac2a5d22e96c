package servertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// Editor is an LSP editor with its own buffers. It applies an edit only to the matching version,
// tells the server of every change, shows documents by opening them, and answers questions as the
// test requires. Methods are for the test's goroutine.
type Editor struct {
	Root string
	// Initialized is the answer to initialize.
	Initialized json.RawMessage

	t      testing.TB
	run    *running
	conn   *conn
	o      Options
	units  units
	silent map[string]int // how many more requests of a method are not answered

	mu       sync.Mutex
	docs     map[uri.URI]*buffer
	progress []Progress
	shown    []string
	messages []string
	asked    []Question
	choose   func(Question) string
	edits    edits
	late     time.Duration
	before   func(uri.URI)
	thinking int               // open questions
	unsent   map[uri.URI][]any // swallowed changes
}

type buffer struct {
	text    string
	version int32
	disk    string // the text on disk as far as the editor knows
	unsaved bool   // it was changed since
}

// Progress is a value of a work-done progress.
type Progress struct {
	Token, Kind, Title, Message string
	Cancellable                 bool
}

// Question is a window/showMessageRequest.
type Question struct {
	Message string
	Actions []string
}

// New starts a server and an editor, and initializes it.
func New(t testing.TB, o Options) *Editor {
	t.Helper()
	o.fill(t)
	e := &Editor{t: t, o: o, Root: o.Root, docs: map[uri.URI]*buffer{}, unsent: map[uri.URI][]any{}, silent: map[string]int{}, units: units{utf16: true}}
	e.run = start(t, o, o.Agent)
	e.conn = e.run.conn
	e.conn.request, e.conn.note = e.request, e.note
	e.conn.start()
	t.Cleanup(func() { e.run.end(t) })
	if !o.Unbegun {
		e.initialize()
	}
	return e
}

func (e *Editor) initialize() {
	e.t.Helper()
	if e.o.Agent {
		e.Initialized = e.mustCall(acp.MethodInitialize, acp.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: acp.ClientCapabilities{
			FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}})
		return
	}
	e.Initialized = e.mustCall("initialize", e.InitializeParams())
	var answer struct {
		Capabilities struct {
			PositionEncoding string `json:"positionEncoding"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(e.Initialized, &answer); err != nil {
		e.t.Fatal(err)
	}
	e.units.utf16 = answer.Capabilities.PositionEncoding != "utf-8"
	e.Notify("initialized", struct{}{})
}

// InitializeParams returns the parameters of the editor's initialize.
func (e *Editor) InitializeParams() any {
	encodings := []string{"utf-8", "utf-16"}
	if e.o.UTF16 {
		encodings = []string{"utf-16"}
	}
	capabilities := map[string]any{
		"general": map[string]any{"positionEncodings": encodings},
		"workspace": map[string]any{
			"applyEdit": !e.o.NoEdits, "workspaceEdit": map[string]any{"documentChanges": true}, "workspaceFolders": true,
		},
		"window": map[string]any{"workDoneProgress": !e.o.NoProgress, "showDocument": map[string]any{"support": !e.o.NoShow}},
		"textDocument": map[string]any{"codeAction": map[string]any{
			"codeActionLiteralSupport": map[string]any{"codeActionKind": map[string]any{"valueSet": []string{"quickfix", "refactor"}}},
		}},
	}
	if e.o.Settings != nil {
		capabilities["workspace"].(map[string]any)["configuration"] = true
	}
	if e.o.Plugin {
		ours := map[string]any{"protocolVersion": 1}
		if e.o.Diagnose != nil {
			ours["clientCapabilities"] = acp.ClientCapabilities{Meta: acp.Meta{"hermes": map[string]any{"diagnostics": true}}}
		}
		capabilities["experimental"] = map[string]any{"agentClientProtocol": ours}
	}
	params := map[string]any{
		"processId": nil, "clientInfo": map[string]any{"name": cmp.Or(e.o.Client, "servertest")}, "capabilities": capabilities,
		"rootUri":          uri.File(e.Root),
		"workspaceFolders": []any{map[string]any{"uri": uri.File(e.Root), "name": "work"}},
	}
	if e.o.Client == "-" {
		delete(params, "clientInfo")
	}
	if e.o.Init != nil {
		params["initializationOptions"] = e.o.Init
	}
	return params
}

// URI is a file of the workspace as the editor names it; a URI stays as it is.
func (e *Editor) URI(name string) uri.URI {
	if strings.Contains(name, ":") {
		return uri.URI(name)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(e.Root, filepath.FromSlash(name))
	}
	return uri.File(name)
}

// Open opens a file of the workspace.
func (e *Editor) Open(name string) {
	e.t.Helper()
	text, err := os.ReadFile(e.URI(name).FsPath())
	if err != nil {
		e.t.Fatal(err)
	}
	e.OpenText(name, string(text))
}

// OpenText opens a document with any text, on disk or not.
func (e *Editor) OpenText(name, text string) {
	e.t.Helper()
	u := e.URI(name)
	e.mu.Lock()
	e.docs[u] = &buffer{text: text, version: 1, disk: text}
	e.mu.Unlock()
	e.document("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": u, "languageId": "plaintext", "version": 1, "text": text,
	}})
}

// Close closes a document without saving it.
func (e *Editor) Close(name string) {
	e.t.Helper()
	u := e.URI(name)
	e.mu.Lock()
	delete(e.docs, u)
	e.mu.Unlock()
	e.document("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": u}})
}

// Save writes a document to the disk.
func (e *Editor) Save(name string) {
	e.t.Helper()
	text := e.Text(name)
	if err := os.WriteFile(e.URI(name).FsPath(), []byte(text), 0o644); err != nil {
		e.t.Fatal(err)
	}
	e.mu.Lock()
	if doc := e.docs[e.URI(name)]; doc != nil {
		doc.disk, doc.unsaved = text, false
	}
	e.mu.Unlock()
	e.document("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": e.URI(name)}})
}

// Unsaved reports whether a document has unsaved changes, as far as the editor knows.
func (e *Editor) Unsaved(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	doc := e.docs[e.URI(name)]
	return doc != nil && doc.unsaved
}

// Behind reports whether the file of a document has changed since the editor read or wrote it.
func (e *Editor) Behind(name string) bool {
	e.t.Helper()
	text, err := os.ReadFile(e.URI(name).FsPath())
	if err != nil {
		e.t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	doc := e.docs[e.URI(name)]
	return doc != nil && doc.disk != string(text)
}

// Reload reads a document without unsaved changes again if its file has changed, like editors with
// a file watcher.
func (e *Editor) Reload(name string) {
	e.t.Helper()
	u := e.URI(name)
	text, err := os.ReadFile(u.FsPath())
	if err != nil {
		e.t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if doc := e.docs[u]; doc != nil && !doc.unsaved && doc.text != string(text) {
		e.change(u, doc, []span{{0, len(doc.text), string(text)}}, false)
		doc.disk, doc.unsaved = doc.text, false
	}
}

// Edit is the user typing: the first old becomes new. An empty old is the end of
// the document.
func (e *Editor) Edit(name, old, text string) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	doc := e.docs[e.URI(name)]
	if doc == nil {
		e.t.Fatalf("%s is not open", name)
		return
	}
	at := strings.Index(doc.text, old)
	if old == "" {
		at = len(doc.text)
	}
	if at < 0 {
		e.t.Fatalf("%q is not in %s, which reads %q", old, name, doc.text)
	}
	e.change(e.URI(name), doc, []span{{at, at + len(old), text}}, false)
}

// SaveEarly is an edit that is saved before the server hears of it, like the last typing before a save
// in Neovim, or the change of a formatter. The document has no unsaved changes before.
func (e *Editor) SaveEarly(name, old, text string) {
	e.t.Helper()
	u := e.URI(name)
	e.mu.Lock()
	doc := e.docs[u]
	at := strings.Index(doc.text, old)
	saved := doc.text[:at] + text + doc.text[at+len(old):]
	if err := os.WriteFile(u.FsPath(), []byte(saved), 0o644); err != nil {
		e.t.Error(err)
	}
	e.change(u, doc, []span{{at, at + len(old), text}}, false)
	doc.disk, doc.unsaved = saved, false
	e.mu.Unlock()
	e.document("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": u}})
}

// span puts text in the place of [start, end).
type span struct {
	start, end int
	text       string
}

// change changes a buffer and notifies the server; the lock is held. Spans do not overlap and refer
// to the text before. Edit is true of the server's own edits.
func (e *Editor) change(u uri.URI, doc *buffer, spans []span, edit bool) {
	slices.SortFunc(spans, func(a, b span) int { return b.start - a.start })
	var events []any
	for _, s := range spans { // from the end, so earlier positions stay valid
		events = append(events, map[string]any{
			"range": map[string]any{"start": e.units.position(doc.text, s.start), "end": e.units.position(doc.text, s.end)},
			"text":  s.text,
		})
		doc.text = doc.text[:s.start] + s.text + doc.text[s.end:]
	}
	doc.version++
	doc.unsaved = true
	events = append(e.unsent[u], events...)
	delete(e.unsent, u)
	if edit && e.o.Swallows && e.thinking > 0 {
		e.unsent[u] = events
		return
	}
	params := map[string]any{
		"textDocument": map[string]any{"uri": u, "version": doc.version}, "contentChanges": events,
	}
	if e.late > 0 {
		time.AfterFunc(e.late, func() { e.document("textDocument/didChange", params) })
		return
	}
	e.document("textDocument/didChange", params)
}

// document sends a notification about a document to a language server. The Agent Client Protocol
// has no such notifications.
func (e *Editor) document(method string, params any) {
	if !e.o.Agent {
		e.Notify(method, params)
	}
}

// Text returns the text of a document in the editor. If it is not open, Text reads the disk.
func (e *Editor) Text(name string) string {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if doc := e.docs[e.URI(name)]; doc != nil {
		return doc.text
	}
	text, err := os.ReadFile(e.URI(name).FsPath())
	if err != nil {
		e.t.Fatal(err)
	}
	return string(text)
}

// Command runs a hermes command and decodes its result, which may be nil.
func (e *Editor) Command(name string, args, result any) error {
	e.t.Helper()
	raw, err := e.Call("workspace/executeCommand", map[string]any{"command": name, "arguments": []any{args}})
	if err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(raw, result)
}

// Ask prompts and waits for the answer.
func (e *Editor) Ask(prompt string) protocol.TurnResult {
	e.t.Helper()
	var result protocol.TurnResult
	if err := e.Command(protocol.CommandPrompt, protocol.PromptArgs{Prompt: prompt, Wait: true}, &result); err != nil {
		e.t.Fatalf("asking %q: %v", prompt, err)
	}
	return result
}

// Cancel cancels the turn of the current session.
func (e *Editor) Cancel() bool {
	e.t.Helper()
	var result protocol.CancelResult
	if err := e.Command(protocol.CommandCancel, struct{}{}, &result); err != nil {
		e.t.Fatal(err)
	}
	return result.Cancelled
}

// Choose sets how questions are answered: with the title of an action or its beginning, or
// with the id of an option. "" is null.
func (e *Editor) Choose(f func(Question) string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.choose = f
}

// Silence leaves requests of a method without an answer.
func (e *Editor) Silence(method string) { e.SilenceNext(method, math.MaxInt) }

// SilenceNext leaves the next n requests of a method without an answer.
func (e *Editor) SilenceNext(method string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.silent[method] = n
}

// Refuse refuses the next n edits, as if the user had typed.
func (e *Editor) Refuse(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.edits.refuse = n
}

// Late has changes sent so long after they were made, as Emacs does while its user
// types.
func (e *Editor) Late(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.late = d
}

// BeforeEdit is called, with the editor's lock not held, before an edit is looked
// at: the moment at which a user may type.
func (e *Editor) BeforeEdit(f func(uri.URI)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.before = f
}

// Progress returns the progress shown so far.
func (e *Editor) Progress() []Progress {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.progress)
}

// Shown returns the documents shown by the server, Messages its messages, Asked its questions.
func (e *Editor) Shown() []string { e.mu.Lock(); defer e.mu.Unlock(); return slices.Clone(e.shown) }

// Messages are the window/showMessage texts.
func (e *Editor) Messages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.messages)
}

// Asked are the questions so far.
func (e *Editor) Asked() []Question { e.mu.Lock(); defer e.mu.Unlock(); return slices.Clone(e.asked) }

// Frames are all messages of the server so far.
func (e *Editor) Frames() []Frame { return e.conn.seen() }

// Notify sends a notification. If the server has ended, it is lost.
func (e *Editor) Notify(method string, params any) {
	e.t.Helper()
	if err := e.conn.notify(method, params); err != nil {
		e.t.Logf("sending %s: %v", method, err)
	}
}

// Call sends a request and waits for the answer.
func (e *Editor) Call(method string, params any) (json.RawMessage, error) {
	e.t.Helper()
	_, wait := e.Go(method, params)
	return wait()
}

// Go sends a request; wait returns its answer.
func (e *Editor) Go(method string, params any) (id json.RawMessage, wait func() (json.RawMessage, error)) {
	e.t.Helper()
	id, answer, err := e.conn.call(method, params)
	if err != nil {
		e.t.Fatalf("sending %s: %v", method, err)
	}
	return id, func() (json.RawMessage, error) {
		select {
		case f := <-answer:
			if f.Error != nil {
				return nil, f.Error
			}
			return f.Result, nil
		case <-e.conn.done:
			return nil, fmt.Errorf("%s: the server has gone", method)
		case <-time.After(10 * time.Minute):
			return nil, fmt.Errorf("%s was not answered", method)
		}
	}
}

func (e *Editor) mustCall(method string, params any) json.RawMessage {
	e.t.Helper()
	raw, err := e.Call(method, params)
	if err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
	return raw
}

// Raw sends any bytes, a frame or not.
func (e *Editor) Raw(b string) {
	e.t.Helper()
	if err := e.conn.raw([]byte(b)); err != nil {
		e.t.Errorf("sending %q: %v", b, err)
	}
}

// End closes the server's input and returns its exit code.
func (e *Editor) End() int { e.t.Helper(); return e.run.end(e.t) }

// Wait waits for the server to end, and returns its exit code.
func (e *Editor) Wait() int {
	e.t.Helper()
	select {
	case code := <-e.run.code:
		e.run.code <- code
		return code
	case <-time.After(endLimit()):
		e.t.Errorf("the server did not end within %v", endLimit())
		return -1
	}
}
