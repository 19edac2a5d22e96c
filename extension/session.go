package extension

import (
	"context"
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Session is the session that an instance belongs to. Its fields are all the rights of
// an extension. The session's builder sets all of them; in tests, a field that is not
// needed may be nil.
type Session struct {
	ID   string
	Name string // the extension's
	Kind Kind
	New  bool // it had no prompt yet when it was opened

	// Cwd is the working directory under which the session is stored.
	Cwd string
	// Folders are the workspace folders, the working directory first. They may change.
	Folders func() []string
	// Files are where tools work, unsaved buffers included.
	Files tools.Files
	// Editor are the files of the editor's workspace. They are the same as Files, unless
	// the session works on another machine.
	Editor tools.Files
	// Bounds are for the tools of the program itself. Other extensions do not get them.
	Bounds tools.Bounds
	// Confine bounds a process by the session's sandbox. If it fails, the process must
	// not be started.
	Confine func(ctx context.Context, c *proc.Cmd) error
	// ConfineReader is Confine for a process that only reads the workspace. It writes own, its own folder in this
	// workspace, which name names. If the process is not bounded, own is "".
	ConfineReader func(ctx context.Context, c *proc.Cmd, name string) (own string, err error)
	// Watch watches the places of the workspace that run or configure something by themselves, before a program is
	// started that can write there. by names it for the user, such as "the MCP server db". If Watch fails, the program must
	// not be started.
	Watch func(ctx context.Context, by string) (Watched, error)
	// Ask asks the user.
	Ask Asker
	// Notify shows a text to the user.
	Notify func(text string)
	// Wake says that notices wait, so that the user can be told if no turn runs.
	Wake func()
	// CommandsChanged says that Commands returns other commands. Nil: no host wants to know.
	CommandsChanged func()
	// Redact replaces known secrets by placeholders.
	Redact func(text string) string
	// State is the extension's data in the stored session.
	State State
	// Plan is the plan of the session, for the extension that has its tool.
	Plan *tools.Plan
	// Config decodes the extension's configuration section over the value at into, as
	// the section is now.
	Config func(into any) error
	// Complete asks the session's model one question, without tools and without the
	// history. The user must have caused it. It is nil where there is no model.
	Complete func(ctx context.Context, system, prompt string) (string, error)
	// EditorState returns the part of the editor that the user sees now.
	EditorState func() EditorState
	// Problems asks the editor for all problems that it shows. If the editor cannot tell, it
	// returns an error.
	Problems func(ctx context.Context) ([]Problem, error)
	// LanguageServers asks the language servers of the editor. It is nil where the editor does
	// not offer that.
	LanguageServers ServerQuery
	// Situation returns model, mode and limits of the session.
	Situation func() Situation
	// Spawn runs a subagent. It is nil where there can be none.
	Spawn func(ctx context.Context, t Task) (Report, error)
}

// Watched reviews what a program has changed at the places of [Session.Watch]. What the user does not want is removed. The
// next command of the session does that, too.
type Watched struct {
	// Review reviews the changes of a call. Its text is for the model, nearly always none.
	Review func(ctx context.Context, c tools.Call) (note string)
	// Later reviews in the background.
	Later func()
}

// Own is what a derived session has of its own.
type Own struct {
	ID      string
	Folders func() []string
	Files   tools.Files
	Editor  tools.Files
	// Bounds are for extensions that have those of the parent's session.
	Bounds        tools.Bounds
	Confine       func(ctx context.Context, c *proc.Cmd) error
	ConfineReader func(ctx context.Context, c *proc.Cmd, name string) (own string, err error)
	Watch         func(ctx context.Context, by string) (Watched, error)
	Ask           Asker // asks in the name of the derived session
	State         func(extension string) State
	Plan          *tools.Plan
	Spawn         func(ctx context.Context, t Task) (Report, error) // nil: it can have no subagents
}

// derive returns the rights that an extension with the rights s has in a derived session.
// This is the only place that decides it. A right that is not named here is not given.
func (s *Session) derive(kind Kind, own Own) *Session {
	d := &Session{
		ID: own.ID, Name: s.Name, Kind: kind, Cwd: s.Cwd,
		Folders: own.Folders, Files: own.Files, Editor: own.Editor,
		Redact: s.Redact, Config: s.Config,
	}
	if s.Bounds != (tools.Bounds{}) {
		d.Bounds = own.Bounds
	}
	if own.State != nil {
		d.State = own.State(s.Name)
	}
	switch kind {
	case Subagent:
		d.Confine, d.Ask, d.Notify, d.Wake, d.Plan, d.Spawn = own.Confine, own.Ask, s.Notify, s.Wake, own.Plan, own.Spawn
		d.ConfineReader, d.Watch = own.ConfineReader, own.Watch
	case Script: // a program gets results, and can neither ask nor start anything
		d.Notify = s.Notify
	case Replay: // what the user was asked, and told, is in the recording
		d.Confine = own.Confine
	}
	return d
}

// Asker asks the user, one question at a time in a session and its subagents.
type Asker interface {
	// Approve asks the user to allow an action, by the rules of the session's gate. If
	// the action may not go on, it returns an error whose text is for the model.
	Approve(ctx context.Context, r Request) error
	// CanClarify reports whether the user can answer questions. Clarify asks one.
	tools.Clarifier
}

// Request asks the user to allow an action. Reason completes the sentence “it …”.
type Request struct {
	Kind      tools.Kind
	Title     string   // the action, whole
	Text      string   // Markdown that is shown whole with the request, such as a diff; may be empty
	Reason    string   // why it requires approval
	Keys      []string // are remembered if the user allows it for longer; empty: nothing is
	EveryMode bool     // also requires approval in mode auto
	Call      tools.Call
	// Edits are the files that the action changes. The request shows them.
	Edits []tools.FileEdit
}

// State stores values of an extension with its session, by key.
type State interface {
	// Load decodes the value of key into v. If there is none, it returns false.
	Load(ctx context.Context, key string, v any) (bool, error)
	// Save stores v. If v is nil, it removes the value.
	Save(ctx context.Context, key string, v any) error
}

// Task is work for a subagent.
type Task struct {
	Goal     string
	Context  string
	Toolsets []string
}

// Report is the result of a subagent.
type Report struct {
	Summary string
	Status  string // completed, failed, interrupted or timeout
	Error   string // why it has not completed; may be empty
}

// Decode is a Config function that decodes a fixed section, for tests.
func Decode(section any) func(into any) error {
	return func(into any) error {
		data, err := json.Marshal(section)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, into)
	}
}
