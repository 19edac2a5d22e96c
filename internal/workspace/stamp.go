package workspace

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
	"sync"
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
	return sameStat(s.info, t.info)
}

// sameStat reports whether two stat results are of the same file with equal size and time.
func sameStat(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// readTexts are the texts that a session has last read or written.
type readTexts struct {
	seenMu sync.Mutex
	seen   map[string]stamp // by absolute path
}

// remember notes that the session knows the text at an absolute path.
func (r *readTexts) remember(abs string, s stamp) {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	r.seen[abs] = s
}

// Forget takes files, by absolute path, for ones that the session has never looked at:
// the part of the conversation is gone in which it did.
func (r *readTexts) Forget(paths ...string) {
	for _, path := range paths {
		r.forget(path)
	}
}

func (r *readTexts) forget(abs string) {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	delete(r.seen, abs)
}

// known reports whether the session may overwrite a text with stamp s: it has read exactly
// that text, or has never read the path.
func (r *readTexts) known(abs string, s stamp) bool {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	seen, ok := r.seen[abs]
	return !ok || seen.same(s)
}

// moved notes that a file was moved.
func (r *readTexts) moved(from, to string) {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	if s, ok := r.seen[from]; ok {
		r.seen[to] = s
		delete(r.seen, from)
	} else {
		delete(r.seen, to)
	}
}
