package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
)

// chatEditor returns the editor of this connection as chats use it.
func (s *server) chatEditor() chat.Editor {
	return chat.Editor{
		Ctx: s.ctx, Home: s.service.Home, Log: s.log,
		Encoding:   func() textenc.Encoding { return s.encoding },
		TakesEdits: func() bool { return s.client.applyEdit },
		HasEdited:  s.documents.applies.Load,
		BeginEdit:  s.edits.edit,
		Apply:      s.documents.apply,
		Follow:     s.documents.follow,
		Show: func(path string, at textenc.Range) bool {
			r := toRange(at)
			return s.showDocument(path, &r)
		},
		Warn: s.warnOnce,
	}
}

// chatPath returns the path of a document. If it is no chat of the workspace, ok is false.
func (s *server) chatPath(u uri.URI) (path string, ok bool) {
	if !u.IsFile() {
		return "", false
	}
	path = resolve(u.FsPath())
	for _, root := range s.sessions.roots() {
		if chat.IsChat(resolve(root), path) {
			return path, true
		}
	}
	return "", false
}

// ensureChat returns the chat document of a session, created with the history so far if
// there is none.
func (s *server) ensureChat(ctx context.Context, session *service.Session) (*chat.Chat, error) {
	root := s.sessions.root()
	if root != "" {
		root = resolve(root)
	}
	return s.chats.Ensure(ctx, session, root)
}

// chatOpen is hermes.chat.open.
func (s *server) chatOpen(a protocol.ChatOpenArgs, _ *lsp.ExecuteCommandParams) (command, error) {
	var quoted string
	if a.TextDocument != nil {
		q, err := s.quote(a.TextDocument.URI, a.Range)
		if err != nil {
			return command{}, err
		}
		quoted = q.markdown()
	}
	return command{run: func(ctx context.Context, at *ticket) (any, error) {
		session, err := s.openSession(ctx, a.SessionID)
		if err != nil {
			return nil, err
		}
		c, err := s.ensureChat(ctx, session)
		if err != nil {
			return nil, fmt.Errorf("opening the chat: %w", err)
		}
		if !c.Running() {
			if err := c.Load(ctx); err != nil {
				return nil, err
			}
		}
		if quoted != "" {
			if err := c.Append(ctx, quoted); err != nil {
				return nil, fmt.Errorf("quoting in the chat: %w", err)
			}
		}
		at.release()
		c.Reveal()
		return protocol.ChatOpenResult{URI: string(s.documents.uri(c.Path()))}, nil
	}}, nil
}

// openSession is session, except that a named one that is not open is loaded.
func (s *server) openSession(ctx context.Context, id string) (*service.Session, error) {
	session, err := s.session(ctx, id)
	if err != nil && id != "" {
		return s.loadSession(ctx, id)
	}
	return session, err
}

// lookAt opens a session for reading. It does not change the current session.
func (s *server) lookAt(ctx context.Context, id string) (*service.Session, error) {
	current := s.sessions.currentID()
	session, err := s.openSession(ctx, id)
	if err == nil && current != "" {
		s.sessions.makeCurrent(current)
	}
	return session, err
}

// markdown returns the quotation in a code fence that its text cannot close.
func (q quotation) markdown() string {
	if q.text == "" {
		return "About `" + q.place + "`:"
	}
	fence := "```"
	for strings.Contains(q.text, fence) {
		fence += "`"
	}
	ext := strings.TrimPrefix(filepath.Ext(strings.SplitN(q.uri, "#", 2)[0]), ".")
	return "About `" + q.place + "`:\n\n" + fence + ext + "\n" + strings.TrimRight(chat.Defuse(q.text), "\n") + "\n" + fence
}

// chatSend is hermes.chat.send. The prompt is the text below the last “## You”.
func (s *server) chatSend(a protocol.ChatSendArgs, p *lsp.ExecuteCommandParams) (command, error) {
	u, err := uri.Parse(a.TextDocument.URI)
	if err != nil || a.TextDocument.URI == "" {
		return command{}, invalidParams("%s: textDocument.uri %q is not a URI", protocol.CommandChatSend, a.TextDocument.URI)
	}
	path, ok := s.chatPath(u)
	if !ok {
		return command{}, invalidParams("%s is no chat: chats are the .md files in %s of the workspace; %s makes one", a.TextDocument.URI, chat.Folder, protocol.CommandChatOpen)
	}
	c, err := s.chats.At(path)
	if err != nil {
		return command{}, err
	}
	// The text as it is now: later messages may change it.
	streams, running := c.IsOpen(), c.Running()
	text, draft := c.Snapshot(), c.Draft()
	shown, inEditor := s.documents.text(u)
	run := func(ctx context.Context, at *ticket) (any, error) {
		if !streams && !running {
			if err := c.Load(ctx); err != nil {
				return nil, err
			}
			text = c.Snapshot()
		}
		if inEditor && !streams { // an editor that takes no edits: the answer goes to the file, the prompt is here
			text, running = shown.Text, false
		}
		prompt, err := chat.PromptOf(text, draft, running)
		if err != nil {
			return nil, invalidParams("%v", err)
		}
		session, err := s.sessionOf(ctx, c)
		if err != nil {
			return nil, err
		}
		j := job{session: session, input: agent.Input{Text: prompt}, title: titleOf(prompt), chat: c}
		if inFile, err := chat.PromptOf(c.Snapshot(), draft, running); inEditor && !streams && (err != nil || inFile != prompt) {
			j.shown = prompt
		}
		j.token, j.at = p.WorkDoneToken, at
		return followed{protocol.SessionResult{SessionID: session.ID()}, s.start(j)}, nil
	}
	return command{run, &pendingTurn{c.SessionID(), p.WorkDoneToken}}, nil
}

// sessionOf returns the session of a chat. If the store has a session of its name in this
// workspace, that one continues. If not, a new session of that name starts, without the
// history that the file may show.
func (s *server) sessionOf(ctx context.Context, c *chat.Chat) (*service.Session, error) {
	ids := c.Names()
	if id := c.SessionID(); id != ids[0] {
		ids = append([]string{id}, ids...)
	}
	for _, id := range ids {
		session, err := s.sessionNamed(ctx, c, id)
		if err != nil {
			return nil, sessionError(id, err)
		}
		if session != nil {
			c.SetSession(session.ID())
			return session, nil
		}
	}
	return nil, fmt.Errorf("no session can be begun for %s: its names are taken by other workspaces", c.Path())
}

// sessionNamed opens the session of an id, or starts it. If it belongs to another workspace,
// it returns nil.
func (s *server) sessionNamed(ctx context.Context, c *chat.Chat, id string) (*service.Session, error) {
	session, err := s.service.Session(id)
	if err != nil {
		s.settings.wait(ctx)
		session, err = s.service.LoadSession(ctx, id, s.placeOf(c), host{s})
	}
	var foreign *service.InputError
	switch {
	case err == nil && s.inWorkspace(session.Cwd()):
		s.sessions.keep(session)
		return session, nil
	case err == nil, errors.As(err, &foreign):
		return nil, nil
	case errors.Is(err, service.ErrNoSession):
		place := s.placeOf(c)
		place.ID = id
		return s.newSessionAt(ctx, place)
	}
	return nil, err
}

// placeOf returns the workspace folders for a session, with the folder of the chat first.
func (s *server) placeOf(c *chat.Chat) service.Place {
	p := service.Place{Cwd: c.Root(), Preset: preset}
	for _, root := range s.sessions.roots() {
		if resolve(root) != p.Cwd {
			p.Folders = append(p.Folders, root)
		}
	}
	return p
}

func (s *server) inWorkspace(cwd string) bool {
	for _, root := range s.sessions.roots() {
		if resolve(root) == resolve(cwd) {
			return true
		}
	}
	return false
}

// showDocument opens a document for the user; at may be nil. If the editor cannot, a message
// names the path, and the result is false. If the editor does not answer, it is not asked
// again.
func (s *server) showDocument(path string, at *lsp.Range) bool {
	if s.client.showDocument && !s.blind.Load() {
		focus := true
		var result lsp.ShowDocumentResult
		params := &lsp.ShowDocumentParams{URI: s.documents.uri(path), TakeFocus: &focus, Selection: at}
		err := s.call(s.ctx, answerLimit, lsp.MethodWindowShowDocument, params, &result)
		if err == nil && result.Success {
			return true
		}
		s.blind.Store(errors.Is(err, context.DeadlineExceeded))
		s.log.Debug("the editor did not show a document", "path", path, "error", err)
	}
	s.warnOnce("show "+path, "Hermes writes to %s: open it to read and to answer.", s.placeName(s.documents.uri(path)))
	return false
}

// warnOnce shows a message once for each subject.
func (s *server) warnOnce(subject, format string, args ...any) {
	if _, again := s.warned.LoadOrStore(subject, true); !again {
		s.show(lsp.MessageTypeInfo, format, args...)
	}
}
