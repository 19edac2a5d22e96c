package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

const (
	maxSuggestions  = 3
	maxSuggestLooks = 20_000 // files examined in the search for the same name elsewhere
)

// notFound returns the error for a path that does not exist, with similar names. It searches for
// them only when the text is read, since the search may walk every folder.
func (s *scope) notFound(ctx context.Context, path string) error {
	return &missingError{PathError{Path: path, Text: path + " does not exist", Err: ErrNotFound}, sync.OnceValue(func() string {
		if near := s.near(ctx, path); len(near) > 0 {
			return fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
		}
		if strings.ContainsAny(path, "*?") {
			return ". A path names one file: find files by a pattern with search_files and target=files"
		}
		return ". Search for its name with search_files and target=files, or list its folder"
	})}
}

// missingError is a [*PathError] whose sentence continues with advice.
type missingError struct {
	PathError
	advice func() string
}

func (e *missingError) Error() string { return e.Text + e.advice() }

func (e *missingError) Unwrap() error { return &e.PathError }

// near lists names like path: first names beside it, then files of the same name elsewhere.
func (s *scope) near(ctx context.Context, path string) []string {
	p, err := s.locate(path)
	if err != nil {
		return nil
	}
	named := filepath.IsAbs(path)
	if all := s.readings(path); len(all) > 0 && (all[0].odd || s.namesFolder(strings.TrimPrefix(path, "@"))) {
		if q, err := s.locateExact(all[len(all)-1].path); err == nil {
			p, named = q, filepath.IsAbs(all[len(all)-1].path)
		}
	}
	base := filepath.Base(p.rel)
	var names []string
	for _, name := range spelling.Near(base, s.siblings(p)) {
		names = append(names, s.Name(filepath.Join(filepath.Dir(p.abs()), name)))
	}
	if head, _, ok := strings.Cut(path, " "); ok && len(names) == 0 { // main.go (lines 3-5)
		if abs, exists := s.existing(head); exists {
			return []string{s.Name(abs)}
		}
	}
	if len(names) > 0 {
		return names[:min(len(names), maxSuggestions)]
	}
	folders := []*folder{p.folder}
	if !named { // the path may be relative to any folder; files of others than the first have absolute names
		folders = s.current()
	}
	for _, f := range folders {
		names = append(names, s.sameName(ctx, place{f, "."}, base)...)
	}
	return names[:min(len(names), maxSuggestions)]
}

// siblings lists the folder in which p would be. If something else is in the folder's
// place, such as a named pipe, it returns nil.
func (s *scope) siblings(p place) []string {
	f, err := p.folder.root.OpenFile(filepath.Dir(p.rel), safefile.Flags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()             // only read
	entries, _ := f.ReadDir(-1) // after an error, the entries read so far
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sameName looks for files called base in the folder p.
func (s *scope) sameName(ctx context.Context, p place, base string) []string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var looked atomic.Int32
	var mu sync.Mutex
	var names []string
	// After an error, the walk was stopped; the names so far are enough.
	_ = s.walk(ctx, p, func(f search.File) {
		if looked.Add(1) > maxSuggestLooks {
			cancel()
		}
		if strings.EqualFold(f.Name, base) {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, s.Name(f.Path))
		}
	})
	slices.Sort(names)
	return names
}
