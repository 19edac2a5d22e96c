package agent

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Sink gets the events of a turn, in order, never concurrently. It must not block for long.
type Sink interface{ Event(Event) }

// Event is an event of a turn. Its types are below.
type Event interface{ event() }

type (
	// UserMessage is the prompt. It is sent after the prompt is stored.
	UserMessage struct {
		MessageID string
		Text      string
		Images    []model.Image
		Attached  string // text for the model after Text; empty: none
	}
	// Text is a piece of the answer.
	Text struct {
		MessageID, Text string
		Failed          bool // it says why a slash command was not done
	}
	// Thought is a piece of the model's reasoning.
	Thought struct{ MessageID, Text string }
	// CallStarted announces a running or waiting call.
	CallStarted struct {
		Call      tools.Call
		Kind      tools.Kind
		Title     string
		Locations []tools.Location
		Stop      func() `json:"-"` // ends only this call; nil: the call has ended
	}
	// CallProgress is the progress of a running call.
	CallProgress struct{ tools.Progress }
	// CallEnded is the result of a call. It is sent after the result is stored.
	CallEnded struct {
		Call     tools.Call
		Result   tools.Result
		Duration time.Duration
		// Interrupted reports an early end: the turn was canceled, or the user stopped this
		// call. It is false in the events of a stored session.
		Interrupted bool
	}
	// PlanChanged is the whole todo list.
	PlanChanged struct{ Todos []tools.Todo }
	// UsageChanged is the usage of the session. Used is the size of the last request and its
	// response in tokens. Window is the model's context window.
	UsageChanged struct {
		Total    model.Usage
		Last     model.Usage // of the last request; zero: there was none since the session was opened
		Requests int
		Used     int
		Window   int
		Model    string // PROVIDER/MODEL of the last answer; empty: not known
	}
	// TitleChanged contains the title made from the first prompt.
	TitleChanged struct{ Title string }
	// Rewound reports a rewind of the session. Another session keeps the previous history: see
	// [Session.Rewind] and [Session.Undo].
	Rewound struct {
		MessageID string // the last message of the history; empty: none, or see Prompt
		Prompt    string // the first removed message, if it is the undone prompt
		Text      string // the text of the undone prompt
		BranchID  string // the session with the previous history
	}
	// Compaction reports the start or the end of a compaction. It replaces the older history
	// for the model; the editor keeps all messages.
	Compaction struct {
		ID      string // of its message in the history
		Status  CompactionStatus
		Summary string // the replacement for the older part
		Error   string // why it failed, or why the summary contains only facts known to hermes-ls
		Before  int    // tokens of the next request, before and after
		After   int
	}
	// ChildStarted reports the start or resumption of a subagent.
	ChildStarted struct {
		Child
		Stop func() // ends only this subagent
	}
	// ChildEvent is an event of a subagent's turn.
	ChildEvent struct {
		SessionID string // the id of the subagent's session
		Event     Event
	}
	// ChildEnded is the result of a subagent.
	ChildEnded struct {
		Child
		Status   string // completed, failed, interrupted or timeout
		Summary  string // its report
		Error    string // the reason if it did not complete
		Calls    int
		Usage    model.Usage
		Duration time.Duration
	}
	// Notice is a message to the user. The model does not get it.
	Notice struct {
		Text string
		More string // details, maybe many lines; empty: none
		Asks bool   // the user answers it in the chat
		// Passing marks a notice about a step of the turn, such as a retry. It is of no
		// interest afterwards.
		Passing bool
		// Limit marks the reason for the end of a turn that a limit of the user's has stopped.
		Limit bool
		// Offers are choices below the notice. The text names them, too.
		Offers []tools.Offer
		// Own is what an extension has to tell its part of the editor's plugin; nil: nothing.
		Own *ExtensionEvent
	}
	// ExtensionEvent is the part of a notice for the plugin of an editor. Data is encoded as JSON.
	ExtensionEvent struct {
		Extension string `json:"extension"`
		Kind      string `json:"kind"`
		Data      any    `json:"data,omitempty"`
	}
	// TurnSummary is a line about a finished turn, for example about unchecked changes.
	TurnSummary struct {
		Brief string // a few words, to be joined with other parts
		Text  string // the whole line
	}
)

// CompactionStatus is the state of a compaction, in ACP's spelling.
type CompactionStatus string

const (
	CompactionRunning   CompactionStatus = "in_progress"
	CompactionCompleted CompactionStatus = "completed"
	CompactionFailed    CompactionStatus = "failed"
	CompactionCancelled CompactionStatus = "cancelled"
)

// Child describes a subagent for the parent's editor.
type Child struct {
	SessionID  string // the subagent's session
	ParentID   string // the delegating session
	CallID     string // the parent's call for the subagent; empty: none
	Goal       string
	Model      string
	Background bool // the parent does not wait for it
}

// String returns a message for the user. If the compaction is running, it returns "".
func (c Compaction) String() string {
	switch {
	case c.Status == CompactionRunning:
		return ""
	case c.Status == CompactionCancelled:
		return "The compaction was canceled. Nothing has changed."
	case c.Status == CompactionFailed:
		return "The compaction failed: " + c.Error
	case c.After == 0:
		return "Here a summary replaced older messages for the model."
	}
	text := fmt.Sprintf("A summary replaced older messages for the model: %d tokens instead of %d. The whole history stays here.", c.After, c.Before)
	if c.Error != "" {
		text += " But " + c.Error + "."
	}
	return text
}

// String returns the notice with its details.
func (n Notice) String() string {
	if n.More == "" {
		return n.Text
	}
	return n.Text + "\n\n" + n.More
}

func (UserMessage) event()  {}
func (Text) event()         {}
func (Thought) event()      {}
func (CallStarted) event()  {}
func (CallProgress) event() {}
func (CallEnded) event()    {}
func (PlanChanged) event()  {}
func (UsageChanged) event() {}
func (TitleChanged) event() {}
func (Rewound) event()      {}
func (Compaction) event()   {}
func (ChildStarted) event() {}
func (ChildEvent) event()   {}
func (ChildEnded) event()   {}
func (Notice) event()       {}
func (TurnSummary) event()  {}

// StopReason is the reason for the end of a turn, in ACP's spelling.
type StopReason string

const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	MaxTurnRequests StopReason = "max_turn_requests"
	Refusal         StopReason = "refusal"
	Cancelled       StopReason = "cancelled"
)

// Input is a prompt.
type Input struct {
	// ID becomes the id of the message. It must be unique. If it is empty, a new id is used.
	ID   string
	Text string
	// Rules are instructions of hermes-ls for the prompt, such as the rules of an inline edit.
	// They follow Text. The user does not see them.
	Rules string
	// Typed is the user's input, if a command made Text of it. Empty: Text.
	Typed string
	// Piped means the user did not type Text: it came from a file or a program.
	Piped bool
	// Plain disables slash commands in Text, because the user did not write it.
	Plain bool
	// Own is the user's part of Text: references in the rest are not expanded. Empty: all of
	// it.
	Own string
	// Route names the model of the turn. Empty: the session's.
	Route  string
	Images []model.Image
	// Note marks Text as written by hermes-ls, such as to continue the work for a goal. The
	// user does not see it, and it is none of the user's requests. A prompt with nothing but
	// News is a note, too.
	Note bool
	// Calls run before the first request, as if the model had made them. The user starts such a
	// call. The caller sets tools and arguments.
	Calls []tools.Call
	// Report limits the turn to a single request whose calls do not run. If the response
	// contains calls or no text, the turn ends with [MaxTurnRequests].
	Report bool
	// Environment describes editor and workspace. It follows Text, and is marked as data. Views
	// of the history do not show it.
	Environment string
	// News are notices of hermes-ls for the model, such as the exit of a background command.
	// They follow Text, and are marked as data.
	News []string
	// Context holds the editor's attachments: selections, files, diagnostics. They follow Text,
	// and are marked as data.
	Context []Resource
}

// TypedText returns the user's input.
func (in Input) TypedText() string {
	if in.Piped {
		return ""
	}
	return cmp.Or(in.Typed, in.Text)
}

// Resource is a piece of context with its origin.
type Resource struct {
	URI  string
	Text string // empty: only a link
}
