package tools

import (
	"context"
	"slices"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Env holds the parts of a session for one call. If a field is zero, the call cannot use that part.
// Tools receive the rest when they are created, see [Bounds].
type Env struct {
	SessionID string
	Gate      Approver // decides which calls run; nil: calls that require approval do not run
	Reader    Reader   // gets the result
	// Planning reports whether the call was made in plan mode. [Set.Call] sets it.
	Planning bool
	// EditApproved reports whether the user saw the edit of this call and approved it. [Set.Call]
	// sets it.
	EditApproved bool
	// EditAsk is the reason why an event requires approval of an edit for which the call asks
	// itself, see [Tool.AsksLater]. Empty: no event requires it. [Set.Call] sets it.
	EditAsk string
	// Progress shows the progress of a running call, such as its output so far. Nil: it is
	// not shown.
	Progress func(Progress)
	// Waits notes, until resumed is called, that a call waits for the user and has done nothing
	// yet. Nil: nothing is noted.
	Waits func(ctx context.Context, callID string) (resumed func())
	// Dispatch holds the tools of the session. Empty: tools cannot call tools here.
	Dispatch Dispatch
	// OutputDir is the directory for whole outputs whose middle was cut. Empty: they are not
	// saved.
	OutputDir string

	running *running // nil: there are no functions
}

// Reader is the model or the script that receives the result.
type Reader struct {
	// Script reports whether a script made the call and receives its result.
	Script bool
	// Sees reports whether the model gets pictures. Pictures of results are stored in any
	// case. Nil: no model gets the result.
	Sees func() bool
	// Room is the number of free tokens in the context window when the call began. 0: unknown.
	Room int
}

// Dispatch is a set of tools and the selection offered to the model.
type Dispatch struct {
	Set     *Set
	Offered func(name string) bool // nil: all are
}

// Offers reports whether the model is offered a tool.
func (d Dispatch) Offers(name string) bool { return d.Offered == nil || d.Offered(name) }

// List returns the offered tools, in order. Without a set, it returns nil.
func (d Dispatch) List() []Tool {
	if d.Set == nil {
		return nil
	}
	return slices.DeleteFunc(d.Set.List(), func(t Tool) bool { return !d.Offers(t.Name) })
}

// Progress is the progress of a running call.
type Progress struct {
	CallID  string
	Message string    // a short line, "42 lines"
	Line    string    // in place of title, count and time, for a call with its own status line
	Shown   []Content // replaces the earlier content
}

// Approver decides which calls run.
type Approver interface {
	// Check returns nil if an action with the verdict v may run. Otherwise its error is for the
	// model. Title is the action, whole.
	Check(ctx context.Context, env *Env, c Call, kind Kind, title string, v policy.Verdict) error
	// CheckEdit is Check for an edit of files. In mode careful, each edit requires approval. If
	// the user is asked, the request shows the edit.
	CheckEdit(ctx context.Context, env *Env, c Call, e Edit) error
	// Wait waits until no other request of the session is open. If it returns no error, leave
	// must be called.
	Wait(ctx context.Context) (leave func(), err error)
	// ForSubagent returns the approver of a subagent of the session owner. Its requests name the
	// subagent and its goal. The requests of nested subagents go to the same owner.
	ForSubagent(owner, goal string) Approver
	// Planning reports whether the session is in plan mode.
	Planning() bool
}

// Edit is an edit of files that may require approval.
type Edit struct {
	Title   string         // the edit, whole, unescaped
	Verdict policy.Verdict // the strictest of its files
	Paths   []string       // its files, absolute
	Names   []string       // the same as the user reads them
	// Show returns the files before and after the edit. It is called only if the user is asked. If
	// it returns an error, the edit fails with it and the user is not asked. If the edit changes
	// nothing, it returns nil.
	Show func(ctx context.Context) ([]FileEdit, error)
	// Alone is set for a change with its own approval request in every mode, such as a restore.
	// Mode careful and the approval of a whole call do not apply to it.
	Alone bool
}

// FileEdit is one file of an edit that requires approval, as the user sees it. Known secrets are
// redacted, and invisible characters are written as their code.
type FileEdit struct {
	Path    string  // absolute
	Name    string  // as the user reads it
	From    string  // the previous name of a moved file
	Deleted bool    // the file is removed
	Old     *string // nil: the file is new
	New     string
	Line    int  // of the file, where Old and New begin; 0: they are the whole file
	Changed int  // the first changed line, from 1; 0: none
	Added   int  // lines
	Removed int  // lines
	Cut     bool // Old and New do not show the whole change
	Note    string
}

// Asker shows an approval request to the user.
type Asker interface {
	// AskPermission returns the chosen decision. If the user closes the request without an
	// answer, it returns "". If no user can be asked, it returns a [*gate.Unanswered]. If the user
	// gives a reason for a denial, it returns [DecisionDeny] and a [*Denied].
	AskPermission(ctx context.Context, q ApprovalRequest) (Decision, error)
}

// ApprovalRequest asks the user to allow an action.
type ApprovalRequest struct {
	SessionID string
	Call      Call
	Kind      Kind
	Subagent  string // the session of the asking subagent; empty: the session itself
	For       string // the goal of the asking subagent; empty: the session itself
	Title     string // the action, whole, with control and bidi characters escaped
	Reason    string // why it asks, for the user
	Alone     bool   // it belongs to no tool call of the model
	Text      string // Markdown shown with the request, such as a plan
	// Choices replace the four options. The answer is a choice's ID.
	Choices  []Choice
	Remember string // the exact text remembered by "session" and "always", such as "git push --force"; "": nothing can be remembered
	// Keys are the command_allowlist entries that together always allow the action. Without keys,
	// it cannot be always allowed.
	Keys  []string
	Edits []FileEdit // the files of an edit
}

// Options returns the options of a request, in their order. Their labels state exactly what is
// remembered.
func (q ApprovalRequest) Options() []Choice {
	if len(q.Choices) > 0 {
		return q.Choices
	}
	options := []Choice{{ID: DecisionOnce, Label: "Allow once", Allows: true}}
	if q.Remember != "" {
		options = append(options, Choice{ID: DecisionSession, Label: "Allow for this session: " + q.Remember, Allows: true, Lasting: true})
	}
	if q.Remember != "" && len(q.Keys) > 0 {
		options = append(options, Choice{ID: DecisionAlways, Label: "Always allow: " + q.Remember, Allows: true, Lasting: true})
	}
	return append(options, Choice{ID: DecisionDeny, Label: "Deny"})
}

// Denied is the error of an [Asker] whose user gave a reason for the denial.
type Denied struct{ Reason string }

func (d *Denied) Error() string { return "Denied by the user: " + d.Reason }

// Choice is an option of a request.
type Choice struct {
	ID      Decision
	Label   string
	Allows  bool // something runs
	Lasting bool // also later
}

// Choice returns the option with an ID or label. If there is none, it returns false.
func (q ApprovalRequest) Choice(id string) (Choice, bool) {
	for _, c := range q.Choices {
		if string(c.ID) == id || c.Label == id {
			return c, true
		}
	}
	return Choice{}, false
}

// Decision is the user's answer. The values are the ids of the options.
type Decision string

const (
	DecisionOnce    Decision = "once"
	DecisionSession Decision = "session"
	DecisionAlways  Decision = "always"
	DecisionDeny    Decision = "no"
)

// Allows reports whether the user has approved the call.
func (d Decision) Allows() bool {
	return d == DecisionOnce || d == DecisionSession || d == DecisionAlways
}
