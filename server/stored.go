package server

import (
	"context"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// StoredHost is a [Host] with separate documents for sessions that it has not opened: its client
// may not know them.
type StoredHost interface {
	StoredDocuments(sessionID string) workspace.Documents
}

// Stored returns an extension of a session, open or not. If the session is open, it returns its
// extension. Otherwise it opens the extension for the stored session, without loading history. The
// list of open sessions and the current session do not change. The feature must have
// [Feature.Stored] set. If there is no such session, Stored returns [ErrNoSession]. The caller must
// call release.
func Stored[T extension.Instance](ctx context.Context, s *Service, id string, h Host) (found T, release func(), err error) {
	if x := s.Opened(id); x != nil {
		found, err = Find[T](x)
		return found, func() {}, err
	}
	head, draft, err := s.head(ctx, id)
	if err != nil {
		return found, nil, err
	}
	return aside[T](ctx, s, head, h, draft)
}

// StoredHead returns the head of a session, open or not. If there is no such session, it returns [ErrNoSession].
func (s *Service) StoredHead(ctx context.Context, id string) (store.Session, error) {
	if x := s.Opened(id); x != nil {
		return x.Head(), nil
	}
	head, _, err := s.head(ctx, id)
	return head, err
}

// AtFolder returns an extension for the workspace of a place, without a session. The feature must
// have [Feature.Stored] set. The caller must call release.
func AtFolder[T extension.Instance](ctx context.Context, s *Service, p Place, h Host) (found T, release func(), err error) {
	if err := p.check(); err != nil {
		return found, nil, err
	}
	return aside[T](ctx, s, store.Session{ID: store.NewID(), Cwd: p.Cwd, Folders: p.Folders}, h, true)
}

// aside opens a session hidden from hosts, with the features for stored sessions.
func aside[T extension.Instance](ctx context.Context, s *Service, head store.Session, h Host, draft bool) (found T, release func(), err error) {
	if err := folderGone(head.Cwd, ""); err != nil {
		return found, nil, err
	}
	done, err := s.work()
	if err != nil {
		return found, nil, err
	}
	documents := h.Documents(head.ID)
	if other, ok := h.(StoredHost); ok {
		documents = other.StoredDocuments(head.ID)
	}
	x, err := s.prepareSession(head, Place{Cwd: head.Cwd, Folders: head.Folders}, h, documents)
	if err != nil {
		done()
		return found, nil, err
	}
	openExtensions(x, draft, func(f Feature) bool { return f.Stored })
	x.applySettings()
	release = func() {
		if err := x.close(context.WithoutCancel(ctx)); err != nil {
			s.Log.Warn("closing a stored session", "session", x.id, "error", err)
		}
		done()
	}
	if found, err = Find[T](x); err != nil {
		release()
		return found, nil, err
	}
	return found, release, nil
}

// work delays the end of Close until done is called. If the service is closed, work returns an error.
func (s *Service) work() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosing
	}
	s.watched.Add(1)
	return s.watched.Done, nil
}

// runExclusive runs work while no turn of the session runs, in any process. If a turn runs in this
// process, it returns [ErrRunning]; if in another process, [store.ErrClaimed].
func (x *Session) runExclusive(ctx context.Context, work func(context.Context) error) error {
	return x.queue.runExclusive(ctx, func(ctx context.Context) (err error) {
		release, err := x.svc.Store().Claim(x.id)
		if err != nil {
			return err
		}
		defer release()
		return work(ctx)
	})
}
