package extension

import (
	"context"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Hooked is an instance with functions that its session calls.
type Hooked interface {
	// Hooks is called once, when the instance is opened.
	Hooks() Hooks
}

// Hooks are functions of an instance, called by its session. Nil functions are not called.
type Hooks struct {
	// Events are the functions before and after sessions, turns, prompts, calls, compactions and
	// subagents. They also see the calls of scripts and subagents.
	Events []Handlers

	// Opened is called when a host opens the session, or opens it again while it is open. given
	// are the host's values for extensions. If given is nil, the host passed no values, and its
	// earlier values stay. The returned function is called when the session redacts the instance's
	// new secrets; it may be nil.
	Opened func(given []any) (start func())
	// Warm is called when the client knows the session. It prepares for the first prompt, and
	// returns at once.
	Warm func()
	// Arrange adds and defers tools of a set, after all tools are listed and before the model is
	// offered them. See [Tools] for stored.
	Arrange func(ctx context.Context, set *tools.Set, stored []tools.Spec) error
	// ToolsListed gets the Env of calls of the session's tools, each time the tools are listed.
	ToolsListed func(env *tools.Env)
	// Late returns the version of the current tools, which can change after they were listed. If
	// known is another version, it also returns the tools.
	Late func(known int) (version int, now []tools.Tool)
	// More reports whether tools may come later.
	More func() bool
	// Placeholder returns a tool for the name of an expected tool. If none is expected, it returns
	// false.
	Placeholder func(name string) (tools.Tool, bool)

	// FoldersChanged is called when Session.Folders returns other folders.
	FoldersChanged func()
	// TrustChanged is called when the user trusts a folder or a file, or no longer does.
	TrustChanged func()
	// HistoryChanged is called when the model may have lost a part of the history.
	HistoryChanged func(c Change)
	// PassEnv passes variables, such as "NAME=value", to programs that the instance starts for the
	// model from now on.
	PassEnv func(vars []string)

	// Environment returns a text about editor and workspace to add to the user's next prompt. It is
	// called once for each sent prompt. If the text is empty, nothing is added.
	Environment func(ctx context.Context) string
	// Status returns a line in the answer of /status: a name and a text. If the text is empty, there
	// is no line.
	Status func(ctx context.Context) (name, text string)
	// Secrets returns texts to redact in all output, by name. It is called when a session is opened,
	// when a host attaches, and when the configuration changes.
	Secrets func() map[string]string

	// Waiting reports whether notices wait. The user is notified of them while no turn runs. See
	// [Session.Wake].
	Waiting func() bool
	// StartsTurn reports whether the user allows waiting notices to start a turn if none runs.
	StartsTurn func() bool
	// Cancel cancels work in the background without waiting for its end. It is called if the user
	// cancels while no turn runs. If nothing runs, it returns false.
	Cancel func(cause error) bool

	// Entries returns lists for editors, such as skills, by their keys in the result of
	// hermes.extensions. They are encoded as JSON, with the fields of `hermes-ls NAME list --json`.
	Entries func(ctx context.Context) (map[string]any, error)
	// Document returns the file for a command that opens an entry, such as hermes.skill.open with a
	// name. If the command belongs to another instance, ok is false.
	Document func(ctx context.Context, command, name string) (path string, ok bool, err error)
}

// Change is a change of the history that takes texts from the model.
type Change int

const (
	ResultsLost Change = iota // earlier results may be missing: one was cut, or the history was rewritten
	Rewritten                 // earlier messages may be missing: the history was compacted or rewound
)
