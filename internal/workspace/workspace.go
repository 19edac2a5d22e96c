// Package workspace is the only way to the disk: folders the agent may touch,
// documents the editor holds open, atomic writes, search.
//
// Every path goes through an [os.Root], so nothing outside the folders is ever read or written: not
// by "..", not through a symbolic link, not through a folder replaced by a link between check and
// use. For open documents, the text in the editor applies, even if it is not saved. Outside the
// folders only ignore files are read (.gitignore of the parents, the user's global one), as git
// does; their text is not shown.
//
// A [Workspace] belongs to one session: it remembers the texts read by the session, and refuses to
// overwrite a file changed since. It is safe for concurrent use.
//
//	w, err := workspace.Open([]string{"/home/me/project"}, nil)
//	…
//	written, err := w.Edit(ctx, "main.go", func(old []byte) ([]byte, error) {
//		return bytes.Replace(old, []byte("foo"), []byte("bar"), 1), nil
//	})
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/search"
)

// Documents is where open documents live: the editor. Paths are absolute.
type Documents interface {
	// Get returns the open document at path; ok is false if there is none. If the editor refuses to
	// show the path, the error is [ErrRefused].
	Get(ctx context.Context, path string) (doc Document, ok bool, err error)
	// Replace changes the text of doc, which must not have changed since Get. If it has
	// changed, the error is [ErrStale].
	Replace(ctx context.Context, doc Document, text []byte) error
	// Write makes text the whole content of the file at path. unknown is set if the file is on
	// disk, and Get has not found it. If the editor leaves the file to the disk, Write does nothing
	// and returns false.
	Write(ctx context.Context, path string, text []byte, unknown bool) (done bool, err error)
	// Paths lists the open documents, so a search sees unsaved buffers. If the editor does not list
	// them, it returns nil.
	Paths() []string
}

// SaveTeller is a [Documents] of an editor that reports when the user saves a document.
type SaveTeller interface {
	OnSave(told func(path string, s Save)) (stop func())
}

// Save is a document saved by the user.
type Save struct {
	Base []byte // the text before the user changed it; nil: not known
	// Before is the text before Base if the document got Base after the disk. If the document was
	// opened with another text than the disk's, Before is the opened text. Otherwise it is nil.
	Before []byte
	Text   []byte // was saved
}

// OnSave calls told for each document of the folders saved by the user in the editor, until stop is
// called. If the editor does not report saves, OnSave does nothing.
func (w *Workspace) OnSave(told func(path string, s Save)) (stop func()) {
	s, ok := w.docs.(SaveTeller)
	if !ok {
		return func() {}
	}
	return s.OnSave(func(path string, save Save) {
		if p, err := w.locate(path); err == nil {
			told(p.abs(), save)
		}
	})
}

// Document is the text of an open document at a version.
type Document struct {
	Path    string // absolute
	Version int32
	Text    []byte // UTF-8; never changed in place
	Save    bool   // of a replaced document: the editor should save it
}

// File is the text at a path.
type File struct {
	Path string      // absolute
	Name string      // as shown to the model: relative to the first folder, else absolute; slashes
	Text []byte      // the whole content
	Mode fs.FileMode // zero for a document not yet on the disk
	Open bool        // Text is the editor's, perhaps unsaved
	// Version is the open document's version. 0: not open, or not reported by the editor.
	Version int32
}

// Workspace is the folders of a session. Make one with [Open].
type Workspace struct {
	// Ripgrep runs rg for [Workspace.Search]; nil searches in-process. Set it
	// before the first search.
	Ripgrep search.Runner

	// Journal is called before each change. It may be nil. Set it before the first change.
	Journal Journal

	// Wrote is called after each change by the workspace, with the images of a file before and
	// after. For a moved file, it gets the text read before the move. It may be nil. Set it before
	// the first change.
	Wrote func(path string, old, now Image)

	view
	readTexts
	unfinished
	*priorityGate
	writing writeLock
	saving  atomic.Pointer[Saving]
	edited  *editedDocuments
}

// scope is the folders of a workspace: how paths lead into them, and which paths git ignores.
type scope struct {
	foldersMu sync.RWMutex
	folders   []*folder // never changed in place
	gitConfig ignore.GitConfig
}

// disk reads files in the folders, without the editor.
type disk struct{ scope }

// view is the text of a session's files: of open documents, else of the disk.
type view struct {
	disk
	// Earlier reports whether a program has changed the file at path, and whether it had the
	// document's text before. An editor that does not reload the file still holds the old text. It
	// may be nil. Set it before the first change.
	Earlier func(path string, doc, file []byte) Earlier

	docs     Documents
	refusals *refusals
	saved    *SavedTexts
}

// folder is a workspace folder, held open.
type folder struct {
	path  string // absolute, links resolved
	given string // as the editor spells it
	root  *os.Root

	strict *safefile.Folder // the same, for operations without following links
}

// Open opens folders, which must exist; the first is the main folder, to which relative paths
// belong. docs holds the open documents; nil: there are none.
func Open(folders []string, docs Documents) (*Workspace, error) {
	opened, err := openFolders(folders, nil)
	if err != nil {
		return nil, err
	}
	w := &Workspace{
		view: view{
			disk: disk{scope{folders: opened, gitConfig: ignore.UserGitConfig()}},
			docs: docs, refusals: &refusals{}, saved: &SavedTexts{},
		},
		readTexts:    readTexts{seen: make(map[string]readText)},
		writing:      make(writeLock, 1),
		priorityGate: &priorityGate{},
		edited:       &editedDocuments{},
	}
	if keeper, ok := docs.(interface{ SavedTexts() *SavedTexts }); ok { // shared by all sessions of the editor
		w.saved = keeper.SavedTexts()
	}
	w.saving.Store(&Saving{Save: true})
	return w, nil
}

// openFolders opens the named folders, and reuses folders in have.
func openFolders(names []string, have []*folder) ([]*folder, error) {
	if len(names) == 0 {
		return nil, errors.New("a workspace needs at least one folder")
	}
	var opened, fresh []*folder
	for _, name := range names {
		f, err := openFolder(name, opened, have)
		if err != nil {
			closeFolders(fresh, nil)
			return nil, err
		}
		if f == nil {
			continue
		}
		opened = append(opened, f)
		if !holds(have, f) {
			fresh = append(fresh, f)
		}
	}
	return opened, nil
}

// openFolder is nil when name is already among opened.
func openFolder(name string, opened, have []*folder) (*folder, error) {
	given, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("workspace folder %s: %w", name, err)
	}
	path, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("workspace folder %s cannot be opened: %w", name, plain(err))
	}
	for _, f := range opened {
		if f.path == path {
			return nil, nil
		}
	}
	for _, f := range have {
		if f.path == path && f.given == given {
			return f, nil
		}
	}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("workspace folder %s cannot be opened: %w", name, plain(err))
	} else if !info.IsDir() {
		return nil, fmt.Errorf("workspace folder %s is not a folder", name)
	}
	root, err := safefile.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("workspace folder %s cannot be opened: %w", name, plain(err))
	}
	strict, err := safefile.FolderOf(root)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("workspace folder %s cannot be opened: %w", name, plain(err))
	}
	return &folder{path: path, given: given, root: root, strict: strict}, nil
}

// closeFolders closes the folders not in keep.
func closeFolders(folders, keep []*folder) error {
	var errs []error
	for _, f := range folders {
		if !holds(keep, f) {
			errs = append(errs, f.root.Close(), f.strict.Close())
		}
	}
	return errors.Join(errs...)
}

func holds(folders []*folder, f *folder) bool {
	for _, have := range folders {
		if have == f {
			return true
		}
	}
	return false
}

// Close closes the folders. Running operations fail.
func (w *Workspace) Close() error {
	w.foldersMu.Lock()
	defer w.foldersMu.Unlock()
	folders := w.folders
	w.folders = nil
	w.unfinished.close()
	return closeFolders(folders, nil)
}

// Folders lists the folders, absolute, links resolved; the first is the main folder.
func (s *scope) Folders() []string {
	var paths []string
	for _, f := range s.current() {
		paths = append(paths, f.path)
	}
	return paths
}

// SetFolders replaces the folders. If a folder cannot be opened, nothing changes.
func (s *scope) SetFolders(folders []string) error {
	s.foldersMu.Lock()
	defer s.foldersMu.Unlock()
	opened, err := openFolders(folders, s.folders)
	if err != nil {
		return err
	}
	old := s.folders
	s.folders = opened
	return closeFolders(old, opened)
}

func (s *scope) current() []*folder {
	s.foldersMu.RLock()
	defer s.foldersMu.RUnlock()
	return s.folders
}
