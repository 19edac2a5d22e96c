package workspace

import (
	"context"
	"fmt"
	"path/filepath"
)

// document returns what the editor has open at p. The editor may spell the path
// through a link that we resolved, so every open document is asked where it lies.
func (w *Workspace) document(ctx context.Context, p place) (Document, bool, error) {
	if w.docs == nil {
		return Document{}, false, nil
	}
	tried := []string{filepath.Join(p.folder.given, p.rel)}
	if abs := p.abs(); abs != tried[0] {
		tried = append(tried, abs)
	}
	for _, path := range tried {
		if doc, ok, err := w.get(ctx, path); ok || err != nil {
			return doc, ok, err
		}
	}
	for _, path := range w.docs.Paths() {
		if path == tried[0] || path == tried[len(tried)-1] {
			continue
		}
		if q, err := w.locate(path); err == nil && q == p {
			return w.get(ctx, path)
		}
	}
	return Document{}, false, nil
}

func (w *Workspace) get(ctx context.Context, path string) (Document, bool, error) {
	doc, ok, err := w.docs.Get(ctx, path)
	if err != nil {
		return Document{}, false, fmt.Errorf("asking the editor for %s: %w", w.Name(path), err)
	}
	return doc, ok, nil
}

// documents returns the open documents that lie in the folders, by resolved path.
func (w *Workspace) documents(ctx context.Context) (map[string]Document, error) {
	docs := make(map[string]Document)
	if w.docs == nil {
		return docs, nil
	}
	for _, path := range w.docs.Paths() {
		p, err := w.locate(path)
		if err != nil {
			continue // a document from elsewhere
		}
		doc, ok, err := w.get(ctx, path)
		if err != nil {
			return nil, err
		}
		if ok {
			docs[p.abs()] = doc
		}
	}
	return docs, nil
}
