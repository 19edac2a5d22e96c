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
