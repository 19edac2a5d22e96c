package agent

import (
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Sink gets the events of a turn, in order, from one goroutine at a time. It must not
// block for long.
type Sink interface{ Event(Event) }

// Event is something that happened in a turn; one of the types below.
type Event interface{ event() }

type (
	// UserMessage is the prompt, once it is durable.
	UserMessage struct {
		MessageID string
		Text      string
		Images    []model.Image
		Attached  string // what the model gets after Text, as it gets it; empty: nothing
	}
	// Text is a piece of the answer.
	Text struct{ MessageID, Text string }
	// Thought is a piece of the model's reasoning.
	Thought struct{ MessageID, Text string }
	// CallStarted announces a call that runs now or waits for others.
	CallStarted struct {
		Call      tools.Call
		Kind      tools.Kind
		Title     string
		Locations []tools.Location
		Stop      func() `json:"-"` // ends this call alone; nil: it is told of afterwards
	}
	// CallProgress is news of a running call.
	CallProgress struct{ tools.Progress }
	// CallEnded is a call's result, once it is durable.
	CallEnded struct {
		Call     tools.Call
		Result   tools.Result
		Duration time.Duration
		// Interrupted says that a cancel, or the user's stop of this call alone, came
		// before its end. It is false in the events of a stored session.
		Interrupted bool
	}
	// PlanChanged is the whole todo list.
	PlanChanged struct{ Todos []tools.Todo }
	// UsageChanged counts the session so far. Used is the size of the last request
	// and its reply in tokens, Window the model's context window.
	UsageChanged struct {
		Total    model.Usage
		Requests int
		Used     int
		Window   int
	}
	// TitleChanged names the session, after its first prompt.
	TitleChanged struct{ Title string }
	// Rewound says that the log has lost its end, which another session keeps: see
	// [Session.Rewind] and [Session.Undo].
	Rewound struct {
		MessageID string // the last message that is left; empty: none, or see Prompt
		Prompt    string // the first message that is gone, where that is a prompt taken back
		Text      string // what that prompt said
		BranchID  string // the session that keeps the log as it was
	}
	// Compaction announces that the older part of the history is being compacted for the
	// model, or has been. The editor keeps all messages.
	Compaction struct {
		ID      string // of its message in the log
		Status  CompactionStatus
		Summary string // what stands for the older part now
		Error   string // why it failed, or has only what hermes-ls itself knows
		Before  int    // tokens that the next request would have had, and has
		After   int
	}
	// ChildStarted announces that a subagent works now, for the first time or again.
	ChildStarted struct {
		Child
		Stop func() // ends this subagent alone
	}
	// ChildEvent is something that happened in a subagent's turn.
	ChildEvent struct {
		SessionID string // the subagent's
		Event     Event
	}
	// ChildEnded says how a subagent's work ended.
	ChildEnded struct {
		Child
		Status   string // completed, failed, interrupted or timeout
		Summary  string // what it reported
		Error    string // why it did not complete; empty: it did
		Calls    int
		Usage    model.Usage
		Duration time.Duration
	}
	// Notice is a word to the user that is no part of the conversation.
	Notice struct{ Text string }
)

// CompactionStatus is the state of a compaction, as ACP names it.
type CompactionStatus string

const (
	CompactionRunning   CompactionStatus = "in_progress"
	CompactionCompleted CompactionStatus = "completed"
	CompactionFailed    CompactionStatus = "failed"
	CompactionCancelled CompactionStatus = "cancelled"
)

// Child is a subagent as its parent's editor knows it.
type Child struct {
	SessionID  string // its own session
	ParentID   string // the session that delegated
	CallID     string // the call of the parent that asked for the work; empty: none did
	Goal       string
	Model      string
	Background bool // the parent does not wait for it
}

// String returns one line for the user. While the compaction runs, it is empty.
func (c Compaction) String() string {
	switch {
	case c.Status == CompactionRunning:
		return ""
	case c.Status == CompactionCancelled:
		return "Summing up the conversation was cancelled: nothing has changed."
	case c.Status == CompactionFailed:
		return "The conversation could not be summed up: " + c.Error
	case c.After == 0:
		return "Here the older part of the conversation was summed up for the model."
	}
	text := fmt.Sprintf("The older part of the conversation was summed up for the model: %d tokens instead of %d. All of it stays here.", c.After, c.Before)
	if c.Error != "" {
		text += " But " + c.Error + "."
	}
	return text
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

// StopReason is the reason for the end of a turn, as ACP names it.
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
	// ID becomes the message's; unique, or empty: one is made.
	ID     string
	Text   string
	Images []model.Image
	// Calls are made before the model is asked, as if it had asked for them: what a
	// person starts without the model's help. Tools and arguments are the caller's.
	Calls []tools.Call
	// Report asks for one answer without tool calls. If the response has calls or no
	// text, the turn ends with [MaxTurnRequests], and no call runs.
	Report bool
	// News is what hermes-ls itself has to tell the model, such as results of work in
	// the background. It reaches the model after Text, marked as data.
	News []string
	// Context is resources quoted by the editor: selections, files, diagnostics.
	// It reaches the model after Text, marked as data.
	Context []Resource
}

// Resource is a piece of context with its origin.
type Resource struct {
	URI  string
	Text string // empty: a link only
}
