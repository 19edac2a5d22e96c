// Package workspace is the only way to the disk: folders the agent may touch,
// documents the editor holds open, atomic writes, search.
//
// Every path goes through an [os.Root], so nothing outside the folders is ever
// read or written: not by "..", not through a symbolic link, not by a folder
// that is replaced by a link between the check and the use. For open documents, the text in
// the editor applies, also if it is not saved. Outside the folders only ignore files are
// read (.gitignore of the parents, the user's global one), as git does; their text is not
// shown.
//
// A [Workspace] belongs to one session: it remembers the texts that the session has read,
// and refuses to write over a file that has changed since. It is safe for
// concurrent use.
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
	// Get returns the document that is open at path; ok is false when none is. If the
	// editor refuses to show the path, the error is [ErrRefused].
	Get(ctx context.Context, path string) (doc Document, ok bool, err error)
	// Replace changes the text of doc, which must not have changed since Get. If it has
	// changed, the error is [ErrStale].
	Replace(ctx context.Context, doc Document, text []byte) error
	// Write makes text the whole content of the file at path. unknown means that the
	// disk has the file, and Get has not found it. If the editor leaves the file to
	// the disk, Write does nothing and returns false.
	Write(ctx context.Context, path string, text []byte, unknown bool) (done bool, err error)
	// Paths lists the open documents, for a search that must see unsaved buffers. If the
	// editor does not list them, it is nil.
	Paths() []string
}

// SaveTeller is a [Documents] of an editor that tells when the user saves a document.
type SaveTeller interface {
	OnSave(told func(path string, s Save)) (stop func())
}

// Save is a document that the user has saved.
type Save struct {
	Base []byte // the text before the user changed it; nil: not known
	// Before is the text before Base, if the document got Base when the disk had it already, or the text with which it was
	// opened, if the disk had another one. Else it is nil.
	Before []byte
	Text   []byte // was saved
}

// OnSave calls told for each document of the folders that the user saves in the editor, until stop is
// called. If the editor does not tell of that, OnSave does nothing.
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
	Save    bool   // of a document that is replaced: the editor should save it
}

// File is the text at one path.
type File struct {
	Path string      // absolute
	Name string      // as the model says it: relative to the first folder, else absolute; slashes
	Text []byte      // the whole content
	Mode fs.FileMode // zero for a document that is not on the disk yet
	Open bool        // Text is the editor's, perhaps unsaved
	// Version is that of the open document. 0: not open, or the editor does not tell it.
	Version int32
}

// Workspace is the folders of one session. Make one with [Open].
type Workspace struct {
	// Ripgrep runs rg for [Workspace.Search]; nil searches in-process. Set it
	// before the first search.
	Ripgrep search.Runner

	// Journal is called before each change. It may be nil. Set it before the first change.
	Journal Journal

	// Wrote is called after each change that the workspace has made, with the images of a file before and after. Of a file that was
	// moved, it gets the text that was read before. It may be nil. Set it before the first change.
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
	// Earlier says whether a program has changed the file at path, and whether it had the document's text
	// before. An editor that does not reload the file still has that text. It may be nil. Set it before
	// the first change.
	Earlier func(path string, doc, file []byte) Earlier

	docs     Documents
	refusals *refusals
	saved    *SavedTexts
}

// folder is one workspace folder, held open.
type folder struct {
	path  string // absolute, links resolved
	given string // as the editor spells it
	root  *os.Root

	strict *safefile.Folder // the same, for operations that follow no links
}

// Open opens folders, each of which must exist; the first is the main one, to
// which relative paths belong. docs is where open documents live; nil: nowhere.
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
	if keeper, ok := docs.(interface{ SavedTexts() *SavedTexts }); ok { // one for all sessions of the editor
		w.saved = keeper.SavedTexts()
	}
	w.saving.Store(&Saving{Save: true})
	return w, nil
}

// openFolders opens the named folders, and reuses those in have.
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

// closeFolders closes those of folders that are not kept.
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

// Close closes the folders. Operations that are running fail.
func (w *Workspace) Close() error {
	w.foldersMu.Lock()
	defer w.foldersMu.Unlock()
	folders := w.folders
	w.folders = nil
	w.unfinished.close()
	return closeFolders(folders, nil)
}

// Folders lists the folders, absolute, links resolved; the first is the main one.
func (s *scope) Folders() []string {
	var paths []string
	for _, f := range s.current() {
		paths = append(paths, f.path)
	}
	return paths
}

// SetFolders replaces the folders. When one cannot be opened, nothing changes.
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
