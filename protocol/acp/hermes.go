package acp

import (
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/protocol"
)

// Our own methods, which the protocol lacks. subagent.go contains the methods for subagents.
const (
	MethodSessionFork       = "_hermes/session/fork"       // ForkSessionRequest → NewSessionResponse
	MethodSessionRewind     = "_hermes/session/rewind"     // RewindSessionRequest → RewindSessionResponse
	MethodSessionDescribe   = "_hermes/session/describe"   // DescribeSessionRequest → DescribeSessionResponse
	MethodSessionTree       = "_hermes/session/tree"       // SessionRequest → SessionTree
	MethodSessionSearch     = "_hermes/session/search"     // SearchSessionsRequest → SearchSessionsResponse
	MethodCheckpointList    = "_hermes/checkpoint/list"    // protocol.CheckpointArgs → protocol.CheckpointListResult
	MethodCheckpointDiff    = "_hermes/checkpoint/diff"    // protocol.CheckpointArgs → protocol.CheckpointDiffResult
	MethodCheckpointRestore = "_hermes/checkpoint/restore" // protocol.CheckpointArgs → protocol.RestoreResult
	MethodCheckpointChanges = "_hermes/checkpoint/changes" // protocol.ChangesArgs → protocol.ChangesResult
	MethodCheckpointAccept  = "_hermes/checkpoint/accept"  // protocol.CheckpointArgs → protocol.AcceptResult
	MethodTrust             = "_hermes/trust"              // protocol.TrustArgs → protocol.TrustResult
	MethodExtensions        = "_hermes/extensions"         // protocol.SessionArgs → protocol.ExtensionsResult
	MethodMCPLogin          = "_hermes/mcp/login"          // protocol.MCPArgs → protocol.MCPResult
	MethodMCPLogout         = "_hermes/mcp/logout"         // protocol.MCPArgs → protocol.MCPResult
	MethodMCPRestart        = "_hermes/mcp/restart"        // protocol.MCPArgs → protocol.MCPResult
	MethodMCPApprove        = "_hermes/mcp/approve"        // protocol.MCPArgs → protocol.MCPResult
	MethodMCPRevoke         = "_hermes/mcp/revoke"         // protocol.MCPArgs → protocol.MCPResult
	MethodSkillOpen         = "_hermes/skill/open"         // protocol.OpenArgs → protocol.OpenResult
	MethodMemoryOpen        = "_hermes/memory/open"        // protocol.OpenArgs → protocol.OpenResult
	MethodLearningsOpen     = "_hermes/learnings/open"     // protocol.OpenArgs → protocol.OpenResult
	MethodFeedback          = "_hermes/feedback"           // protocol.FeedbackArgs → PromptResponse
	MethodCheckpointFile    = "_hermes/checkpoint/file"    // CheckpointFileRequest → CheckpointFileResponse
	MethodModelList         = "_hermes/model/list"         // SessionRequest → ModelListResponse
)

// MethodDiagnostics is a request of the agent to a client with _meta.hermes.diagnostics in its
// capabilities: DiagnosticsRequest → DiagnosticsResponse.
const MethodDiagnostics = "_hermes/diagnostics"

// MethodLSP is a request of the agent to a client with _meta.hermes.lsp in its capabilities:
// LSPRequest → LSPResponse. The client forwards it to its language servers.
const MethodLSP = "_hermes/lsp"

// MethodEditor tells the agent the state of the editor. A client sends it before session/prompt,
// and before a command that starts a turn. The last state applies.
const MethodEditor = "_hermes/editor" // notification of the client: EditorState

type (
	// ForkSessionRequest names a session and the last message to keep; empty is all messages. A
	// fork opens a new session with them. MCP servers are the new session's.
	ForkSessionRequest struct {
		SessionID             string      `json:"sessionId"`
		Cwd                   string      `json:"cwd,omitempty"`
		AdditionalDirectories []string    `json:"additionalDirectories,omitempty"`
		MCPServers            []MCPServer `json:"mcpServers,omitempty"`
		MessageID             string      `json:"messageId,omitempty"`
	}

	// RewindSessionRequest moves a session back: to the message MessageID, which stays, or to before
	// the user's message Prompt. Without both, all messages are removed. The old branch becomes a
	// separate session. Files restores the files to their state before Prompt; if that fails, the
	// history stays as it is. A rewind to before a prompt cancels the running turn.
	RewindSessionRequest struct {
		SessionID string `json:"sessionId"`
		MessageID string `json:"messageId,omitempty"`
		Prompt    string `json:"prompt,omitempty"`
		Files     bool   `json:"files,omitempty"`
	}

	// RewindSessionResponse names the session with the old branch. Before it, a session_info_update
	// tells the client which messages to drop: see Rewound. After a rewind to before a prompt, Text is
	// the prompt, to change and send again, and Files tells in Markdown what was restored and kept.
	RewindSessionResponse struct {
		SessionID string `json:"sessionId"`
		BranchID  string `json:"branchId"`
		Text      string `json:"text,omitempty"`
		Files     string `json:"files,omitempty"`
	}

	// ModelListResponse has the models that the session can choose, the used ones first. The
	// providers are asked for their models; Errors has those that did not answer. If the choices of
	// the option model have changed, a config_option_update comes first.
	ModelListResponse struct {
		Models List[ModelInfo]      `json:"models"`
		Errors List[ModelListError] `json:"errors"`
	}

	// ModelInfo is a model. ID is a value of the option model. An unknown fact is missing. Used: the
	// user has configured or chosen the model. Description has the facts as a text.
	ModelInfo struct {
		ID            string      `json:"id"`
		Description   string      `json:"description,omitempty"`
		ContextWindow int         `json:"contextWindow,omitempty"`
		Price         *ModelPrice `json:"price,omitempty"`
		Images        bool        `json:"images,omitempty"`
		Used          bool        `json:"used,omitempty"`
		Current       bool        `json:"current,omitempty"`
	}

	// ModelPrice is in US dollars per million tokens.
	ModelPrice struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
	}

	// ModelListError is a provider that did not list its models.
	ModelListError struct {
		Provider string `json:"provider"`
		Message  string `json:"message"`
	}

	// Rewound reports that the end of a session's history was moved to the session BranchID; it is
	// _meta.hermes.rewound of a session_info_update. A view drops the user's message Prompt and
	// everything after it. If Prompt is empty, it drops everything after the message MessageID and
	// its calls. If MessageID is empty too, it drops everything. Text is the text of Prompt, for
	// the user to change and send again.
	//
	// Prompts get their ids from the client, by _meta.hermes.messageId of session/prompt (a UUID);
	// otherwise, the client learns them when the session is loaded.
	Rewound struct {
		MessageID string `json:"messageId,omitempty"`
		Prompt    string `json:"prompt,omitempty"`
		Text      string `json:"text,omitempty"`
		BranchID  string `json:"branchId"`
	}

	// DescribeSessionRequest sets the title of a session, or the user's notes. A missing member
	// does not change.
	DescribeSessionRequest struct {
		SessionID string  `json:"sessionId"`
		Title     *string `json:"title,omitempty"`
		Notes     *string `json:"notes,omitempty"`
	}

	DescribeSessionResponse struct {
		Title string `json:"title"`
		Notes string `json:"notes"`
	}

	// SessionTree is a session's relatives: all forks of its oldest ancestor, the ancestor
	// included, oldest first.
	SessionTree struct {
		Sessions List[SessionBranch] `json:"sessions"`
	}

	// SessionBranch is a session of a tree. ForkedAt is the last message shared with its parent.
	SessionBranch struct {
		SessionInfo
		ParentID string `json:"parentId,omitempty"`
		ForkedAt string `json:"forkedAt,omitempty"`
	}

	// SearchSessionsRequest looks for words in prompts, answers, titles and notes. A word also
	// matches the beginning of longer words. Without a Cwd, it searches the sessions of all
	// directories.
	SearchSessionsRequest struct {
		Query string `json:"query"`
		Cwd   string `json:"cwd,omitempty"`
		Limit int    `json:"limit,omitempty"` // at most this many hits; 0: 20
	}

	// SearchSessionsResponse lists the best hits first.
	SearchSessionsResponse struct {
		Hits List[SessionHit] `json:"hits"`
	}

	// SessionHit is a matching message, or a session with a matching title or notes; then it has no
	// MessageID and no Role.
	SessionHit struct {
		SessionInfo
		MessageID string `json:"messageId,omitempty"`
		Role      string `json:"role,omitempty"` // user or assistant
		Snippet   string `json:"snippet"`        // a single line
	}

	// CheckpointFileRequest asks for a file as it was at a checkpoint.
	CheckpointFileRequest struct {
		SessionID    string `json:"sessionId"`
		CheckpointID string `json:"checkpointId"`
		Path         string `json:"path"`
	}

	// CheckpointFileResponse has the text at the checkpoint, and After, the text as the session has
	// left it since. If the file did not exist, there is none.
	CheckpointFileResponse struct {
		Content *string `json:"content"`
		After   *string `json:"after"`
	}

	// DiagnosticsRequest asks for the editor's diagnostics of a file after an edit. The client
	// waits at most Wait milliseconds for new diagnostics. Without a URI, it asks for the
	// diagnostics of all files.
	DiagnosticsRequest struct {
		URI  string `json:"uri,omitempty"`
		Wait int    `json:"wait"`
	}

	// DiagnosticsResponse lists the diagnostics of the file, or, if all were requested, Files.
	DiagnosticsResponse struct {
		Diagnostics List[protocol.Diagnostic] `json:"diagnostics"`
		Files       []FileDiagnostics         `json:"files,omitempty"`
	}

	// FileDiagnostics are the diagnostics of a file.
	FileDiagnostics struct {
		URI         string                    `json:"uri"`
		Diagnostics List[protocol.Diagnostic] `json:"diagnostics"`
	}

	// LSPRequest is a request of the Language Server Protocol. Method and Params are the
	// protocol's, with positions in UTF-16.
	LSPRequest struct {
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}

	// LSPResponse contains the answers of the servers that know the method and the file.
	LSPResponse struct {
		Results List[LSPResult] `json:"results"`
	}

	// LSPResult is a server's answer, in the form of the protocol.
	LSPResult struct {
		Server string          `json:"server"`
		Result json.RawMessage `json:"result"`
	}

	// EditorState is the user's view of the editor: the current file, the open files, the last used
	// first, and the files with problems.
	EditorState struct {
		Active   *EditorPlace     `json:"active,omitempty"`
		Open     []EditorFile     `json:"open,omitempty"`
		Problems []EditorProblems `json:"problems,omitempty"`
	}

	// EditorPlace is the cursor in a file, the selection if there is one, and the visible part.
	EditorPlace struct {
		URI       string             `json:"uri"`
		Position  *protocol.Position `json:"position,omitempty"`
		Selection *protocol.Range    `json:"selection,omitempty"`
		Visible   *protocol.Range    `json:"visible,omitempty"`
	}

	// EditorFile is an open file.
	EditorFile struct {
		URI     string `json:"uri"`
		Unsaved bool   `json:"unsaved,omitempty"`
	}

	// EditorProblems are the numbers of problems of a file.
	EditorProblems struct {
		URI      string `json:"uri"`
		Errors   int    `json:"errors,omitempty"`
		Warnings int    `json:"warnings,omitempty"`
	}
)
