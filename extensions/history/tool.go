package history

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Toolset is the toolset of the tools.
const Toolset = "session_search"

//go:embed tool.md
var sessionSearchWords string

// Sessions are the earlier sessions available to a search.
type Sessions interface {
	// SearchMessages returns the best hits. SessionID limits it to a session. Without everywhere,
	// it searches only sessions of this workspace.
	SearchMessages(ctx context.Context, query, sessionID string, limit int, everywhere bool) ([]Hit, error)
	// ReadMessages returns messages of a session around a message; an empty messageID means its
	// end. For a session of another workspace, it returns an error without everywhere.
	ReadMessages(ctx context.Context, sessionID, messageID string, limit int, everywhere bool) (Excerpt, error)
}

// Hit is a found message.
type Hit struct {
	SessionID string
	Title     string
	Time      time.Time
	MessageID string // empty: the session's title or notes were found
	Role      string // user or assistant
	Snippet   string
}

// Excerpt is a piece of a session.
type Excerpt struct {
	SessionID      string
	Title          string
	Earlier, Later int // messages outside of it
	Messages       []Message
}

// Message is a message of a session, or the result of a tool.
type Message struct {
	ID   string
	Time time.Time
	Role string // user, assistant, or the tool's name
	Text string
}

type sessionSearchIn struct {
	Query      string `json:"query,omitempty"`
	SessionID  string `json:"session_id,omitempty"`
	MessageID  string `json:"message_id,omitempty"`
	Limit      int    `json:"limit,omitempty" jsonschema:"number of hits (default 5) or messages (default 10)"`
	Everywhere bool   `json:"everywhere,omitempty" jsonschema:"true: other workspaces too; requires approval"`
}

type sessionHit struct {
	SessionID string `json:"session_id"`
	Title     string `json:"title"`
	Date      string `json:"date"`
	MessageID string `json:"message_id,omitempty"`
	Role      string `json:"role,omitempty"`
	Snippet   string `json:"snippet"`
}

type sessionMessage struct {
	MessageID string `json:"message_id"`
	Role      string `json:"role"`
	Text      string `json:"text"`
}

const (
	sessionHits     = 5
	sessionMessages = 10
	sessionMost     = 50
	pastTextLimit   = 2000 // characters of a message
	pastResultLimit = 400  // characters of a tool's result
)

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { tools.Preload[sessionSearchIn]() }

// SessionSearch searches and reads earlier sessions.
func SessionSearch(past Sessions) tools.Tool {
	return tools.New(tools.Tool{
		Name: "session_search", Toolset: Toolset, Order: -10, Kind: tools.KindSearch, ReadOnly: true,
		Description: strings.TrimSpace(sessionSearchWords),
		Title: tools.Titled(func(in sessionSearchIn) string {
			if in.Query == "" {
				return "Read an earlier session"
			}
			return "Search earlier sessions for “" + in.Query + "”"
		}),
	}, func(ctx context.Context, env *tools.Env, c tools.Call, in sessionSearchIn) (tools.Result, error) {
		if strings.TrimSpace(in.Query) == "" && in.SessionID == "" {
			return tools.Fail("session_search: say a query, or a session_id to read"), nil
		}
		if in.Limit < 0 {
			return tools.Fail("session_search: limit must be 1 to %d", sessionMost), nil
		}
		if in.Everywhere {
			if err := mayLookEverywhere(ctx, env, c); err != nil {
				return tools.Result{}, err
			}
		}
		if strings.TrimSpace(in.Query) == "" {
			return readMessages(ctx, past, in)
		}
		return searchMessages(ctx, past, in)
	})
}

// mayLookEverywhere asks the user, because sessions of other folders do not belong to this folder.
func mayLookEverywhere(ctx context.Context, env *tools.Env, c tools.Call) error {
	v := policy.Verdict{Level: policy.Asks, Reason: "reads sessions of other workspaces", Keys: []string{"session_search everywhere"}}
	if env == nil || env.Gate == nil {
		return fmt.Errorf("session_search: a search in the sessions of other workspaces requires approval, and no user can approve it here; search without everywhere")
	}
	return env.Gate.Check(ctx, env, c, tools.KindSearch, "Search the sessions of all workspaces", v)
}

func searchMessages(ctx context.Context, past Sessions, in sessionSearchIn) (tools.Result, error) {
	hits, err := past.SearchMessages(ctx, in.Query, in.SessionID, limitOf(in.Limit, sessionHits), in.Everywhere)
	if err != nil {
		return tools.Result{}, fmt.Errorf("session_search: %w", err)
	}
	out, shown := []sessionHit{}, ""
	for _, h := range hits {
		out = append(out, sessionHit{h.SessionID, tools.StripControl(h.Title), dateOf(h.Time), h.MessageID, h.Role, tools.StripControl(h.Snippet)})
		shown += fmt.Sprintf("%s · %s\n%s\n", dateOf(h.Time), tools.OneLine(h.Title, 80), tools.OneLine(h.Snippet, 300))
	}
	if shown == "" {
		shown = "Nothing was found."
	}
	return tools.OK(map[string]any{"hits": out}).With(tools.Content{Text: strings.TrimSpace(shown)}), nil
}

func readMessages(ctx context.Context, past Sessions, in sessionSearchIn) (tools.Result, error) {
	talk, err := past.ReadMessages(ctx, in.SessionID, in.MessageID, limitOf(in.Limit, sessionMessages), in.Everywhere)
	if err != nil {
		return tools.Result{}, fmt.Errorf("session_search: %w", err)
	}
	messages := []sessionMessage{}
	for _, m := range talk.Messages {
		limit := pastTextLimit
		if m.Role != "user" && m.Role != "assistant" {
			limit = pastResultLimit
		}
		messages = append(messages, sessionMessage{m.ID, m.Role, cutText(tools.StripControl(m.Text), limit)})
	}
	result := map[string]any{"session_id": talk.SessionID, "title": tools.StripControl(talk.Title), "earlier": talk.Earlier, "messages": messages, "later": talk.Later}
	if len(talk.Messages) > 0 {
		result["date"] = dateOf(talk.Messages[0].Time)
	}
	return tools.OK(result).With(tools.Content{Text: tools.OneLine(talk.Title, 80) + ": " + amount.Plural(len(messages), "message")}), nil
}

func limitOf(asked, usual int) int {
	if asked == 0 {
		return usual
	}
	return min(asked, sessionMost)
}

func dateOf(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// cutText returns the beginning of a text, with the size of the rest.
func cutText(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return fmt.Sprintf("%s… [%d characters more]", string(runes[:limit]), len(runes)-limit)
}
