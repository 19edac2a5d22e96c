package search

import (
	"cmp"
	"slices"
	"sync"
)

// lineHits are the matching lines of a file.
type lineHits struct {
	limit int // of lines
	lines []int
	count int
}

func (l *lineHits) add(line int) {
	l.count++
	if len(l.lines) < l.limit {
		l.lines = append(l.lines, line)
	}
}

// fileHits are the hits in a file. In a search by name, lines is nil.
type fileHits struct {
	name, path string
	lines      *lineHits
}

// size returns the number of results in the file.
func (f fileHits) size() int {
	if f.lines == nil {
		return 1
	}
	return max(1, len(f.lines.lines))
}

// hits holds the results of a search: the first maxHits by file name, and the number of all.
// A result is a line or, if the search shows no lines, a file. It is safe for concurrent use.
type hits struct {
	mu    sync.Mutex
	files []fileHits
	size  int    // of files, in results
	bound string // files with a later name are only counted; empty: no bound yet
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
	if h.size += f.size(); h.size > 2*maxHits {
		h.shrink()
	}
}

// merge adds the results of another search.
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

// shrink sorts the files and drops the files after the first maxHits results.
func (h *hits) shrink() {
	slices.SortFunc(h.files, func(a, b fileHits) int { return cmp.Compare(a.name, b.name) })
	h.size = 0
	for i, f := range h.files {
		if h.size += f.size(); h.size >= maxHits {
			h.files, h.bound = h.files[:i+1], f.name
			return
		}
	}
}
