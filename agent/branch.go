package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// branchedText is the result of a call in a fork, if its own result came after the fork point.
const branchedText = "this branch of the conversation begins before the call's result; what the call has changed is still changed"

// Fork stores a new session with the history of session id up to and including a message. If
// messageID is empty, Fork copies the whole history. It copies the system prompt and the tools,
// and adds results for open calls. The original session does not change; it may have a running
// turn.
func Fork(ctx context.Context, st *store.Store, id, messageID string) (store.Session, error) {
	head, last, err := branchPoint(ctx, st, id, messageID)
	if err != nil {
		return head, fmt.Errorf("forking session %s: %w", id, err)
	}
	branch := last.branch(head, titled(head.Title, forkTitle))
	if err := st.Fork(ctx, id, last.seq, branch, last.answers); err != nil {
		return head, err
	}
	return branch, nil
}

// point is the position in a history at which a branch starts.
type point struct {
	seq       int64
	messageID string           // of the message at seq; empty: before the first message
	answers   []*store.Message // results for the open calls
}

// branchPoint returns the position after a message. An empty messageID means the end.
func branchPoint(ctx context.Context, st *store.Store, id, messageID string) (head store.Session, p point, err error) {
	if head, err = st.Session(ctx, id); err != nil {
		return head, p, err
	}
	p.seq = int64(head.Messages)
	if messageID != "" {
		if p.seq, err = st.Find(ctx, id, messageID); err != nil {
			return head, p, err
		}
	}
	p, err = pointAt(ctx, st, id, p.seq)
	return head, p, err
}

func pointAt(ctx context.Context, st *store.Store, id string, seq int64) (point, error) {
	p := point{seq: seq}
	tail, err := st.Tail(ctx, id, seq)
	if err != nil || len(tail) == 0 {
		return p, err
	}
	p.messageID = tail[len(tail)-1].ID
	for _, c := range store.Unanswered(tail) {
		p.answers = append(p.answers, resultMessage(tools.Call{ID: c.ID, Name: c.Name}, tools.Fail(branchedText)))
	}
	return p, nil
}

// branch returns the head of a new session with the history of head up to p.
func (p point) branch(head store.Session, title string) store.Session {
	b := head
	b.ID, b.Title = store.NewID(), title
	b.Parent, b.ForkedAt, b.Origin = head.ID, p.messageID, ""
	if b.Root == "" {
		b.Root = head.ID
	}
	b.CreatedAt = store.Now()
	b.UpdatedAt = b.CreatedAt
	return b
}

// Suffixes of titles. A title ends in at most one suffix.
const (
	forkTitle   = " (fork)"
	rewindTitle = " (before going back)"
)

func titled(title, what string) string {
	if title == "" {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(title, forkTitle), rewindTitle) + what
}

// Rewind moves the session back to a message, which becomes the last message. The session
// branchID keeps the previous history. If messageID is empty, all messages are removed.
//
// Files are not changed. If a turn runs in this process, Rewind returns [ErrBusy]. If a turn
// runs in another process, it returns [store.ErrClaimed].
func (s *Session) Rewind(ctx context.Context, messageID string) (branchID string, err error) {
	return s.rewind(ctx, func(seq int64) (int64, error) {
		if messageID == "" {
			return 0, nil
		}
		return s.config.Store.Find(ctx, s.id, messageID)
	})
}

// Undo moves the session back to before a prompt and returns the prompt. promptID is the id of its
// message; empty: the last prompt. If there is none, it returns [ErrNoPrompt]. Other errors are the
// same as for [Session.Rewind].
func (s *Session) Undo(ctx context.Context, promptID string) (prompt store.Message, branchID string, err error) {
	branchID, err = s.rewind(ctx, func(int64) (int64, error) {
		prompt, err = s.config.Store.Prompt(ctx, s.id, promptID)
		if errors.Is(err, store.ErrNoMessage) {
			err = ErrNoPrompt
		}
		return prompt.Seq - 1, err
	})
	return prompt, branchID, err
}

// ErrNoPrompt means the session has no prompt to undo.
var ErrNoPrompt = errors.New("there is no prompt to undo")

// rewind calls to with the last Seq and moves the session back to the returned Seq.
func (s *Session) rewind(ctx context.Context, to func(last int64) (int64, error)) (branchID string, err error) {
	if !s.running.CompareAndSwap(false, true) {
		return "", ErrBusy
	}
	defer s.running.Store(false)
	release, err := s.config.Store.Claim(s.id)
	if err != nil {
		return "", err
	}
	defer release()
	head, err := s.config.Store.Session(ctx, s.id)
	if err != nil {
		return "", err
	}
	seq, err := to(int64(head.Messages))
	if err != nil {
		return "", err
	}
	p, err := pointAt(ctx, s.config.Store, s.id, seq)
	if err != nil {
		return "", err
	}
	branch := p.branch(head, titled(head.Title, rewindTitle))
	branch.UpdatedAt = head.UpdatedAt
	if err := s.config.Store.Rewind(ctx, s.id, seq, branch, p.answers); err != nil {
		return "", err
	}
	return branch.ID, s.reload(context.WithoutCancel(ctx))
}

// reload reads the history after a rewind.
func (s *Session) reload(ctx context.Context) error {
	s.forget() // files read after the message are unknown to the model again
	if err := s.sync(ctx); err != nil {
		return fmt.Errorf("reading session %s again: %w", s.id, err)
	}
	return nil
}
