package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// Fork opens a new session with the history of another, up to and including the message messageID.
// If messageID is empty, it copies the whole history. The other session does not change; it may be
// closed, or run a turn. If p.Cwd is empty, the fork uses the other session's folders. Fork rejects
// another folder, because the history is about the old folder.
func (s *Service) Fork(ctx context.Context, id, messageID string, p Place, h Host) (*Session, error) {
	from, draft, err := s.head(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.Cwd == "" {
		p.Cwd, p.Folders = from.Cwd, from.Folders
	}
	if err := belongs(from, &p, "the session belongs to %q, and so do its forks, not to %q"); err != nil {
		return nil, err
	}
	if draft { // it has no messages
		if messageID != "" {
			return nil, noMessage(id, messageID)
		}
		return s.NewSession(ctx, p, h)
	}
	head, err := agent.Fork(ctx, s.theStore(s.synchronous()), id, messageID)
	if errors.Is(err, store.ErrNoMessage) {
		return nil, noMessage(id, messageID)
	}
	if err != nil {
		return nil, err
	}
	return s.LoadSession(ctx, head.ID, p, h)
}

func noMessage(id, messageID string) error {
	return badInput("messageId", "session %q has no message %q", id, messageID)
}

// Rewind moves the session back to the message messageID, which stays; the next prompt
// continues from there. The later messages stay in a session of their own, branchID. If
// messageID is empty, all messages move there. If a turn runs, Rewind returns [ErrRunning].
// Files do not change.
func (x *Session) Rewind(ctx context.Context, messageID string) (branchID string, err error) {
	err = x.exclusively(ctx, func(ctx context.Context, a *agent.Session) error {
		if branchID, err = a.Rewind(ctx, messageID); err == nil {
			showRewound(x.notifier.sink(nil), a, agent.Rewound{MessageID: messageID, BranchID: branchID})
		}
		return err
	})
	if errors.Is(err, store.ErrNoMessage) {
		err = noMessage(x.id, messageID)
	}
	return branchID, err
}

// Undoing says which prompt is undone, and how.
type Undoing struct {
	Prompt string // the id of its message; empty: the last prompt
	Files  bool   // restore the files, too
}

// Undone is an undone prompt.
type Undone struct {
	Text     string // the prompt, as the user typed it
	BranchID string // the session with the previous history
	Files    string // what happened to files, as Markdown
}

var errNoMessages = errors.New("the session has no messages yet")

// Undo rewinds the session to before a prompt. It cancels the turns in the queue first, because the
// prompt may be among them. If files are to be restored and that fails, the history stays as it is.
// If the files are restored and the history cannot be rewound, the error names the files.
func (x *Session) Undo(ctx context.Context, u Undoing) (done Undone, err error) {
	if err := x.queue.halt(ctx); err != nil {
		return done, err
	}
	if x.record.draft() {
		return done, errNoMessages
	}
	prompt, err := x.svc.theStore(x.svc.synchronous()).Prompt(ctx, x.id, u.Prompt)
	switch none := errors.Is(err, store.ErrNoMessage) || errors.Is(err, store.ErrNotFound); {
	case none && u.Prompt != "":
		return done, badInput("prompt", "session %q has no prompt %q", x.id, u.Prompt)
	case none:
		return done, errNoMessages
	case err != nil:
		return done, err
	}
	done.Files = "Files stay as they are."
	if u.Files {
		if done.Files, err = restoreSince(ctx, x.extensions, prompt.Time); err != nil {
			return done, fmt.Errorf("the files could not be restored, so the history is unchanged: %w", err)
		}
	}
	err = x.exclusively(ctx, func(ctx context.Context, a *agent.Session) error {
		m, branch, err := a.Undo(ctx, prompt.ID)
		if err != nil {
			return err
		}
		done.Text, done.BranchID = m.Text()[:min(m.Typed, len(m.Text()))], branch
		showRewound(x.notifier.sink(nil), a, agent.Rewound{Prompt: m.ID, Text: done.Text, BranchID: branch})
		return nil
	})
	if err != nil && u.Files {
		err = &donePartly{fmt.Errorf("%s The history is unchanged: %w", done.Files, err)}
	}
	return done, err
}

// showRewound updates the views of a session.
func showRewound(sink agent.Sink, a *agent.Session, r agent.Rewound) {
	sink.Event(r)
	sink.Event(agent.PlanChanged{Todos: a.Todos()})
	sink.Event(a.Usage())
}

// exclusively runs work while no turn runs. Later prompts wait for it.
func (x *Session) exclusively(ctx context.Context, work func(context.Context, *agent.Session) error) error {
	return x.queue.runExclusive(ctx, func(ctx context.Context) error {
		if x.record.draft() {
			return badInput("sessionId", "session %q has no messages yet", x.id)
		}
		a, err := x.open(ctx)
		if err != nil {
			return err
		}
		return work(ctx, a)
	})
}

const (
	titleLimit = 200     // characters
	notesLimit = 100_000 // characters
)

// Describe changes the title and the user's notes. A nil value stays as it is. If the title is
// empty, the next prompt sets it.
func (x *Session) Describe(ctx context.Context, title, notes *string) error {
	change := Description{title, notes}
	if err := change.Check(); err != nil {
		return err
	}
	if err := x.record.save(ctx, change.Apply); err != nil {
		return fmt.Errorf("keeping what session %s is called: %w", x.id, err)
	}
	if title != nil {
		x.notifier.sink(nil).Event(agent.TitleChanged{Title: x.Title()})
	}
	return nil
}

// Description is the title and the notes of a session. A nil field does not change.
type Description struct{ Title, Notes *string }

// Check returns an error if a text is too long.
func (d Description) Check() error {
	if d.Title != nil && utf8.RuneCountInString(*d.Title) > titleLimit {
		return badInput("title", "it has %d characters, at most %d are kept", utf8.RuneCountInString(*d.Title), titleLimit)
	}
	if d.Notes != nil && utf8.RuneCountInString(*d.Notes) > notesLimit {
		return badInput("notes", "they have %d characters, at most %d are kept", utf8.RuneCountInString(*d.Notes), notesLimit)
	}
	return nil
}

// Apply changes a head.
func (d Description) Apply(h *store.Session) {
	if d.Title != nil {
		h.Title = strings.Join(strings.Fields(strings.Map(visible, *d.Title)), " ")
	}
	if d.Notes != nil {
		h.Notes = *d.Notes
	}
}

// visible turns whitespace into spaces and drops control characters: they could move the cursor or
// change the text direction.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// Tree returns all sessions forked or rewound from the same origin as this session, both included,
// oldest first.
func (s *Service) Tree(ctx context.Context, id string) ([]store.Session, error) {
	head, draft, err := s.head(ctx, id)
	if err != nil {
		return nil, err
	}
	if draft {
		return []store.Session{head}, nil
	}
	return s.theStore(s.synchronous()).Tree(ctx, id)
}
