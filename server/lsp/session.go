package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// sessions holds the sessions of this connection, their folders, and the current session, which
// requests without a session use.
type sessions struct {
	service  *service.Service
	editor   *editor.Editor
	settings *settings
	host     host

	mu      sync.Mutex
	folders []string // the workspace, main folder first
	current string   // the newest of this process; empty: none yet
	opened  map[string]*service.Session
	updated map[string]bool // opened by the editor with a session/ method
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

// updates reports whether the editor gets the events of a session as session/update. If it has
// announced the Agent Client Protocol, it gets all events. Otherwise, it gets the events of the
// sessions that it opened with this protocol.
func (x *sessions) updates(id string) bool {
	if x.editor.Client.ACP != nil {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.updated[id]
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

// unresolved returns a path below the workspace folder as the editor named it, which may be a link.
func (x *sessions) unresolved(path string) string {
	for _, root := range x.roots() {
		real := editor.Resolve(root)
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

// begin opens a new session in the workspace and makes it the current session.
func (x *sessions) begin(ctx context.Context) (*service.Session, error) {
	return x.beginAt(ctx, x.place())
}

func (x *sessions) beginAt(ctx context.Context, p service.Place) (*service.Session, error) {
	x.settings.wait(ctx)
	session, err := x.service.NewSession(ctx, p, x.host)
	if err != nil {
		return nil, fmt.Errorf("beginning a session: %w", err)
	}
	x.keep(session)
	return session, nil
}

// find returns the named session and, if needed, opens it again. Without a name, it returns the
// current session; if there is none, it begins a session.
func (x *sessions) find(ctx context.Context, id string) (*service.Session, error) {
	if id == "" {
		id = x.currentID()
	}
	if id == "" {
		return x.begin(ctx)
	}
	session, err := x.service.Session(id)
	if err != nil {
		return nil, sessionError(id, err)
	}
	return session, nil
}

// sessionError describes a problem with a command's session. ACP's code for an unknown session
// means something else in LSP.
func sessionError(id string, err error) error {
	switch {
	case errors.Is(err, service.ErrClosed):
		return invalidParams("sessionId: session %q is closed: load it with %s first", id, protocol.CommandSessionLoad)
	case errors.Is(err, service.ErrNoSession):
		return invalidParams("sessionId: there is no session %q; %s names those there are", id, protocol.CommandSessionList)
	}
	return fmt.Errorf("session %s: %w", id, err)
}

func (x *sessions) load(ctx context.Context, id string) (*service.Session, error) {
	x.settings.wait(ctx)
	session, err := x.service.LoadSession(ctx, id, service.Place{Preset: preset}, x.host)
	if err != nil {
		return nil, sessionError(id, err)
	}
	x.move(session, x.roots())
	x.keep(session)
	return session, nil
}

// open is like find, but loads a named session that is not open.
func (x *sessions) open(ctx context.Context, id string) (*service.Session, error) {
	session, err := x.find(ctx, id)
	if err != nil && id != "" {
		return x.load(ctx, id)
	}
	return session, err
}

// lookAt opens a session for reading. It does not change the current session.
func (x *sessions) lookAt(ctx context.Context, id string) (*service.Session, error) {
	current := x.currentID()
	session, err := x.open(ctx, id)
	if err == nil && current != "" {
		x.makeCurrent(current)
	}
	return session, err
}

// ofSession finds the session whose subagents are meant; nil: there is none.
func (x *sessions) ofSession(id string) (*service.Session, error) {
	if id = orElse(id, x.currentID()); id == "" {
		return nil, nil
	}
	session, err := x.service.Session(id)
	if err != nil {
		return nil, sessionError(id, err)
	}
	return session, nil
}

// note makes a session opened by the editor the current session.
func (x *sessions) note(name string, params json.RawMessage, result any) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	switch name {
	case acp.MethodSessionNew, acp.MethodSessionFork:
		if opened, ok := result.(*acp.NewSessionResponse); ok {
			p.SessionID = opened.SessionID
			x.wantsUpdates(p.SessionID)
		}
	case acp.MethodSessionLoad, acp.MethodSessionResume:
		_ = json.Unmarshal(params, &p) // the agent has read it already
		x.wantsUpdates(p.SessionID)
	case acp.MethodSessionDelete, acp.MethodSessionClose:
		if json.Unmarshal(params, &p) == nil {
			x.forget(p.SessionID)
		}
		return
	}
	if session, err := x.service.Session(p.SessionID); err == nil {
		x.keep(session)
	}
}

// inWorkspace reports whether a directory is a workspace folder.
func (x *sessions) inWorkspace(cwd string) bool {
	for _, root := range x.roots() {
		if editor.Resolve(root) == editor.Resolve(cwd) {
			return true
		}
	}
	return false
}

// foldersChangedParams is DidChangeWorkspaceFoldersParams.
type foldersChangedParams struct {
	Event struct {
		Added   []editor.Folder `json:"added"`
		Removed []editor.Folder `json:"removed"`
	} `json:"event"`
}

// foldersChanged moves every open session to the new folders. If a folder cannot be opened, it is
// reported and left out.
func (x *sessions) foldersChanged(_ context.Context, p *foldersChangedParams) error {
	gone, added := editor.FolderPaths(p.Event.Removed), editor.FolderPaths(p.Event.Added)
	x.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(x.folders), func(f string) bool { return slices.Contains(gone, f) })
	for _, f := range added {
		if !slices.Contains(kept, f) {
			kept = append(kept, f)
		}
	}
	x.folders = kept
	x.mu.Unlock()
	for _, session := range x.all() {
		x.move(session, kept)
	}
	return nil
}

// move keeps a session's own folder first: its shell and its history belong there.
func (x *sessions) move(session *service.Session, folders []string) {
	list := []string{session.Cwd()}
	for _, f := range folders {
		if editor.Resolve(f) != editor.Resolve(session.Cwd()) {
			list = append(list, filepath.Clean(f))
		}
	}
	if err := session.SetFolders(list); err != nil {
		x.editor.Show(lsp.MessageTypeWarning, "The session %q does not see all workspace folders: %v", session.Title(), err)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
