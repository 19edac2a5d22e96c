package lsp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// chats holds the chat documents of the connection.
type chats struct {
	set      *chat.Set
	editor   *editor.Editor
	sessions *sessions
	quotes   *quotes
	prompts  *prompts
}

// view returns the editor of this connection as chats use it.
func (x *chats) view(home string, log *slog.Logger) chat.Editor {
	docs := x.editor.Documents
	return chat.Editor{
		Ctx: x.editor.Ctx, Home: home, Log: log,
		Encoding:   func() textenc.Encoding { return x.editor.Encoding },
		TakesEdits: func() bool { return x.editor.Client.ApplyEdit },
		HasEdited:  docs.HasEdited,
		BeginEdit:  x.editor.Edit,
		Apply:      docs.Apply,
		Follow:     docs.Follow,
		Show: func(path string, at textenc.Range) bool {
			r := editor.ToRange(at)
			return x.editor.ShowDocument(path, x.quotes.placeName(docs.URI(path)), &r)
		},
		Warn: x.editor.WarnOnce,
	}
}

// showAnswers waits until the chats show their answers as far as they are known.
func (x *chats) showAnswers(ctx context.Context) {
	for _, a := range x.set.Answers() {
		a.Flush(ctx)
	}
}

// path returns the path of a document. If it is no chat of the workspace, ok is false.
func (x *chats) path(u uri.URI) (path string, ok bool) {
	if !u.IsFile() {
		return "", false
	}
	path = editor.Resolve(u.FsPath())
	for _, root := range x.sessions.roots() {
		if chat.IsChat(editor.Resolve(root), path) {
			return path, true
		}
	}
	return "", false
}

// ensure returns the chat document of a session, created with the history so far if
// there is none.
func (x *chats) ensure(ctx context.Context, session *service.Session) (*chat.Chat, error) {
	root := x.sessions.root()
	if root != "" {
		root = editor.Resolve(root)
	}
	return x.set.Ensure(ctx, session, root)
}

// open is hermes.chat.open.
func (x *chats) open(a protocol.ChatOpenArgs, _ *lsp.ExecuteCommandParams) (command, error) {
	var quoted string
	if a.TextDocument != nil {
		q, err := x.quotes.quote(a.TextDocument.URI, a.Range)
		if err != nil {
			return command{}, err
		}
		quoted = q.markdown()
	}
	return command{run: func(ctx context.Context, at *ticket) (any, error) {
		session, err := x.sessions.open(ctx, a.SessionID)
		if err != nil {
			return nil, err
		}
		c, err := x.ensure(ctx, session)
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
		return protocol.ChatOpenResult{URI: string(x.editor.Documents.URI(c.Path()))}, nil
	}}, nil
}

// send is hermes.chat.send. The prompt is the text below the last “## You”.
func (x *chats) send(a protocol.ChatSendArgs, p *lsp.ExecuteCommandParams) (command, error) {
	u, err := uri.Parse(a.TextDocument.URI)
	if err != nil || a.TextDocument.URI == "" {
		return command{}, invalidParams("%s: textDocument.uri %q is not a URI", protocol.CommandChatSend, a.TextDocument.URI)
	}
	path, ok := x.path(u)
	if !ok {
		return command{}, invalidParams("%s is no chat: chats are the .md files in %s of the workspace; %s makes one", a.TextDocument.URI, chat.Folder, protocol.CommandChatOpen)
	}
	c, err := x.set.At(path)
	if err != nil {
		return command{}, err
	}
	// The text as it is now: later messages may change it.
	streams, running := c.IsOpen(), c.Running()
	text, draft := c.Snapshot(), c.Draft()
	shown, inEditor := x.editor.Documents.Text(u)
	run := func(ctx context.Context, at *ticket) (any, error) {
		if !streams && !running {
			if err := c.Load(ctx); err != nil {
				return nil, err
			}
			text = c.Snapshot()
		}
		if inEditor && !streams { // the editor takes no edits: the answer goes to the file, the prompt is here
			text, running = shown.Text, false
		}
		prompt, err := chat.PromptOf(text, draft, running)
		if err != nil {
			return nil, invalidParams("%v", err)
		}
		session, err := x.sessionOf(ctx, c)
		if err != nil {
			return nil, err
		}
		j := job{session: session, input: agent.Input{Text: prompt}, title: titleOf(prompt), chat: c}
		if err := attachPictures(ctx, &j, filepath.Dir(path)); err != nil {
			return nil, err
		}
		if inFile, err := chat.PromptOf(c.Snapshot(), draft, running); inEditor && !streams && (err != nil || inFile != prompt) {
			j.shown = prompt
		}
		j.token, j.at = p.WorkDoneToken, at
		return followed{protocol.SessionResult{SessionID: session.ID()}, x.prompts.start(j)}, nil
	}
	return command{run, &pendingTurn{c.SessionID(), p.WorkDoneToken}}, nil
}

// sessionOf returns the session of a chat. If the store contains a session of its name in this
// workspace, it continues. Otherwise, a new session of this name starts, without the history in the
// file.
func (x *chats) sessionOf(ctx context.Context, c *chat.Chat) (*service.Session, error) {
	ids := c.Names()
	if id := c.SessionID(); id != ids[0] {
		ids = append([]string{id}, ids...)
	}
	for _, id := range ids {
		session, err := x.sessionNamed(ctx, c, id)
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
func (x *chats) sessionNamed(ctx context.Context, c *chat.Chat, id string) (*service.Session, error) {
	session, err := x.sessions.service.Session(id)
	if err != nil {
		x.sessions.settings.wait(ctx)
		session, err = x.sessions.service.LoadSession(ctx, id, x.placeOf(c), x.sessions.host)
	}
	var foreign *service.InputError
	switch {
	case err == nil && x.sessions.inWorkspace(session.Cwd()):
		x.sessions.keep(session)
		return session, nil
	case err == nil, errors.As(err, &foreign):
		return nil, nil
	case errors.Is(err, service.ErrNoSession):
		place := x.placeOf(c)
		place.ID = id
		return x.sessions.beginAt(ctx, place)
	}
	return nil, err
}

// placeOf returns the workspace folders for a session, with the folder of the chat first.
func (x *chats) placeOf(c *chat.Chat) service.Place {
	p := service.Place{Cwd: c.Root(), Preset: preset}
	for _, root := range x.sessions.roots() {
		if editor.Resolve(root) != p.Cwd {
			p.Folders = append(p.Folders, root)
		}
	}
	return p
}
