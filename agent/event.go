package agent

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Sink gets the events of a turn, in order, from one goroutine at a time. It must not
// block for long.
type Sink interface{ Event(Event) }

// Event is one event of a turn. Its types are below.
type Event interface{ event() }

type (
	// UserMessage is the prompt. It is sent after the prompt is stored.
	UserMessage struct {
		MessageID string
		Text      string
		Images    []model.Image
		Attached  string // the text that the model gets after Text; empty: none
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
		Stop      func() `json:"-"` // ends only this call; nil: the call has already ended
	}
	// CallProgress is the progress of a running call.
	CallProgress struct{ tools.Progress }
	// CallEnded is the result of a call. It is sent after the result is stored.
	CallEnded struct {
		Call     tools.Call
		Result   tools.Result
		Duration time.Duration
		// Interrupted reports that the turn was canceled, or that the user stopped this call,
		// before it ended. It is false in the events of a stored session.
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
		Model    string // PROVIDER/MODEL that answered last; empty: not known
	}
	// TitleChanged is the title that the session got from its first prompt.
	TitleChanged struct{ Title string }
	// Rewound reports that the session was moved back. Another session keeps the previous
	// history: see [Session.Rewind] and [Session.Undo].
	Rewound struct {
		MessageID string // the last message of the history; empty: none, or see Prompt
		Prompt    string // the first removed message, if it is a prompt that was undone
		Text      string // the text of that prompt
		BranchID  string // the session that has the previous history
	}
	// Compaction reports that the older part of the history is being compacted for the model,
	// or was compacted. The editor keeps all messages.
	Compaction struct {
		ID      string // of its message in the history
		Status  CompactionStatus
		Summary string // the text that replaces the older part
		Error   string // why it failed, or why the summary has only the facts that hermes-ls knows
		Before  int    // tokens of the next request, before and after
		After   int
	}
	// ChildStarted reports that a subagent starts or resumes work.
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
		Error    string // why it did not complete; empty if it did
		Calls    int
		Usage    model.Usage
		Duration time.Duration
	}
	// Notice is a message to the user. The model does not get it.
	Notice struct {
		Text string
		More string // the text that it is about, which may have many lines; empty: none
		Asks bool   // the user answers it in the chat
		// Passing says that it is about a step of the turn, such as another try, and of no interest afterwards.
		Passing bool
		// Offers are choices below it. The text names them, too.
		Offers []tools.Offer
	}
	// TurnSummary is a line about a turn that has ended, such as that its changes were not
	// checked.
	TurnSummary struct {
		Brief string // a few words, for a line that has other parts
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
	ParentID   string // the session that delegated
	CallID     string // the parent's call that started the subagent; empty: none
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

// String returns the notice with the text that it is about.
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
	// Rules are instructions of hermes-ls for the prompt, such as those of an inline edit. They
	// follow Text. The user does not see them.
	Rules string
	// Typed is the text that the user typed, if a command made Text of it. Empty: Text.
	Typed string
	// Piped says that the user did not type Text: it came from a file or a program.
	Piped bool
	// Plain says that a slash at the begin of Text starts no command, because the user did not write it.
	Plain bool
	// Own is the part of Text that the user wrote: references in the rest are not expanded.
	// Empty: all of it.
	Own string
	// Route names the model of the turn. Empty: the session's.
	Route  string
	Images []model.Image
	// Note says that hermes-ls wrote Text, such as to continue the work for a goal. The user
	// does not see it, and it is none of the user's requests. A prompt that has only News is
	// a note, too.
	Note bool
	// Calls run before the first request, as if the model had made them. The user starts such
	// a call. The caller sets tools and arguments.
	Calls []tools.Call
	// Report makes the turn one request whose calls do not run. If the response has calls or
	// no text, the turn ends with [MaxTurnRequests].
	Report bool
	// Environment describes editor and workspace. It follows Text, and is marked as data. Views
	// of the history do not show it.
	Environment string
	// News are notices of hermes-ls for the model, such as the exit of a background command.
	// They follow Text, and are marked as data.
	News []string
	// Context has resources that the editor attached: selections, files, diagnostics. They
	// follow Text, and are marked as data.
	Context []Resource
}

// TypedText returns the text that the user typed.
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
