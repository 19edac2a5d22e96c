package workspace

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// SavedTexts keeps, for each document of an editor, its text and the file's when they were last
// equal. With them it distinguishes a file changed on disk from a document changed by the user:
// editors reload late or never, and do not report unsaved documents. Paths are absolute, links
// resolved. It is safe for concurrent use.
type SavedTexts struct {
	mu    sync.Mutex
	known map[string]savedText
	// vain is set if the last wait for a reload was in vain: then the next wait is short.
	vain bool
}

// savedText holds the sums of a document and of its file. doc is zero if they were never seen
// equal.
type savedText struct{ doc, file [sha256.Size]byte }

// agreement is the result of comparing a document and its file.
type agreement int

const (
	agreeing    agreement = iota // the texts are equal
	unsaved                      // the document has unsaved changes
	diskNewer                    // the document has none, and the file has changed
	bothChanged                  // the document has unsaved changes, and the file has changed, too
)

// judge compares a document with the bytes of its file; file is nil if there is none. lossy is set
// if the document lacks parts of an equal file: the editor would write other bytes.
func (s *SavedTexts) judge(path string, doc, file []byte) (state agreement, lossy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]savedText{}
	}
	now := savedText{sha256.Sum256(doc), sha256.Sum256(file)}
	if file != nil {
		equal, lossy := alike(doc, file)
		if equal {
			s.known[path] = now
			return agreeing, lossy
		}
	}
	switch was, ok := s.known[path]; {
	case !ok:
		s.known[path] = savedText{file: now.file}
		return unsaved, false
	case was.doc == now.doc && was.file == now.file:
		return unsaved, false // neither has a file
	case was.doc == now.doc:
		return diskNewer, false
	case was.file == now.file:
		return unsaved, false
	}
	return bothChanged, false
}

// rebase records that an unsaved document includes the content of its file.
func (s *SavedTexts) rebase(path string, file []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[path] = savedText{file: sha256.Sum256(file)}
}

// Earlier is the knowledge about a file never compared with its document.
type Earlier int

// Each value of [Earlier].
const (
	EarlierUnknown Earlier = iota
	EarlierSame            // the file had the document's text before a program changed it
	EarlierOther           // a program changed the file, and it did not have the document's text before
)

// before asks earlier about a document whose file is another or gone, if they were never compared. If the
// file had the document's text before a program changed or removed it, the document has no unsaved changes. If
// it had another text, both have changed.
func (s *SavedTexts) before(path string, doc, file []byte, earlier func(path string, doc, file []byte) Earlier) {
	s.mu.Lock()
	_, ok := s.known[path]
	s.mu.Unlock()
	if ok {
		return
	}
	if equal, _ := alike(doc, file); file != nil && equal {
		return
	}
	was := earlier(path, doc, file)
	if was == EarlierUnknown {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[path]; ok {
		return
	}
	if s.known == nil {
		s.known = map[string]savedText{}
	}
	var known savedText // of texts other than the document's and the file's
	if was == EarlierSame {
		known.doc = sha256.Sum256(doc)
		known.file = known.doc
	}
	s.known[path] = known
}

// Observe compares a document with its file whenever an editor sends its text.
func (s *SavedTexts) Observe(path string, doc []byte) {
	if file, err := safefile.Read(path, MaxWhole); err == nil {
		s.judge(path, doc, file)
	}
}

// ObserveSize is Observe, but does nothing unless the file has the given size: a text of another
// size is not the file's.
func (s *SavedTexts) ObserveSize(path string, size int, doc func() []byte) {
	f, info, err := safefile.Open(path)
	if err != nil {
		return
	}
	f.Close()
	if info.Size() == int64(size) {
		s.Observe(path, doc())
	}
}

// OnDisk reports whether the file at path contains a text of an editor.
func OnDisk(path string, text []byte) bool {
	file, err := safefile.Read(path, MaxWhole)
	return err == nil && equalTexts(text, file)
}

// Forget drops the texts of a closed document.
func (s *SavedTexts) Forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, path)
}

// waited records whether the editor reloaded a document in time.
func (s *SavedTexts) waited(reloaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vain = !reloaded
}

// alike reports whether a document shows the bytes of a file, in any encoding and with any line
// ends. If it lacks some of them, it is lossy.
func alike(doc, file []byte) (equal, lossy bool) {
	if bytes.Equal(doc, file) {
		return true, false
	}
	if bytes.Equal(plainText(doc), plainText(file)) {
		return true, false
	}
	if utf8.Valid(file) {
		equal = bytes.Equal(withoutCR(doc), withoutCR(file))
		return equal, equal
	}
	equal = misread(doc, file) && (bytes.Equal(skeleton(doc), skeleton(file)) || bytes.Equal(asciiOf(doc), asciiOf(file)))
	return equal, equal
}

// misread reports whether a document can be a file in an encoding unknown to the editor: it
// contains replacement characters, or a character for each byte.
func misread(doc, file []byte) bool {
	if bytes.ContainsRune(doc, utf8.RuneError) {
		return true
	}
	chars, others := 0, 0
	for _, r := range string(doc) {
		if r >= utf8.RuneSelf {
			chars++
		}
	}
	for _, b := range file {
		if b >= utf8.RuneSelf {
			others++
		}
	}
	return chars == others
}

// plainText returns a text as UTF-8, without a byte order mark. If all lines end with CRLF, it
// removes the CRs.
func plainText(text []byte) []byte {
	text = bytes.TrimPrefix(textenc.CharsetOf(text).Decode(text), []byte("\ufeff"))
	if crlf := bytes.Count(text, []byte("\r\n")); crlf > 0 && crlf == bytes.Count(text, []byte("\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return text
}

// skeleton returns the ASCII of a text without CR: all an editor shows of a file in an unknown
// encoding.
func skeleton(text []byte) []byte { return asciiOf(textenc.CharsetOf(text).Decode(text)) }

// asciiOf returns the ASCII bytes of a text, without CR. In some East Asian encodings and in UTF-16
// they are parts of characters, and an editor shows them when it reads the file as UTF-8.
func asciiOf(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, b := range text {
		if b < utf8.RuneSelf && b != '\r' {
			out = append(out, b)
		}
	}
	return out
}

func withoutCR(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r"), nil) }
