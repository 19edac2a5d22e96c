package editor

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// saves reports whose text is saved: the user's changes of a document are the changes since its
// base. It is safe for concurrent use.
type saves struct {
	mu    sync.Mutex
	bases map[string]base // of open documents, by path
	told  map[int]func(path string, s workspace.Save)
	count int
}

// base is the text of a document before the user changed it: the text on disk, or the agent's text.
type base struct {
	text  []byte // nil: not known
	clean bool   // the document has this text
	seen  stamp  // of the file at the last comparison with the document
	// before is the text before the document changed to the text on disk: the editor has read the
	// disk again, or it has saved a change before reporting it. If the disk had another text when
	// the document was opened, before is the text of the document.
	before []byte
	// replaced is set if before was the base until the document changed.
	replaced bool
}

// OnSave calls told for each document saved by the editor. It implements [workspace.SaveTeller].
func (d *Documents) OnSave(told func(path string, s workspace.Save)) (stop func()) {
	s := &d.saves
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told == nil {
		s.told = map[int]func(path string, s workspace.Save){}
	}
	s.count++
	id := s.count
	s.told[id] = told
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.told, id)
	}
}

// tell is called when the editor has saved a document.
func (s *saves) tell(path string, text []byte) {
	s.mu.Lock()
	b := s.bases[path]
	s.set(path, base{text: text, clean: true})
	all := slices.Collect(maps.Values(s.told))
	s.mu.Unlock()
	save := workspace.Save{Base: b.text, Before: b.before, Text: text}
	if b.clean && b.replaced && b.seen == stampOf(path) && bytes.Equal(b.text, text) {
		save.Base, save.Before = b.before, nil // the file was not written after the change: the change was reported after the save
	}
	for _, told := range all {
		told(path, save)
	}
}

// set is called with mu.
func (s *saves) set(path string, b base) {
	if s.bases == nil {
		s.bases = map[string]base{}
	}
	s.bases[path] = b
}

// opened records the text of a document opened by the editor.
func (s *saves) opened(path string, text []byte) {
	b := base{clean: diskHas(path, text)}
	if b.clean {
		b.text = text
	} else {
		b.before = text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(path, b)
}

func (s *saves) closed(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bases, path)
}

// made records a text that the agent has given to a document.
func (s *saves) made(path string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(path, base{text: text, clean: diskHas(path, text)})
}

// changing is called before a document changes. It returns a function to call after the change.
func (d *Documents) changing(path string) (changed func()) {
	s := &d.saves
	s.mu.Lock()
	b, known := s.bases[path]
	s.mu.Unlock()
	now := stampOf(path)
	if !known || !b.clean && now == b.seen {
		return func() {} // the user has changed it already
	}
	return func() {
		doc, open := d.buffers.Get(path)
		if !open {
			return
		}
		for range 3 { // the editor may be saving it
			b.seen, b.clean = stampOf(path), diskHas(path, doc.Text)
			if b.seen == stampOf(path) {
				break
			}
		}
		if b.clean {
			if b.text != nil {
				b.before, b.replaced = b.text, true
			}
			b.text = doc.Text // the editor has read the disk again
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.set(path, b)
	}
}

// stamp tells whether a file may have changed. The zero value is that of no file.
type stamp struct{ size, time int64 }

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime().UnixNano()}
}

// diskHas reports whether the file at a path contains exactly a text.
func diskHas(path string, text []byte) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4*int64(len(text))+4 {
		return false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	if bytes.Equal(data, text) {
		return true
	}
	plain := func(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\ufeff")) }
	return bytes.Equal(plain(textenc.CharsetOf(data).Decode(data)), plain(text))
}
