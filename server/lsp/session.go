package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// sessions has the sessions of this connection: where they work, and which
// one is meant when none is named.
type sessions struct {
	mu      sync.Mutex
	folders []string // the workspace, main folder first
	current string   // the newest of this process; empty: none yet
	opened  map[string]*service.Session
	updated map[string]bool // that the editor has opened with a session/ method
}

// wantsUpdates has the events of a session sent as session/update.
func (x *sessions) wantsUpdates(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.updated == nil {
		x.updated = map[string]bool{}
	}
	x.updated[id] = true
}

// updates reports whether the editor gets the events of a session as session/update: all
// of them if it has announced the Agent Client Protocol, else those of the sessions that
// it has opened with that protocol.
func (s *server) updates(id string) bool {
	if s.client.acp != nil {
		return true
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	return s.sessions.updated[id]
}

func (x *sessions) currentID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.current
}

func (x *sessions) place() service.Place {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := service.Place{Preset: preset}
	if len(x.folders) > 0 {
		p.Cwd, p.Folders = x.folders[0], slices.Clone(x.folders[1:])
	}
	return p
}

func (x *sessions) roots() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.folders)
}

// unresolved is a path as it reads below the workspace folder that the editor named,
// which may be a link.
func (x *sessions) unresolved(path string) string {
	for _, root := range x.roots() {
		real := resolve(root)
		if rel, err := filepath.Rel(real, path); err == nil && real != root && filepath.IsLocal(rel) {
			return filepath.Join(root, rel)
		}
	}
	return path
}

// root is the main folder, where chats are kept.
func (x *sessions) root() string { return x.place().Cwd }

func (x *sessions) keep(session *service.Session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.opened == nil {
		x.opened = map[string]*service.Session{}
	}
	x.opened[session.ID()] = session
	x.current = session.ID()
}

// byID is an open session; nil: it is not open here.
func (x *sessions) byID(id string) *service.Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened[id]
}

func (x *sessions) makeCurrent(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current = id
}

func (x *sessions) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.opened, id)
	delete(x.updated, id)
	if x.current == id {
		x.current = ""
	}
}

func (x *sessions) all() []*service.Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := make([]*service.Session, 0, len(x.opened))
	for _, session := range x.opened {
		list = append(list, session)
	}
	return list
}

func (x *sessions) cancelAll() {
	for _, session := range x.all() {
		session.Cancel()
	}
}

// newSession begins a session in the workspace; it becomes the current one.
func (s *server) newSession(ctx context.Context) (*service.Session, error) {
	return s.newSessionAt(ctx, s.sessions.place())
}

func (s *server) newSessionAt(ctx context.Context, p service.Place) (*service.Session, error) {
	s.settings.wait(ctx)
	session, err := s.service.NewSession(ctx, p, host{s})
	if err != nil {
		return nil, fmt.Errorf("beginning a session: %w", err)
	}
	s.sessions.keep(session)
	return session, nil
}

// session finds the named session, opening it again where needed; without a name
// the current one, which is begun where there is none.
func (s *server) session(ctx context.Context, id string) (*service.Session, error) {
	if id == "" {
		id = s.sessions.currentID()
	}
	if id == "" {
		return s.newSession(ctx)
	}
	session, err := s.service.Session(id)
	if err != nil {
		return nil, sessionError(id, err)
	}
	return session, nil
}

// sessionError describes a problem with a session that a command names. The code
// that ACP has for an unknown one means something else in LSP.
func sessionError(id string, err error) error {
	switch {
	case errors.Is(err, service.ErrClosed):
		return invalidParams("sessionId: session %q is closed: load it with %s first", id, protocol.CommandSessionLoad)
	case errors.Is(err, service.ErrNoSession):
		return invalidParams("sessionId: there is no session %q; %s names those there are", id, protocol.CommandSessionList)
	}
	return fmt.Errorf("session %s: %w", id, err)
}

func (s *server) loadSession(ctx context.Context, id string) (*service.Session, error) {
	s.settings.wait(ctx)
	session, err := s.service.LoadSession(ctx, id, service.Place{Preset: preset}, host{s})
	if err != nil {
		return nil, sessionError(id, err)
	}
	s.moveSession(session, s.sessions.roots())
	s.sessions.keep(session)
	return session, nil
}

func (s *server) sessionNew(ctx context.Context, _ protocol.SessionArgs) (any, error) {
	session, err := s.newSession(ctx)
	if err != nil {
		return nil, err
	}
	return protocol.SessionResult{SessionID: session.ID()}, nil
}

func (s *server) sessionList(ctx context.Context, _ protocol.SessionArgs) (any, error) {
	result := protocol.SessionListResult{Sessions: []protocol.SessionInfo{}}
	cursor := ""
	for {
		page, next, err := s.service.List(ctx, s.sessions.root(), cursor)
		if err != nil {
			return nil, fmt.Errorf("listing sessions: %w", err)
		}
		for _, head := range page {
			result.Sessions = append(result.Sessions, protocol.SessionInfo{
				SessionID: head.ID, Cwd: head.Cwd, Title: head.Title,
				UpdatedAt: head.UpdatedAt.UTC().Format(time.RFC3339), ParentID: head.Parent,
			})
		}
		if cursor = next; cursor == "" {
			return result, nil
		}
	}
}

func (s *server) sessionLoad(ctx context.Context, a protocol.SessionArgs) (any, error) {
	if a.SessionID == "" {
		return nil, invalidParams("%s: sessionId is missing", protocol.CommandSessionLoad)
	}
	session, err := s.loadSession(ctx, a.SessionID)
	if err != nil {
		return nil, err
	}
	if s.updates(session.ID()) { // the editor shows the history
		if err := session.Replay(ctx); err != nil {
			return nil, fmt.Errorf("replaying session %s: %w", a.SessionID, err)
		}
	}
	return protocol.SessionResult{SessionID: session.ID()}, nil
}

func (s *server) sessionDelete(ctx context.Context, a protocol.SessionArgs) (any, error) {
	id := a.SessionID
	if id == "" {
		id = s.sessions.currentID()
	}
	if id == "" {
		return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandSessionDelete)
	}
	if err := s.service.Delete(ctx, id); err != nil {
		return nil, sessionError(id, err)
	}
	s.sessions.forget(id)
	return protocol.SessionResult{SessionID: id}, nil
}

// sessionFork opens a new session with the log of another up to a message; it
// becomes the current one.
func (s *server) sessionFork(ctx context.Context, a protocol.ForkArgs) (any, error) {
	id := orElse(a.SessionID, s.sessions.currentID())
	if id == "" {
		return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandSessionFork)
	}
	s.settings.wait(ctx)
	session, err := s.service.Fork(ctx, id, a.MessageID, service.Place{Preset: preset}, host{s})
	var wrong *service.InputError
	if errors.As(err, &wrong) {
		return nil, invalidParams("%v", wrong)
	}
	if err != nil {
		return nil, sessionError(id, err)
	}
	s.moveSession(session, s.sessions.roots())
	s.sessions.keep(session)
	if s.updates(session.ID()) { // the editor shows the history
		if err := session.Replay(ctx); err != nil {
			return nil, fmt.Errorf("replaying session %s: %w", session.ID(), err)
		}
	}
	return protocol.SessionResult{SessionID: session.ID()}, nil
}

// foldersChanged is DidChangeWorkspaceFoldersParams.
type foldersChanged struct {
	Event struct {
		Added   []folder `json:"added"`
		Removed []folder `json:"removed"`
	} `json:"event"`
}

// didChangeFolders moves every open session to the new folders. A folder that
// cannot be opened is said and left out.
func (s *server) didChangeFolders(_ context.Context, p *foldersChanged) error {
	gone, added := folderPaths(p.Event.Removed), folderPaths(p.Event.Added)
	s.sessions.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(s.sessions.folders), func(f string) bool { return slices.Contains(gone, f) })
	for _, f := range added {
		if !slices.Contains(kept, f) {
			kept = append(kept, f)
		}
	}
	s.sessions.folders = kept
	s.sessions.mu.Unlock()
	for _, session := range s.sessions.all() {
		s.moveSession(session, kept)
	}
	return nil
}

// moveSession keeps a session's own folder first: that is where its shell and its
// history are.
func (s *server) moveSession(session *service.Session, folders []string) {
	list := []string{session.Cwd()}
	for _, f := range folders {
		if resolve(f) != resolve(session.Cwd()) {
			list = append(list, filepath.Clean(f))
		}
	}
	if err := session.SetFolders(list); err != nil {
		s.show(lsp.MessageTypeWarning, "The session %q does not see all workspace folders: %v", session.Title(), err)
	}
}

// transcript is hermes.transcript: the whole log as a Markdown file, results
// included, shown to the user.
func (s *server) transcript(a protocol.SessionArgs, _ *lsp.ExecuteCommandParams) (command, error) {
	return command{run: func(ctx context.Context, at *ticket) (any, error) {
		id := orElse(a.SessionID, s.sessions.currentID())
		if id == "" {
			return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandTranscript)
		}
		session, err := s.lookAt(ctx, id)
		if err != nil {
			return nil, err
		}
		at.release()
		var text strings.Builder
		t := transcript.Writer{Out: &text}
		t.Head(session.Title(), session.ID(), session.Cwd())
		if err := session.ReplayTo(ctx, &t); err != nil {
			return nil, fmt.Errorf("reading session %s: %w", id, err)
		}
		path, err := s.writeTranscript(session.ID(), text.String())
		if err != nil {
			return nil, err
		}
		s.showDocument(path, nil)
		return protocol.TranscriptResult{URI: string(s.documents.uri(path))}, nil
	}}, nil
}

// writeTranscript keeps the file with the session's other files, out of the
// workspace. It is the user's own folder, not the model's.
func (s *server) writeTranscript(id, text string) (string, error) {
	dir := filepath.Join(s.service.Home, "sessions", safefile.NameOf(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("writing the transcript: %w", err)
	}
	path := filepath.Join(dir, "transcript.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the transcript: %w", err)
	}
	return path, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
