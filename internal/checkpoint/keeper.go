package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Config is what a [Keeper] is made of. Session, Files and Limits are required.
type Config struct {
	Session string
	Files   *workspace.Workspace
	Limits  func() Limits
	// Busy tells whether something runs in the background that may write at any
	// time. Nil: nothing does.
	Busy func() bool
	// Patience is how long a command waits for contents to be kept; 0: 5 s.
	Patience time.Duration
	// Confine bounds git, which is started to read objects; it needs to see reads. Nil:
	// nothing does.
	Confine Confiner
	// Tell takes words for the user about what is not kept. Nil: nobody listens.
	Tell func(text string)
}

// Confiner bounds a program that is about to be started, so that it only reads, reads
// included.
type Confiner func(ctx context.Context, c *proc.Cmd, reads ...string) error

// Keeper keeps the checkpoints of one session. Its methods may be called at any time
// by any goroutine, but for [Keeper.Begin] and [Keeper.End], which belong to the one
// turn that runs.
type Keeper struct {
	Config
	store  *Store
	ctx    context.Context
	cancel context.CancelFunc

	restoring chan struct{} // has room for one: who goes back, or makes a checkpoint by name

	mu       sync.Mutex
	snapshot *snapshot // what is changed now; nil: nothing is
	last     *snapshot // the newest that has ended
	turn     string    // the title of the turn that runs
	inTurn   bool
	closed   bool
	known    *tree        // the newest look at the workspace, as it is on the disk
	open     map[int]call // commands that run
	calls    int

	toldMu sync.Mutex
	told   map[string]bool

	work sync.WaitGroup // what goes on beside the turn
}

// call is a command that runs, since when by the clock of files' stamps.
type call struct{ began int64 }

// Keeper makes the keeper of a session. [Keeper.Close] must follow.
func (s *Store) Keeper(c Config) *Keeper {
	if c.Patience == 0 {
		c.Patience = 5 * time.Second
	}
	s.git.avoid(c.Files.Folders())
	k := &Keeper{Config: c, store: s, restoring: make(chan struct{}, 1), open: map[int]call{}, told: map[string]bool{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Begin says that a turn begins. The look at the workspace goes on beside it.
func (k *Keeper) Begin(title string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.turn, k.inTurn = title, true
	k.enter(kindTurn, title).startScan()
}

// End says that the turn has ended. What it has changed is found out after that;
// whoever asks for checkpoints waits for it.
func (k *Keeper) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inTurn = false
	k.leave()
}

// enter starts a snapshot after the current one. Its caller holds mu.
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

// current is the part that goes on; one is begun where there is none. Its caller
// holds mu.
func (k *Keeper) current() *snapshot {
	if k.snapshot == nil {
		k.enter(kindBackground, "In the background")
	}
	return k.snapshot
}

// BeginCommand says that something begins that may write anywhere. It returns when what it
// may destroy is kept, as far as that can be done; done says that it has ended.
func (k *Keeper) BeginCommand(ctx context.Context) (done func()) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return func() {}
	}
	p := k.current()
	p.startScan()
	k.mu.Unlock()
	p.await(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return func() {}
	}
	k.calls++
	id := k.calls
	k.open[id] = call{stampNow()}
	k.current().opaque()
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		began := k.open[id].began
		delete(k.open, id)
		if k.closed {
			return
		}
		end := now()
		p.ran(began, end)
		if q := k.current(); q != p {
			q.ran(began, end)
		}
		if len(k.open) == 0 {
			k.snapshot.scanSoon()
		}
	}
}

// Journal is a [workspace.Journal]: of what tools write.
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

// tell says something to the user, once.
func (k *Keeper) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	k.toldMu.Lock()
	known := k.told[text]
	k.told[text] = true
	k.toldMu.Unlock()
	if !known && k.Tell != nil {
		k.Tell(text)
	}
}

// settle waits until all that has ended is written down.
func (k *Keeper) settle(ctx context.Context) error {
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

// Close ends what goes on and waits for it, or for ctx.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.inTurn = false
	k.leave()
	k.closed = true
	k.mu.Unlock()
	err := k.settle(ctx)
	k.cancel()
	k.work.Wait() // soon: its context has ended
	return err
}

// tick is how far stamps of a file may be apart for the same moment, and lag how far a
// stamp may be behind the time.
const (
	tick = int64(10 * time.Millisecond)
	lag  = int64(50 * time.Millisecond)
)

// spans are times at which commands ran, each a beginning and an end.
type spans [][2]int64

// hold reports whether a file that was changed at a time may have been so by a command.
func (w spans) hold(changed int64) bool {
	return slices.ContainsFunc(w, func(x [2]int64) bool { return changed >= x[0]-tick && changed <= x[1] })
}
