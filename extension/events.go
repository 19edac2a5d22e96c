package extension

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// NoLimit is the Limit of functions without a time limit.
const NoLimit = time.Duration(-1)

// DefaultLimit applies to functions with Limit 0.
const DefaultLimit = 30 * time.Second

// Handlers are functions called at events. Nil functions are not called. The functions of several
// Handlers run side by side, unless stated otherwise.
//
// A function fails if it returns an error, panics, or does not return within Limit. If PreToolCall
// fails, the call does not run, unless FailOpen is set. If another function fails, its result is
// ignored and the failure is logged.
type Handlers struct {
	// Name names the functions to model and user, such as `the hook "fmt.sh"`. If it is
	// empty, they get the extension's name.
	Name string
	// Limit is the time limit of each function. If it is 0, [DefaultLimit] applies. If
	// it is negative, there is none, and the functions run in the caller's goroutine.
	Limit time.Duration
	// FailOpen lets a call run if PreToolCall fails.
	FailOpen bool
	// FailClosed withholds the result of a call if TransformToolResult fails.
	FailClosed bool

	// PreToolCall is called before a call's arguments are checked.
	PreToolCall func(ctx context.Context, c ToolCall) (Decision, error)
	// TransformToolResult returns a replacement for r. The functions run in sequence, each with its
	// predecessor's result.
	TransformToolResult func(ctx context.Context, c ToolCall, r tools.Result) (tools.Result, error)
	// PostToolCall returns a text for the field note of the result. If it is empty, nothing is
	// added.
	PostToolCall func(ctx context.Context, c ToolCall, r tools.Result) (note string, err error)

	// Turn is called before a turn begins. If ended is not nil, it is called when the turn has
	// ended.
	Turn func(ctx context.Context, p Prompt) (ended func(), err error)
	// AfterTurn is called when the model has ended its work on a prompt. It can continue the
	// turn, or add to the line about it.
	AfterTurn func(ctx context.Context, t TurnEnd) (TurnDecision, error)
	// PreLLMCall is called before a prompt is stored and sent.
	PreLLMCall func(ctx context.Context, p Prompt) (PromptDecision, error)
	// TransformLLMOutput is called with the final text of a turn, before the user sees it.
	TransformLLMOutput func(ctx context.Context, o Output) (OutputDecision, error)
	// PreCompress is called before a compaction. It returns text for the summary.
	PreCompress func(ctx context.Context, c Compression) (text string, err error)

	// SessionStart is called before the first prompt of a session is stored. It returns text to
	// send with this prompt.
	SessionStart func(ctx context.Context, s SessionEvent) (text string, err error)
	// SessionEnd is called when a session with at least one prompt is closed.
	SessionEnd func(ctx context.Context, s SessionEvent) error
	// SubagentStart is called before a subagent's first prompt. It returns text to send with this
	// prompt.
	SubagentStart func(ctx context.Context, s SubagentEvent) (text string, err error)
	// SubagentStop is called when a subagent has ended.
	SubagentStop func(ctx context.Context, s SubagentEvent) error
}

// ToolCall is a call at an event.
type ToolCall struct {
	tools.Call
	Tool      tools.Tool
	SessionID string // the session or subagent's session of the call
	Kind      Kind   // of the session; Script: a script makes the call
}

// Decision is a function's decision about a call. The zero value is no opinion. If there are
// several, Deny beats Ask. Changes apply in the order of the Handlers, so an approval request shows
// the changed call.
type Decision struct {
	Deny  string                     // text for the model: the call does not run; empty: it may
	Ask   string                     // completes “it …”: the call requires approval in every mode
	Args  json.RawMessage            // replaces the arguments; nil: they stay
	Merge map[string]json.RawMessage // replaces single arguments, after Args
	Ended func()                     // is called when the call has ended, also if it did not run
	// Running is called when a process of the call starts, perhaps after an approval. ended is
	// called when the process has ended or the call waits for the user. See [tools.Env.Running].
	Running func(ctx context.Context) (ended func())
}

// Prompt is a prompt before it is sent.
type Prompt struct {
	SessionID string
	Text      string
	Typed     string // the text typed by the user; a command may have expanded it to Text
	Own       string // part of Text written by the user; empty: all of it
	Note      bool   // hermes-ls has written it, not the user
	// Given are the addresses of the resources whose text the client has sent with the prompt.
	Given []string
}

// Referring returns the text whose references are expanded. The output of a program or a server
// must not read files.
func (p Prompt) Referring() string { return cmp.Or(p.Own, p.Text) }

// TurnEnd is a turn whose work has ended.
type TurnEnd struct {
	SessionID string
	Stop      string // the stop reason of the Agent Client Protocol; empty: the turn failed
	Answer    string // the last text of the model
	Continued int    // how often AfterTurn has continued the turn
	Waiting   bool   // a prompt of the user waits, so the turn is not continued
}

// TurnDecision decides how a turn continues. The zero value is no opinion. If there are several,
// the first Continue applies.
type TurnDecision struct {
	Continue string        // text for the model: the turn continues; empty: it ends
	Notice   string        // text for the user; empty: none
	Offers   []tools.Offer // choices below the notice
	// Brief and Summary are shown if the turn ends: a few words beside the state of the turn,
	// and a whole line. Empty: none.
	Brief, Summary string
}

// PromptDecision decides whether a prompt is sent, and with which text.
type PromptDecision struct {
	Block   string // text for the user: the prompt is not sent; empty: it is
	Context string // text for the model, sent with the prompt
	// Attached are the texts of the user's references.
	Attached []Attachment
}

// Attachment is a text that follows the prompt.
type Attachment struct{ Name, Text string }

// Output is the final text of a turn.
type Output struct {
	SessionID string
	Text      string
	Continued bool // the turn was continued once already
}

// OutputDecision changes the text, or continues the turn. A turn is continued once.
type OutputDecision struct {
	Text     *string // replaces the text; nil: it stays
	Continue string  // text for a further request; empty: the turn ends
}

// Compression is a compaction before it begins.
type Compression struct {
	SessionID string
	Hints     string // of the user
}

// SessionEvent is a session at its start or end.
type SessionEvent struct {
	SessionID string
	Folders   []string
}

// SubagentEvent is a subagent at its start or end.
type SubagentEvent struct {
	SessionID string // the subagent's
	ParentID  string
	Goal      string
	Status    string // at its end: completed, failed, interrupted or timeout
	Summary   string // at its end
}
