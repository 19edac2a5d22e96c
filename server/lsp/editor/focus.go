package editor

import (
	"slices"
	"sync"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// focus records the files of the user's work. LSP does not report the focused document. So the
// focus is the document last opened, changed, or used for code actions.
type focus struct {
	mu    sync.Mutex
	files []Used          // open files, the last used first
	keeps map[string]bool // are being edited by us
}

// Used is an open file, with the last known cursor or selection in it.
type Used struct {
	Path string
	At   *textenc.Range // nil: not known
}

// opened moves an opened file to the front.
func (f *focus) opened(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.use(path, nil)
}

// changed moves a file to the front after a change by the user. The cursor is at the end of the
// last change.
func (f *focus) changed(path string, changes []workspace.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keeps[path] {
		return
	}
	var at *textenc.Range
	if n := len(changes); n > 0 && changes[n-1].Range != nil {
		end := endOf(changes[n-1].Range.Start, changes[n-1].Text)
		at = &textenc.Range{Start: end, End: end}
	}
	f.use(path, at)
}

// endOf returns the end of a text from start. If the text contains a line break, the column is
// unknown.
func endOf(start textenc.Position, text string) textenc.Position {
	for _, c := range []byte(text) {
		if c == '\n' {
			start.Line, start.Character = start.Line+1, 0
			continue
		}
		start.Character++
	}
	return start
}

func (f *focus) closed(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = slices.DeleteFunc(f.files, func(u Used) bool { return u.Path == path })
}

// keep ignores changes of a file, because they are our edit's and not the user's, until the
// returned function is called.
func (f *focus) keep(path string) (done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keeps == nil {
		f.keeps = map[string]bool{}
	}
	f.keeps[path] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.keeps, path)
	}
}

func (f *focus) use(path string, at *textenc.Range) {
	f.files = slices.DeleteFunc(f.files, func(u Used) bool { return u.Path == path })
	f.files = slices.Insert(f.files, 0, Used{path, at})
}

// Focus records the user's cursor or selection in a document.
func (d *Documents) Focus(u uri.URI, at lsp.Range) {
	path, ok := d.path(u)
	if !ok {
		return
	}
	r := rangeOf(at)
	d.focus.mu.Lock()
	defer d.focus.mu.Unlock()
	d.focus.use(path, &r)
}

// Used returns the open files, the last used first.
func (d *Documents) Used() []Used {
	d.focus.mu.Lock()
	defer d.focus.mu.Unlock()
	return slices.Clone(d.focus.files)
}
