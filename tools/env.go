package tools

import (
	"context"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

// Env is what a session lends to its tools. Files is required; the rest may be
// zero, and then what needs it is refused or not shown.
type Env struct {
	SessionID string
	Files     Files
	Shell     *Shell // the session's persistent working directory and exports
	Todos     *Todos // the session's list
	// Processes are the session's commands in the background; nil: there can be none.
	Processes *Processes
	Gate      *Gate     // what may run unasked
	Terminals Terminals // the editor's own terminals; nil: none
	// Recall is what file tools remember from call to call; nil: nothing. A script
	// has none: it sees only what it asks for.
	Recall *Recall
	// Sees reports whether the model is sent pictures. A picture of a result is kept in
	// any case. Nil: no model gets the result, such as in a script.
	Sees func() bool
	// Diagnoser tells what the editor's tools say of an edit; nil: nobody does.
	Diagnoser Diagnoser
	// Secrets are what no result may show; nil: there are none.
	Secrets *Secrets
	// Sandbox bounds what commands reach; nil: nothing does.
	Sandbox *sandbox.Box
	// Script says that a script makes the call.
	Script bool
	// Progress takes what a running call has to show, such as output so far.
	// Nil: nobody looks.
	Progress func(Progress)
	// Call runs another call through the session's dispatch, as lent by env. Nil:
	// tools cannot call tools here.
	Call func(ctx context.Context, env *Env, call Call) (Result, error)
	// Tools is the session's set; what is offered of it, Offered tells. A subagent
	// gets a part of it.
	Tools *Set
	// Room is how many tokens the model's window still had when the call began; 0:
	// unknown.
	Room int
	// Owner is the session that questions go to, and For the goal of the subagent
	// that asks them. Both are empty in a session of its own.
	Owner, For string
	// Offered tells whether a tool is offered in this session.
	Offered func(name string) bool
	// OutputDir keeps whole outputs whose middle was cut; empty: they are not kept.
	OutputDir string
	// HermesHome is the folder of our own configuration, which no tool may write.
	HermesHome string
}

// Progress is news of a running call.
type Progress struct {
	CallID  string
	Message string    // one short line, "42 lines"
	Line    string    // in place of title, count and time: of a call that tells its own state
	Shown   []Content // replaces what was shown before
}

// Terminals runs foreground commands in terminals that the editor owns and shows.
type Terminals interface {
	// Run starts args in dir with env and waits. shown is called at once with the
	// terminal's id. Output is capped by the editor at limit bytes, oldest cut.
	Run(ctx context.Context, args []string, dir string, env []string, limit int, shown func(id string)) (output string, truncated bool, exitCode int, err error)
}

// Asker puts a question to the person who owns the session.
type Asker interface {
	// AskPermission returns the chosen decision. If the user closes the request without
	// an answer, it returns "". If no user can be asked, it returns an [*Unasked].
	AskPermission(ctx context.Context, q Question) (Decision, error)
}

// Question is one request for permission.
type Question struct {
	SessionID string
	Call      Call
	Kind      Kind
	Subagent  string // the session of the subagent that asks; empty: the session itself
	For       string // the goal of the subagent that asks; empty: the session itself
	Title     string // what would be done, whole, with control and bidi characters escaped
	Reason    string // why it asks, for a person
	Alone     bool   // no tool call of the model stands behind it, which would be ended later
	Remember  string // exactly what "session" and "always" would remember, such as "git push --force"; "": nothing can be remembered
}

// Decision is a person's answer; the values are the option ids of the contract.
type Decision string

const (
	DecisionOnce    Decision = "once"
	DecisionSession Decision = "session"
	DecisionAlways  Decision = "always"
	DecisionNo      Decision = "no"
)

// Allows reports whether the user has approved the call.
func (d Decision) Allows() bool {
	return d == DecisionOnce || d == DecisionSession || d == DecisionAlways
}
