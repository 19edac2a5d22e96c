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

// Fork opens a new session that begins with the log of another, up to the message of
// that id, that one included; an empty id is the whole log. The other session is not
// touched; it may be closed, or have a turn running. An empty p.Cwd means where the
// other session works; another folder is refused, because the log speaks of this one.
func (s *Service) Fork(ctx context.Context, id, messageID string, p Place, h Host) (*Session, error) {
	from, draft, err := s.head(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.Cwd == "" {
		p.Cwd, p.Folders = from.Cwd, from.Folders
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if !sameFolder(p.Cwd, from.Cwd) {
		return nil, badInput("cwd", "the session belongs to %q, and so do its forks, not to %q", from.Cwd, p.Cwd)
	}
	if draft { // nothing was said yet
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

// Rewind goes back to the message of that id, the last one that is kept; the next
// prompt goes on from there. What came after it stays as a session of its own,
// branchID. An empty id means before the first message. While a turn runs it is
// refused with [ErrRunning]. Files stay as they are.
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

// Undo goes back to before the last prompt, which it gives back to be asked again, or
// in other words. Else it is as [Session.Rewind].
func (x *Session) Undo(ctx context.Context) (prompt, branchID string, err error) {
	err = x.exclusively(ctx, func(ctx context.Context, a *agent.Session) error {
		m, branch, err := a.Undo(ctx)
		if err != nil {
			return err
		}
		prompt, branchID = m.Text()[:min(m.Typed, len(m.Text()))], branch
		showRewound(x.notifier.sink(nil), a, agent.Rewound{Prompt: m.ID, Text: prompt, BranchID: branch})
		return nil
	})
	return prompt, branchID, err
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

// Describe gives the session another title, or a person's notes; nil leaves either as
// it is. An empty title lets the next prompt name the session.
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

// Description is what a person calls a session; nil leaves either as it is.
type Description struct{ Title, Notes *string }

// Check refuses what is too long to be kept.
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

// visible drops what could move the cursor or turn the text around.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// Tree lists everything that was branched off the same session as this one, itself
// and that session included, oldest first.
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
