package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// sessionCommands has hermes.session.* and hermes.transcript.
type sessionCommands struct {
	sessions *sessions
	quotes   *quotes
}

func (c sessionCommands) begin(ctx context.Context, _ protocol.SessionArgs) (any, error) {
	session, err := c.sessions.begin(ctx)
	if err != nil {
		return nil, err
	}
	return protocol.SessionResult{SessionID: session.ID()}, nil
}

func (c sessionCommands) list(ctx context.Context, _ protocol.SessionArgs) (any, error) {
	result := protocol.SessionListResult{Sessions: []protocol.SessionInfo{}}
	cursor := ""
	for {
		page, next, err := c.sessions.service.List(ctx, c.sessions.root(), cursor)
		if err != nil {
			return nil, fmt.Errorf("listing sessions: %w", err)
		}
		for _, head := range page {
			result.Sessions = append(result.Sessions, protocol.SessionInfo{
				SessionID: head.ID, Cwd: head.Cwd, Title: head.Title,
				UpdatedAt: head.UpdatedAt.UTC().Format(time.RFC3339), ParentID: head.Parent,
			})
		}
		if cursor = next; cursor == "" {
			return result, nil
		}
	}
}

func (c sessionCommands) load(ctx context.Context, a protocol.SessionArgs) (any, error) {
	if a.SessionID == "" {
		return nil, invalidParams("%s: sessionId is missing", protocol.CommandSessionLoad)
	}
	session, err := c.sessions.load(ctx, a.SessionID)
	if err != nil {
		return nil, err
	}
	if c.sessions.updates(session.ID()) { // the editor shows the history
		if err := session.Replay(ctx); err != nil {
			return nil, fmt.Errorf("replaying session %s: %w", a.SessionID, err)
		}
	}
	return followed{protocol.SessionResult{SessionID: session.ID()}, session.Warm}, nil
}

func (c sessionCommands) delete(ctx context.Context, a protocol.SessionArgs) (any, error) {
	id := a.SessionID
	if id == "" {
		id = c.sessions.currentID()
	}
	if id == "" {
		return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandSessionDelete)
	}
	if err := c.sessions.service.Delete(ctx, id); err != nil {
		return nil, sessionError(id, err)
	}
	c.sessions.forget(id)
	return protocol.SessionResult{SessionID: id}, nil
}

// fork opens a new session with the history of another up to a message, and makes it the current
// session.
func (c sessionCommands) fork(ctx context.Context, a protocol.ForkArgs) (any, error) {
	id := orElse(a.SessionID, c.sessions.currentID())
	if id == "" {
		return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandSessionFork)
	}
	c.sessions.settings.wait(ctx)
	session, err := c.sessions.service.Fork(ctx, id, a.MessageID, service.Place{Preset: preset}, c.sessions.host)
	var wrong *service.InputError
	if errors.As(err, &wrong) {
		return nil, invalidParams("%v", wrong)
	}
	if err != nil {
		return nil, sessionError(id, err)
	}
	c.sessions.move(session, c.sessions.roots())
	c.sessions.keep(session)
	if c.sessions.updates(session.ID()) { // the editor shows the history
		if err := session.Replay(ctx); err != nil {
			return nil, fmt.Errorf("replaying session %s: %w", session.ID(), err)
		}
	}
	return protocol.SessionResult{SessionID: session.ID()}, nil
}

// transcript is hermes.transcript: the whole log as a Markdown file, results
// included, shown to the user.
func (c sessionCommands) transcript(a protocol.SessionArgs, _ *lsp.ExecuteCommandParams) (command, error) {
	return command{run: func(ctx context.Context, at *ticket) (any, error) {
		id := orElse(a.SessionID, c.sessions.currentID())
		if id == "" {
			return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandTranscript)
		}
		session, err := c.sessions.lookAt(ctx, id)
		if err != nil {
			return nil, err
		}
		at.release()
		var text strings.Builder
		t := transcript.Writer{Out: &text}
		t.Head(session.Title(), session.ID(), session.Cwd())
		if err := session.ReplayTo(ctx, &t); err != nil {
			return nil, fmt.Errorf("reading session %s: %w", id, err)
		}
		path, err := c.writeTranscript(session.ID(), text.String())
		if err != nil {
			return nil, err
		}
		u := c.sessions.editor.Documents.URI(path)
		c.sessions.editor.ShowDocument(path, c.quotes.placeName(u), nil)
		return protocol.TranscriptResult{URI: string(u)}, nil
	}}, nil
}

// writeTranscript keeps the file with the session's other files, out of the
// workspace. It is the user's own folder, not the model's.
func (c sessionCommands) writeTranscript(id, text string) (string, error) {
	dir := filepath.Join(c.sessions.service.Home, "sessions", safefile.NameOf(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("writing the transcript: %w", err)
	}
	path := filepath.Join(dir, "transcript.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the transcript: %w", err)
	}
	return path, nil
}
