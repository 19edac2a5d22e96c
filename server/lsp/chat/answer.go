package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	editEvery = 100 * time.Millisecond // a chat is edited at most ten times a second
	tryLimit  = 3 * time.Second        // an editor may be silent to a piece for so long, before it is sent again
	putLimit  = time.Minute
	// changeLimit is the editor's time to send the change of an applied edit.
	changeLimit = time.Minute
)

// Answer writes a turn into a chat document. It accepts the events of the turn at any rate, and
// edits at most ten times a second, in a goroutine; [Answer.Finish] waits for it. Several answers
// in one document are written in sequence.
type Answer struct {
	chat    *Chat
	shown   string
	wake    chan struct{}
	flushes chan chan struct{} // a sent channel is closed when everything so far is written
	stop    chan struct{}
	over    chan struct{} // closed when nothing more is written
	late    chan struct{} // closed when the editor does not send the change of an edit
	done    chan struct{}

	mu       sync.Mutex
	composer composer
	titles   map[string]string // call id → title
}

// Answer starts to write an answer. If the prompt is not in the document yet, shown is the
// prompt. Another program may have made it, so it is written without characters that control a
// terminal or reorder text.
func (c *Chat) Answer(shown string) *Answer {
	a := &Answer{
		chat: c, shown: tools.WithoutControls(tools.StripControl(shown)), composer: newComposer(), titles: map[string]string{},
		wake: make(chan struct{}, 1), flushes: make(chan chan struct{}), stop: make(chan struct{}),
		over: make(chan struct{}), late: make(chan struct{}), done: make(chan struct{}),
	}
	go a.run()
	return a
}

// Event makes Answer an [agent.Sink].
func (a *Answer) Event(e agent.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e := e.(type) {
	case agent.Text:
		a.composer.text(e.Text)
	case agent.CallStarted:
		a.titles[e.Call.ID] = OneLine(e.Title, 120)
		return
	case agent.CallEnded:
		a.composer.item(callLine(a.titles[e.Call.ID], e.Call, e.Result) + pictureLink(a.chat.path, e.Result))
	case agent.TurnSummary:
		a.composer.note("> " + OneLine(e.Text, 300))
	case agent.Notice:
		a.composer.note("> " + OneLine(e.Text, 300) + quoted(e.More))
	case agent.Compaction:
		if e.Status == agent.CompactionRunning {
			return
		}
		a.composer.note("> " + OneLine(e.String(), 300))
	default:
		return
	}
	a.signal()
}

// quoted returns a text as further lines of a quotation.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "\n>\n> " + strings.ReplaceAll(tools.WithoutControls(text), "\n", "\n> ")
}

// Note adds a paragraph outside of the answer.
func (a *Answer) Note(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.composer.note(text)
	a.signal()
}

// callLine returns a call as a single line: "✓ Read main.go", or "✗ $ make (exit code 2)".
func callLine(title string, call tools.Call, result tools.Result) string {
	if title == "" {
		title = call.Name
	}
	var command struct {
		ExitCode int `json:"exit_code"`
	}
	switch {
	case result.IsError:
		return "✗ " + title
	case json.Unmarshal(result.JSON, &command) == nil && command.ExitCode != 0:
		return fmt.Sprintf("✗ %s (exit code %d)", title, command.ExitCode)
	}
	return "✓ " + title
}

// pictureLink returns a link from a chat to the file of the picture in a result. If there is none, it
// returns "".
func pictureLink(chat string, result tools.Result) string {
	if len(result.Images) == 0 {
		return ""
	}
	for _, c := range result.Shown {
		if c.Location == nil {
			continue
		}
		name, err := filepath.Rel(filepath.Dir(chat), c.Location.Path)
		if err != nil {
			continue
		}
		link := url.URL{Path: filepath.ToSlash(name)}
		return fmt.Sprintf(": [%s](<%s>)", OneLine(linkText.Replace(escape.Text(filepath.Base(name))), 120), link.EscapedPath())
	}
	return ""
}

// linkText escapes the text of a link.
var linkText = strings.NewReplacer("[", `\[`, "]", `\]`, `\`, `\\`)

func (a *Answer) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Finish writes the end, and returns when it is in the document. If the editor does not send
// the change of an edit, Finish returns earlier, and the rest is written when it does.
func (a *Answer) Finish(stop agent.StopReason, err error) {
	a.mu.Lock()
	switch {
	case err != nil:
		a.composer.note("**Failed:** " + OneLine(err.Error(), 1000))
	case stop == agent.Cancelled:
		a.composer.note("*Cancelled.*")
	case stop != agent.EndTurn:
		a.composer.note("*Stopped: " + strings.ReplaceAll(string(stop), "_", " ") + ".*")
	}
	a.mu.Unlock()
	close(a.stop)
	select {
	case <-a.done:
	case <-a.late:
	}
}

func (a *Answer) run() {
	defer close(a.done)
	if !a.chat.claim() {
		close(a.over)
		return
	}
	defer a.chat.release()
	a.chat.writing.Store(a)
	defer a.chat.writing.Store(nil)
	err := a.write(a.chat.editor.Ctx)
	close(a.over)
	if err != nil {
		a.lost(err)
	}
}

// write writes the answer from its heading to the next prompt's.
func (a *Answer) write(ctx context.Context) error {
	if err := a.chat.Load(ctx); err != nil {
		return err
	}
	a.chat.showOnce()
	if err := a.chat.Load(ctx); err != nil {
		return err
	}
	head, tail := a.chat.text.begin(a.shown)
	// A line end stays after the position, so text typed at the end of the document is on a
	// separate line.
	if err := a.put(ctx, head+"\n", 1); err != nil {
		return err
	}
	if err := a.stream(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.composer.close(tail)
	last := a.composer.drain()
	a.mu.Unlock()
	return a.put(ctx, last, 0)
}

// stream writes the events until the turn is over.
func (a *Answer) stream(ctx context.Context) error {
	for {
		var written chan struct{}
		select {
		case <-a.stop:
			return nil
		case <-a.wake:
		case written = <-a.flushes:
		}
		a.mu.Lock()
		piece := a.composer.drain()
		a.mu.Unlock()
		if piece != "" {
			if err := a.put(ctx, piece, 0); err != nil {
				return err
			}
		}
		if written != nil {
			close(written)
		}
		pause := time.NewTimer(editEvery)
		select {
		case <-a.stop:
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}

// Flush waits until the answer so far is in the document or was dropped, or until ctx ends.
func (a *Answer) Flush(ctx context.Context) {
	written := make(chan struct{})
	select {
	case a.flushes <- written:
	case <-a.over:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-written:
	case <-a.over:
	case <-ctx.Done():
	}
}

// lost tells the user where to find an answer that could not be written into its document.
func (a *Answer) lost(err error) {
	if a.chat.editor.Ctx.Err() != nil {
		return
	}
	a.chat.editor.Log.Warn("the chat document was not written", "path", a.chat.path, "error", err)
	a.chat.editor.Warn(a.chat.path, "The answer could not be written into %s: %v. It is in the transcript (hermes.transcript).", a.chat.path, err)
	<-a.stop
}

// put inserts a piece at the position of the answer. The last back bytes of the piece stay after
// the position. If the user types at the same moment, the editor refuses the piece, and put inserts
// it at the moved position.
func (a *Answer) put(ctx context.Context, piece string, back int) error {
	c := a.chat
	began, version := time.Now(), int32(-1)
	for {
		asked := time.Now()
		sent, err := c.beginEdit(ctx)
		if err != nil {
			return err
		}
		began = began.Add(time.Since(asked))
		in := c.text.insert(c.path, piece)
		if in.doc.Version != version { // the user is typing
			began, version = time.Now(), in.doc.Version
		}
		err = c.send(ctx, in, piece)
		sent()
		if errors.Is(err, errLate) {
			err = a.await(ctx, in)
			began = time.Now()
		}
		if err == nil {
			c.text.step(back)
			return nil
		}
		// A lost edit may be sent again: of two edits for one version, the editor refuses the
		// second.
		lost := errors.Is(err, context.DeadlineExceeded)
		if !lost && !errors.Is(err, workspace.ErrStale) || time.Since(began) > c.refusalLimit() {
			return err
		}
		retry := time.NewTimer(editEvery)
		select {
		case <-ctx.Done():
			retry.Stop()
			return err
		case <-retry.C:
		}
	}
}

// beginEdit waits until an edit may be sent. Call done when its change has come. If the chat is not
// open, beginEdit returns at once.
func (c *Chat) beginEdit(ctx context.Context) (done func(), err error) {
	if !c.text.isOpen() {
		return func() {}, nil
	}
	return c.editor.BeginEdit(ctx)
}

var errLate = errors.New("the editor has not sent the change")

// await waits for a late change, for as long as the connection lasts: eglot sends it with the next
// change, or when the document is saved.
func (a *Answer) await(ctx context.Context, in insertion) error {
	select {
	case <-a.late:
	default:
		close(a.late)
	}
	c := a.chat
	c.text.late()
	c.editor.Log.Warn("the editor has not sent the change of an edit", "path", c.path)
	c.editor.Warn("late "+c.path, "The editor has taken an edit of %s but has not sent the change. Save the chat or type in it: then the answer goes on. It is also in the transcript (hermes.transcript).", c.path)
	select {
	case <-in.landed:
		return nil
	case <-in.gone:
		return errClosed
	case <-ctx.Done():
		c.text.missed()
		return ctx.Err()
	}
}

var errClosed = fmt.Errorf("the editor has closed the chat, or has changed it without the edit: %w", workspace.ErrStale)

// refusalLimit returns the limit for refused or unanswered pieces while the document does not
// change. It is shorter if the editor has never applied an edit.
func (c *Chat) refusalLimit() time.Duration {
	if c.editor.HasEdited() {
		return putLimit
	}
	return 2 * tryLimit
}

// beforeLastLineEnd moves an insertion from after the last line end to before it. Neovim has no
// line after the last line end, and would add a line too many.
func beforeLastLineEnd(text []byte, at int, piece string) (int, string) {
	if at < len(text) || !bytes.HasSuffix(text, []byte("\n")) || bytes.HasSuffix(text, []byte("\r\n")) || !strings.HasSuffix(piece, "\n") {
		return at, piece
	}
	return at - 1, "\n" + strings.TrimSuffix(piece, "\n")
}

// send sends a piece and waits for its change. If the editor has applied the edit and the
// change does not come within changeLimit, it returns errLate, and the change may come yet.
func (c *Chat) send(ctx context.Context, in insertion, piece string) error {
	if !in.open {
		return c.save(ctx, in, piece)
	}
	offset, text := beforeLastLineEnd(in.doc.Text, in.at, piece)
	at := textenc.PositionAt(in.doc.Text, offset, c.editor.Encoding())
	edit := diff.Edit{Range: textenc.Range{Start: at, End: at}, NewText: text}
	err := c.editor.Apply(ctx, tryLimit, in.doc, []diff.Edit{edit}, "Hermes")
	if err != nil {
		select {
		case <-in.landed: // the change has come, also after an error
			return nil
		default:
		}
		c.text.missed()
		return err
	}
	wait := time.NewTimer(changeLimit)
	defer wait.Stop()
	select {
	case <-in.landed:
		return nil
	case <-in.gone:
		return errClosed
	case <-ctx.Done():
		c.text.missed()
		return ctx.Err()
	case <-wait.C:
		return errLate
	}
}
