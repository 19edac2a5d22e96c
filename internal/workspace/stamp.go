package workspace

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
)

// stamp identifies a text that a session has read: by its hash or, if it is too large, by
// the attributes of the file.
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
	return unmoved(s.info, t.info)
}

// unmoved reports whether two looks at a path saw the same file, unchanged.
func unmoved(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// remember notes that the session knows the text at an absolute path.
func (w *Workspace) remember(abs string, s stamp) {
	w.seenMu.Lock()
	defer w.seenMu.Unlock()
	w.seen[abs] = s
}

// Forget takes files, by absolute path, for ones that the session has never looked at:
// the part of the conversation is gone in which it did.
func (w *Workspace) Forget(paths ...string) {
	for _, path := range paths {
		w.forget(path)
	}
}

func (w *Workspace) forget(abs string) {
	w.seenMu.Lock()
	defer w.seenMu.Unlock()
	delete(w.seen, abs)
}

// known reports whether the session may overwrite a text with stamp s: it has read exactly
// that text, or has never read the path.
func (w *Workspace) known(abs string, s stamp) bool {
	w.seenMu.Lock()
	defer w.seenMu.Unlock()
	seen, ok := w.seen[abs]
	return !ok || seen.same(s)
}
