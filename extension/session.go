package extension

import (
	"context"
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Session is an instance's session. Its fields are all the rights of an extension. The session's
// builder sets all of them; in tests, unused fields may be nil.
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
	// Bounds are for built-in tools. Other extensions do not get them.
	Bounds tools.Bounds
	// Edits returns the service of the session's own set, which sets it for extensions with Bounds.
	Edits func() (Edits, bool)
	// Confine bounds a process by the session's sandbox. If it fails, the process must
	// not be started.
	Confine func(ctx context.Context, c *proc.Cmd) error
	// ConfineReader is Confine for a process that only reads the workspace. The process may write
	// own, its folder in this workspace, chosen by name. If the process is not bounded, own is "".
	ConfineReader func(ctx context.Context, c *proc.Cmd, name string) (own string, err error)
	// Watch watches the files and folders of the workspace that run code or configure programs
	// without a command. It is called before a program with write access starts. by names the
	// program for the user, such as "the MCP server db". If Watch fails, the program must not be
	// started.
	Watch func(ctx context.Context, by string) (Watched, error)
	// Ask asks the user.
	Ask Asker
	// Notify shows a text to the user.
	Notify func(text string)
	// Wake reports pending notices, so the user can be notified if no turn runs.
	Wake func()
	// CommandsChanged reports that Commands returns other commands. Nil: no host needs it.
	CommandsChanged func()
	// Redact replaces known secrets by placeholders.
	Redact func(text string) string
	// State is the extension's data in the stored session.
	State State
	// Plan is the plan of the session, for the extension with its tool.
	Plan *tools.Plan
	// Config decodes the extension's configuration section over the value at into, as
	// the section is now.
	Config func(into any) error
	// Complete sends a single prompt to the session's model, without tools and history. The user
	// must have caused it. It is nil where there is no model.
	Complete func(ctx context.Context, system, prompt string) (string, error)
	// EditorState returns the part of the editor now visible to the user.
	EditorState func() EditorState
	// Problems returns all problems shown in the editor. If the editor cannot report them, it
	// returns an error.
	Problems func(ctx context.Context) ([]Problem, error)
	// LanguageServers queries the language servers of the editor. It is nil if the editor does not
	// support this.
	LanguageServers ServerQuery
	// Situation returns model, mode and limits of the session.
	Situation func() Situation
	// Spawn runs a subagent. It is nil where there can be none.
	Spawn func(ctx context.Context, t Task) (Report, error)
}

// Watched reviews a program's changes to the files watched by [Session.Watch]. Changes denied by
// the user are removed. The next command of the session reviews them, too.
type Watched struct {
	// Review reviews the changes of a call. Its text is for the model, nearly always none.
	Review func(ctx context.Context, c tools.Call) (note string)
	// Later reviews in the background.
	Later func()
}

// Own holds the values specific to a derived session.
type Own struct {
	ID      string
	Folders func() []string
	Files   tools.Files
	Editor  tools.Files
	// Bounds are for extensions with Bounds in the parent's session.
	Bounds        tools.Bounds
	Confine       func(ctx context.Context, c *proc.Cmd) error
	ConfineReader func(ctx context.Context, c *proc.Cmd, name string) (own string, err error)
	Watch         func(ctx context.Context, by string) (Watched, error)
	Ask           Asker // asks in the name of the derived session
	State         func(extension string) State
	Plan          *tools.Plan
	Spawn         func(ctx context.Context, t Task) (Report, error) // nil: it can have no subagents
}

// derive returns the rights of an extension with the rights s in a derived session. No other code
// decides this. Rights not listed here are not passed on.
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
	case Replay: // the recording contains the user's questions and notices
		d.Confine = own.Confine
	}
	return d
}

// Asker asks the user. In a session and its subagents, only one question is open at a time.
type Asker interface {
	// Approve asks the user to allow an action, by the rules of the session's gate. If
	// the action may not go on, it returns an error whose text is for the model.
	Approve(ctx context.Context, r Request) error
	// CanClarify reports whether the user can answer questions. Clarify asks a question.
	tools.Clarifier
}

// Request asks the user to allow an action. Reason completes the sentence “it …”.
type Request struct {
	Kind      tools.Kind
	Title     string   // the action, whole
	Text      string   // Markdown shown in full with the request, such as a diff; may be empty
	Reason    string   // why it requires approval
	Keys      []string // are remembered if the user allows it for longer; empty: nothing is
	EveryMode bool     // also requires approval in mode auto
	Call      tools.Call
	// Edits are the file changes of the action. The request shows them.
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

// Decode returns a Config function for a fixed section, for tests.
func Decode(section any) func(into any) error {
	return func(into any) error {
		data, err := json.Marshal(section)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, into)
	}
}
