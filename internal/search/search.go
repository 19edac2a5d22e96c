// Package search finds lines by regular expressions and files by name, with rg if it is installed,
// else in this process. Both engines find the same: without ignored, hidden and binary files, and
// without links. Every file is opened through the [os.Root] of its workspace folder. The text of
// open documents is searched instead of the files.
//
// A [Search] runs once. Its goroutines end before Run returns.
package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

const (
	defaultLimit = 50
	// maxHits is the number of results of which more than the number is known.
	maxHits = 10_000
)

// The modes of a search.
const (
	ModeContent = "content"
	ModeFiles   = "files_only"
	ModeCount   = "count"
)

// Query is a search by content or, if Files is set, by file name.
type Query struct {
	// Pattern is a regular expression to match within lines. If Files is set, it is a glob for
	// names, or for whole paths if it contains a slash. Without special characters it matches names
	// or paths that contain it. If it is empty, it matches all files.
	Pattern string
	Path    string // directory or file; empty or ".": every workspace folder
	Glob    string // which files, as in rg -g: "*.go", "src/**", "!*_test.go"
	Files   bool   // search names, not content
	Limit   int    // results in the page; 0: 50
	Offset  int    // results before the page
	Context int    // lines shown before and after each match
	Mode    string // content (also empty), files_only, count
}

// Match is a matching line.
type Match struct {
	Path    string   // in the model's form
	Line    int      // from 1
	Content string   // the line without its end: at most 64 KiB of it, with the first match
	Before  []string // the Context lines above
	After   []string // the Context lines below
}

// Found is a page of results, sorted by path, then line. Paths are in the model's form. None of its
// lists is nil.
type Found struct {
	Matches   []Match        // mode content
	Files     []string       // mode files_only, and searches by name
	Counts    map[string]int // mode count: matching lines by file
	Total     int            // of the whole search: matching lines (content, count) or files
	Truncated bool           // there are results after this page
}

// Scope is the searched part of a workspace.
type Scope struct {
	Starts []Location        // directories or files
	Texts  map[string][]byte // of open documents, by absolute path
	Git    ignore.GitConfig

	Locate func(abs string) (l Location, ok bool)            // in the workspace folder of abs
	Name   func(abs string) string                           // in the model's form
	Hidden func(ctx context.Context, l Location) bool        // the editor refuses to show it
	Skip   func(start Location) (skip func(dir string) bool) // directories to leave out of a walk
	Rg     Runner                                            // nil: search in this process
}

// Search is a checked query.
type Search struct {
	q       Query
	only    *ignore.Glob
	named   func(rel, name string) bool // searches by name
	pattern *pattern                    // searches by content; nil if only rg knows its syntax
	invalid error                       // why pattern is nil
	scope   Scope
	hits    hits
}

// New checks a query. The error is a [*QueryError].
func New(q Query) (*Search, error) {
	s := &Search{q: q}
	var err error
	if s.q.Limit <= 0 {
		s.q.Limit = defaultLimit
	}
	s.q.Offset, s.q.Context = max(q.Offset, 0), max(q.Context, 0)
	switch q.Mode {
	case "", ModeContent, ModeFiles, ModeCount:
	default:
		return nil, queryError("there is no output mode %q; use content, files_only or count", q.Mode)
	}
	if s.only, err = ignore.ParseGlob(q.Glob); err != nil {
		return nil, &QueryError{err.Error()}
	}
	if q.Files {
		if s.named, err = ignore.NamePattern(norm.NFC.String(q.Pattern)); err != nil {
			return nil, &QueryError{err.Error()}
		}
		if named := s.named; !ascii(q.Pattern) { // names may be in another Unicode form
			s.named = func(rel, name string) bool { return named(norm.NFC.String(rel), norm.NFC.String(name)) }
		}
		return s, nil
	}
	if q.Pattern == "" {
		return nil, queryError("the search pattern is empty; give a regular expression, or search for files")
	}
	s.pattern, s.invalid = compilePattern(q.Pattern)
	return s, nil
}

// Run searches the files of scope. If the pattern is invalid for the engine, the error is a
// [*QueryError]. Other errors come from the context or from a start.
func (s *Search) Run(ctx context.Context, scope Scope) (*Found, error) {
	if s.invalid != nil && scope.Rg == nil {
		return nil, s.invalid
	}
	s.scope = scope
	for _, start := range scope.Starts {
		if err := s.in(ctx, start); err != nil {
			return nil, err
		}
	}
	return s.page(ctx)
}

// in searches below start.
func (s *Search) in(ctx context.Context, start Location) error {
	info, err := start.Root.Stat(start.Rel)
	if err != nil || !info.IsDir() {
		return s.inFile(start)
	}
	err = errRipgrep
	if s.scope.Rg != nil && !s.foreign() {
		err = s.ripgrep(ctx, start)
	}
	if errors.Is(err, errRipgrep) {
		if s.invalid != nil {
			return s.invalid
		}
		err = Walk(ctx, start, s.rules(start), s.scope.Skip(start), s.visit(start))
	}
	if err != nil {
		return err
	}
	return s.inTexts(start)
}

// foreign reports whether the pattern may match non-ASCII characters. rg does not find them in
// files of an older encoding, such as GBK or Shift_JIS, and not in names of another Unicode form.
func (s *Search) foreign() bool {
	if !ascii(s.q.Glob) {
		return true
	}
	if s.pattern == nil || s.q.Files {
		return false
	}
	escaped := strings.Contains(s.q.Pattern, `\x{`) || strings.Contains(s.q.Pattern, `\p{`)
	return escaped || !ascii(s.q.Pattern)
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// rules returns the ignore rules for a walk from start.
func (s *Search) rules(start Location) *ignore.Matcher { return Rules(start, s.scope.Git, s.only) }

// Rules returns the ignore rules for a walk from start. If only is nil, the walk visits all files
// except ignored files.
func Rules(start Location, git ignore.GitConfig, only *ignore.Glob) *ignore.Matcher {
	return &ignore.Matcher{
		Only:   only,
		Global: git.Rules(),
		Base:   filepath.ToSlash(start.Folder),
		Above:  ignore.Above(start.Abs()),
	}
}

// inFile searches a single file, even if it is ignored.
func (s *Search) inFile(l Location) error {
	if s.q.Files {
		if s.named(filepath.ToSlash(l.Rel), filepath.Base(l.Rel)) {
			s.hits.add(s.scope.Name(l.Abs()), l.Abs(), nil)
		}
		return nil
	}
	if s.pattern == nil {
		return s.invalid
	}
	if text, ok := s.scope.Texts[l.Abs()]; ok {
		return s.content(l.Abs(), bytes.NewReader(text))
	}
	f, _, err := safefile.OpenIn(l.Root, l.Rel)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.content(l.Abs(), f)
}

// visit returns the function with which a walk from start visits files.
func (s *Search) visit(start Location) func(File) {
	if s.q.Files {
		return func(f File) { s.name(&s.hits, start, f.Path) }
	}
	return func(f File) {
		if _, open := s.scope.Texts[f.Path]; open {
			return
		}
		file, err := f.dir.open(f.Name)
		if err != nil {
			return // deleted, or not readable
		}
		defer file.Close()
		_ = s.content(f.Path, file) // if a file cannot be read to its end, it has no matches
	}
}

// name adds a file to h if its name matches.
func (s *Search) name(h *hits, start Location, abs string) {
	l, ok := s.scope.Locate(abs)
	if !ok || l.Folder != start.Folder {
		return
	}
	rel := filepath.ToSlash(l.Rel)
	if s.named(rel, path.Base(rel)) {
		h.add(s.scope.Name(abs), abs, nil)
	}
}

// content searches a text.
func (s *Search) content(abs string, r io.Reader) error {
	lines := s.newLines()
	binary, err := s.pattern.scan(r, lines.add)
	if err != nil || binary || lines.count == 0 {
		return err
	}
	s.hits.add(s.scope.Name(abs), abs, lines)
	return nil
}

// newLines returns a list of line hits. It stores line numbers only if the search shows lines.
func (s *Search) newLines() *lineHits {
	if s.q.Mode == "" || s.q.Mode == ModeContent {
		return &lineHits{limit: maxHits}
	}
	return &lineHits{}
}

// inTexts searches the open documents in the scope of a walk from start.
func (s *Search) inTexts(start Location) error {
	if len(s.scope.Texts) == 0 || s.pattern == nil {
		return nil
	}
	rules := s.rules(start)
	for abs, text := range s.scope.Texts {
		l, ok := s.scope.Locate(abs)
		if !ok || l.Folder != start.Folder {
			continue
		}
		rel, err := filepath.Rel(start.Rel, l.Rel)
		if err != nil || !filepath.IsLocal(rel) || !rules.Visible(start.Abs(), rel) {
			continue
		}
		if err := s.content(abs, bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return nil
}
