package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

const (
	defaultLimit = 50
	// No more matches than this are kept, the first ones by path and line. What
	// lies behind them is counted.
	maxHits = 10_000
)

// The modes of a search.
const (
	ModeContent = "content"
	ModeFiles   = "files_only"
	ModeCount   = "count"
)

// Query is a search, by content or, with Files set, by file name.
type Query struct {
	// Pattern is a regular expression that matches in lines. For Files it is a
	// glob: without a slash it matches names, with one whole paths; without any
	// special character, names or paths that contain it. Empty: all files.
	Pattern string
	Path    string // folder or file; empty or ".": every workspace folder
	Glob    string // which files, as rg -g has it: "*.go", "src/**", "!*_test.go"
	Files   bool   // search names, not content
	Limit   int    // results in the page; 0: 50
	Offset  int    // results before the page
	Context int    // lines shown before and after each match
	Mode    string // content (also empty), files_only, count
}

// Match is a line that matches.
type Match struct {
	Path    string   // as the model says it
	Line    int      // from 1
	Content string   // the line without its end, at most 64 KiB of it, the first match among them
	Before  []string // the lines above, as many as Context asked for
	After   []string // the lines below
}

// Found is one page of results, sorted by path, then line. Paths are as the model
// says them. None of its lists is nil.
type Found struct {
	Matches   []Match        // mode content
	Files     []string       // mode files_only, and searches by name
	Counts    map[string]int // mode count: matching lines by file
	Total     int            // of the whole search: matching lines (content, count) or files
	Truncated bool           // there are results after this page
}

// Search finds lines or files. It leaves out what rg leaves out: ignored, hidden
// and binary files, links. Unsaved text of open documents is searched instead of
// what lies on the disk.
func (w *Workspace) Search(ctx context.Context, q Query) (*Found, error) {
	defer w.turnstile.searching()()
	s, err := w.newSearch(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, start := range s.starts {
		if err := s.in(ctx, start); err != nil {
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case s.invalid != nil && errors.Is(err, s.invalid):
				return nil, err // a sentence of its own
			}
			return nil, w.explain(ctx, "searching", q.Path, err)
		}
	}
	return s.page(ctx)
}

// search is one running search.
type search struct {
	w       *Workspace
	q       Query
	starts  []place
	only    *globs
	named   func(rel, name string) bool // searches by name
	pattern *pattern                    // searches by content; nil when only rg understands it
	invalid error                       // why pattern is nil
	docs    map[string]Document         // by resolved path
	hits    hits
}

func (w *Workspace) newSearch(ctx context.Context, q Query) (*search, error) {
	s := &search{w: w, q: q}
	var err error
	if s.q.Limit <= 0 {
		s.q.Limit = defaultLimit
	}
	s.q.Offset, s.q.Context = max(q.Offset, 0), max(q.Context, 0)
	switch q.Mode {
	case "", ModeContent, ModeFiles, ModeCount:
	default:
		return nil, fmt.Errorf("there is no output mode %q; use content, files_only or count", q.Mode)
	}
	if s.only, err = newGlobs(q.Glob); err != nil {
		return nil, err
	}
	if s.starts, err = w.starts(ctx, q.Path); err != nil {
		return nil, err
	}
	if q.Files {
		s.named, err = nameMatcher(q.Pattern)
		return s, err
	}
	if q.Pattern == "" {
		return nil, errors.New("the search pattern is empty; give a regular expression, or search for files")
	}
	s.pattern, s.invalid = compilePattern(q.Pattern)
	if s.invalid != nil && w.Ripgrep == nil {
		return nil, s.invalid
	}
	if s.docs, err = w.documents(ctx); err != nil {
		return nil, err
	}
	return s, s.askForFile(ctx)
}

// askForFile asks the editor for the text of the one file that is searched. An editor
// that tells what it has open has told this text already.
func (s *search) askForFile(ctx context.Context) error {
	if !s.w.Untold() || len(s.starts) != 1 {
		return nil
	}
	p := s.starts[0]
	if info, err := p.folder.root.Stat(p.rel); err != nil || info.IsDir() {
		return nil
	}
	doc, open, err := s.w.document(ctx, p)
	if open {
		s.docs[p.abs()] = doc
	}
	return err
}

// starts lists where a search of path begins.
func (w *Workspace) starts(ctx context.Context, path string) ([]place, error) {
	if path == "" || path == "." {
		var all []place
		for _, f := range w.current() {
			all = append(all, place{f, "."})
		}
		return all, nil
	}
	var start place
	err := w.at(path, func(p place) error {
		start = p
		_, err := p.folder.root.Stat(p.rel)
		return err
	})
	if err != nil {
		if _, open, _ := w.document(ctx, start); start.folder != nil && open {
			return []place{start}, nil
		}
		return nil, w.explain(ctx, "searching", path, err)
	}
	return []place{start}, nil
}

// nameMatcher matches files by name, or by path when the pattern has a slash.
func nameMatcher(pattern string) (func(rel, name string) bool, error) {
	whole := strings.Contains(pattern, "/")
	subject := func(rel, name string) string {
		if whole {
			return "/" + rel
		}
		return name
	}
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return func(rel, name string) bool { return strings.Contains(subject(rel, name), pattern) }, nil
	}
	if whole && !strings.HasPrefix(pattern, "/") {
		pattern = "**/" + pattern
	}
	r := rule{whole: whole, matchable: true}
	if err := r.compile(strings.TrimPrefix(pattern, "/"), true); err != nil {
		return nil, fmt.Errorf("the file pattern %q is no valid glob: %w", pattern, err)
	}
	return func(rel, name string) bool { return r.matches(rel, name, false) }, nil
}

// in searches below start.
func (s *search) in(ctx context.Context, start place) error {
	info, err := start.folder.root.Stat(start.rel)
	if err != nil || !info.IsDir() {
		return s.inFile(start)
	}
	if s.w.Ripgrep == nil {
		err = s.w.walk(ctx, start, s.only, s.visit(start))
	} else if err = s.ripgrep(ctx, start); errors.Is(err, errRipgrep) {
		if s.invalid != nil {
			return s.invalid
		}
		err = s.w.walk(ctx, start, s.only, s.visit(start))
	}
	if err != nil {
		return err
	}
	return s.inDocuments(start)
}

// inFile searches the one file that was asked for, whatever the ignore rules say.
func (s *search) inFile(p place) error {
	if s.q.Files {
		if s.named(filepath.ToSlash(p.rel), filepath.Base(p.rel)) {
			s.hits.add(s.w.Name(p.abs()), p.abs(), nil)
		}
		return nil
	}
	if s.pattern == nil {
		return s.invalid
	}
	if doc, ok := s.docs[p.abs()]; ok {
		return s.content(p.abs(), bytes.NewReader(doc.Text))
	}
	f, _, err := safefile.OpenIn(p.folder.root, p.rel)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.content(p.abs(), f)
}

// visit is what a walk from start does with each file.
func (s *search) visit(start place) func(walked) {
	if s.q.Files {
		return func(f walked) { s.name(&s.hits, start, f.path) }
	}
	return func(f walked) {
		if _, open := s.docs[f.path]; open {
			return
		}
		file, err := f.dir.open(f.name)
		if err != nil {
			return // gone, or not ours to read
		}
		defer file.Close()
		_ = s.content(f.path, file) // what cannot be read to its end has no matches
	}
}

// name adds a file to h when its name matches.
func (s *search) name(h *hits, start place, abs string) {
	rel, _ := below(start.folder.path, abs)
	rel = filepath.ToSlash(rel)
	if s.named(rel, path.Base(rel)) {
		h.add(s.w.Name(abs), abs, nil)
	}
}

// content searches one text.
func (s *search) content(abs string, r io.Reader) error {
	lines := s.newLines()
	binary, err := s.pattern.scan(r, lines.add)
	if err != nil || binary || lines.count == 0 {
		return err
	}
	s.hits.add(s.w.Name(abs), abs, lines)
	return nil
}

// newLines keeps line numbers only for a search that shows lines.
func (s *search) newLines() *lineHits {
	if s.q.Mode == "" || s.q.Mode == ModeContent {
		return &lineHits{room: maxHits}
	}
	return &lineHits{}
}

// inDocuments searches the open documents that a walk from start would come to.
func (s *search) inDocuments(start place) error {
	if len(s.docs) == 0 || s.pattern == nil {
		return nil
	}
	rules := s.w.ignorer(start, s.only)
	for abs, doc := range s.docs {
		if p, ok := longest(s.w.current(), abs); !ok || p.folder != start.folder || !rules.visible(start.abs(), abs) {
			continue
		}
		if err := s.content(abs, bytes.NewReader(doc.Text)); err != nil {
			return err
		}
	}
	return nil
}

// lineHits are the matching lines of one file.
type lineHits struct {
	room  int // how many are kept
	lines []int
	count int
}

func (l *lineHits) add(line int) {
	l.count++
	if len(l.lines) < l.room {
		l.lines = append(l.lines, line)
	}
}

// fileHits are the hits of one file; lines is nil in a search by name.
type fileHits struct {
	name, path string
	lines      *lineHits
}

func (f fileHits) kept() int {
	if f.lines == nil {
		return 1
	}
	return max(1, len(f.lines.lines))
}

// hits gathers what a search finds: the first maxHits lines, or files when no
// lines are shown, by name, and the number of all. It is safe for concurrent use.
type hits struct {
	mu    sync.Mutex
	files []fileHits
	kept  int    // in files
	bound string // files named after this are only counted; empty: no bound yet
	count int    // matching lines
	named int    // files
}

func (h *hits) add(name, path string, lines *lineHits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.named++
	if lines != nil {
		h.count += lines.count
	}
	if h.bound != "" && name > h.bound {
		return
	}
	f := fileHits{name, path, lines}
	h.files = append(h.files, f)
	if h.kept += f.kept(); h.kept > 2*maxHits {
		h.shrink()
	}
}

// merge adds what another search has gathered.
func (h *hits) merge(other *hits) {
	named, count := h.named+other.named, h.count+other.count
	if h.bound == "" || other.bound != "" && other.bound < h.bound {
		h.bound = other.bound
	}
	for _, f := range other.files {
		h.add(f.name, f.path, f.lines)
	}
	h.named, h.count = named, count
}

// shrink sorts the files and drops those behind the first maxHits.
func (h *hits) shrink() {
	slices.SortFunc(h.files, func(a, b fileHits) int { return cmp.Compare(a.name, b.name) })
	h.kept = 0
	for i, f := range h.files {
		if h.kept += f.kept(); h.kept >= maxHits {
			h.files, h.bound = h.files[:i+1], f.name
			return
		}
	}
}

// page makes the answer.
func (s *search) page(ctx context.Context) (*Found, error) {
	s.hits.shrink()
	found := &Found{Matches: []Match{}, Files: []string{}, Counts: map[string]int{}}
	if !s.q.Files && (s.q.Mode == "" || s.q.Mode == ModeContent) {
		found.Total = s.hits.count
		err := s.matchPage(ctx, found)
		return found, err
	}
	found.Total = s.hits.named
	from := min(s.q.Offset, len(s.hits.files))
	to := from + min(s.q.Limit, len(s.hits.files)-from)
	for _, f := range s.hits.files[from:to] {
		if !s.inScope(f.path) {
			continue
		}
		if s.q.Mode == ModeCount && !s.q.Files {
			found.Counts[f.name] = f.lines.count
		} else {
			found.Files = append(found.Files, f.name)
		}
	}
	found.Truncated = to < s.hits.named
	if s.q.Mode == ModeCount && !s.q.Files {
		found.Total = s.hits.count
	}
	return found, nil
}

// inScope reports whether a result is what the folder's root would show: rg, which
// knows no root, may have been led outside by a folder swapped for a link.
func (s *search) inScope(abs string) bool {
	if _, open := s.docs[abs]; open || s.w.Ripgrep == nil {
		return true
	}
	p, ok := longest(s.w.current(), abs)
	if !ok {
		return false
	}
	info, err := p.folder.root.Stat(p.rel)
	return err == nil && info.Mode().IsRegular()
}

// matchPage fills in the matches of the page, reading their lines.
func (s *search) matchPage(ctx context.Context, found *Found) error {
	skip, room := s.q.Offset, s.q.Limit
	for _, f := range s.hits.files {
		lines := f.lines.lines
		from := min(skip, len(lines))
		skip -= from
		lines = lines[from:][:min(room, len(lines)-from)]
		if len(lines) == 0 {
			continue
		}
		matches, err := s.show(ctx, f, lines)
		if err != nil {
			return err
		}
		found.Matches = append(found.Matches, matches...)
		room -= len(lines)
	}
	found.Truncated = s.q.Offset+s.q.Limit < s.hits.count
	return nil
}

// show reads the lines of one file that the page has. They come through the
// folder's root whatever engine found them. A file that is gone has none.
func (s *search) show(ctx context.Context, f fileHits, lines []int) ([]Match, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p, ok := longest(s.w.current(), f.path); ok && s.w.hidden(ctx, p) {
		return nil, nil
	}
	text, err := s.lines(f.path, lines)
	if err != nil {
		return nil, nil
	}
	var matches []Match
	for _, line := range lines {
		content, ok := text[line]
		if !ok || s.changed(content) {
			continue
		}
		m := Match{Path: f.name, Line: line, Content: s.around(f.path, line, content)}
		for at := line - s.q.Context; at <= line+s.q.Context; at++ {
			content, ok := text[at]
			if ok && at < line {
				m.Before = append(m.Before, content)
			} else if ok && at > line {
				m.After = append(m.After, content)
			}
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// changed reports whether a line is surely not the one that was found: it has changed
// since, or rg, which knows no root, was led outside. Beyond ASCII the engines differ in
// where a word ends.
func (s *search) changed(content string) bool {
	if s.pattern == nil || len(content) >= maxLine-utf8.UTFMax || strings.ContainsFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	return !s.pattern.expr.MatchString(strings.TrimSuffix(content, "\r"))
}

// lines reads the given lines and those around them.
func (s *search) lines(abs string, lines []int) (map[int]string, error) {
	around := make(map[int]bool)
	for _, line := range lines {
		for at := max(1, line-s.q.Context); at <= line+s.q.Context; at++ {
			around[at] = true
		}
	}
	return s.read(abs, around, maxLine)
}

// around is what is shown of a line of which content was kept: where that is cut before
// the first match, the part about the match.
func (s *search) around(abs string, line int, content string) string {
	if len(content) < maxLine-utf8.UTFMax || s.pattern == nil || s.pattern.expr.MatchString(content) {
		return content
	}
	whole, err := s.read(abs, map[int]bool{line: true}, maxSearchLine)
	if err != nil {
		return content // changed meanwhile
	}
	match := s.pattern.expr.FindStringIndex(whole[line])
	if match == nil {
		return content
	}
	from := match[0] - maxLine/2
	for !utf8.RuneStart(whole[line][from]) {
		from++
	}
	return string(cutText([]byte(whole[line][from:]), maxLine))
}

// read reads lines of a file, at most room bytes of each.
func (s *search) read(abs string, wanted map[int]bool, room int) (map[int]string, error) {
	if doc, ok := s.docs[abs]; ok {
		return readLines(bytes.NewReader(doc.Text), wanted, room)
	}
	p, ok := longest(s.w.current(), abs)
	if !ok {
		return nil, ErrOutside
	}
	f, _, err := safefile.OpenIn(p.folder.root, p.rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLines(f, wanted, room)
}

// readLines reads the lines whose numbers are in wanted.
func readLines(r io.Reader, wanted map[int]bool, room int) (map[int]string, error) {
	picked := pickLines(wanted)
	picked.room = room
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	r = decoded(r)
	for !picked.done() {
		n, err := r.Read(*buf)
		picked.write((*buf)[:n])
		if errors.Is(err, io.EOF) {
			picked.finish()
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if picked.binary {
		return nil, ErrNotRegular
	}
	text := make(map[int]string)
	numbers := make([]int, 0, len(wanted))
	for line := range wanted {
		numbers = append(numbers, line)
	}
	slices.Sort(numbers)
	for i, line := range picked.lines {
		if !utf8.ValidString(line) {
			line = string(CharsetOf([]byte(line)).Decode([]byte(line)))
		}
		text[numbers[i]] = line
	}
	return text, nil
}
