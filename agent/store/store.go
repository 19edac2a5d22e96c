// Package store keeps what outlives the process: sessions, their messages, tool
// calls and usage, in SQLite (WAL) under the home folder.
//
// What a method has returned for without error is durable: it survives kill -9.
// Several processes may hold the same file open. A [Store] is safe for concurrent
// use; it opens the file on first use, not before.
package store

import (
	"encoding/json"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Session is a conversation's head. Prompt and Tools are frozen when it begins.
type Session struct {
	ID        string   // UUIDv7: sorts by age
	Cwd       string   // absolute
	Folders   []string // further workspace folders, absolute
	Title     string   // from the first prompt
	Model     string
	Mode      string // the approval mode chosen for the session; empty: the configured one
	Parent    string // the session that delegated or was forked; empty: none
	System    string
	Tools     []model.Tool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Message is one entry of a session's log.
type Message struct {
	ID   string // UUIDv7
	Seq  int64  // 1, 2, …; set by the store
	Time time.Time
	model.Message
	Usage *model.Usage // assistant: what the request cost
	// Shown is what the editor was shown for a tool result beyond its text,
	// as JSON of []tools.Content; replayed by session/load.
	Shown   json.RawMessage
	IsError bool // tool: the result is a failure
}
