// Package protocol defines the additions of hermes-ls to the Language Server Protocol: the names of
// its commands, their arguments and results, and the titles of its code actions. The editor plugins
// are generated from it.
//
// If the Agent Client Protocol defines a name, it is in protocol/acp; framing is in protocol/wire.
// The package knows no agent and imports nothing of ours.
package protocol

//go:generate go run ./generate

// ServerName is serverInfo.name, and the prefix of the commands' section.
const ServerName = "hermes-ls"

// Section is the name of our settings in workspace/configuration.
const Section = "hermes"

// The commands of workspace/executeCommand. Each takes an object, or nothing if nothing is
// required.
const (
	CommandPrompt          = "hermes.prompt"             // PromptArgs → TurnResult
	CommandExplain         = "hermes.explain"            // ActionArgs → TurnResult
	CommandFix             = "hermes.fix"                // ActionArgs → TurnResult
	CommandReview          = "hermes.review"             // ActionArgs → TurnResult
	CommandTest            = "hermes.test"               // ActionArgs → TurnResult
	CommandDocument        = "hermes.document"           // ActionArgs → TurnResult
	CommandEdit            = "hermes.edit"               // EditArgs → TurnResult
	CommandDelegate        = "hermes.delegate"           // DelegateArgs → TurnResult
	CommandSubagentList    = "hermes.subagent.list"      // SubagentArgs → SubagentListResult
	CommandSubagentMessage = "hermes.subagent.message"   // SubagentArgs → SubagentResult
	CommandSubagentStop    = "hermes.subagent.stop"      // SubagentArgs → SubagentResult
	CommandChatOpen        = "hermes.chat.open"          // ChatOpenArgs → ChatOpenResult
	CommandChatSend        = "hermes.chat.send"          // ChatSendArgs → SessionResult
	CommandCancel          = "hermes.cancel"             // SessionArgs → CancelResult
	CommandSessionNew      = "hermes.session.new"        // SessionArgs → SessionResult
	CommandSessionList     = "hermes.session.list"       // SessionArgs → SessionListResult
	CommandSessionLoad     = "hermes.session.load"       // SessionArgs → SessionResult
	CommandSessionDelete   = "hermes.session.delete"     // SessionArgs → SessionResult
	CommandSessionFork     = "hermes.session.fork"       // ForkArgs → SessionResult
	CommandCheckpoints     = "hermes.checkpoint.list"    // CheckpointArgs → CheckpointListResult
	CommandCheckpointDiff  = "hermes.checkpoint.diff"    // CheckpointArgs → CheckpointDiffResult
	CommandRestore         = "hermes.checkpoint.restore" // CheckpointArgs → RestoreResult
	CommandChanges         = "hermes.checkpoint.changes" // ChangesArgs → ChangesResult
	CommandAccept          = "hermes.checkpoint.accept"  // CheckpointArgs → AcceptResult
	CommandTranscript      = "hermes.transcript"         // SessionArgs → TranscriptResult
	CommandTrust           = "hermes.trust"              // TrustArgs → TrustResult
	CommandExtensions      = "hermes.extensions"         // SessionArgs → ExtensionsResult
	CommandMCPLogin        = "hermes.mcp.login"          // MCPArgs → MCPResult
	CommandMCPLogout       = "hermes.mcp.logout"         // MCPArgs → MCPResult
	CommandMCPRestart      = "hermes.mcp.restart"        // MCPArgs → MCPResult
	CommandMCPApprove      = "hermes.mcp.approve"        // MCPArgs → MCPResult
	CommandMCPRevoke       = "hermes.mcp.revoke"         // MCPArgs → MCPResult
	CommandSkillOpen       = "hermes.skill.open"         // OpenArgs → OpenResult
	CommandMemoryOpen      = "hermes.memory.open"        // OpenArgs → OpenResult
	CommandLearningsOpen   = "hermes.learnings.open"     // OpenArgs → OpenResult
	CommandFeedback        = "hermes.feedback"           // FeedbackArgs → TurnResult
)

// The titles of code actions and of the code lens.
const (
	TitleChat     = "Chat with Hermes"
	TitleExplain  = "Explain"
	TitleFix      = "Fix"
	TitleTest     = "Write tests"
	TitleDocument = "Document"
	TitleSend     = "Send to Hermes"
	TitleCancel   = "Cancel Hermes"
)

// Position and Range are LSP's, in the negotiated encoding.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range ends before End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// TextDocument names a document.
type TextDocument struct {
	URI string `json:"uri"`
}

// Diagnostic is the part of LSP's diagnostic for a prompt.
type Diagnostic struct {
	Range    Range  `json:"range"`
	Severity int    `json:"severity,omitempty"` // 1 error … 4 hint; 0 unsaid
	Source   string `json:"source,omitempty"`
	Code     any    `json:"code,omitempty"` // a string or a number
	Message  string `json:"message"`
}

// PromptArgs is the argument of [CommandPrompt]. A document quotes its range, or
// the whole of it, as context.
type PromptArgs struct {
	Prompt       string        `json:"prompt"`
	SessionID    string        `json:"sessionId,omitempty"`
	TextDocument *TextDocument `json:"textDocument,omitempty"`
	Range        *Range        `json:"range,omitempty"`
	Wait         bool          `json:"wait,omitempty"`
}

// ActionArgs is the argument of explain, fix, review, test and document.
type ActionArgs struct {
	TextDocument TextDocument `json:"textDocument"`
	Range        *Range       `json:"range,omitempty"`
	Diagnostics  []Diagnostic `json:"diagnostics,omitempty"`
	SessionID    string       `json:"sessionId,omitempty"`
	Wait         bool         `json:"wait,omitempty"`
}

// EditArgs is the argument of [CommandEdit]. Without a range it is about the document.
type EditArgs struct {
	TextDocument TextDocument `json:"textDocument"`
	Range        *Range       `json:"range,omitempty"`
	Instruction  string       `json:"instruction"`
	SessionID    string       `json:"sessionId,omitempty"`
	Wait         bool         `json:"wait,omitempty"`
}

// TrustArgs is the argument of [CommandTrust]. Without a folder, it is the session's.
type TrustArgs struct {
	Trusted   bool   `json:"trusted"`
	Folder    string `json:"folder,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// TrustResult contains a text for the user, as Markdown.
type TrustResult struct {
	Trusted bool   `json:"trusted"`
	Text    string `json:"text"`
}

// MCPArgs is the argument of the commands hermes.mcp. Address is the browser's final address in a
// running login.
type MCPArgs struct {
	Server    string `json:"server"`
	Address   string `json:"address,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// MCPResult contains a text for the user, as Markdown.
type MCPResult struct {
	Text string `json:"text"`
}

// OpenArgs names a skill (name) or a file of the memory (target: memory, user or project). The learnings need neither.
type OpenArgs struct {
	Name      string `json:"name,omitempty"`
	Target    string `json:"target,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// FeedbackArgs is the answer to an offer: 1 (keep it as a skill), 2 (worked), 3 (had problems) or 4 (do not ask
// again). Only 1 starts the model.
type FeedbackArgs struct {
	Choice    int    `json:"choice"`
	SessionID string `json:"sessionId,omitempty"`
	Wait      bool   `json:"wait,omitempty"` // for the end of the turn
}

// OpenResult names the document shown to the user.
type OpenResult struct {
	URI string `json:"uri"`
}

// ExtensionsResult lists the extensions of a session, including MCP servers without approval.
// Offered lists the contents of the workspace folders. Trusted reports whether the user trusts all
// folders.
type ExtensionsResult struct {
	MCP       []MCPServerState `json:"mcp"`
	Skills    []SkillState     `json:"skills"`
	Plugins   []PluginState    `json:"plugins"`
	Hooks     []HookState      `json:"hooks"`
	Commands  []NamedFile      `json:"commands"`
	Agents    []NamedFile      `json:"agents"`
	Memory    []MemoryState    `json:"memory"`
	Learnings []LearningState  `json:"learnings"`
	Offered   []Offer          `json:"offered"`
	Trusted   bool             `json:"trusted"`
}

// SkillState is a skill. Place is workspace, user, external, plugin or bundled. A skill with an error is left out.
type SkillState struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Place       string `json:"place"`
	Path        string `json:"path"`
	Error       string `json:"error,omitempty"`
}

// PluginState is a plugin, with the states of `hermes-ls plugin list`.
type PluginState struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	State       string   `json:"state"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
	Hooks       []string `json:"hooks"`
	Error       string   `json:"error,omitempty"`
}

// HookState is a hook of config.yaml. If Matcher is empty, the hook is for all tools.
type HookState struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher"`
	Command string `json:"command"`
	Error   string `json:"error,omitempty"`
}

// NamedFile is a command or an agent in a Markdown file.
type NamedFile struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
}

// MemoryState is a file of the memory: memory, user or project.
type MemoryState struct {
	Target  string   `json:"target"`
	Heading string   `json:"heading"`
	Usage   string   `json:"usage"` // such as "67 %, 1474/2200"
	Path    string   `json:"path"`
	Entries []string `json:"entries"`
}

// LearningState is an error with the call that worked after it.
type LearningState struct {
	ID         int64   `json:"id"`
	Program    string  `json:"program"`
	Error      string  `json:"error"`
	Failed     string  `json:"failed"`
	Worked     string  `json:"worked"`
	Seen       int     `json:"seen"`
	Confidence float64 `json:"confidence"`
}

// Offer lists the skills, commands, agents and MCP servers of a workspace folder.
type Offer struct {
	Folder   string         `json:"folder"`
	Trusted  bool           `json:"trusted"`
	Skills   []OfferedEntry `json:"skills"`
	Commands []OfferedEntry `json:"commands"`
	Agents   []OfferedEntry `json:"agents"`
	Servers  []OfferedEntry `json:"servers"`
}

// OfferedEntry is a skill, a command, an agent or an MCP server of a folder.
type OfferedEntry struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Approved    bool   `json:"approved,omitempty"` // of a server
	Error       string `json:"error,omitempty"`
}

// MCPServerState is an MCP server, with the states of `hermes-ls mcp list`.
type MCPServerState struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Tools    int    `json:"tools"`
	From     string `json:"from"`
	Error    string `json:"error,omitempty"`
	Log      string `json:"log,omitempty"`      // the file with its log
	Approved bool   `json:"approved,omitempty"` // it comes from the workspace, and the user has approved it
}

// TurnResult answers a prompt. Without wait only the session is known.
type TurnResult struct {
	SessionID  string  `json:"sessionId"`
	StopReason string  `json:"stopReason,omitempty"` // ACP's words
	Text       *string `json:"text,omitempty"`       // the answer; set with wait
}

// DelegateArgs is the argument of [CommandDelegate]: a goal, or several tasks.
type DelegateArgs struct {
	Goal      string         `json:"goal,omitempty"`
	Context   string         `json:"context,omitempty"`
	Toolsets  []string       `json:"toolsets,omitempty"`
	Tasks     []DelegateTask `json:"tasks,omitempty"`
	SessionID string         `json:"sessionId,omitempty"`
	Wait      bool           `json:"wait,omitempty"`
}

// DelegateTask is one of several tasks.
type DelegateTask struct {
	Goal     string   `json:"goal"`
	Context  string   `json:"context,omitempty"`
	Toolsets []string `json:"toolsets,omitempty"`
}

// SubagentArgs names a subagent, by its own session, and its parent session; empty is the current
// session. The list needs no subagent.
type SubagentArgs struct {
	SessionID  string `json:"sessionId,omitempty"`
	SubagentID string `json:"subagentId,omitempty"`
	Message    string `json:"message,omitempty"` // to the subagent
}

// SubagentListResult is every subagent of a session, the oldest first.
type SubagentListResult struct {
	Subagents []SubagentInfo `json:"subagents"`
}

// SubagentInfo is a subagent in a list.
type SubagentInfo struct {
	SubagentID string  `json:"subagentId"`
	ParentID   string  `json:"parentId,omitempty"` // of a subagent of a subagent
	Goal       string  `json:"goal"`
	Status     string  `json:"status"` // running, completed, failed, interrupted, timeout
	Doing      string  `json:"doing,omitempty"`
	Calls      int     `json:"calls"`
	Tokens     int     `json:"tokens"`
	Seconds    float64 `json:"seconds"`
	Background bool    `json:"background,omitempty"`
}

// SubagentResult answers a message and a stop.
type SubagentResult struct {
	SubagentID string `json:"subagentId"`
	Status     string `json:"status,omitempty"`
	Stopped    *bool  `json:"stopped,omitempty"` // false: it had ended already
}

// ChatOpenArgs is the argument of [CommandChatOpen]. A document and a range are
// quoted in the chat, where the user writes next.
type ChatOpenArgs struct {
	SessionID    string        `json:"sessionId,omitempty"`
	TextDocument *TextDocument `json:"textDocument,omitempty"`
	Range        *Range        `json:"range,omitempty"`
}

// ChatOpenResult is where the chat is.
type ChatOpenResult struct {
	URI string `json:"uri"`
}

// ChatSendArgs is the argument of [CommandChatSend]: a chat document.
type ChatSendArgs struct {
	TextDocument TextDocument `json:"textDocument"`
}

// SessionArgs names a session; empty is the current session.
type SessionArgs struct {
	SessionID string `json:"sessionId,omitempty"`
}

// SessionResult names a session.
type SessionResult struct {
	SessionID string `json:"sessionId"`
}

// CancelResult says whether there was anything to cancel.
type CancelResult struct {
	Cancelled bool `json:"cancelled"`
}

// SessionListResult is every session of the workspace, newest first.
type SessionListResult struct {
	Sessions []SessionInfo `json:"sessions"`
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title"`
	UpdatedAt string `json:"updatedAt"` // RFC 3339
	ParentID  string `json:"parentId,omitempty"`
}

// TranscriptResult is where the transcript was written.
type TranscriptResult struct {
	URI string `json:"uri"`
}

// ForkArgs names a session and the last message to keep in the fork; empty is all messages.
type ForkArgs struct {
	SessionID string `json:"sessionId,omitempty"`
	MessageID string `json:"messageId,omitempty"`
}

// CheckpointArgs names a checkpoint of a session, and files; none is all files. The list needs no
// checkpoint.
type CheckpointArgs struct {
	SessionID    string   `json:"sessionId,omitempty"`
	CheckpointID string   `json:"checkpointId,omitempty"`
	Files        []string `json:"files,omitempty"` // absolute, or relative to the working directory
}

// CheckpointListResult is the checkpoints of a session, newest first.
type CheckpointListResult struct {
	Checkpoints []CheckpointInfo `json:"checkpoints"`
}

// CheckpointInfo is the state before a turn, or a named state.
type CheckpointInfo struct {
	ID        string   `json:"id"`
	CreatedAt string   `json:"createdAt"` // RFC 3339
	Title     string   `json:"title"`
	Files     []string `json:"files"`             // changed since then by the turn; relative if below the working directory
	Restore   bool     `json:"restore,omitempty"` // made by a restore, of the replaced state
}

// ChangesArgs asks for the changes of all sessions of a workspace. If there are no folders, it asks
// for the editor's workspace.
type ChangesArgs struct {
	Cwd                   string   `json:"cwd,omitempty"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
}

// ChangesResult lists the pending changes, neither accepted nor reverted by the user, also of
// closed sessions. The newest turn is first.
type ChangesResult struct {
	Changes []TurnChanges   `json:"changes"`
	Missed  []MissedChanges `json:"missed,omitempty"`
}

// MissedChanges lists the changes of a turn without a checkpoint, such as on a full disk. They can be
// accepted, as a whole, and not reverted.
type MissedChanges struct {
	TurnChanges
	// Commands ran, too. Their changes are not known.
	Commands bool   `json:"commands,omitempty"`
	Why      string `json:"why"`
}

// TurnChanges lists the pending files after a checkpoint of a session, up to the next checkpoint.
type TurnChanges struct {
	SessionID    string   `json:"sessionId"`
	CheckpointID string   `json:"checkpointId"`
	CreatedAt    string   `json:"createdAt"` // RFC 3339
	Title        string   `json:"title"`     // of the turn
	Files        []string `json:"files"`     // relative to the working directory where below it
}

// AcceptResult is the files whose changes no longer wait.
type AcceptResult struct {
	Accepted []string `json:"accepted"`
}

// CheckpointDiffResult is a unified diff from the checkpoint to now.
type CheckpointDiffResult struct {
	Diff string `json:"diff"`
}

// RestoreResult lists the restored files, the files kept as they are, and the files that are
// restored in the editor and not on the disk.
type RestoreResult struct {
	Restored []string `json:"restored"`
	Kept     []string `json:"kept"`
	// For each of Kept, why it is kept.
	Why []string `json:"why,omitempty"`
	// The files of Kept that a restore can overwrite, if it names them and the user agrees.
	Overwritable []string      `json:"overwritable,omitempty"`
	Unsaved      []UnsavedFile `json:"unsaved,omitempty"`
}

// UnsavedFile is a file with another text on the disk than in the editor.
type UnsavedFile struct {
	Path string `json:"path"`
	// Why the editor could not save it.
	Why string `json:"why,omitempty"`
}
