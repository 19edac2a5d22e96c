// Package tools is the core of all tools: tools as values, and the dispatcher for every call.
//
// A [Tool] joins a typed Go function to a JSON schema. A [Set] holds the tools of a session and
// runs their calls. An error or a panic of a tool becomes the result {"error": "…"}. The package
// knows no JSON-RPC and no editor. A tool captures the required parts of its session when it is
// created; [Env] holds the parts for one call.
package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Kind is the effect of a tool, in ACP's terms.
type Kind string

const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindDelete  Kind = "delete"
	KindMove    Kind = "move"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"

	KindSwitchMode Kind = "switch_mode"
)

// Tool is a function offered to the model. Make it with [New].
type Tool struct {
	Name        string
	Toolset     string
	Kind        Kind
	Description string // text for the model. For New it may be a template, see [Describe]
	Schema      json.RawMessage
	// SchemaChecked is set if Schema is known to be a JSON schema. The set then reads it at the
	// first call. Otherwise [Set.Add] reads it and reports an error.
	SchemaChecked bool
	// ReadOnly tools change nothing: neighbouring calls of them run together.
	ReadOnly bool
	// Parallel tools may run beside read-only tools and beside each other, although they write.
	Parallel bool
	// Network tools send requests to addresses named by the model.
	Network bool
	// Plans is set for tools without changes in plan mode, because of [Env.Planning] or because
	// they never change anything. Otherwise a tool runs in plan mode only if it is ReadOnly and not
	// Network.
	Plans bool
	// Foreign tools have texts of servers or other programs in their results, beside text of files.
	Foreign bool
	// Tracked tools change files only through the workspace, which knows each change.
	Tracked bool
	// RunsCommands is set for tools that run shell commands.
	RunsCommands bool
	// EditsFiles is set for tools that change workspace files like the user's editor: the user sees
	// the diff, and unsaved buffers are kept.
	EditsFiles bool
	// Brief is the description in a session with a small context window, where only tools with a
	// Brief are offered. BriefParams are the parameters offered there.
	Brief       string
	BriefParams []string
	// Advice is a sentence for the system prompt about when to use the tool. Empty: the description
	// states it.
	Advice string
	// Replay reports whether calls of the tool are repeated when a session is replayed.
	Replay Replay
	// Order is the tool's position among the tools of extensions. Tools of equal order keep the
	// order of their extensions.
	Order int
	// Owner is the extension of the tool. The set fills it in.
	Owner string
	// Group is the server or plugin of the tool. Nil: it is built in.
	Group *Group
	// Deferred tools can be called, and are not in the list of tools of a request.
	Deferred bool
	// Means translates a call of this tool into another call, which [Set.Resolve] then uses. If it
	// is nil or returns false, the call stays.
	Means func(args json.RawMessage) (Call, bool)
	// Available is asked once per listing; an error leaves the tool out. Nil: always there.
	Available func(context.Context) error
	// RequiredEnv names environment variables without which the tool is left out.
	RequiredEnv []string
	// ResultCap bounds the result in bytes; zero is the set's default (100,000).
	ResultCap int
	// Override lets the tool replace a tool of the same name.
	Override bool
	// Script is the signature and the result of the tool as a function of scripts, such as
	// "(path, offset=1) → content". Empty: scripts cannot call the tool.
	Script string
	// Describe returns the description if it depends on the offered tools. Nil: Description.
	Describe func(offered []Tool) string
	// Title is the editor's line for a call, such as "Read main.go". If it is nil or returns "",
	// the line is the tool's name.
	Title func(args json.RawMessage) string
	// Edit returns the edit of a call without making it, for an approval request before the tool
	// runs. Nil: the request shows only the arguments.
	Edit func(ctx context.Context, env *Env, call Call) (Edit, error)
	// AsksLater reports whether a call computes an edit and asks the gate before making it. If an
	// event requires approval of the call, this request includes it and shows the edit. Nil: no
	// call does.
	AsksLater func(Call) bool
	// Run does the work. A [Result] is for the model to read, failures included.
	// An error's text is shown to it as a failure too, unless ctx has ended.
	Run func(ctx context.Context, env *Env, call Call) (Result, error)

	// TellsRunning is set for tools that call [Env.Running] when their processes start. Other
	// tools' processes can run as long as Run.
	TellsRunning bool

	// Interrupted returns the result of a call whose server died before the call had a result. It
	// is called when the session is opened again. Nil: the result reports the interruption.
	Interrupted func(ctx context.Context, env *Env, call Call) Result

	// accepts is the schema for arguments: Schema and the accepted parameters that are not offered.
	// Set by New, else by a Set.
	accepts *accepted
}

// Group is a server or a plugin with tools.
type Group struct {
	Name  string
	About string // the group's own description in one line; may be empty
	Defer string // always or never; empty: its tools are deferred if all tools are too large
}

// Takes reports whether the tool has a parameter. If a tool has no schema, or its server accepts
// additional parameters, it takes all.
func (t Tool) Takes(name string) bool {
	if t.accepts == nil {
		return true
	}
	s := t.accepts.schema()
	if s == nil || len(s.Properties) == 0 || strings.HasPrefix(t.Toolset, "mcp-") {
		return true
	}
	_, ok := s.Properties[name]
	return ok
}

// WritesAnywhere reports whether a call of the tool may change files without the workspace.
func (t Tool) WritesAnywhere() bool {
	return !t.ReadOnly && !t.Tracked && slices.Contains([]Kind{KindExecute, KindOther, KindDelete, KindMove}, t.Kind)
}

// Replay reports whether calls of a tool are repeated in a replay.
type Replay int

const (
	NotReplayed Replay = iota // it reaches more than the workspace, or asks the user
	Replayed                  // it works in the workspace only
	ReplayedIf                // it is repeated if a sandbox bounds it, as it may do anything
)

// Call is a tool call as the model made it.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage // valid JSON object once dispatched
	// Note is for the result: how the call was translated. See [Set.Resolve].
	Note string

	resolved bool // the names are ours
}

// Result is the result of a call.
type Result struct {
	JSON    json.RawMessage // exactly one JSON object, as sent to the model
	IsError bool
	Images  []Image   // pictures for a model with vision
	Shown   []Content // the editor shows it with the result
	// EndsTurn ends the turn after the calls of the response: the user continues.
	EndsTurn bool

	brief any // for the model in place of JSON; nil: JSON

	// marshalled is the first byte of JSON made by OK, which is known to be an object and need not
	// be parsed. A hook that replaces the JSON leaves it.
	marshalled *byte
}

// Image is a picture.
type Image struct {
	Name     string // path or file name; empty: it has none
	MIMEType string
	Data     []byte
	// Width and Height are set by [Pictures.Fit].
	Width, Height int
}

// Content is one piece of editor output for a call. Exactly one of Diff, Text, Terminal and Inner
// is set; Location may stand alone.
type Content struct {
	Text     string    `json:"text,omitempty"`
	Diff     *Diff     `json:"diff,omitempty"`
	Terminal string    `json:"terminal,omitempty"` // id of a terminal of the editor's
	Location *Location `json:"location,omitempty"`
	Inner    *Inner    `json:"sandbox_tool_call,omitempty"`
}

// Inner is a script's call. Transcripts contain it; the model does not see it.
type Inner struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // long texts in it are cut
	Duration  float64         `json:"duration_seconds"`
	Status    string          `json:"status"` // completed, failed, interrupted or refused
}

// Diff is a file before and after a call. Old is nil for a new file.
type Diff struct {
	Path string  `json:"path"` // absolute
	Old  *string `json:"old,omitempty"`
	New  string  `json:"new"`
}

// Location is a position in a file of a call. Line counts from 1; 0 is the file.
type Location struct {
	Path string `json:"path"` // absolute
	Line int    `json:"line,omitempty"`
}
