package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// ErrNotOpen is returned if a document is not open in the editor, or no longer.
var ErrNotOpen = errors.New("not open in the editor")

// Buffers keeps the open documents of an LSP client as it reports them. Paths are
// absolute, as the client spells them. It is safe for concurrent use.
type Buffers struct {
	mu     sync.Mutex
	docs   map[string]*buffer
	wanted map[string][]byte // the texts of sent edits; an editor that reloads a file closes and opens its document
}

// buffer is an open document. Its text is kept whole until the first small change, then in a form
// for cheap changes. The whole text is rebuilt when it is read.
type buffer struct {
	version int32
	whole   []byte             // nil: ask pieces
	pieces  *textenc.GapBuffer // nil: only whole
	moved   chan struct{}
	want    []byte // the text of a sent edit; nil: none
	reached bool   // the document has contained it
}

// Change is an entry of a didChange. No Range: Text is the whole document.
type Change struct {
	Range *textenc.Range
	Text  string
}

// NewBuffers returns an empty set.
func NewBuffers() *Buffers { return &Buffers{docs: map[string]*buffer{}, wanted: map[string][]byte{}} }

// Open records that the client has opened path. It replaces an open document.
func (b *Buffers) Open(path string, version int32, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	path = filepath.Clean(path)
	if old, ok := b.docs[path]; ok {
		defer old.announce()
	}
	buf := &buffer{version: version, whole: []byte(text), want: b.wanted[path]}
	buf.reached = buf.has(buf.want)
	b.docs[path] = buf
}

// Close records the end of the document at path in the client.
func (b *Buffers) Close(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	path = filepath.Clean(path)
	if old, ok := b.docs[path]; ok {
		delete(b.docs, path)
		old.announce()
	}
}

// Get returns the document at path.
func (b *Buffers) Get(path string) (Document, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	path = filepath.Clean(path)
	buf, ok := b.docs[path]
	if !ok {
		return Document{}, false
	}
	return buf.document(path), true
}

// Size returns the bytes of the document at path. If none is open, it returns -1.
func (b *Buffers) Size(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	buf, ok := b.docs[filepath.Clean(path)]
	if !ok {
		return -1
	}
	return buf.size()
}

// Paths lists the open documents, sorted.
func (b *Buffers) Paths() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	paths := make([]string, 0, len(b.docs))
	for path := range b.docs {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// Change applies the changes of a didChange, in order. If the document is not open, the
// error is [ErrNotOpen].
func (b *Buffers) Change(path string, version int32, changes []Change, enc textenc.Encoding) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	buf, ok := b.docs[filepath.Clean(path)]
	if !ok {
		return fmt.Errorf("change of %s: %w", path, ErrNotOpen)
	}
	for _, c := range changes {
		buf.apply(c, enc)
		buf.reached = buf.reached || buf.has(buf.want)
	}
	buf.version = version
	buf.announce()
	return nil
}

// Await returns the document at path as soon as its version is newer than newerThan. If the
// document is closed, before or meanwhile, the error is [ErrNotOpen].
func (b *Buffers) Await(ctx context.Context, path string, newerThan int32) (Document, error) {
	path = filepath.Clean(path)
	for {
		doc, moved, err := b.newer(path, newerThan)
		if moved == nil {
			return doc, err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return Document{}, fmt.Errorf("waiting for the editor's change of %s: %w", path, ctx.Err())
		}
	}
}

// Expect records a sent edit with the resulting text of the document at path. forget ends that.
func (b *Buffers) Expect(path string, text []byte) (forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	path = filepath.Clean(path)
	b.wanted[path] = text
	if buf, ok := b.docs[path]; ok {
		buf.want, buf.reached = text, false
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.wanted, path)
		if buf, ok := b.docs[path]; ok {
			buf.want = nil
		}
	}
}

// Reached reports whether the document has had the expected text, if only between two changes. The
// editor may have used its own line ends. For a closed document, it returns true.
func (b *Buffers) Reached(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	buf, ok := b.docs[filepath.Clean(path)]
	return !ok || buf.reached
}

// newer returns the document, or a channel closed at its next change.
func (b *Buffers) newer(path string, version int32) (Document, <-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	buf, ok := b.docs[path]
	if !ok {
		return Document{}, nil, fmt.Errorf("%s: %w", path, ErrNotOpen)
	}
	if buf.version > version {
		return buf.document(path), nil, nil
	}
	if buf.moved == nil {
		buf.moved = make(chan struct{})
	}
	return Document{}, buf.moved, nil
}

// announce wakes the callers waiting for a change.
func (b *buffer) announce() {
	if b.moved != nil {
		close(b.moved)
		b.moved = nil
	}
}

func (b *buffer) document(path string) Document {
	if b.whole == nil {
		b.whole = b.pieces.Bytes()
	}
	return Document{Path: path, Version: b.version, Text: b.whole}
}

// has reports whether the document equals a text, apart from CR and the end of the last line.
func (b *buffer) has(want []byte) bool {
	if want == nil || max(b.size()-len(want), len(want)-b.size()) > bytes.Count(want, []byte("\n"))+2 {
		return false
	}
	if b.whole == nil {
		b.whole = b.pieces.Bytes()
	}
	plain := func(text []byte) []byte { return bytes.TrimSuffix(withoutCR(text), []byte("\n")) }
	return bytes.Equal(plain(b.whole), plain(want))
}

func (b *buffer) size() int {
	if b.whole != nil {
		return len(b.whole)
	}
	return b.pieces.Len()
}

func (b *buffer) apply(c Change, enc textenc.Encoding) {
	if c.Range == nil {
		b.whole, b.pieces = []byte(c.Text), nil
		return
	}
	if b.pieces == nil {
		b.pieces = textenc.NewGapBuffer(b.whole)
	}
	b.whole = nil
	from, to := b.pieces.Offset(c.Range.Start, enc), b.pieces.Offset(c.Range.End, enc)
	b.pieces.Replace(min(from, to), max(from, to), []byte(c.Text))
}
