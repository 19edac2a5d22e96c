package editor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
)

const (
	// applyLimit is the editor's time to report whether it applied an edit. busyLimit replaces it
	// once the editor has answered an edit: then it is only busy.
	applyLimit = 5 * time.Second
	busyLimit  = time.Minute
	// changeLimit is the time until it has sent the change. Emacs sends only when the
	// user pauses.
	changeLimit = time.Minute
	// savedEvery is how often the disk is looked at meanwhile.
	savedEvery = time.Second
)

// Documents holds the open documents of the editor. Files are identified by their path with links
// resolved, as in the workspace; anything else, such as a never saved text, by its URI.
type Documents struct {
	e       *Editor
	buffers *workspace.Buffers // files
	others  *workspace.Buffers // the rest, by URI
	inOrder inOrder            // for an editor whose changes overtake each other
	applies atomic.Bool        // the editor has answered an edit

	focus focus
	saves saves

	saved    workspace.SavedTexts
	failures sync.Map // path → why the editor did not save it after the last edit

	mu    sync.Mutex
	paths map[uri.URI]string  // open files, as the editor names them
	uris  map[string]uri.URI  // and back
	spelt map[uri.URI]uri.URI // the editor's spelling, if it differs
	chats map[string]*chat.Text
}

func newDocuments(e *Editor) *Documents {
	d := &Documents{
		e: e, buffers: workspace.NewBuffers(), others: workspace.NewBuffers(),
		paths: map[uri.URI]string{}, uris: map[string]uri.URI{}, spelt: map[uri.URI]uri.URI{}, chats: map[string]*chat.Text{},
	}
	d.inOrder.apply = d.change
	return d
}

// DidOpen notes an open document.
func (d *Documents) DidOpen(p *lsp.DidOpenTextDocumentParams) error {
	u, doc := p.TextDocument.URI, &p.TextDocument
	text := strings.Clone(doc.Text) // the decoded text keeps the whole message in memory
	if d.e.Client.ReordersChanges {
		d.inOrder.opened(u, doc.Version)
	}
	if !u.IsFile() {
		d.others.Open(string(u), doc.Version, text)
		return nil
	}
	path := Resolve(u.FsPath())
	d.saved.Observe(path, []byte(text))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paths[u], d.uris[path] = path, u
	d.buffers.Open(path, doc.Version, text)
	d.focus.opened(path)
	d.saves.opened(path, []byte(text))
	if follower := d.chats[path]; follower != nil {
		follower.Opened(doc.Version, []byte(text))
	}
	return nil
}

// Spelling records the editor's spelling of a document's URI. The library makes all spellings one,
// and some editors know a document only by their own. Call Spelling before DidOpen.
func (d *Documents) Spelling(params []byte) {
	var written struct {
		TextDocument struct{ URI string }
	}
	if json.Unmarshal(params, &written) != nil {
		return // DidOpen reports it
	}
	if u, err := uri.Parse(written.TextDocument.URI); err == nil && string(u) != written.TextDocument.URI {
		d.mu.Lock()
		d.spelt[u] = uri.URI(written.TextDocument.URI)
		d.mu.Unlock()
	}
}

// DidChange applies changes of a document.
func (d *Documents) DidChange(p *lsp.DidChangeTextDocumentParams) error {
	r := revision{p.TextDocument.URI, p.TextDocument.Version, changesOf(p.ContentChanges)}
	if d.e.Client.ReordersChanges {
		return d.inOrder.take(r)
	}
	return d.change(r)
}

func (d *Documents) change(r revision) error {
	u, version, changes, enc := r.uri, r.version, r.changes, d.e.Encoding
	if !u.IsFile() {
		return d.others.Change(string(u), version, changes, enc)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path, ok := d.paths[u]
	if !ok {
		return fmt.Errorf("a change of %s, which is not open", u)
	}
	if text := d.chats[path]; text != nil {
		text.Changed(version, changes, enc)
	}
	d.focus.changed(path, changes)
	defer d.changing(path)()
	if err := d.buffers.Change(path, version, changes, enc); err != nil {
		return err
	}
	if size := d.buffers.Size(path); size >= 0 { // perhaps the editor has reloaded it
		d.saved.ObserveSize(path, size, func() []byte {
			doc, _ := d.buffers.Get(path)
			return doc.Text
		})
	}
	return nil
}

// DidSave compares a document with its file, which the editor has just written.
func (d *Documents) DidSave(p *lsp.DidSaveTextDocumentParams) error {
	path, ok := d.path(p.TextDocument.URI)
	if !ok {
		return nil
	}
	d.failures.Delete(path)
	if doc, open := d.buffers.Get(path); open {
		d.saved.Observe(path, doc.Text)
		d.saves.tell(path, doc.Text)
	}
	return nil
}

// DidClose forgets a document.
func (d *Documents) DidClose(p *lsp.DidCloseTextDocumentParams) error {
	u := p.TextDocument.URI
	d.inOrder.closed(u)
	if !u.IsFile() {
		d.others.Close(string(u))
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path, ok := d.paths[u]
	if !ok {
		return nil
	}
	delete(d.paths, u)
	delete(d.spelt, u)
	if d.uris[path] == u {
		delete(d.uris, path)
	}
	if text := d.chats[path]; text != nil {
		text.Closed()
	}
	d.buffers.Close(path)
	d.saved.Forget(path)
	d.focus.closed(path)
	d.saves.closed(path)
	return nil
}

func changesOf(events []lsp.TextDocumentContentChangeEvent) []workspace.Change {
	changes := make([]workspace.Change, 0, len(events))
	for _, event := range events {
		switch e := event.(type) {
		case *lsp.TextDocumentContentChangePartial:
			r := rangeOf(e.Range)
			changes = append(changes, workspace.Change{Range: &r, Text: e.Text})
		case *lsp.TextDocumentContentChangeWholeDocument:
			changes = append(changes, workspace.Change{Text: e.Text})
		}
	}
	return changes
}

// path is the resolved path of an open file.
func (d *Documents) path(u uri.URI) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path, ok := d.paths[u]
	return path, ok
}

// URI returns the editor's URI of a file.
func (d *Documents) URI(path string) uri.URI {
	d.mu.Lock()
	defer d.mu.Unlock()
	u, open := d.uris[path]
	if !open {
		return uri.File(d.e.unresolved(path))
	}
	if written, differs := d.spelt[u]; differs {
		return written
	}
	return u
}

// Follow lets a chat follow its document from now on. If the editor takes no edits, the chat stays
// a file.
func (d *Documents) Follow(path string, text *chat.Text) {
	if !d.e.Client.ApplyEdit {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.chats[path] = text
	if doc, open := d.buffers.Get(path); open {
		text.Opened(doc.Version, doc.Text)
	}
}

// Text returns the open document of a URI.
func (d *Documents) Text(u uri.URI) (workspace.Document, bool) {
	if !u.IsFile() {
		return d.others.Get(string(u))
	}
	if path, ok := d.path(u); ok {
		return d.buffers.Get(path)
	}
	return d.buffers.Get(Resolve(u.FsPath()))
}

// HasEdited reports whether the editor has answered an edit.
func (d *Documents) HasEdited() bool { return d.applies.Load() }

// Get, Replace, Write and Paths make Documents a [workspace.Documents].
func (d *Documents) Get(_ context.Context, path string) (workspace.Document, bool, error) {
	doc, ok := d.buffers.Get(path)
	return doc, ok, nil
}

func (d *Documents) Paths() []string { return d.buffers.Paths() }

// Write leaves closed files to the disk. For open documents, see Replace.
func (d *Documents) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }

// Replace asks the editor to edit a document, at the version that was read. It waits for the change
// notification: the notification, not the editor's answer, is the truth about the text.
func (d *Documents) Replace(ctx context.Context, doc workspace.Document, text []byte) error {
	if bytes.Equal(doc.Text, text) {
		return nil
	}
	sent, err := d.e.edits.edit(ctx)
	if err != nil {
		return fmt.Errorf("%s was not edited, since a question is open in the editor: %w", doc.Path, err)
	}
	defer sent()
	defer d.focus.keep(doc.Path)()
	now, open := d.buffers.Get(doc.Path)
	if !open || now.Version != doc.Version {
		return fmt.Errorf("%s has changed in the editor: %w", filepath.Base(doc.Path), workspace.ErrStale)
	}
	edits := diff.Edits(doc.Text, text, d.e.Encoding)
	defer d.buffers.Expect(doc.Path, text)()
	if err := d.Apply(ctx, 0, doc, edits, "Edit "+filepath.Base(doc.Path)); err != nil {
		return err
	}
	if err := d.awaitChange(ctx, doc, text); errors.Is(err, workspace.ErrStale) {
		return err
	} else if err != nil {
		return fmt.Errorf("the editor said that it applied the edit to %s, but has not sent the change (%w); read the file again before editing it", doc.Path, err)
	}
	d.saves.made(doc.Path, text)
	return nil
}

// awaitChange waits until the editor has sent the change of an edit. After a save, the editor may
// send it late. Some editors confirm an edit without making it, because the document had changed:
// then the error is [workspace.ErrStale].
func (d *Documents) awaitChange(ctx context.Context, doc workspace.Document, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	newest := doc.Version
	for since := time.Now(); ; {
		look, stop := context.WithTimeout(ctx, savedEvery)
		now, err := d.buffers.Await(look, doc.Path, newest)
		stop()
		switch {
		case d.buffers.Reached(doc.Path) || workspace.OnDisk(doc.Path, text):
			return nil
		case err == nil:
			newest, since = now.Version, time.Now()
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		case newest > doc.Version && time.Since(since) >= savedEvery:
			return fmt.Errorf("%s has changed in the editor meanwhile: %w", filepath.Base(doc.Path), workspace.ErrStale)
		}
	}
}

// SavedTexts returns the texts of the open documents.
func (d *Documents) SavedTexts() *workspace.SavedTexts { return &d.saved }

// SavesEdits reports whether the editor has our plugin, which saves documents after an edit.
func (d *Documents) SavesEdits() bool { return d.e.Client.ACP != nil }

// SaveFailure returns the plugin's message about the last edit of a document.
func (d *Documents) SaveFailure(path string) (why string, final bool) {
	v, _ := d.failures.Load(path)
	f, _ := v.(saveFailure)
	return f.why, f.final
}

// saveFailure says why a document was not saved. If it is final, the plugin is not saving it any more.
type saveFailure struct {
	why   string
	final bool
}

var errNoEdits = errors.New("the editor does not take edits from language servers (workspace/applyEdit)")

// Apply sends versioned edits, and waits at most limit for the answer. If limit is 0, a default
// applies. If the editor refuses the edit, because the version has changed, the error is
// [workspace.ErrStale].
func (d *Documents) Apply(ctx context.Context, limit time.Duration, doc workspace.Document, edits []diff.Edit, label string) error {
	if !d.e.Client.ApplyEdit {
		return fmt.Errorf("editing %s: %w; save and close the document, then it can be edited on the disk", doc.Path, errNoEdits)
	}
	switch {
	case limit == 0 && d.applies.Load():
		limit = busyLimit
	case limit == 0:
		limit = applyLimit
	}
	params := any(&lsp.ApplyWorkspaceEditParams{Label: &label, Edit: d.workspaceEdit(doc, edits)})
	if d.SavesEdits() {
		params = &savingEdit{&label, d.workspaceEdit(doc, edits), doc.Save}
	}
	var result savedEdit
	var refused *jsonrpc2.Error // eglot's report of a changed version
	if err := d.e.Call(ctx, limit, lsp.MethodWorkspaceApplyEdit, params, &result); errors.As(err, &refused) && !UnknownMethod(err) {
		return &workspace.EditRefused{Reason: refused.Message}
	} else if err != nil {
		return fmt.Errorf("editing %s: %w", doc.Path, err)
	}
	d.applies.Store(true)
	if !result.Applied {
		reason := "its text has changed meanwhile"
		if result.FailureReason != nil && *result.FailureReason != "" {
			reason = *result.FailureReason
		}
		return &workspace.EditRefused{Reason: reason}
	}
	if d.failures.Delete(doc.Path); result.FailureReason != nil {
		d.failures.Store(doc.Path, saveFailure{*result.FailureReason, result.NotSaved})
	}
	return nil
}

// savingEdit is an edit for our plugins. If save is set and the document had no unsaved changes,
// they save it. If they do not, the result contains a failureReason although the edit is applied.
type savingEdit struct {
	Label *string           `json:"label,omitempty"`
	Edit  lsp.WorkspaceEdit `json:"edit"`
	Save  bool              `json:"save"`
}

// savedEdit is the answer to a savingEdit. NotSaved reports that the plugin has given up saving it.
type savedEdit struct {
	lsp.ApplyWorkspaceEditResult
	NotSaved bool `json:"notSaved"`
}

// workspaceEdit is always versioned. Neovim does not announce documentChanges, but accepts them and
// refuses stale edits.
func (d *Documents) workspaceEdit(doc workspace.Document, edits []diff.Edit) lsp.WorkspaceEdit {
	u := d.URI(doc.Path)
	list := make([]lsp.TextEdit, len(edits))
	for i, e := range edits {
		list[i] = lsp.TextEdit{Range: ToRange(e.Range), NewText: e.NewText}
	}
	elements := make([]lsp.TextDocumentEditElement, len(list))
	for i := range list {
		elements[i] = &list[i]
	}
	edit := &lsp.TextDocumentEdit{Edits: elements}
	edit.TextDocument.URI, edit.TextDocument.Version = u, &doc.Version
	return lsp.WorkspaceEdit{DocumentChanges: []lsp.DocumentChange{edit}}
}

func rangeOf(r lsp.Range) textenc.Range {
	return textenc.Range{
		Start: textenc.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   textenc.Position{Line: r.End.Line, Character: r.End.Character},
	}
}

// ToRange returns LSP's form of a range.
func ToRange(r textenc.Range) lsp.Range {
	return lsp.Range{
		Start: lsp.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   lsp.Position{Line: r.End.Line, Character: r.End.Character},
	}
}

// Resolve follows the links of a path as far as it exists.
func Resolve(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, base := filepath.Split(path)
	if dir = filepath.Clean(dir); dir == path {
		return path
	}
	return filepath.Join(Resolve(dir), base)
}
