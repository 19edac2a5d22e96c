// Package gitguard protects and reviews the places of a workspace with automatically run code or
// settings: git's hooks, settings and worktrees, and files that editors, shells and agents read.
//
// A [Guard] belongs to a session. It finds the places to hold while a command runs. A [Watch] finds
// a command's changes of these places, for the user to review. A Guard is safe for concurrent use.
package gitguard

import (
	"context"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

// Config is the environment of a Guard. All fields are required, except for HermesHome and Ends.
type Config struct {
	Roots      func() []string // the workspace folders, absolute, as they are now
	Home       string          // the user's home
	Environ    []string        // the user's environment, which names git's settings
	HermesHome string          // where reviews are kept for the next server; empty: nowhere
	// Holds reports whether the sandbox holds places by mounts.
	Holds func() bool
	// Inside runs a script in a sandbox in which it can write only the folders of writable.
	// The script reads input.
	Inside func(ctx context.Context, script string, input []byte, writable []string, args ...string) (out string, err error)
	// Protect makes paths read-only, and others impossible to move, for running commands.
	Protect func(ctx context.Context, readOnly, pinned []string) error
	// Notify shows the user a notice.
	Notify func(text string)
	// Ends notifies the user at the end of undone changes of programs. Nil: the next server does.
	Ends func(text string)
}

// Guard knows the places of one session's workspace.
type Guard struct {
	cfg Config

	mu      sync.Mutex
	closed  bool
	walkers map[string]*walker // by root
	looking sync.Mutex         // held while the walkers work
	marks   map[string]marked  // of files, by path
	configs map[string]known   // settings of git, by path
	imports map[string]parsed  // imports of files, by path
	sources sources
	copies  copies // of files, as they were
	review  review
	work    sync.WaitGroup // running scans and reviews
}

// New returns a Guard. It reads nothing yet.
func New(c Config) *Guard {
	return &Guard{
		cfg: c, walkers: map[string]*walker{}, marks: map[string]marked{}, configs: map[string]known{}, imports: map[string]parsed{},
		review: review{turn: make(chan struct{}, 1), stuck: map[string]string{}},
	}
}

// Wait waits for scans and reviews still running after a cancel, and ends the watch of standing
// programs. Commands and programs must have ended.
func (g *Guard) Wait() {
	g.work.Wait()
	g.settle()
}

// Close closes the journal. If commands were left whose changes have not been reviewed, it
// stays for the next server.
func (g *Guard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.review.journal.close(g.review.running == 0 && !g.review.left && len(g.review.stuck) == 0)
	g.review.journal = nil
}

// Abandon leaves the journal as the death of the process does. It is for tests.
func (g *Guard) Abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	filelock.Release(g.review.journal.lock)
}
