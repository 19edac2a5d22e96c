package workspace

import (
	"context"
	"io"
)

// MaxWhole is the most bytes that are read, or edited, as one text.
const MaxWhole = maxWhole

// WindowOf is a window of a text that comes from somewhere else than a workspace; see
// [Workspace.Lines]. Its path and name are the caller's to fill in.
func WindowOf(ctx context.Context, r io.Reader, size int64, offset, limit int) (*Window, error) {
	win := &Window{Offset: max(offset, 1), Size: size}
	picked := pickWindow(win.Offset, limit)
	var err error
	if win.Charset, err = drain(ctx, r, size, picked); err != nil {
		return nil, err
	}
	if picked.binary {
		win.Binary, win.Charset = true, CharsetUTF8
		return win, nil
	}
	picked.finish()
	win.Lines, win.Total = picked.lines, picked.total()
	if win.Charset == CharsetLatin1 {
		for i, line := range win.Lines {
			win.Lines[i] = string(CharsetLatin1.Decode([]byte(line)))
		}
	}
	if next := win.Offset + len(win.Lines); next <= win.Total {
		win.Truncated, win.Next = true, next
	}
	return win, nil
}

// NameMatcher tells which files a search by name finds; rel is with slashes, relative
// to where the search begins. See [Query.Pattern].
func NameMatcher(pattern string) (func(rel, name string) bool, error) { return nameMatcher(pattern) }
