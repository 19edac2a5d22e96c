// Package workspace is the only way to the disk: folders the agent may touch,
// documents the editor holds open, atomic writes, search.
//
// Every path goes through an [os.Root], so nothing outside the folders is ever
// read or written: not by "..", not through a symbolic link, not by a folder
// that is swapped for a link between the check and the use. What the editor has
// open wins over what lies on the disk, unsaved text included.
//
// A [Workspace] belongs to one session: it remembers what that session has read,
// and refuses to write over a file that has changed since. It is safe for
// concurrent use.
package workspace

import (
	"context"
	"io/fs"
)

// Documents is where open documents live: the editor. Paths are absolute.
type Documents interface {
	// Get returns the document that is open at path; ok is false when none is.
	Get(ctx context.Context, path string) (doc Document, ok bool, err error)
	// Replace changes doc, which must still be as it was when it was got, so
	// that it reads text. A document that has moved on is [ErrStale].
	Replace(ctx context.Context, doc Document, text []byte) error
	// Paths lists the open documents, for a search that must see unsaved text.
	Paths() []string
}

// Document is the text of an open document at a version.
type Document struct {
	Path    string // absolute
	Version int32
	Text    []byte // UTF-8; never changed in place
}

// File is what was read from one place.
type File struct {
	Path string      // absolute
	Name string      // as the model says it: relative to the first folder, else absolute; slashes
	Text []byte      // the whole content
	Mode fs.FileMode // zero for a document that is not on the disk yet
	Open bool        // Text is the editor's, perhaps unsaved
}
