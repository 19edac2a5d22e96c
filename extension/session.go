package extension

import (
	"context"
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
)

// Session is an instance's session. Its fields are the rights of an extension. The few extensions
// with further rights, to start processes, to choose the sandbox's limits or to use the network, are
// listed in imports_test.go. The session's builder sets all fields; in tests, unused ones may be nil.
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
	// Bounds are the limits of the session's tools. imports_test.go lists the extensions that use
	// them.
	Bounds tools.Bounds
	// Edits returns the service of the session's own set, which sets it for extensions with Bounds.
	Edits func() (Edits, bool)

	Processes
	Host
	Models
	// Ask asks the user.
	Ask Asker
	// Emit shows an event to the user. A host without a user drops it.
	Emit func(Event)
	// Wake reports pending notices, so the user can be notified if no turn runs.
	Wake func()
	// Redact replaces known secrets by placeholders.
	Redact func(text string) string
	// State is the extension's data in the stored session.
	State State
	// Plan is the plan of the session, for the extension with its tool.
	Plan *tools.Plan
	// Config decodes the extension's configuration section over the value at into, as
	// the section is now.
	Config func(into any) error
	// Mode returns the session's mode, and SetMode changes it.
	Mode    func() string
	SetMode func(ctx context.Context, id string) error
	// Situation returns model, mode and limits of the session.
	Situation func() Situation
	// Spawn runs a subagent. It is nil where there can be none.
	Spawn func(ctx context.Context, t Task) (Report, error)
	// Extensions returns the session's extensions, when all are open. They have the services.
	Extensions func() *Set
}

// Processes bound the processes of an extension.
type Processes struct {
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
}

// Host is the program with which the user works: an editor or a terminal.
type Host struct {
	// Decide asks a question for which the gate has no rule, within its time limit.
	Decide func(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error)
	// OpenURL opens a page in the user's browser, such as that of a login at a server. If the host
	// cannot, it returns false.
	OpenURL func(ctx context.Context, server, address string) bool
	Offers  bool // the host shows offers below an answer
	// CommandsChanged reports that Commands returns other commands. Nil: no host needs it.
	CommandsChanged func()
	// EditorState returns the part of the editor now visible to the user.
	EditorState func() EditorState
	// Problems returns all problems shown in the editor. If the editor cannot report them, it
	// returns an error.
	Problems func(ctx context.Context) ([]Problem, error)
	// Diagnoser reports the editor's diagnostics after edits. Nil: it has none.
	Diagnoser file.Diagnoser
	// LanguageServers queries the language servers of the editor. It is nil if the editor does not
	// support this.
	LanguageServers ServerQuery
}

// Models are the models of a session. The user must have caused each request.
type Models struct {
	// Complete sends a single prompt to the session's model, without tools and history. It is nil
	// where there is no model.
	Complete func(ctx context.Context, system, prompt string) (string, error)
	// Model returns the model of a named route, its name and its context window. If route is empty,
	// it is the model for the extension's section.
	Model func(ctx context.Context, route string) (m model.Model, name string, window int, err error)
	// Spend adds a request's usage to the session's.
	Spend func(model.Usage)
	// Looks reports whether the session's model is known to see pictures, or another model answers
	// in its place.
	Looks func(ctx context.Context) bool
	// Look asks a model with vision about a picture. If there is none, asked is false.
	Look func(ctx context.Context, picture model.Image, system, question string) (d model.Description, asked bool, err error)
	// Describe is Look with the question for a description. prompt is the user's prompt.
	Describe func(ctx context.Context, picture model.Image, prompt string) (d model.Description, asked bool, err error)
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
	ID            string
	Folders       func() []string
	Files         tools.Files
	Editor        tools.Files
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
		Bounds: own.Bounds, Redact: s.Redact, Config: s.Config,
	}
	if own.State != nil {
		d.State = own.State(s.Name)
	}
	switch kind {
	case Subagent:
		d.Confine, d.Ask, d.Emit, d.Wake, d.Plan, d.Spawn = own.Confine, own.Ask, s.emitNotices, s.Wake, own.Plan, own.Spawn
		d.ConfineReader, d.Watch = own.ConfineReader, own.Watch
	case Script: // a program gets results, and can neither ask nor start anything
		d.Emit = s.emitNotices
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
