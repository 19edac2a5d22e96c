package extension

import (
	"context"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Extension is a feature. It owns the values shared by all sessions, such as a cache.
type Extension interface {
	// Name is unique. It names the extension's configuration section and its state.
	Name() string
	// Open makes the instance of a session. The editor is waiting for the session, so Open starts
	// and reads only the necessary. If Open returns an error, the session is opened without the
	// extension and the user gets a notice.
	Open(ctx context.Context, s *Session) (Instance, error)
}

// Instance is an extension in one session.
type Instance interface {
	// Close ends all background work of the instance. It returns when this has ended or ctx is
	// done. Instances are closed in reverse order.
	Close(ctx context.Context) error
}

// Tools is an instance with tools. They are listed when a session begins, at each compaction, and
// when a stored session is opened.
type Tools interface {
	// Tools returns the tools of the session. stored are the tools of a stored session;
	// they do not change before the next compaction. If stored is nil, the session is new.
	Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error)
}

// Arranger is an instance that selects the tools of requests.
type Arranger interface {
	// Arrange adds and defers tools of a set, after all tools are listed and before the
	// model is offered them. See [Tools] for stored.
	Arrange(ctx context.Context, set *tools.Set, stored []tools.Spec) error
}

// Late is an instance whose tools can change after they were listed.
type Late interface {
	// LateTools returns the version of the current tools. If known is another version, it also
	// returns the tools.
	LateTools(known int) (version int, now []tools.Tool)
	// Expects reports whether tools may come later.
	Expects() bool
}

// StandsIn is an instance whose tools the model may know before they are listed.
type StandsIn interface {
	// StandIn returns a tool for a name whose tool is expected. If none is, it returns false.
	StandIn(name string) (tools.Tool, bool)
}

// Sections is an instance with texts of the system prompt. They are requested when a session begins
// and at each compaction. Between these, the system prompt does not change.
type Sections interface {
	Sections(ctx context.Context) []prompt.Section
}

// Commands is an instance with slash commands.
type Commands interface {
	Commands() []Command
}

// Notices is an instance that reports background events to the model. Nothing else reaches the
// model between requests.
type Notices interface {
	// Notices returns the new texts for the model. It is called before each prompt, and before each
	// request of a turn.
	Notices(ctx context.Context, when When) []string
}

// When is the position of a notice.
type When int

const (
	WithPrompt  When = iota // beside the user's next prompt
	WithRequest             // before a further request of a running turn
)

// Waiting is a [Notices] that notifies the user of pending notices while no turn runs. See
// [Session.Wake].
type Waiting interface {
	Waiting() bool
}

// StartsTurn is a [Waiting] whose notices start a turn if none runs.
type StartsTurn interface {
	// StartsTurn reports whether the user allows it.
	StartsTurn() bool
}

// Cancels is an instance with work in the background.
type Cancels interface {
	// CancelBackground cancels the work without waiting for its end. It is called if the user
	// cancels while no turn runs. If nothing runs, it returns false.
	CancelBackground(cause error) bool
}

// Attach is an instance notified when a host opens the session, or opens it again while it is open.
type Attach interface {
	// Attach gets the host's values for extensions. If given is nil, the host passed no values, and
	// its earlier values stay. The returned function is called when the session redacts the
	// instance's new secrets; it may be nil.
	Attach(given []any) (start func())
}

// Folders is an instance that depends on the workspace folders.
type Folders interface {
	// FoldersChanged is called when Session.Folders returns other folders.
	FoldersChanged()
}

// Begun is an instance that calls tools without the model.
type Begun interface {
	// Begun gets the Env of calls of the session's tools, each time the session's tools are listed.
	Begun(env *tools.Env)
}

// Status is an instance with a line in the answer of /status.
type Status interface {
	// StatusLine returns a name and a text. If the text is empty, there is no line.
	StatusLine(ctx context.Context) (name, text string)
}

// Forget is an instance that remembers the texts in the model's context.
type Forget interface {
	// Forget is called when the model may have lost the text of earlier results: the history was
	// compacted or rewound, or a result was cut.
	Forget()
}

// Secrets is an instance with texts to redact in all output.
type Secrets interface {
	// Secrets returns them by name. It is called when a session is opened, when a host attaches,
	// and when the configuration changes.
	Secrets() map[string]string
}

// Derive is an instance that provides something to subagents, scripts or replays.
type Derive interface {
	// Derive returns the instance for a session of this kind, with at most the rights of s. If it
	// returns nil, the session gets nothing.
	Derive(ctx context.Context, kind Kind, s *Session) (Instance, error)
}

// Kind is a kind of session.
type Kind int

const (
	Main     Kind = iota // opened by a host
	Subagent             // works on a delegated task
	Script               // calls tools for a program written by the model
	Replay               // repeats a recorded session
)

func (k Kind) String() string {
	return [...]string{"main", "subagent", "script", "replay"}[k]
}
