package acp

import "encoding/json"

// Update is a variant of session/update.
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

// ToolKind is the kind of a call, for icons. The values equal tools.Kind's.
type ToolKind string

// ToolCallStatus is the state of a call.
type ToolCallStatus string

const (
	StatusPending    ToolCallStatus = "pending"
	StatusInProgress ToolCallStatus = "in_progress"
	StatusCompleted  ToolCallStatus = "completed"
	StatusFailed     ToolCallStatus = "failed"
)

// TextContent returns a text.
func TextContent(s string) ToolCallContent {
	block := Text(s)
	return ToolCallContent{Type: "content", Content: &block}
}

// DiffContent returns the change of a file. If the file is new, old is nil.
func DiffContent(path string, old *string, new string) ToolCallContent {
	return ToolCallContent{Type: "diff", Path: path, OldText: old, NewText: &new}
}

// TerminalContent returns a live terminal of the client.
func TerminalContent(id string) ToolCallContent {
	return ToolCallContent{Type: "terminal", TerminalID: id}
}

// Kinds of content blocks.
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResourceLink = "resource_link"
	ContentResource     = "resource"
)

// MarshalJSON writes the required field of a text also if it is empty.
func (b ContentBlock) MarshalJSON() ([]byte, error) {
	type plain ContentBlock
	if b.Type != ContentText {
		return json.Marshal(plain(b))
	}
	return json.Marshal(struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Annotations *Annotations `json:"annotations,omitempty"`
	}{b.Type, b.Text, b.Annotations})
}

// Text returns a text block.
func Text(s string) ContentBlock { return ContentBlock{Type: ContentText, Text: s} }
