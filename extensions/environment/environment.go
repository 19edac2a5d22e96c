// Package environment describes editor and workspace to the model: the active file, open and
// unsaved files, problems, git, the limits of the session, and the files of the workspace.
//
// The first prompt of a session carries all of it, each later prompt only the changes. The text is
// part of the stored prompt, so later requests repeat it byte for byte.
package environment

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/gitread"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/tokens"
)

// New returns the extension.
func New() extension.Extension { return environment{} }

type environment struct{}

func (environment) Name() string { return Name }

func (environment) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	x := &instance{session: s, repo: gitread.Reader{Confine: func(ctx context.Context, c *proc.Cmd, reads ...string) error {
		return s.Bounds.Sandbox.ConfineOwn(ctx, c, sandbox.Own{Reads: reads})
	}}}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x, nil
}

// Limits of the text in tokens. Its heading and fence need about 30.
const (
	mostFirst = 300 - heading
	mostLater = 150 - heading
	heading   = 30
)

const (
	gatherLimit = 2 * time.Second        // for git and the tree
	firstWait   = 500 * time.Millisecond // a first prompt's wait for them
	laterWait   = 40 * time.Millisecond
	fresh       = 2 * time.Second // so long a result is not gathered again
)

type instance struct {
	session *extension.Session
	repo    gitread.Reader
	ctx     context.Context // ends with the session
	cancel  func()
	running sync.WaitGroup

	mu       sync.Mutex
	gathered *gathered     // the last result; nil: none yet
	tree     tree          // the last tree; available before git has answered
	done     chan struct{} // is closed when the running gather ends; nil: none runs
	known    facts         // the model's current facts; nil: see Environment
	lost     bool          // the model may have lost known
	unsaved  bool          // known is not stored yet
	asked    bool          // the renamed folders were loaded
	told     bool          // of the renamed folders
}

// gathered is a slowly gathered description of the workspace.
type gathered struct {
	git  gitread.State
	tree tree
	at   time.Time
}

// Close ends git and removes temporary files.
func (x *instance) Close(context.Context) error {
	x.mu.Lock()
	x.cancel() // gather starts nothing any more
	x.mu.Unlock()
	x.running.Wait()
	x.repo.Close()
	return nil
}

// Hooks gathers before the first prompt and at the end of a turn, and stores the model's current
// facts.
func (x *instance) Hooks() extension.Hooks {
	turn := func(ctx context.Context, _ extension.Prompt) (func(), error) {
		return func() { x.save(context.WithoutCancel(ctx)); x.gather() }, nil
	}
	return extension.Hooks{
		Events: []extension.Handlers{{Limit: extension.NoLimit, Turn: turn}},
		Warm:   func() { x.gather() }, HistoryChanged: x.historyChanged, Environment: x.environment,
	}
}

// historyChanged makes the next prompt repeat the facts, because the model may have lost them.
func (x *instance) historyChanged(c extension.Change) {
	if c != extension.Rewritten {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lost = true
}

// gather starts to gather, unless it is running. The returned channel is closed at its end.
func (x *instance) gather() (done <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done != nil || x.ctx.Err() != nil {
		return x.done
	}
	ended := make(chan struct{})
	x.done = ended
	x.running.Go(func() {
		ctx, cancel := context.WithTimeout(x.ctx, gatherLimit)
		defer cancel()
		var g gathered
		var reading sync.WaitGroup
		reading.Go(func() { g.git = x.repo.State(ctx, x.session.Editor.Folders()) })
		t := readTree(ctx, x.session.Editor)
		x.mu.Lock()
		x.tree = t
		x.mu.Unlock()
		reading.Wait()
		g.tree = t
		x.mu.Lock()
		defer x.mu.Unlock()
		g.at = time.Now()
		x.gathered, x.done = &g, nil
		close(ended)
	})
	return ended
}

// latest returns the last result. If it is missing or old, latest waits a short time for a new
// result.
func (x *instance) latest(ctx context.Context) gathered {
	if x.session.Situation().Remote != "" && x.session.Editor != x.session.Files {
		return gathered{} // the editor's files are not the session's
	}
	branch := x.repo.Branch(x.session.Editor.Folders()) // reads a single file
	x.mu.Lock()
	known := x.gathered
	x.mu.Unlock()
	if known == nil || known.git.Branch != branch || time.Since(known.at) > fresh {
		wait := firstWait
		if known != nil && known.git.Branch == branch {
			wait = laterWait
		}
		enough := time.NewTimer(wait)
		defer enough.Stop()
		select {
		case <-x.gather():
		case <-enough.C:
		case <-ctx.Done():
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.gathered == nil:
		return gathered{git: gitread.State{Branch: branch}, tree: x.tree}
	case x.gathered.git.Branch != branch: // the counts are of the branch before
		return gathered{git: gitread.State{Branch: branch, Commits: x.gathered.git.Commits}, tree: x.gathered.tree}
	}
	return *x.gathered
}

const knownKey = "told"

// environment returns all facts for the first prompt of a session, and the changed facts for a
// later prompt.
func (x *instance) environment(ctx context.Context) string {
	latest := x.latest(ctx)
	now := x.facts(ctx, latest)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known == nil && !x.session.New {
		var stored facts
		if has, err := x.session.State.Load(ctx, knownKey, &stored); err == nil && has {
			x.known = stored
		} else {
			x.known = facts{} // of an earlier version, or a killed server
		}
	}
	before := x.known
	first := before == nil
	if x.lost {
		before = facts{}
	}
	now.keep(x.known, latest)
	x.known, x.lost, x.unsaved = now, false, true
	limit := mostLater
	if x.session.Situation != nil && x.session.Situation().Small {
		before, now, limit = before.withoutFiles(), now.withoutFiles(), mostSmall
	} else if first {
		limit = mostFirst
	}
	if first {
		return now.text(limit)
	}
	renamed := x.renamed(ctx)
	return strings.Trim(renamed+"\n"+now.since(before, max(limit-tokens.Estimate(renamed), leastLater)), "\n")
}

// leastLater is the room for facts beside long names of renamed folders.
const leastLater = 60

// renamed returns the text about renamed folders, once. The caller holds the mutex.
func (x *instance) renamed(ctx context.Context) string {
	if x.asked {
		return ""
	}
	x.asked = true
	text := renamedText(x.loadRenamed(ctx))
	x.told = text != ""
	return text
}

// save stores the model's current facts. If it fails, a later server repeats them.
func (x *instance) save(ctx context.Context) {
	x.mu.Lock()
	told, unsaved, renamed := x.known, x.unsaved, x.told
	x.unsaved, x.told = false, false
	x.mu.Unlock()
	if renamed {
		_ = x.session.State.Save(ctx, renamedKey, nil) // if it fails, a later server repeats it
	}
	if unsaved && x.session.State != nil {
		_ = x.session.State.Save(ctx, knownKey, told)
	}
}
