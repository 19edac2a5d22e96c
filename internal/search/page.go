package search

import (
	"bytes"
	"context"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// page returns the requested page of results.
func (s *Search) page(ctx context.Context) (*Found, error) {
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

// inScope reports whether a result is in a workspace folder. rg opens files by path, and follows a
// link that replaces a directory during the search.
func (s *Search) inScope(abs string) bool {
	if _, open := s.scope.Texts[abs]; open || s.scope.Rg == nil {
		return true
	}
	l, ok := s.scope.Locate(abs)
	if !ok {
		return false
	}
	info, err := l.Root.Stat(l.Rel)
	return err == nil && info.Mode().IsRegular()
}

// matchPage adds the matches of the page to found, and reads their lines.
func (s *Search) matchPage(ctx context.Context, found *Found) error {
	skip, rest := s.q.Offset, s.q.Limit
	for _, f := range s.hits.files {
		lines := f.lines.lines
		from := min(skip, len(lines))
		skip -= from
		lines = lines[from:][:min(rest, len(lines)-from)]
		if len(lines) == 0 {
			continue
		}
		matches, err := s.show(ctx, f, lines)
		if err != nil {
			return err
		}
		found.Matches = append(found.Matches, matches...)
		rest -= len(lines)
	}
	found.Truncated = s.q.Offset+s.q.Limit < s.hits.count
	return nil
}

// show reads the lines of a file on the page, through the root of its folder. If the file was
// deleted or the editor refuses to show it, it returns none.
func (s *Search) show(ctx context.Context, f fileHits, lines []int) ([]Match, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l, ok := s.scope.Locate(f.path); ok && s.scope.Hidden(ctx, l) {
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

// changed reports whether a line certainly does not match: the file has changed since, or rg has
// read another file. For non-ASCII text it returns false, because the engines use different word
// boundaries there.
func (s *Search) changed(content string) bool {
	if s.pattern == nil || len(content) >= textenc.MaxLine-utf8.UTFMax || strings.ContainsFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	return !s.pattern.expr.MatchString(strings.TrimSuffix(content, "\r"))
}

// lines reads the given lines and their context.
func (s *Search) lines(abs string, lines []int) (map[int]string, error) {
	around := make(map[int]bool)
	for _, line := range lines {
		for at := max(1, line-s.q.Context); at <= line+s.q.Context; at++ {
			around[at] = true
		}
	}
	return s.read(abs, around, textenc.MaxLine)
}

// around returns the shown part of a line. content is its beginning; if the first match comes
// later, around returns the part around the match.
func (s *Search) around(abs string, line int, content string) string {
	if len(content) < textenc.MaxLine-utf8.UTFMax || s.pattern == nil || s.pattern.expr.MatchString(content) {
		return content
	}
	whole, err := s.read(abs, map[int]bool{line: true}, maxSearchLine)
	if err != nil {
		return content // the file has changed
	}
	match := s.pattern.expr.FindStringIndex(whole[line])
	if match == nil {
		return content
	}
	from := match[0] - textenc.MaxLine/2
	for !utf8.RuneStart(whole[line][from]) {
		from++
	}
	return string(textenc.CutText([]byte(whole[line][from:]), textenc.MaxLine))
}

// read reads lines of a file or document, at most limit bytes of each.
func (s *Search) read(abs string, wanted map[int]bool, limit int) (map[int]string, error) {
	if text, ok := s.scope.Texts[abs]; ok {
		return textenc.ReadLines(bytes.NewReader(text), wanted, limit)
	}
	l, ok := s.scope.Locate(abs)
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, _, err := safefile.OpenIn(l.Root, l.Rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return textenc.ReadLines(f, wanted, limit)
}
