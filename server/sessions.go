package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Place is the folders of a session, and its host.
type Place struct {
	Cwd     string   // absolute, an existing folder
	Folders []string // further folders, absolute
	Preset  string   // "acp" or "lsp": chooses the default toolset
	Editor  string   // the host's name for the model, such as "Neovim 0.12"; empty: unknown
	Given   []any    // for extensions, found by their types; nil: the host does not say
	ID      string   // of a new session, an unused UUID; empty: one is made
}

// check returns an error if a folder of the place does not exist.
func (p *Place) check() error {
	if err := checkFolder("cwd", p.Cwd); err != nil {
		return err
	}
	p.Cwd = filepath.Clean(p.Cwd)
	for i, f := range p.Folders {
		if err := checkFolder(fmt.Sprintf("additionalDirectories[%d]", i), f); err != nil {
			return err
		}
	}
	return nil
}

func checkFolder(param, path string) error {
	if path == "" {
		return badInput(param, "a folder is required, as an absolute path")
	}
	if !filepath.IsAbs(path) {
		return badInput(param, "%q is not an absolute path", path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return badInput(param, "%q does not exist", path)
	case err != nil:
		return badInput(param, "%q cannot be opened: %v", path, err)
	case !info.IsDir():
		return badInput(param, "%q is not a folder", path)
	}
	return nil
}

// NewSession opens a new session. It is stored with its first prompt.
func (s *Service) NewSession(ctx context.Context, p Place, h Host) (*Session, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.ID == "" {
		p.ID = store.NewID()
	} else if !safefile.IsName(p.ID) {
		return nil, badInput("sessionId", "%q: %v", p.ID, store.ErrID)
	} else if err := s.free(ctx, p.ID); err != nil {
		return nil, err
	}
	now := time.Now()
	head := store.Session{ID: p.ID, Cwd: p.Cwd, Folders: p.Folders, CreatedAt: now, UpdatedAt: now}
	x, err := s.admit(head, p, h, true)
	if err != nil {
		return nil, err
	}
	x.attach(p.Given)
	return x, nil
}

// free returns an error if a new session cannot have this id.
func (s *Service) free(ctx context.Context, id string) error {
	if uuid.Validate(id) != nil {
		return badInput("sessionId", "%q is not a UUID", id)
	}
	if _, _, err := s.head(ctx, id); err == nil {
		return badInput("sessionId", "there is a session %q already", id)
	} else if !errors.Is(err, ErrNoSession) {
		return err
	}
	return nil
}

// LoadSession opens a stored session. If it is open, LoadSession returns it. If p.Cwd is
// empty, the session keeps its folders. It replays nothing: see [Session.Replay].
func (s *Service) LoadSession(ctx context.Context, id string, p Place, h Host) (*Session, error) {
	head, draft, err := s.head(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.Cwd == "" {
		p.Cwd, p.Folders = head.Cwd, head.Folders
	}
	if err := belongs(head, &p, "the session belongs to %q, not to %q"); err != nil {
		return nil, err
	}
	if x, err := s.Session(id); err == nil {
		x.attach(p.Given)
		return x, x.setFurther(ctx, p.Folders)
	}
	moved := !slices.Equal(head.Folders, p.Folders)
	head.Folders = p.Folders
	x, err := s.admit(head, p, h, draft)
	if err != nil {
		return nil, err
	}
	x.attach(p.Given)
	if !draft {
		// Now, so calls left open by a crash have a result before the history is shown.
		if _, err := x.open(ctx); err != nil {
			return nil, errors.Join(err, s.CloseSession(ctx, id))
		}
	}
	if moved {
		return x, x.setFurther(ctx, p.Folders)
	}
	return x, nil
}

// head returns the head of a session, from memory or from the store.
func (s *Service) head(ctx context.Context, id string) (head store.Session, draft bool, err error) {
	s.mu.Lock()
	head, draft = s.drafts[id]
	s.mu.Unlock()
	if draft {
		return head, true, nil
	}
	head, err = s.theStore(s.synchronous()).Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return head, false, fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	return head, false, err
}

// synchronous returns the setting of the store. If the store is open, it returns "".
func (s *Service) synchronous() string {
	if s.opened() != nil {
		return ""
	}
	return s.Config(nil).Store.Synchronous
}

func (s *Service) admit(head store.Session, p Place, h Host, draft bool) (*Session, error) {
	x, err := s.newSession(head, p, h, draft)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(errClosing, x.location.close())
	}
	if other := s.sessions[head.ID]; other != nil { // opened by another request meanwhile
		return other, x.location.close()
	}
	s.sessions[head.ID] = x
	if draft {
		s.drafts[head.ID] = head
	}
	return x, nil
}

// Cancel cancels the turns of a session. If the session is not open, or has none, it
// returns false.
func (s *Service) Cancel(id string) bool {
	x := s.Opened(id)
	return x != nil && x.Cancel()
}

// Opened returns an open session. If it is not open, it returns nil. It does not read the store.
func (s *Service) Opened(id string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// Session returns an open session. If it is not open, it returns an error.
func (s *Service) Session(id string) (*Session, error) {
	if x := s.Opened(id); x != nil {
		return x, nil
	}
	if _, _, err := s.head(context.WithoutCancel(s.ctx), id); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("session %q: %w", id, ErrClosed)
}

const pageSize = 50

// Search returns messages, titles and notes with the words of the query, the best first. If cwd is
// empty, it searches all sessions except subagents'. If the query has no word, it returns an error.
func (s *Service) Search(ctx context.Context, cwd, query string, limit int) ([]store.Hit, error) {
	cwd, err := cleanCwd(cwd)
	if err != nil {
		return nil, err
	}
	q := store.Query{Text: query, Cwd: cwd, NoSubagents: true, Limit: min(limit, 200)}
	hits, err := s.theStore(s.synchronous()).Search(ctx, q)
	if errors.Is(err, store.ErrEmptyQuery) {
		return nil, badInput("query", "%q has no word to look for", query)
	}
	return hits, err
}

// cleanCwd returns the directory of a list or a search. If it is relative, cleanCwd returns an
// error.
func cleanCwd(cwd string) (string, error) {
	if cwd == "" {
		return "", nil
	}
	if !filepath.IsAbs(cwd) {
		return "", badInput("cwd", "%q is not an absolute path", cwd)
	}
	return filepath.Clean(cwd), nil
}

// List returns a page of sessions, newest first, and the cursor of the next page, which is empty
// after the last page. If cwd is empty, it lists all sessions. Sessions without a prompt are on the
// first page. Subagents' sessions name their parent.
func (s *Service) List(ctx context.Context, cwd, cursor string) ([]store.Session, string, error) {
	cwd, err := cleanCwd(cwd)
	if err != nil {
		return nil, "", err
	}
	page, next, err := s.theStore(s.synchronous()).List(ctx, store.Filter{Cwd: cwd, Cursor: cursor, Limit: pageSize})
	if err != nil {
		return nil, "", err
	}
	if cursor == "" {
		page = append(s.draftsIn(cwd), page...)
		sort.SliceStable(page, func(i, j int) bool { return page[i].UpdatedAt.After(page[j].UpdatedAt) })
	}
	return page, next, nil
}

func (s *Service) draftsIn(cwd string) []store.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []store.Session
	for _, head := range s.drafts {
		if cwd == "" || folderpath.Same(head.Cwd, cwd) {
			found = append(found, head)
		}
	}
	return found
}

// CloseSession cancels the turns of a session, waits for them, and closes it. It stays in
// the list. If it is closed already, CloseSession returns nil.
func (s *Service) CloseSession(ctx context.Context, id string) error {
	s.mu.Lock()
	x := s.sessions[id]
	delete(s.sessions, id)
	s.mu.Unlock()
	if x == nil {
		_, _, err := s.head(ctx, id)
		return err
	}
	return x.close(ctx)
}

// Delete closes a session and removes it from the store, with its subagents' sessions. If there is
// no such session, it returns [ErrNoSession].
func (s *Service) Delete(ctx context.Context, id string) error {
	if err := s.CloseSession(ctx, id); err != nil {
		return err
	}
	s.mu.Lock()
	_, draft := s.drafts[id]
	delete(s.drafts, id)
	s.mu.Unlock()
	if !draft {
		if err := s.deleteStored(ctx, id); err != nil {
			return err
		}
	}
	for _, f := range s.features {
		if f.Deleted == nil {
			continue
		}
		if err := f.Deleted(id); err != nil {
			return err
		}
	}
	if uuid.Validate(id) != nil {
		return nil // it has no folder
	}
	if err := os.RemoveAll(s.outputDir(id)); err != nil {
		return fmt.Errorf("removing the outputs of session %s: %w", id, err)
	}
	return nil
}

// deleteStored removes a session from the store, after its subagents' sessions. Its forks stay.
func (s *Service) deleteStored(ctx context.Context, id string) error {
	st := s.theStore(s.synchronous())
	for cursor := ""; ; {
		page, next, err := st.List(ctx, store.Filter{Parent: id, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, x := range page {
			if x.Origin == "" {
				continue
			}
			if err := s.Delete(ctx, x.ID); err != nil && !errors.Is(err, ErrNoSession) {
				return err
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if err := st.Delete(ctx, id); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// outputDir returns the folder where the whole outputs of a session are saved.
func (s *Service) outputDir(id string) string {
	return filepath.Join(s.Home, "sessions", safefile.NameOf(id))
}
