package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filetime"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Config configures a [Keeper]. Session, Files and Limits are required.
type Config struct {
	Session string
	Files   *workspace.Workspace
	Limits  func() Limits
	// Busy reports whether a background command runs, which may write at any time. Nil: none
	// runs.
	Busy func() bool
	// ScanTimeout limits how long a command waits until contents are saved; 0: 5 s.
	ScanTimeout time.Duration
	// Confine sandboxes git, which runs to read objects and needs access to the paths in reads.
	// Nil: git runs without a sandbox.
	Confine Confiner
	// Report receives notices for the user about unsaved contents. Nil: notices are dropped.
	Report func(text string)
	// Log keeps the missed changes. Nil: only this keeper knows them.
	Log Log
}

// Confiner restricts a program before its start to reading, including the paths in reads. If it
// returns an error, the program must not be started.
type Confiner func(ctx context.Context, c *proc.Cmd, reads ...string) error

// Keeper records the checkpoints of a session. Its methods are safe for concurrent use, except
// [Keeper.Begin] and [Keeper.End], which belong to the running turn.
type Keeper struct {
	Config
	store  *Store
	ctx    context.Context
	cancel context.CancelFunc

	base     atomic.Pointer[tree] // the newest first scan of a snapshot
	commands commandTimes

	restoring chan struct{} // a semaphore for a restore or named checkpoint

	mu       sync.Mutex
	snapshot *snapshot // the current snapshot; nil: none
	last     *snapshot // the newest ended snapshot
	turn     string    // the title of the running turn
	inTurn   bool
	closed   bool
	known    *tree        // the newest scan of the workspace, as it is on the disk
	open     map[int]call // running commands
	calls    int

	reportedMu sync.Mutex
	reported   map[string]bool

	missedMu      sync.Mutex
	missed        []Missed
	loadMissed    sync.Once
	earlierMissed []Missed // of earlier processes

	work sync.WaitGroup // background work
}

// call is a running command and its start, by the clock of file stamps.
type call struct{ began int64 }

// Keeper creates the keeper of a session. The caller must call [Keeper.Close].
func (s *Store) Keeper(c Config) *Keeper {
	if c.ScanTimeout == 0 {
		c.ScanTimeout = 5 * time.Second
	}
	s.git.avoid(c.Files.Folders())
	k := &Keeper{Config: c, store: s, restoring: make(chan struct{}, 1), open: map[int]call{}, reported: map[string]bool{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keepers == nil {
		s.keepers = map[*Keeper]struct{}{}
	}
	s.keepers[k] = struct{}{}
	return k
}

// Begin starts the checkpoint of a turn. It starts the initial scan of the workspace and does
// not wait for it.
func (k *Keeper) Begin(title string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.turn, k.inTurn = title, true
	k.enter(kindTurn, title).startScan()
}

// End ends the checkpoint of the turn. It does not wait for the last scan. Methods for reading
// checkpoints wait for it.
func (k *Keeper) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inTurn = false
	k.leave()
}

// enter ends the current snapshot and starts the next one. Its caller holds mu.
func (k *Keeper) enter(kind, title string) *snapshot {
	k.leave()
	k.snapshot = newSnapshot(k, header{ID: newID(), Kind: kind, Title: title, Created: time.Now().UTC(), Folders: k.Files.Folders()}, k.last)
	return k.snapshot
}

// leave ends the current snapshot. Its caller holds mu.
func (k *Keeper) leave() {
	if k.snapshot != nil {
		k.last, k.snapshot = k.snapshot, nil
		k.last.end()
	}
}

// current returns the current snapshot. If there is none, it starts a snapshot for background work.
// Its caller holds mu.
func (k *Keeper) current() *snapshot {
	if k.snapshot == nil {
		k.enter(kindBackground, "In the background")
	}
	return k.snapshot
}

// BeginCommand announces a command that may write anywhere. It returns after the initial scan has
// saved the endangered contents, or after the timeout. The caller calls done when the command has
// ended.
func (k *Keeper) BeginCommand(ctx context.Context) (done func()) {
	p := k.ready(ctx)
	defer k.mu.Unlock()
	if p == nil {
		return func() {}
	}
	k.calls++
	id := k.calls
	k.open[id] = call{stampNow()}
	k.commands.begin(id, k.open[id].began)
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		began := k.open[id].began
		delete(k.open, id)
		end := now()
		k.commands.end(id, end)
		if k.closed {
			return
		}
		p.ran(began, end)
		if k.snapshot == nil {
			return
		}
		if k.snapshot != p {
			k.snapshot.ran(began, end)
		}
		if len(k.open) == 0 {
			k.snapshot.scanSoon()
		}
	}
}

// ready returns the current snapshot after its first scan, prepared for commands. If the keeper is
// closed, it returns nil. It locks mu, and the caller unlocks it.
func (k *Keeper) ready(ctx context.Context) *snapshot {
	k.mu.Lock()
	for !k.closed {
		p := k.current()
		p.startScan()
		k.mu.Unlock()
		p.await(ctx)
		p.lookAgain(ctx)
		p.opaque()
		k.mu.Lock()
		if p == k.snapshot {
			return p
		}
	}
	return nil
}

// Journal is a [workspace.Journal] for the writes of tools.
func (k *Keeper) Journal(path string, old workspace.Image) func(workspace.Image) {
	for {
		k.mu.Lock()
		if k.closed {
			k.mu.Unlock()
			return func(workspace.Image) {}
		}
		p, last := k.current(), k.last
		k.mu.Unlock()
		if last != nil {
			last.recordSuperseded(path, old)
		}
		switch err := p.willWrite(path, old); {
		case errors.Is(err, errClosed):
			continue // between two snapshots
		case err != nil:
			return func(workspace.Image) {}
		}
		return func(now workspace.Image) { p.didWrite(path, now) }
	}
}

// report sends a notice to the user. It sends each text only once.
func (k *Keeper) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	k.reportedMu.Lock()
	known := k.reported[text]
	k.reported[text] = true
	k.reportedMu.Unlock()
	if !known && k.Report != nil {
		k.Report(text)
	}
}

// waitWritten waits until the newest ended snapshot is written.
func (k *Keeper) waitWritten(ctx context.Context) error {
	k.mu.Lock()
	last := k.last
	k.mu.Unlock()
	if last == nil {
		return nil
	}
	defer k.Files.Boost()()
	select {
	case <-last.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for what the last turn has changed: %w", ctx.Err())
	}
}

// Close ends the current snapshot and waits until it is written, or until ctx ends. Then it
// cancels all background work and waits for it. If ctx ended first, Close returns an error.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.inTurn = false
	k.leave()
	k.closed = true
	k.mu.Unlock()
	err := k.waitWritten(ctx)
	k.cancel()
	k.work.Wait() // soon: its context has ended
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	delete(k.store.keepers, k)
	return err
}

// lag is the maximum delay of a stamp behind the clock.
const lag = int64(50 * time.Millisecond)

// now returns the current time.
func now() int64 { return filetime.Now() }

// stampNow returns the time by the clock of file stamps.
func stampNow() int64 { return filetime.Stamp() }

// spans are the times at which commands ran, each with its start and end.
type spans [][2]int64

// hold reports whether a command may have made a change at the given time. A command starts
// after the answer to its approval request, and [filetime.Pass] separates the two.
func (w spans) hold(changed int64) bool {
	return slices.ContainsFunc(w, func(x [2]int64) bool { return changed >= x[0] && changed <= x[1] })
}
