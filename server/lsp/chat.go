package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// chatFolder is where chats are kept, in a workspace folder.
const chatFolder = ".hermes/chats"

// openGrace is how long an editor may take from showing a document to opening it.
// Some show what they never open on this connection.
const openGrace = 200 * time.Millisecond

const chatTitle = "# Chat with Hermes\n\nWrite below the last “## You”, then choose “Send to Hermes” in the menu of code actions.\n"

// chats are the chat documents of this connection, by path.
type chats struct {
	mu     sync.Mutex
	byPath map[string]*chat
	disk   map[string]*workspace.Workspace // by workspace folder
	warned map[string]bool
	blind  atomic.Bool // the editor does not answer showDocument
}

// chat is one chat document.
type chat struct {
	s    *server
	path string
	disk *workspace.Workspace
	text *chatText
	busy chan struct{} // holds a value while an answer is being written
	show atomic.Bool   // before the next answer

	writing atomic.Pointer[answer] // the answer that is being written

	mu      sync.Mutex
	session string // the session that it belongs to, once known
}

// claim takes the document for one answer; false when the connection ends first.
func (c *chat) claim() bool {
	select {
	case c.busy <- struct{}{}:
		return true
	case <-c.s.ctx.Done():
		return false
	}
}

func (c *chat) release() { <-c.busy }

func (c *chat) running() bool { return len(c.busy) > 0 }

// sessionID is the session of the chat: the one it was opened for, else the one
// that its name stands for, which the store may not know.
func (c *chat) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		return c.session
	}
	return c.names()[0]
}

// names are the sessions that a chat's name stands for: the one it says, and the one of
// this very place. A file may be renamed or copied; each place has one session all the
// same, today and after a restart.
func (c *chat) names() []string {
	place := uuid.NewSHA1(uuid.NameSpaceURL, []byte(uri.File(c.path))).String()
	if said := strings.TrimSuffix(filepath.Base(c.path), ".md"); uuid.Validate(said) == nil {
		return []string{said, place}
	}
	return []string{place}
}

func (c *chat) setSession(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
}

// chatPath tells whether a document is a chat of the workspace, and where it is.
func (s *server) chatPath(u uri.URI) (string, bool) {
	if !u.IsFile() || !strings.HasSuffix(u.FsPath(), ".md") {
		return "", false
	}
	path := resolve(u.FsPath())
	for _, root := range s.sessions.roots() {
		if filepath.Dir(path) == filepath.Join(resolve(root), filepath.FromSlash(chatFolder)) {
			return path, true
		}
	}
	return "", false
}

// chatAt is the chat of a path, which chatPath has accepted.
func (s *server) chatAt(path string) (*chat, error) {
	s.chats.mu.Lock()
	defer s.chats.mu.Unlock()
	if c := s.chats.byPath[path]; c != nil {
		return c, nil
	}
	root := rootOf(path)
	disk := s.chats.disk[root]
	if disk == nil {
		var err error
		if disk, err = workspace.Open([]string{root}, nil); err != nil {
			return nil, fmt.Errorf("opening the chats of %s: %w", root, err)
		}
		disk.Unfinished = workspace.UnfinishedIn(s.service.Home)
	}
	if s.chats.byPath == nil {
		s.chats.byPath, s.chats.disk = map[string]*chat{}, map[string]*workspace.Workspace{}
	}
	c := &chat{s: s, path: path, disk: disk, text: &chatText{}, busy: make(chan struct{}, 1)}
	s.chats.byPath[path], s.chats.disk[root] = c, disk
	s.documents.follow(path, c.text)
	return c, nil
}

func rootOf(path string) string { return filepath.Dir(filepath.Dir(filepath.Dir(path))) }

// root is the workspace folder that the chat belongs to.
func (c *chat) root() string { return rootOf(c.path) }

// close lets go of the folders.
func (x *chats) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, disk := range x.disk {
		_ = disk.Close()
	}
}

// load reads the document from the disk, unless the editor holds it.
func (c *chat) load(ctx context.Context) error {
	if c.text.isOpen() {
		return nil
	}
	file, err := c.disk.Read(ctx, c.path)
	if err != nil {
		return fmt.Errorf("reading the chat: %w", err)
	}
	c.text.reset(file.Text)
	return nil
}

// save writes a piece into the file. When the file has changed meanwhile, or the
// editor has opened it, that is stale, and the piece is put again.
func (c *chat) save(ctx context.Context, in insertion, piece string) error {
	_, err := c.disk.Write(ctx, c.path, in.with(piece))
	if errors.Is(err, workspace.ErrStale) {
		err = errors.Join(err, c.load(ctx))
	}
	if err != nil {
		return fmt.Errorf("writing the chat: %w", err)
	}
	if !c.text.wrote(in, piece) {
		return fmt.Errorf("the editor has just opened the chat: %w", workspace.ErrStale)
	}
	return nil
}

// chatOf is the chat document of a session, made where there is none. It is shown
// before the answer goes into it, where the editor does not show it already.
func (s *server) chatOf(ctx context.Context, session *service.Session) (*chat, error) {
	c, err := s.ensureChat(ctx, session)
	if err != nil {
		return nil, err
	}
	c.show.Store(!c.text.isOpen())
	return c, nil
}

// showOnce shows the document if that is still to be done, and lets the editor
// say that it has opened it.
func (c *chat) showOnce() {
	if !c.show.Swap(false) || c.text.isOpen() {
		return
	}
	if !c.reveal() || !c.s.client.applyEdit {
		return
	}
	limit := time.NewTimer(openGrace)
	defer limit.Stop()
	tick := time.NewTicker(openGrace / 20)
	defer tick.Stop()
	for !c.text.isOpen() {
		select {
		case <-tick.C:
		case <-limit.C:
			return
		case <-c.s.ctx.Done():
			return
		}
	}
}

// ensureChat makes a session's chat document, with the history so far.
func (s *server) ensureChat(ctx context.Context, session *service.Session) (*chat, error) {
	if c := s.chats.ofSession(session.ID()); c != nil {
		if _, err := c.disk.Stat(ctx, c.path); err == nil || c.text.isOpen() {
			return c, nil
		}
	}
	root := s.sessions.root()
	if root == "" {
		return nil, errors.New("open a folder first: chats are kept in the workspace")
	}
	c, err := s.chatAt(filepath.Join(resolve(root), filepath.FromSlash(chatFolder), session.ID()+".md"))
	if err != nil {
		return nil, err
	}
	c.setSession(session.ID())
	if _, err := c.disk.Stat(ctx, c.path); err == nil || c.text.isOpen() {
		return c, nil
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, workspace.ErrNotFound) {
		return nil, fmt.Errorf("looking for the chat: %w", err)
	}
	return c, c.create(ctx, session)
}

// answers are the answers that are being written.
func (x *chats) answers() (list []*answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.byPath {
		if a := c.writing.Load(); a != nil {
			list = append(list, a)
		}
	}
	return list
}

func (x *chats) ofSession(id string) *chat {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.byPath {
		if c.sessionID() == id {
			return c
		}
	}
	return nil
}

func (c *chat) create(ctx context.Context, session *service.Session) error {
	ignore := filepath.Join(filepath.Dir(c.path), ".gitignore")
	if _, err := c.disk.Stat(ctx, ignore); err != nil {
		if _, err := c.disk.Write(ctx, ignore, []byte("*\n")); err != nil {
			return fmt.Errorf("making the folder of the chats: %w", err)
		}
	}
	h := history{composer: newComposer()}
	if err := session.ReplayTo(ctx, &h); err != nil && !errors.Is(err, service.ErrRunning) {
		return fmt.Errorf("reading the history: %w", err)
	}
	if _, err := c.disk.Write(ctx, c.path, []byte(chatTitle+h.markdown()+"\n"+headingYou+"\n\n")); err != nil {
		return fmt.Errorf("making the chat: %w", err)
	}
	return nil
}

// history writes a session's log as a chat document has it.
type history struct {
	text     strings.Builder
	composer composer
	titles   map[string]string
	answered bool
}

// Event makes history an [agent.Sink] for replays.
func (h *history) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.UserMessage:
		h.flush()
		fmt.Fprintf(&h.text, "\n%s\n\n%s\n", headingYou, defuse(strings.TrimSpace(e.Text)))
	case agent.Text:
		h.head()
		h.composer.text(e.Text)
	case agent.CallStarted:
		if h.titles == nil {
			h.titles = map[string]string{}
		}
		h.titles[e.Call.ID] = oneLine(e.Title, 120)
	case agent.CallEnded:
		h.head()
		h.composer.item(callLine(h.titles[e.Call.ID], e.Call, e.Result))
	}
}

func (h *history) head() {
	if !h.answered {
		fmt.Fprintf(&h.text, "\n%s\n\n", headingHermes)
		h.answered = true
	}
}

func (h *history) flush() {
	if h.answered {
		h.composer.close("\n")
		h.text.WriteString(h.composer.take())
		h.answered, h.composer = false, newComposer()
	}
}

func (h *history) markdown() string {
	h.flush()
	return h.text.String()
}

// chatOpen is hermes.chat.open.
func (s *server) chatOpen(a protocol.ChatOpenArgs) (command, error) {
	var quoted string
	if a.TextDocument != nil {
		q, err := s.quote(a.TextDocument.URI, a.Range)
		if err != nil {
			return command{}, err
		}
		quoted = q.markdown()
	}
	return command{run: func(ctx context.Context, at *place) (any, error) {
		session, err := s.openSession(ctx, a.SessionID)
		if err != nil {
			return nil, err
		}
		c, err := s.ensureChat(ctx, session)
		if err != nil {
			return nil, fmt.Errorf("opening the chat: %w", err)
		}
		if !c.running() {
			if err := c.load(ctx); err != nil {
				return nil, err
			}
		}
		if quoted != "" {
			if err := c.append(ctx, quoted); err != nil {
				return nil, fmt.Errorf("quoting in the chat: %w", err)
			}
		}
		at.next()
		c.reveal()
		return protocol.ChatOpenResult{URI: string(s.documents.uri(c.path))}, nil
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

// lookAt opens a session to be read; the current one stays what it was.
func (s *server) lookAt(ctx context.Context, id string) (*service.Session, error) {
	current := s.sessions.currentID()
	session, err := s.openSession(ctx, id)
	if err == nil && current != "" {
		s.sessions.makeCurrent(current)
	}
	return session, err
}

// append puts a block at the end, where the user writes next. The text is known.
func (c *chat) append(ctx context.Context, block string) error {
	in := c.text.end(c.path)
	piece := gap(in.doc.Text) + block + "\n\n"
	if !in.open {
		return c.save(ctx, in, piece)
	}
	at := textenc.PositionAt(in.doc.Text, in.at, c.s.encoding)
	edit := diff.Edit{Range: textenc.Range{Start: at, End: at}, NewText: piece}
	return c.s.documents.apply(ctx, in.doc, []diff.Edit{edit}, "Quote")
}

// markdown quotes a piece of a document in a fence that its text cannot close.
func (q quotation) markdown() string {
	if q.text == "" {
		return "About `" + q.place + "`:"
	}
	fence := "```"
	for strings.Contains(q.text, fence) {
		fence += "`"
	}
	ext := strings.TrimPrefix(filepath.Ext(strings.SplitN(q.uri, "#", 2)[0]), ".")
	return "About `" + q.place + "`:\n\n" + fence + ext + "\n" + strings.TrimRight(defuse(q.text), "\n") + "\n" + fence
}

// chatSend is hermes.chat.send: what stands behind the last “## You” is the prompt.
func (s *server) chatSend(a protocol.ChatSendArgs, token lsp.ProgressToken) (command, error) {
	u, err := uri.Parse(a.TextDocument.URI)
	if err != nil || a.TextDocument.URI == "" {
		return command{}, invalidParams("%s: textDocument.uri %q is not a URI", protocol.CommandChatSend, a.TextDocument.URI)
	}
	path, ok := s.chatPath(u)
	if !ok {
		return command{}, invalidParams("%s is no chat: chats are the .md files in %s of the workspace; %s makes one", a.TextDocument.URI, chatFolder, protocol.CommandChatOpen)
	}
	c, err := s.chatAt(path)
	if err != nil {
		return command{}, err
	}
	// The text as it is now, before anything else comes.
	streams, running := c.text.isOpen(), c.running()
	text, draft := c.text.snapshot(), c.text.draft()
	shown, inEditor := s.documents.text(u)
	run := func(ctx context.Context, at *place) (any, error) {
		if !streams && !running {
			if err := c.load(ctx); err != nil {
				return nil, err
			}
			text = c.text.snapshot()
		}
		if inEditor && !streams { // an editor that takes no edits: the answer goes to the file, the prompt is here
			text, running = shown.Text, false
		}
		prompt, err := promptOf(text, draft, running)
		if err != nil {
			return nil, err
		}
		session, err := s.sessionOf(ctx, c)
		if err != nil {
			return nil, err
		}
		j := job{session: session, input: agent.Input{Text: prompt}, title: titleOf(prompt), chat: c}
		if inFile, err := promptOf(c.text.snapshot(), draft, running); inEditor && !streams && (err != nil || inFile != prompt) {
			j.shown = prompt
		}
		j.token, j.at = token, at
		return followed{protocol.SessionResult{SessionID: session.ID()}, s.start(j)}, nil
	}
	return command{run, &turnToCome{c.sessionID(), token}}, nil
}

// promptOf is what the user wants to send. While an answer is being written it is
// what stands behind that.
func promptOf(text []byte, draft string, running bool) (string, error) {
	prompt := draft
	if !running {
		var ok bool
		if _, prompt, ok = lastPrompt(text); !ok {
			return "", invalidParams("the chat has no line %q: write one, and your prompt below it", headingYou)
		}
		if unfinished(prompt) {
			return "", invalidParams("the last answer was cut off: write a line %q at the end, and your prompt below it", headingYou)
		}
	}
	if prompt = strings.TrimSpace(prompt); prompt == "" {
		return "", invalidParams("there is nothing to send: write your prompt below the last %q", headingYou)
	}
	return prompt, nil
}

// sessionOf is the session of a chat. What the store knows under its name, and in
// this workspace, goes on; a file of any other origin begins a session of that name,
// which knows nothing of what the file says about the past.
func (s *server) sessionOf(ctx context.Context, c *chat) (*service.Session, error) {
	ids := c.names()
	if id := c.sessionID(); id != ids[0] {
		ids = append([]string{id}, ids...)
	}
	for _, id := range ids {
		session, err := s.sessionNamed(ctx, c, id)
		if err != nil {
			return nil, sessionError(id, err)
		}
		if session != nil {
			c.setSession(session.ID())
			return session, nil
		}
	}
	return nil, fmt.Errorf("no session can be begun for %s: its names are taken by other workspaces", c.path)
}

// sessionNamed opens the session of an id, or begins it; nil when it belongs to another
// workspace.
func (s *server) sessionNamed(ctx context.Context, c *chat, id string) (*service.Session, error) {
	session, err := s.service.Session(id)
	if err != nil {
		s.settings.wait(ctx)
		session, err = s.service.LoadSession(ctx, id, s.placeOf(c), host{s})
	}
	var elsewhere *service.InputError
	switch {
	case err == nil && s.inWorkspace(session.Cwd()):
		s.sessions.keep(session)
		return session, nil
	case err == nil, errors.As(err, &elsewhere):
		return nil, nil
	case errors.Is(err, service.ErrNoSession):
		place := s.placeOf(c)
		place.ID = id
		return s.newSessionAt(ctx, place)
	}
	return nil, err
}

// placeOf is the workspace as a session of the chat's folder sees it.
func (s *server) placeOf(c *chat) service.Place {
	p := service.Place{Cwd: c.root(), Preset: preset}
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

// reveal brings the chat before the user, with the cursor at its end, where they write.
func (c *chat) reveal() bool {
	text := c.text.snapshot()
	end := lsp.Position(textenc.PositionAt(text, len(text), c.s.encoding))
	return c.s.showDocument(c.path, &lsp.Range{Start: end, End: end})
}

// showDocument brings a document before the user, at a place, where one is given; where
// the editor cannot, it says where the document is. An editor that does not answer is not
// asked again.
func (s *server) showDocument(path string, at *lsp.Range) bool {
	if s.client.showDocument && !s.chats.blind.Load() {
		focus := true
		var result lsp.ShowDocumentResult
		params := &lsp.ShowDocumentParams{URI: s.documents.uri(path), TakeFocus: &focus, Selection: at}
		err := s.call(s.ctx, answerLimit, lsp.MethodWindowShowDocument, params, &result)
		if err == nil && result.Success {
			return true
		}
		s.chats.blind.Store(errors.Is(err, context.DeadlineExceeded))
		s.log.Debug("the editor did not show a document", "path", path, "error", err)
	}
	s.warnOnce("show "+path, "Hermes writes to %s: open it to read and to answer.", s.placeName(s.documents.uri(path)))
	return false
}

// warnOnce shows a message once per subject.
func (s *server) warnOnce(subject, format string, args ...any) {
	s.chats.mu.Lock()
	again := s.chats.warned[subject]
	if s.chats.warned == nil {
		s.chats.warned = map[string]bool{}
	}
	s.chats.warned[subject] = true
	s.chats.mu.Unlock()
	if !again {
		s.show(lsp.MessageTypeInfo, format, args...)
	}
}
