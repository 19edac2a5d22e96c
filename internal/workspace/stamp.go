package workspace

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
	"sync"
)

// stamp identifies a text read by a session: by its hash or, if it is too large, by the attributes
// of the file.
type stamp struct {
	sum  []byte      // SHA-256, or nil
	info fs.FileInfo // used when sum is nil
}

func stampOf(text []byte) stamp {
	sum := sha256.Sum256(text)
	return stamp{sum: sum[:]}
}

func (s stamp) same(t stamp) bool {
	if s.sum != nil || t.sum != nil {
		return bytes.Equal(s.sum, t.sum)
	}
	return sameStat(s.info, t.info)
}

// sameStat reports whether two stat results are of the same file with equal size and time.
func sameStat(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Texts are kept up to this size each, and together, to find later changes.
const (
	maxKept      = 1 << 20
	maxKeptTotal = 32 << 20
)

// readTexts are the texts last read or written by a session.
type readTexts struct {
	seenMu sync.Mutex
	seen   map[string]readText // by absolute path
	kept   []string            // paths with a text, the oldest first
	total  int                 // bytes of the texts
}

// readText is a text known to the session. text is its content as UTF-8; nil: it is not kept.
type readText struct {
	stamp stamp
	text  []byte
}

// remember records the session's text at an absolute path.
func (r *readTexts) remember(abs string, text []byte) {
	known := readText{stamp: stampOf(text)}
	if len(text) <= maxKept {
		known.text = plainText(text)
		if known.text == nil {
			known.text = []byte{}
		}
	}
	r.rememberText(abs, known)
}

// rememberWritten is remember of a text of any size.
func (r *readTexts) rememberWritten(abs string, text []byte, s stamp) {
	if s.sum == nil {
		r.rememberText(abs, readText{stamp: s})
		return
	}
	r.remember(abs, text)
}

func (r *readTexts) rememberText(abs string, known readText) {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	r.drop(abs)
	r.seen[abs] = known
	if known.text == nil {
		return
	}
	r.kept, r.total = append(r.kept, abs), r.total+len(known.text)
	for r.total > maxKeptTotal {
		oldest := r.seen[r.kept[0]]
		r.total -= len(oldest.text)
		oldest.text = nil
		r.seen[r.kept[0]] = oldest
		r.kept = r.kept[1:]
	}
}

// drop deletes an entry. The lock is held.
func (r *readTexts) drop(abs string) {
	old, ok := r.seen[abs]
	if !ok {
		return
	}
	delete(r.seen, abs)
	for i, path := range r.kept {
		if path == abs {
			r.kept = append(r.kept[:i:i], r.kept[i+1:]...)
			r.total -= len(old.text)
			return
		}
	}
}

// Forget marks files, by absolute path, as never read by the session: the messages with their texts
// are gone.
func (r *readTexts) Forget(paths ...string) {
	for _, path := range paths {
		r.forget(path)
	}
}

func (r *readTexts) forget(abs string) {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	r.drop(abs)
}

// Since describes the changes of a file since the session has read or written it.
type Since struct {
	// Changed is set if the file has another text now.
	Changed bool
	// Text is the session's text, as UTF-8, with LF if each line ended with CRLF. nil: it was not
	// kept.
	Text []byte
}

// since compares the present text at an absolute path with the session's.
func (r *readTexts) since(abs string, present []byte) Since {
	r.seenMu.Lock()
	seen, ok := r.seen[abs]
	r.seenMu.Unlock()
	if !ok || seen.stamp.same(stampOf(present)) {
		return Since{}
	}
	if seen.text != nil && bytes.Equal(seen.text, plainText(present)) {
		return Since{} // in another encoding: the editor's, and the file's
	}
	return Since{Changed: true, Text: seen.text}
}

// known reports whether the session may overwrite a text with stamp s: it has read exactly this
// text, or has never read the path.
func (r *readTexts) known(abs string, s stamp) bool {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	seen, ok := r.seen[abs]
	return !ok || seen.stamp.same(s)
}

// knows is known for the file replaced by a write.
func (r *readTexts) knows(abs string, b before) bool {
	if b.text == nil {
		return r.known(abs, b.stamp)
	}
	return !r.since(abs, b.text).Changed
}

// moved records the move of a file.
func (r *readTexts) moved(from, to string) {
	r.seenMu.Lock()
	known, ok := r.seen[from]
	r.drop(from)
	r.drop(to)
	r.seenMu.Unlock()
	if ok {
		r.rememberText(to, known)
	}
}
