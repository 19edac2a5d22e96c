// Package store stores sessions, their messages, tool calls and usage in SQLite (WAL) in the
// home folder.
//
// After a method has returned without an error, its change survives kill -9. Several processes
// may have the file open. A [Store] is safe for concurrent use. It opens the file on first use.
// If that fails, the next call tries again. If the file is damaged or of a newer version, the
// methods return an error with its path. The file is never replaced.
package store

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// FileName is the name of the store's file in the home folder.
const FileName = "hermes-ls.db"

// Session holds the fields of a session, without its messages. System and Tools are fixed at
// the start of the session.
type Session struct {
	ID        string   // UUIDv7: sorts by age
	Cwd       string   // absolute
	Folders   []string // further workspace folders, absolute
	Title     string   // from the first prompt
	Model     string
	Mode      string // the approval mode chosen for the session; empty: the configured mode
	Preferred string // the model chosen for the session; empty: the configured model
	Thinking  string // the thinking chosen for the session; empty: the model's own
	Parent    string // the delegating or forked session; empty: none
	Root      string // of a branch: the oldest session of its tree; empty: not a branch
	ForkedAt  string // of a branch: the last message shared with Parent; empty: none
	Notes     string // notes of the user
	Origin    string // JSON of the feature that created the session, such as delegation; empty: the user created it
	System    string
	Tools     []model.Tool
	CreatedAt time.Time // precision: microseconds
	UpdatedAt time.Time // of the last message; precision: microseconds
	Totals              // computed by the store
}

// Totals are the sums over a log, available without reading it. A branch's totals include the
// shared messages.
type Totals struct {
	Messages int
	Requests int         // number of answered requests
	Usage    model.Usage // of all requests
	Rewinds  int         // how often the log was rewound
}

// Message is an entry of a session's log.
type Message struct {
	ID   string // UUIDv7
	Seq  int64  // 1, 2, …; set by the store when zero
	Time time.Time
	model.Message
	Usage *model.Usage // assistant: the cost of the request; nil if the response is incomplete
	// Shown is the editor's view of a tool result beyond its text, as JSON of []tools.Content.
	// session/load replays it.
	Shown   json.RawMessage
	IsError bool // tool: the result is a failure
	// Note marks a message written by the agent loop only for the model. Replays skip its text.
	Note bool
	// Typed is the length in bytes of the user's part of Text. The rest was added for the
	// model, such as the editor's attachments.
	Typed int
	// Keeps, if not 0, marks a compaction: for the model, Text replaces all earlier messages
	// before Seq Keeps.
	Keeps int64
}

// Options are the settings of a store.
type Options struct {
	// Synchronous is "normal" (the default; data survives kill -9) or "full" (data also survives
	// a power loss; each message costs an fsync).
	Synchronous string
}

// Store is a session store. Create it with [New].
type Store struct {
	path        string
	synchronous string

	closing context.Context // ends when [Store.Close] begins, and cancels a running opening
	end     context.CancelFunc

	mu     sync.Mutex
	open   *database // nil until first use
	closed bool

	claims claims
}

// New returns a store with the file at path. It does not open or create the file.
func New(path string, o Options) *Store {
	s := &Store{path: path, synchronous: o.Synchronous, claims: claims{dir: filepath.Join(filepath.Dir(path), "sessions")}}
	s.closing, s.end = context.WithCancel(context.Background())
	return s
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Close closes the file. Later calls return [ErrClosed]. If the file is being opened, Close
// cancels the opening and discards uncommitted migrations.
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

// fromMicros converts a stored time. The store truncates times to microseconds, so a time read
// equals the time written.
func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// Now returns the current time with the precision of the store.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
