// Package store keeps what outlives the process: sessions, their messages, tool
// calls and usage, in SQLite (WAL) under the home folder.
//
// What a method has returned for without error is durable: it survives kill -9.
// Several processes may hold the same file open. A [Store] is safe for concurrent
// use; it opens the file on first use, not before, and a failed opening is tried
// again by the next call. A damaged file, or one of a newer version, is an error
// that names it; the file is never replaced.
package store

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// FileName is the store's file in the home folder.
const FileName = "hermes-ls.db"

// Session is a conversation's head. System and Tools are frozen when it begins.
type Session struct {
	ID        string   // UUIDv7: sorts by age
	Cwd       string   // absolute
	Folders   []string // further workspace folders, absolute
	Title     string   // from the first prompt
	Model     string
	Mode      string // the approval mode chosen for the session; empty: the configured one
	Preferred string // the model chosen for the session; empty: the configured one
	Thinking  string // the thinking chosen for the session; empty: the model's own
	Parent    string // the session that delegated or was forked; empty: none
	Root      string // of a branch: the oldest session of its tree; empty: it is no branch
	ForkedAt  string // of a branch: the last message that it shares with Parent; empty: none
	Notes     string // a person's own
	Origin    string // what whoever made the session for a purpose keeps of it, as JSON; empty: a conversation
	System    string
	Tools     []model.Tool
	CreatedAt time.Time // kept to the microsecond
	UpdatedAt time.Time // of the last message; kept to the microsecond
	Totals              // counted by the store
}

// Totals are what a log comes to, without reading it. Those of a branch include
// what it shares.
type Totals struct {
	Messages int
	Requests int         // that were answered
	Usage    model.Usage // of all requests
	Rewinds  int         // how often the log has lost its end to a branch
}

// Message is one entry of a session's log.
type Message struct {
	ID   string // UUIDv7
	Seq  int64  // 1, 2, …; set by the store when zero
	Time time.Time
	model.Message
	Usage *model.Usage // assistant: what the request cost; nil when the reply did not finish
	// Shown is what the editor was shown for a tool result beyond its text,
	// as JSON of []tools.Content; replayed by session/load.
	Shown   json.RawMessage
	IsError bool // tool: the result is a failure
	// Note marks a message that the loop wrote, for the model alone: its text is
	// no one's words and is not replayed.
	Note bool
	// Typed is how many bytes of a user's Text the person wrote; what follows
	// was added for the model, such as the editor's attachments.
	Typed int
	// Keeps, when it is not 0, makes this message a compaction: to the model, Text
	// stands for everything before it but the messages from Seq Keeps on.
	Keeps int64
}

// Options are the store's settings.
type Options struct {
	// Synchronous is "normal" (survives kill -9; the default) or "full" (also
	// loss of power, for an fsync a message).
	Synchronous string
}

// Store is the file; make it with [New].
type Store struct {
	path        string
	synchronous string

	closing context.Context // ends when [Store.Close] begins: an opening ends with it
	end     context.CancelFunc

	mu     sync.Mutex
	open   *database // nil until first use
	closed bool

	claims claims
}

// New makes a store of the file at path. Nothing is opened or created yet.
func New(path string, o Options) *Store {
	s := &Store{path: path, synchronous: o.Synchronous, claims: claims{dir: filepath.Join(filepath.Dir(path), "sessions")}}
	s.closing, s.end = context.WithCancel(context.Background())
	return s
}

// Path is the file's path.
func (s *Store) Path() string { return s.path }

// Close lets go of the file. Later calls fail with [ErrClosed]. If the file is being
// opened, Close ends the opening: what it has not committed is not in the file.
func (s *Store) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.open == nil {
		return nil
	}
	err := s.open.close()
	s.open = nil
	return s.explain("closing", err)
}

// The store keeps microseconds, so that what is read equals what was written.
func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// Now is the present as the store keeps it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
