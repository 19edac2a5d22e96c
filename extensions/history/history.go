// Package history lets the model search the earlier sessions of the workspace.
package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/tools"
)

// New returns the extension. Sessions returns the store; it is called when a session
// first needs it.
func New(sessions func() *store.Store) extension.Extension { return history{sessions} }

type history struct{ store func() *store.Store }

func (history) Name() string { return "history" }

func (e history) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return instance{e, s}, nil
}

type instance struct {
	history
	session *extension.Session
}

func (instance) Close(context.Context) error { return nil }

// Derive lets a subagent search, too.
func (x instance) Derive(_ context.Context, kind extension.Kind, _ *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return x, nil // the earlier sessions are the same
}

// Tools returns session_search if there are earlier sessions. A stored session keeps its tools: it
// gets session_search only if it began with it.
func (x instance) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	st, cwd := x.store(), x.session.Cwd
	search := SessionSearch(StoredSessions(st, x.session.ID, cwd))
	if stored != nil {
		if !slices.ContainsFunc(stored, func(t tools.Spec) bool { return t.Name == search.Name }) {
			return nil, nil
		}
		return []tools.Tool{search}, nil
	}
	page, _, err := st.List(ctx, store.Filter{Cwd: cwd, NoSubagents: true, Limit: 2})
	others := slices.DeleteFunc(page, func(s store.Session) bool { return s.ID == x.session.ID })
	if err != nil || len(others) == 0 {
		return nil, nil // the prompt reports an unreadable store
	}
	return []tools.Tool{search}, nil
}

// StoredSessions returns the sessions of a store that the session own, of the folder cwd, can
// search.
func StoredSessions(st *store.Store, own, cwd string) Sessions { return storedSessions{st, own, cwd} }

// storedSessions holds the messages of all sessions except own.
type storedSessions struct {
	store *store.Store
	own   string
	cwd   string
}

func (p storedSessions) SearchMessages(ctx context.Context, query, sessionID string, limit int, everywhere bool) ([]Hit, error) {
	q := store.Query{Text: query, Session: sessionID, NoSubagents: true, Limit: limit}
	if sessionID == "" {
		q.Without = p.own
	}
	if !everywhere {
		q.Cwd = p.cwd
	}
	hits, err := p.store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	unmark := strings.NewReplacer(store.Mark, "", store.EndMark, "")
	found := make([]Hit, len(hits))
	for i, h := range hits {
		found[i] = Hit{SessionID: h.Session.ID, Title: h.Session.Title, Time: h.Time, MessageID: h.MessageID, Role: string(h.Role), Snippet: unmark.Replace(h.Snippet)}
	}
	return found, nil
}

func (p storedSessions) ReadMessages(ctx context.Context, sessionID, messageID string, limit int, everywhere bool) (talk Excerpt, err error) {
	head, err := p.store.Session(ctx, sessionID)
	if errors.Is(err, store.ErrNotFound) {
		return talk, fmt.Errorf("there is no session %q; hits have the session_id of those there are", sessionID)
	}
	if err != nil {
		return talk, err
	}
	if !everywhere && !folderpath.Same(head.Cwd, p.cwd) {
		return talk, fmt.Errorf("the session %q belongs to another workspace; everywhere=true asks the user for it", sessionID)
	}
	last := int64(head.Messages)
	from := max(last-int64(limit), 0)
	if messageID != "" {
		seq, err := p.store.Find(ctx, sessionID, messageID)
		if errors.Is(err, store.ErrNoMessage) {
			return talk, fmt.Errorf("the session %q has no message %q", sessionID, messageID)
		}
		if err != nil {
			return talk, err
		}
		from = max(seq-int64(limit)/2-1, 0)
	}
	log, err := p.store.Messages(ctx, sessionID, from, limit)
	if err != nil {
		return talk, err
	}
	talk = Excerpt{SessionID: head.ID, Title: head.Title, Earlier: int(from), Later: max(int(last-from)-len(log), 0)}
	for _, m := range log {
		talk.Messages = append(talk.Messages, messageOf(m))
	}
	return talk, nil
}

func messageOf(m store.Message) Message {
	p := Message{ID: m.ID, Time: m.Time, Role: string(m.Role), Text: m.Text()}
	switch m.Role {
	case model.User:
		if !m.Note {
			p.Text = m.Text()[:min(m.Typed, len(m.Text()))]
		}
	case model.ToolRole:
		p.Role = m.Name()
	case model.Assistant:
		for _, c := range m.Calls() {
			p.Text += fmt.Sprintf("\n[called %s %s]", c.Name, c.Args)
		}
	}
	return p
}
