package own

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// mostOpen limits the open documents of a server. Above it, the least recently requested document
// is closed.
const mostOpen = 50

// documents are the open documents of a server.
type documents struct {
	mu   sync.Mutex // one synchronization at a time
	open map[string]*document
	uses int
}

// document is the server's state of a document.
type document struct {
	version int32
	text    []byte
	number  int // of the last publication of diagnostics before this version
	used    int
	held    int // number of calls waiting for the diagnostics of this version, an earlier text
}

// synchronize sends the current texts to the server: of path, of its open documents, and of unsaved
// buffers. It returns the version of path in the server, and the number of publications of its
// diagnostics before this version.
func (x *server) synchronize(ctx context.Context, path string) (doc document, err error) {
	x.docs.mu.Lock()
	defer x.docs.mu.Unlock()
	x.watched(ctx)
	for _, other := range x.others(ctx, path) {
		if err := x.update(ctx, other); err != nil {
			x.shut(ctx, other) // deleted, or not readable any more
		}
	}
	if path == "" {
		return doc, nil
	}
	if err := x.update(ctx, path); err != nil {
		x.shut(ctx, path)
		return doc, err
	}
	x.docs.uses++
	x.docs.open[path].used = x.docs.uses
	x.trim(ctx)
	return *x.docs.open[path], nil
}

// hold sends an earlier text of path to the server. It stays until the next call for this path. Calls
// for other paths keep it until release.
func (x *server) hold(ctx context.Context, path string, text []byte) (doc document, release func(), err error) {
	x.docs.mu.Lock()
	defer x.docs.mu.Unlock()
	if err := x.replace(ctx, path, decode(text), false); err != nil {
		return doc, nil, err
	}
	held := x.docs.open[path]
	held.held++
	return *held, func() {
		x.docs.mu.Lock()
		defer x.docs.mu.Unlock()
		held.held--
	}, nil
}

// others lists the documents besides path needed by the server.
func (x *server) others(ctx context.Context, path string) (paths []string) {
	for p, doc := range x.docs.open {
		if p != path && doc.held == 0 {
			paths = append(paths, p)
		}
	}
	for _, name := range x.owner.config.Files.Unsaved(ctx) {
		p, err := x.owner.config.Files.Abs(name)
		if err == nil && p != path && x.spec.extensions[filepath.Ext(p)] != "" && x.docs.open[p] == nil {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// update opens a document in the server, or changes it.
func (x *server) update(ctx context.Context, path string) error {
	file, err := x.owner.config.Files.Read(ctx, path)
	if err != nil {
		return err
	}
	return x.replace(ctx, path, Decode(file), !file.Open)
}

// replace opens a document with a text in the server, or changes it.
func (x *server) replace(ctx context.Context, path string, text []byte, saved bool) error {
	doc := x.docs.open[path]
	switch {
	case doc == nil:
		doc = &document{version: 1, text: text, number: x.publications(path), used: x.docs.uses}
		x.docs.open[path] = doc
		return x.rpc.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": URIOf(path), "languageId": x.spec.extensions[filepath.Ext(path)], "version": doc.version, "text": string(text),
		}})
	case bytes.Equal(doc.text, text):
		return nil
	}
	doc.version, doc.text, doc.number = doc.version+1, text, x.publications(path)
	err := x.rpc.Notify(ctx, "textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": URIOf(path), "version": doc.version},
		"contentChanges": []any{map[string]any{"text": string(text)}},
	})
	if err == nil && saved { // a server may look at saved files only
		err = x.rpc.Notify(ctx, "textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}})
	}
	return err
}

// Decode returns the text of a file as shown in an editor: in UTF-8, without a byte order mark.
func Decode(file *workspace.File) []byte { return decode(file.Text) }

func decode(text []byte) []byte {
	text = textenc.CharsetOf(text).Decode(text)
	return bytes.TrimPrefix(text, []byte("\ufeff"))
}

func (x *server) publications(path string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.problems[path].number
}

// shut closes a document in the server.
func (x *server) shut(ctx context.Context, path string) {
	if x.docs.open[path] == nil {
		return
	}
	delete(x.docs.open, path)
	_ = x.rpc.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": URIOf(path)}}) // the next call sees the end
}

// trim closes the least recently used documents.
func (x *server) trim(ctx context.Context) {
	for len(x.docs.open) > mostOpen {
		oldest, used := "", x.docs.uses+1
		for path, doc := range x.docs.open {
			if doc.used < used {
				oldest, used = path, doc.used
			}
		}
		x.shut(ctx, oldest)
	}
}

// watched notifies the server of changed files on disk.
func (x *server) watched(ctx context.Context) {
	if x.changes == nil {
		return
	}
	changes := []any{}
	for path, kind := range x.changes.take() {
		changes = append(changes, map[string]any{"uri": URIOf(path), "type": kind})
	}
	if len(changes) > 0 {
		_ = x.rpc.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": changes}) // the next call sees the end
	}
}
