package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/tools"
)

// transcript is hermes.transcript: the whole log as a Markdown file, results
// included, shown to the user.
func (s *server) transcript(a protocol.SessionArgs) (command, error) {
	return func(ctx context.Context, next func()) (any, error) {
		id := orElse(a.SessionID, s.sessions.currentID())
		if id == "" {
			return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandTranscript)
		}
		session, err := s.lookAt(ctx, id)
		if err != nil {
			return nil, err
		}
		next()
		t := transcript{}
		fmt.Fprintf(&t.text, "# %s\n\nSession %s in %s\n", orElse(session.Title(), "Transcript"), session.ID(), session.Cwd())
		if err := session.ReplayTo(ctx, &t); err != nil {
			return nil, fmt.Errorf("reading session %s: %w", id, err)
		}
		path, err := s.writeTranscript(session.ID(), t.text.String())
		if err != nil {
			return nil, err
		}
		s.showDocument(path)
		return protocol.TranscriptResult{URI: string(s.documents.uri(path))}, nil
	}, nil
}

// writeTranscript keeps the file with the session's other files, out of the
// workspace. It is the user's own folder, not the model's.
func (s *server) writeTranscript(id, text string) (string, error) {
	dir := filepath.Join(s.service.Home, "sessions", filepath.Base(id))
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

// transcript writes every event of a log.
type transcript struct {
	text   strings.Builder
	inText bool
}

// Event makes transcript an [agent.Sink] for replays.
func (t *transcript) Event(e agent.Event) {
	if text, ok := e.(agent.Text); ok {
		if !t.inText {
			t.text.WriteString("\n## Hermes\n\n")
		}
		t.inText = true
		t.text.WriteString(text.Text)
		return
	}
	if t.inText {
		t.text.WriteString("\n")
		t.inText = false
	}
	switch e := e.(type) {
	case agent.UserMessage:
		fmt.Fprintf(&t.text, "\n## You\n\n%s\n", e.Text)
	case agent.Thought:
		fmt.Fprintf(&t.text, "\n> %s\n", strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "\n> "))
	case agent.Compaction:
		fmt.Fprintf(&t.text, "\n*%s*\n%s", e, fenced("markdown", e.Summary))
	case agent.CallStarted:
		fmt.Fprintf(&t.text, "\n### %s\n\n%s", oneLine(orElse(e.Title, e.Call.Name), 200), fenced("json", pretty(e.Call.Args)))
	case agent.CallEnded:
		fmt.Fprintf(&t.text, "\n%s", fenced("json", pretty(e.Result.JSON)))
		t.inner(e.Result.Shown)
	}
}

// inner lists the calls that a script made.
func (t *transcript) inner(shown []tools.Content) {
	head := "\nCalls of the script:\n\n"
	for _, c := range shown {
		if c.Inner == nil {
			continue
		}
		fmt.Fprintf(&t.text, "%s- sandbox_tool_call `%s` %s · %.3f s · %s\n", head,
			c.Inner.Tool, quoted(string(c.Inner.Arguments)), c.Inner.Duration, c.Inner.Status)
		head = ""
	}
}

// quoted is one line of code in Markdown.
func quoted(text string) string {
	text = oneLine(text, 300)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}

func pretty(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(b)
}

func fenced(lang, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + text + "\n" + fence + "\n"
}
