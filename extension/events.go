package extension

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Events is an instance with functions that are called at events of its session, of
// its scripts, and of its subagents.
type Events interface {
	Events() []Handlers
}

// NoLimit is the Limit of functions that may take as long as they need.
const NoLimit = time.Duration(-1)

// DefaultLimit is the time limit of a function without one of its own.
const DefaultLimit = 30 * time.Second

// Handlers are functions that are called at events. Those that are nil are not called.
// The functions of several Handlers run side by side, unless stated otherwise.
//
// A function fails if it returns an error, panics, or does not return within Limit.
// If PreToolCall fails, the call does not run, unless FailOpen is set. If another
// function fails, its result is ignored and the failure is logged.
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
	// TransformToolResult returns the result that takes the place of r. One function is
	// called after the other, with the result of the one before it.
	TransformToolResult func(ctx context.Context, c ToolCall, r tools.Result) (tools.Result, error)
	// PostToolCall returns a text that is added to the field note of the result. If it is
	// empty, nothing is added.
	PostToolCall func(ctx context.Context, c ToolCall, r tools.Result) (note string, err error)

	// Turn is called before a turn begins. If it returns a function, that is called when
	// the turn has ended.
	Turn func(ctx context.Context, p Prompt) (ended func(), err error)
	// AfterTurn is called when the model has ended its work on a prompt. It can continue the
	// turn, or add to the line about it.
	AfterTurn func(ctx context.Context, t TurnEnd) (TurnDecision, error)
	// PreLLMCall is called before a prompt is stored and sent.
	PreLLMCall func(ctx context.Context, p Prompt) (PromptDecision, error)
	// TransformLLMOutput is called with the text that ends a turn, before the user sees it.
	TransformLLMOutput func(ctx context.Context, o Output) (OutputDecision, error)
	// PreCompress is called before a compaction. It returns text that the summary gets.
	PreCompress func(ctx context.Context, c Compression) (text string, err error)

	// SessionStart is called before the first prompt of a session is stored. It returns
	// text that the model gets with that prompt.
	SessionStart func(ctx context.Context, s SessionEvent) (text string, err error)
	// SessionEnd is called when a session is closed that had a prompt.
	SessionEnd func(ctx context.Context, s SessionEvent) error
	// SubagentStart is called before a subagent's first prompt. It returns text that the
	// subagent's model gets with that prompt.
	SubagentStart func(ctx context.Context, s SubagentEvent) (text string, err error)
	// SubagentStop is called when a subagent has ended.
	SubagentStop func(ctx context.Context, s SubagentEvent) error
}

// ToolCall is a call at an event.
type ToolCall struct {
	tools.Call
	Tool      tools.Tool
	SessionID string // the session, or subagent's session, that makes the call
	Kind      Kind   // of that session; Script: a script makes the call
}

// Decision says whether and how a call runs. The zero value is no opinion. If there are
// several, Deny beats Ask. Changes apply in the order of the Handlers, so that an
// approval request shows the changed call.
type Decision struct {
	Deny  string                     // text for the model: the call does not run; empty: it may
	Ask   string                     // completes “it …”: the call requires approval in every mode
	Args  json.RawMessage            // replaces the arguments; nil: they stay
	Merge map[string]json.RawMessage // replaces single arguments, after Args
	Ended func()                     // is called when the call has ended, also if it did not run
	// Running is called when a process of the call starts, which can be after an approval, and
	// ended when it has ended or the call waits for the user. See [tools.Env.Running].
	Running func(ctx context.Context) (ended func())
}

// Prompt is a prompt before it is sent.
type Prompt struct {
	SessionID string
	Text      string
	Typed     string // the text that the user typed; a command can have made Text of it
	Own       string // part of Text that the user wrote; empty: all of it
	Note      bool   // hermes-ls has written it, not the user
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

// TurnDecision says how a turn goes on. The zero value is no opinion. If there are several,
// the first Continue applies.
type TurnDecision struct {
	Continue string        // text that the model gets: the turn continues; empty: it ends
	Notice   string        // text for the user; empty: none
	Offers   []tools.Offer // choices below the notice
	// Brief and Summary are shown if the turn ends: a few words beside the state of the turn,
	// and a whole line. Empty: none.
	Brief, Summary string
}

// PromptDecision says whether a prompt is sent, and with which text.
type PromptDecision struct {
	Block   string // text for the user: the prompt is not sent; empty: it is
	Context string // text that the model gets with the prompt
	// Attached are texts that the user has referred to.
	Attached []Attachment
}

// Attachment is a text that the model gets after the prompt.
type Attachment struct{ Name, Text string }

// Output is the text that would end a turn.
type Output struct {
	SessionID string
	Text      string
	Continued bool // the turn was continued once already
}

// OutputDecision changes the text, or continues the turn. A turn is continued once.
type OutputDecision struct {
	Text     *string // replaces the text; nil: it stays
	Continue string  // text that the model gets in a further request; empty: the turn ends
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
