package workspace

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/search"
)

// Search finds lines or files. It leaves out ignored, hidden and binary files and links, as
// rg does. It searches the unsaved buffers of open documents instead of their files.
func (w *Workspace) Search(ctx context.Context, q search.Query) (*search.Found, error) {
	defer w.searching()()
	s, err := search.New(q)
	if err != nil {
		return nil, err
	}
	scope := search.Scope{
		Git:    w.gitConfig,
		Locate: w.location,
		Name:   w.Name,
		Hidden: func(ctx context.Context, l search.Location) bool {
			p, ok := longest(w.current(), l.Abs())
			return ok && w.hidden(ctx, p)
		},
		Skip: w.skipped,
		Rg:   w.Ripgrep,
	}
	starts, err := w.starts(ctx, q.Path)
	if err != nil {
		return nil, err
	}
	for _, p := range starts {
		scope.Starts = append(scope.Starts, p.location())
	}
	if !q.Files {
		if scope.Texts, err = w.searchedTexts(ctx, starts); err != nil {
			return nil, err
		}
	}
	found, err := s.Run(ctx, scope)
	var invalid *search.QueryError
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &invalid):
		return nil, err
	}
	return nil, w.explain(ctx, "searching", q.Path, err)
}

// starts lists the places where a search of path begins.
func (v *view) starts(ctx context.Context, path string) ([]place, error) {
	if path == "" || path == "." {
		var all []place
		for _, f := range v.current() {
			all = append(all, place{f, "."})
		}
		return all, nil
	}
	var start place
	err := v.at(path, func(p place) error {
		start = p
		_, err := p.folder.root.Stat(p.rel)
		return err
	})
	if err != nil {
		if _, open, _ := v.reading(ctx, start); start.folder != nil && open {
			return []place{start}, nil
		}
		return nil, v.explain(ctx, "searching", path, err)
	}
	return []place{start}, nil
}

// searchedTexts returns the texts of open documents. If the search is limited to a single file and
// the editor does not list its open documents, searchedTexts asks it for this file.
func (v *view) searchedTexts(ctx context.Context, starts []place) (map[string][]byte, error) {
	docs, err := v.documents(ctx)
	if err != nil {
		return nil, err
	}
	texts := make(map[string][]byte, len(docs))
	for path, doc := range docs {
		texts[path] = doc.Text
	}
	if !v.HasUnlistedBuffers() || len(starts) != 1 {
		return texts, nil
	}
	p := starts[0]
	if info, err := p.folder.root.Stat(p.rel); err != nil || info.IsDir() {
		return texts, nil
	}
	doc, open, err := v.reading(ctx, p)
	if open {
		texts[p.abs()] = doc.Text
	}
	return texts, err
}

func (p place) location() search.Location {
	return search.Location{Folder: p.folder.path, Root: p.folder.root, Rel: p.rel}
}

// location returns abs in its workspace folder.
func (s *scope) location(abs string) (search.Location, bool) {
	p, ok := longest(s.current(), abs)
	if !ok {
		return search.Location{}, false
	}
	return p.location(), true
}

// skipped returns a function reporting whether a walk from start leaves out a directory: other
// workspace folders have their own walk, and /proc has none.
func (s *scope) skipped(start search.Location) func(dir string) bool {
	others := make(map[string]bool)
	for _, other := range s.current() {
		if other.path != start.Folder {
			others[other.path] = true
		}
	}
	return func(dir string) bool { return others[dir] || isProc(dir) }
}

// walk visits the regular files below start, except ignored and hidden files; see [search.Walk].
func (s *scope) walk(ctx context.Context, start place, visit func(search.File)) error {
	l := start.location()
	return search.Walk(ctx, l, s.rules(start), s.skipped(l), visit)
}

// rules returns the ignore rules for a walk from start.
func (s *scope) rules(start place) *ignore.Matcher {
	return search.Rules(start.location(), s.gitConfig, nil)
}
