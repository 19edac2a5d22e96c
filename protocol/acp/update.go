package acp

import "encoding/json"

// SessionNotification carries one update of a session to the client. Update is one
// of the types below.
type SessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// Update is one variant of session/update.
type Update interface{ update() }

// Names of the variants: the value of sessionUpdate.
const (
	UpdateUserMessage  = "user_message_chunk"        // ContentChunk
	UpdateAgentMessage = "agent_message_chunk"       // ContentChunk
	UpdateAgentThought = "agent_thought_chunk"       // ContentChunk
	UpdateToolCall     = "tool_call"                 // ToolCall
	UpdateToolCallNews = "tool_call_update"          // ToolCall
	UpdatePlan         = "plan"                      // Plan
	UpdateCommands     = "available_commands_update" // CommandsUpdate
	UpdateMode         = "current_mode_update"       // ModeUpdate
	UpdateOptions      = "config_option_update"      // OptionsUpdate
	UpdateInfo         = "session_info_update"       // InfoUpdate
	UpdateUsage        = "usage_update"              // UsageUpdate
	UpdateNotice       = "notice"                    // Notice
	UpdateCompaction   = "compaction_update"         // CompactionUpdate
)

type (
	// ContentChunk is a piece of a message: UpdateUserMessage, UpdateAgentMessage or
	// UpdateAgentThought. Chunks of one message share MessageID.
	ContentChunk struct {
		SessionUpdate string       `json:"sessionUpdate"`
		Content       ContentBlock `json:"content"`
		MessageID     string       `json:"messageId,omitempty"`
		Meta          Meta         `json:"_meta,omitempty"`
	}

	// ToolCall announces a call (UpdateToolCall) or brings news of one
	// (UpdateToolCallNews; then only what is set has changed).
	ToolCall struct {
		SessionUpdate string             `json:"sessionUpdate,omitempty"`
		ToolCallID    string             `json:"toolCallId"`
		Title         string             `json:"title,omitempty"`
		Name          string             `json:"name,omitempty"`
		Kind          ToolKind           `json:"kind,omitempty"`
		Status        ToolCallStatus     `json:"status,omitempty"`
		Content       []ToolCallContent  `json:"content,omitempty"`
		Locations     []ToolCallLocation `json:"locations,omitempty"`
		RawInput      json.RawMessage    `json:"rawInput,omitempty"`
		RawOutput     json.RawMessage    `json:"rawOutput,omitempty"`
		Meta          Meta               `json:"_meta,omitempty"`
	}

	// Plan is the whole list.
	Plan struct {
		SessionUpdate string          `json:"sessionUpdate"`
		Entries       List[PlanEntry] `json:"entries"`
	}

	// CommandsUpdate is the whole list of slash commands.
	CommandsUpdate struct {
		SessionUpdate     string                 `json:"sessionUpdate"`
		AvailableCommands List[AvailableCommand] `json:"availableCommands"`
	}

	ModeUpdate struct {
		SessionUpdate string `json:"sessionUpdate"`
		CurrentModeID string `json:"currentModeId"`
	}

	// OptionsUpdate is the whole list of options with their values.
	OptionsUpdate struct {
		SessionUpdate string                    `json:"sessionUpdate"`
		ConfigOptions List[SessionConfigOption] `json:"configOptions"`
	}

	InfoUpdate struct {
		SessionUpdate string `json:"sessionUpdate"`
		Title         string `json:"title,omitempty"`
		UpdatedAt     string `json:"updatedAt,omitempty"`
		Meta          Meta   `json:"_meta,omitempty"` // hermes.rewound: Rewound
	}

	// UsageUpdate says how full the context is, in tokens, and what the session has
	// cost so far.
	UsageUpdate struct {
		SessionUpdate string `json:"sessionUpdate"`
		Used          int    `json:"used"`
		Size          int    `json:"size"`
		Cost          *Cost  `json:"cost,omitempty"`
		Meta          Meta   `json:"_meta,omitempty"`
	}

	// CompactionUpdate says that the older part of the conversation is being summed up
	// for the model, or has been. Only for clients with the capability
	// session.compaction.
	CompactionUpdate struct {
		SessionUpdate string         `json:"sessionUpdate"`
		CompactionID  string         `json:"compactionId"`
		Status        string         `json:"status"` // in_progress, completed, failed, cancelled
		Summary       []ContentBlock `json:"summary,omitempty"`
		Error         string         `json:"error,omitempty"`
	}

	// Notice is a word to the user that is no part of the conversation. Only for
	// clients with the capability session.notices.
	Notice struct {
		SessionUpdate string `json:"sessionUpdate"`
		Severity      string `json:"severity"` // info, warning, error
		Title         string `json:"title"`
		Description   string `json:"description,omitempty"`
	}
)

func (*ContentChunk) update()     {}
func (*ToolCall) update()         {}
func (*Plan) update()             {}
func (*CommandsUpdate) update()   {}
func (*ModeUpdate) update()       {}
func (*OptionsUpdate) update()    {}
func (*InfoUpdate) update()       {}
func (*UsageUpdate) update()      {}
func (*Notice) update()           {}
func (*CompactionUpdate) update() {}

// ToolKind sorts calls for icons; the values are those of tools.Kind.
type ToolKind string

// ToolCallStatus is where a call stands.
type ToolCallStatus string

const (
	StatusPending    ToolCallStatus = "pending"
	StatusInProgress ToolCallStatus = "in_progress"
	StatusCompleted  ToolCallStatus = "completed"
	StatusFailed     ToolCallStatus = "failed"
)

// ToolCallContent is a block ("content"), a file's change ("diff"), or a live
// terminal of the client's ("terminal").
type ToolCallContent struct {
	Type       string        `json:"type"`
	Content    *ContentBlock `json:"content,omitempty"`
	Path       string        `json:"path,omitempty"`    // diff, absolute
	OldText    *string       `json:"oldText,omitempty"` // diff; nil: a new file
	NewText    *string       `json:"newText,omitempty"` // diff
	TerminalID string        `json:"terminalId,omitempty"`
}

// TextContent shows a text.
func TextContent(s string) ToolCallContent {
	block := Text(s)
	return ToolCallContent{Type: "content", Content: &block}
}

// DiffContent shows a change; old is nil for a new file.
func DiffContent(path string, old *string, new string) ToolCallContent {
	return ToolCallContent{Type: "diff", Path: path, OldText: old, NewText: &new}
}

// TerminalContent shows a terminal.
func TerminalContent(id string) ToolCallContent {
	return ToolCallContent{Type: "terminal", TerminalID: id}
}

// ToolCallLocation is a place that a call touches. Line counts from 1; 0: the file.
type ToolCallLocation struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"` // high, medium, low
	Status   string `json:"status"`   // pending, in_progress, completed
}

type AvailableCommand struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Input       *AvailableCommandInput `json:"input,omitempty"`
}

type AvailableCommandInput struct {
	Hint string `json:"hint"`
}

type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"` // ISO 4217
}
