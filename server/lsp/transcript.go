package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/transcript"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/protocol"
)

// transcript is hermes.transcript: the whole log as a Markdown file, results
// included, shown to the user.
func (s *server) transcript(a protocol.SessionArgs) (command, error) {
	return command{run: func(ctx context.Context, at *ticket) (any, error) {
		id := orElse(a.SessionID, s.sessions.currentID())
		if id == "" {
			return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandTranscript)
		}
		session, err := s.lookAt(ctx, id)
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
		path, err := s.writeTranscript(session.ID(), text.String())
		if err != nil {
			return nil, err
		}
		s.showDocument(path, nil)
		return protocol.TranscriptResult{URI: string(s.documents.uri(path))}, nil
	}}, nil
}

// writeTranscript keeps the file with the session's other files, out of the
// workspace. It is the user's own folder, not the model's.
func (s *server) writeTranscript(id, text string) (string, error) {
	dir := filepath.Join(s.service.Home, "sessions", safefile.NameOf(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("writing the transcript: %w", err)
	}
	path := filepath.Join(dir, "transcript.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the transcript: %w", err)
	}
	return path, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
