// Package chat implements chat documents: Markdown files in a workspace folder. The user writes
// prompts there, and the answers grow below them. A [Set] holds the chats of a connection. A [Chat]
// is a document with its [Text]. An [Answer] writes a turn into it while the user may type in the
// same document. All are safe for concurrent use.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	service "github.com/hermes-ls/hermes-ls/server"
)

// Folder is the folder of the chats in a workspace folder.
const Folder = ".hermes/chats"

// openLimit is the editor's time to open a document after showing it. Some editors never open it on
// this connection.
const openLimit = 200 * time.Millisecond

const title = "# Chat with Hermes\n\nWrite below the last “## You”, then choose “Send to Hermes” in the menu of code actions.\n"

// Editor is the editor of a connection as chats use it. All members are required.
type Editor struct {
	Ctx  context.Context // ends with the connection
	Home string          // HERMES_HOME
	Log  *slog.Logger

	Encoding   func() textenc.Encoding
	TakesEdits func() bool // the editor has workspace/applyEdit
	HasEdited  func() bool // it has applied an edit before

	// BeginEdit waits until an edit may be sent. Call done when its change has come.
	BeginEdit func(ctx context.Context) (done func(), err error)
	// Apply sends edits for a version of a document. If limit is 0, a default applies. If the
	// editor refuses the edits, the error is [workspace.ErrStale].
	Apply func(ctx context.Context, limit time.Duration, doc workspace.Document, edits []diff.Edit, label string) error
	// Follow calls the methods of text with the changes of the document at path.
	Follow func(path string, text *Text)
	// Show opens a document with the cursor at a place. If the editor cannot, it returns false.
	Show func(path string, at textenc.Range) bool
	// Warn shows a message, once for each subject.
	Warn func(subject, format string, args ...any)
}

// Set holds the chats of a connection.
type Set struct {
	editor Editor

	mu     sync.Mutex
	byPath map[string]*Chat
	disk   map[string]*workspace.Workspace // by workspace folder
}

// NewSet returns an empty set.
func NewSet(e Editor) *Set {
	return &Set{editor: e, byPath: map[string]*Chat{}, disk: map[string]*workspace.Workspace{}}
}

// Chat is a chat document.
type Chat struct {
	editor *Editor
	path   string
	disk   *workspace.Workspace
	text   *Text
	busy   chan struct{} // full while an answer is written
	show   atomic.Bool   // before the next answer

	writing atomic.Pointer[Answer] // the current answer

	mu      sync.Mutex
	session string // its session, once known
}

// claim reserves the document for an answer. If the connection ends first, it returns false.
func (c *Chat) claim() bool {
	select {
	case c.busy <- struct{}{}:
		return true
	case <-c.editor.Ctx.Done():
		return false
	}
}

func (c *Chat) release() { <-c.busy }

// Running reports whether an answer is being written.
func (c *Chat) Running() bool { return len(c.busy) > 0 }

// Path returns the absolute path of the document.
func (c *Chat) Path() string { return c.path }

// Root returns the workspace folder of the chat.
func (c *Chat) Root() string { return rootOf(c.path) }

func rootOf(path string) string { return filepath.Dir(filepath.Dir(filepath.Dir(path))) }

// PathIn returns the path of a session's chat in a workspace folder.
func PathIn(root, session string) string {
	return filepath.Join(root, filepath.FromSlash(Folder), session+".md")
}

// IsChat reports whether the file at path is a chat of the workspace folder root.
func IsChat(root, path string) bool {
	return strings.HasSuffix(path, ".md") && filepath.Dir(path) == filepath.Join(root, filepath.FromSlash(Folder))
}

// SessionID returns the session of the chat. If no session was set, it returns the first of
// [Chat.Names], which the store may not know.
func (c *Chat) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		return c.session
	}
	return c.Names()[0]
}

// SetSession sets the session of the chat.
func (c *Chat) SetSession(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
}

// Names returns the sessions of the chat's path: the session in the file's name, if any, and a
// session derived from the path. The derived session exists because a file may be renamed or
// copied. Each path has its own session, also after a restart.
func (c *Chat) Names() []string {
	derived := uuid.NewSHA1(uuid.NameSpaceURL, []byte(uri.File(c.path))).String()
	if name := strings.TrimSuffix(filepath.Base(c.path), ".md"); uuid.Validate(name) == nil {
		return []string{name, derived}
	}
	return []string{derived}
}

// IsOpen reports whether the document is open in the editor and takes edits.
func (c *Chat) IsOpen() bool { return c.text.isOpen() }

// Snapshot returns the text of the document, as far as it is known. Do not change it.
func (c *Chat) Snapshot() []byte { return c.text.snapshot() }

// Draft returns the user's text below an unfinished answer.
func (c *Chat) Draft() string { return c.text.draft() }

// Writing returns the current answer. If there is none, it returns nil.
func (c *Chat) Writing() *Answer { return c.writing.Load() }

// At returns the chat at a path of a chat; see [IsChat].
func (x *Set) At(path string) (*Chat, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.byPath[path]; c != nil {
		return c, nil
	}
	root := rootOf(path)
	disk := x.disk[root]
	if disk == nil {
		var err error
		if disk, err = workspace.Open([]string{root}, nil); err != nil {
			return nil, fmt.Errorf("opening the chats of %s: %w", root, err)
		}
		disk.Unfinished = workspace.UnfinishedIn(x.editor.Home)
	}
	c := &Chat{editor: &x.editor, path: path, disk: disk, text: &Text{}, busy: make(chan struct{}, 1)}
	x.byPath[path], x.disk[root] = c, disk
	x.editor.Follow(path, c.text)
	return c, nil
}

// OfSession returns the chat of a session. If there is none, it returns nil.
func (x *Set) OfSession(id string) *Chat {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.byPath {
		if c.SessionID() == id {
			return c
		}
	}
	return nil
}

// Answers returns the current answers.
func (x *Set) Answers() (list []*Answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.byPath {
		if a := c.writing.Load(); a != nil {
			list = append(list, a)
		}
	}
	return list
}

// Note quotes a text in the chats with a running turn of a session.
func (x *Set) Note(sessionID, text string) {
	for _, a := range x.Answers() {
		if a.chat.SessionID() != sessionID {
			continue
		}
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.TrimRight("> "+OneLine(line, 300), " "))
		}
		a.Note(strings.Join(lines, "\n"))
	}
}

// Close closes the workspace folders.
func (x *Set) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, disk := range x.disk {
		_ = disk.Close()
	}
}

// Ensure returns the chat of a session. If there is none, it creates the document in the
// workspace folder root, with the history so far. If root is empty, it returns an error.
func (x *Set) Ensure(ctx context.Context, session *service.Session, root string) (*Chat, error) {
	if c := x.OfSession(session.ID()); c != nil {
		if _, err := c.disk.Stat(ctx, c.path); err == nil || c.text.isOpen() {
			return c, nil
		}
	}
	if root == "" {
		return nil, errors.New("open a folder first: chats are kept in the workspace")
	}
	c, err := x.At(PathIn(root, session.ID()))
	if err != nil {
		return nil, err
	}
	c.SetSession(session.ID())
	if _, err := c.disk.Stat(ctx, c.path); err == nil || c.text.isOpen() {
		return c, nil
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, workspace.ErrNotFound) {
		return nil, fmt.Errorf("looking for the chat: %w", err)
	}
	if err := c.create(ctx, session); err != nil {
		return nil, err
	}
	return c, nil
}

// ShowBeforeAnswer makes the next answer show the document first, unless it is open.
func (c *Chat) ShowBeforeAnswer() { c.show.Store(!c.text.isOpen()) }

// Load reads the document from the disk, unless the editor has it open.
func (c *Chat) Load(ctx context.Context) error {
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

// save writes a piece into the file. If the file has changed since, or the editor has opened
// it, the error is [workspace.ErrStale], and the caller inserts the piece again.
func (c *Chat) save(ctx context.Context, in insertion, piece string) error {
	_, err := c.disk.Write(ctx, c.path, in.with(piece))
	if errors.Is(err, workspace.ErrStale) {
		err = errors.Join(err, c.Load(ctx))
	}
	if err != nil {
		return fmt.Errorf("writing the chat: %w", err)
	}
	if !c.text.wrote(in, piece) {
		return fmt.Errorf("the editor has just opened the chat: %w", workspace.ErrStale)
	}
	return nil
}

// showOnce shows the document if ShowBeforeAnswer asks for it, and waits for the editor to
// open it.
func (c *Chat) showOnce() {
	if !c.show.Swap(false) || c.text.isOpen() {
		return
	}
	if !c.Reveal() || !c.editor.TakesEdits() {
		return
	}
	limit := time.NewTimer(openLimit)
	defer limit.Stop()
	tick := time.NewTicker(openLimit / 20)
	defer tick.Stop()
	for !c.text.isOpen() {
		select {
		case <-tick.C:
		case <-limit.C:
			return
		case <-c.editor.Ctx.Done():
			return
		}
	}
}

func (c *Chat) create(ctx context.Context, session *service.Session) error {
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
	if _, err := c.disk.Write(ctx, c.path, []byte(title+h.markdown()+"\n"+HeadingYou+"\n\n")); err != nil {
		return fmt.Errorf("making the chat: %w", err)
	}
	return nil
}

// Reveal shows the chat with the cursor in its last line, where the user writes.
func (c *Chat) Reveal() bool {
	end := textenc.LastPosition(c.text.snapshot(), c.editor.Encoding())
	return c.editor.Show(c.path, textenc.Range{Start: end, End: end})
}

// Append adds a block at the end, where the user writes next. Call Load first.
func (c *Chat) Append(ctx context.Context, block string) error {
	in := c.text.end(c.path)
	piece := gap(in.doc.Text) + block + "\n\n"
	if !in.open {
		return c.save(ctx, in, piece)
	}
	at := textenc.PositionAt(in.doc.Text, in.at, c.editor.Encoding())
	edit := diff.Edit{Range: textenc.Range{Start: at, End: at}, NewText: piece}
	return c.editor.Apply(ctx, 0, in.doc, []diff.Edit{edit}, "Quote")
}

// PromptOf returns the prompt to send: the text below the last heading or, while an answer is
// written, the draft below it. The error is a sentence for the user.
func PromptOf(text []byte, draft string, running bool) (string, error) {
	prompt := draft
	if !running {
		var ok bool
		if _, prompt, ok = lastPrompt(text); !ok {
			return "", fmt.Errorf("the chat has no line %q: write one, and your prompt below it", HeadingYou)
		}
		if unfinished(prompt) {
			return "", fmt.Errorf("the last answer was cut off: write a line %q at the end, and your prompt below it", HeadingYou)
		}
	}
	if prompt = strings.TrimSpace(prompt); prompt == "" {
		return "", fmt.Errorf("there is nothing to send: write your prompt below the last %q", HeadingYou)
	}
	return prompt, nil
}

// history writes the history of a session in the form of a chat document.
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
		fmt.Fprintf(&h.text, "\n%s\n\n%s\n", HeadingYou, EscapeHeadings(strings.TrimSpace(e.Text)))
	case agent.Text:
		h.head()
		h.composer.text(e.Text)
	case agent.CallStarted:
		if h.titles == nil {
			h.titles = map[string]string{}
		}
		h.titles[e.Call.ID] = OneLine(e.Title, 120)
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
		h.text.WriteString(h.composer.drain())
		h.answered, h.composer = false, newComposer()
	}
}

func (h *history) markdown() string {
	h.flush()
	return h.text.String()
}
