// Package server is the agent as a service: sessions, approvals, and the events of turns. The
// protocols are in server/lsp and server/acp; wire types stop there.
//
// A [Service] belongs to the process of a connection. It starts fast: the first session reads the
// configuration, and the first prompt opens the store and writes the system prompt. Sessions are
// independent of each other. The turns of a session run in sequence. All types are safe for
// concurrent use.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server/models"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// Host is the connection of the sessions it opens.
type Host interface {
	// Documents returns the editor's open documents; nil: it has none.
	Documents(sessionID string) workspace.Documents
	// Terminals returns the editor's terminals; nil: it has none.
	Terminals(sessionID string) shell.Terminals
	// Sink gets the events of a session's turns and replays.
	Sink(sessionID string) agent.Sink
	tools.Asker
}

// Options are the surroundings of a service. Home is required.
type Options struct {
	Home        string         // $HERMES_HOME, absolute
	Version     string         // of the program
	Environ     []string       // where keys are looked for; nil: the process's own
	Config      *config.Schema // the keys of config.yaml; nil: with the sections of Features
	Store       *store.Store   // nil: hermes-ls.db in Home, opened when needed
	Log         *slog.Logger   // nil: nothing is logged
	Model       model.Model    // replaces the configured model; for tests
	Instruments Instruments
	// Offers reports whether to offer a tool; nil: the configuration decides.
	Offers func(tools.Tool) bool
	// Features returns the extensions of all sessions; nil: there are none.
	Features func(*Service) []Feature
	Static   bool // leave changes of the configuration files unnoticed, and keep no namespaces between commands; for tests in virtual time
}

// Service holds the sessions of a process.
type Service struct {
	Options
	features []Feature
	models   models.Pool
	lists    models.Lists
	login    *userpath.Login // nil: Environ was given, with the PATH of commands
	ctx      context.Context // ends with the service
	cancel   context.CancelCauseFunc
	watched  sync.WaitGroup // the watcher of the configuration, and goroutines of openAhead and background
	ahead    sync.Once      // the store is opened ahead of the first prompt

	told toldTexts

	mu        sync.Mutex
	init      json.RawMessage          // initializationOptions
	editor    json.RawMessage          // workspace/configuration
	sessions  map[string]*Session      // the open sessions
	drafts    map[string]store.Session // sessions without a prompt, open or closed
	reported  map[string]bool          // problems of the configuration already reported
	watching  bool
	unwatched atomic.Pointer[config.Problem] // the files of the user are not watched
	store     *store.Store
	closed    bool
}

// New makes a service. It touches neither disk nor network.
func New(o Options) *Service {
	ownEnviron := false
	if o.Environ == nil {
		// Scripts, hooks, MCP servers and language servers find the same tools as commands.
		o.Environ = userpath.WithToolFolders(os.Environ())
		ownEnviron = true
	}
	if o.Config == nil {
		o.Config = SchemaOf(o.Features)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		Options:  o,
		sessions: map[string]*Session{},
		drafts:   map[string]store.Session{},
		reported: map[string]bool{},
		store:    o.Store,
	}
	if ownEnviron && !o.Static {
		s.login = s.newLogin()
	}
	s.models.Log, s.models.Store, s.models.Path = s.Log, s.opened, s.Path
	s.lists.Home, s.lists.Log, s.lists.Path = s.Home, s.Log, s.Path
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if o.Features != nil {
		s.features = o.Features(s)
	}
	return s
}

// closeLimit is how long Close waits for turns. Their processes are killed well
// within it.
const closeLimit = 300 * time.Millisecond

// Stop cancels all turns and rejects new turns. It does not wait. Other requests to the service
// still work. [Service.Close] must follow.
func (s *Service) Stop() { s.cancel(errClosing) }

// Close cancels all turns, waits less than a second for them, calls the functions of extensions at
// the end of sessions, and closes the sessions and the store. Everything reported to a client is
// already on disk. Work that does not end in time is only logged: it ends with the program.
func (s *Service) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	open := make([]*Session, 0, len(s.sessions))
	for _, x := range s.sessions {
		open = append(open, x)
	}
	clear(s.sessions)
	s.mu.Unlock()

	s.Stop()
	if s.login != nil {
		s.login.Close()
	}
	limit, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	closed := make([]error, len(open))
	var closing sync.WaitGroup
	for i, x := range open {
		closing.Go(func() {
			err := x.close(limit)
			if errors.Is(err, context.DeadlineExceeded) {
				s.Log.Warn("a session has not ended in time", "session", x.id, "error", err)
				err = nil
			}
			closed[i] = err
		})
	}
	closing.Wait()
	for _, f := range s.features {
		if f.Shutdown != nil {
			closed = append(closed, f.Shutdown())
		}
	}
	if st := s.opened(); st != nil { // before the wait: it ends the opening ahead
		closed = append(closed, st.Close())
	}
	s.watched.Wait()
	return errors.Join(closed...)
}

// opened returns the store. If it is not open yet, opened returns nil.
func (s *Service) opened() *store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

// Warm opens the store before the first prompt if it exists. It creates none: an editor may start
// the server in many folders where the user never prompts.
func (s *Service) Warm() {
	if _, err := os.Stat(filepath.Join(s.Home, store.FileName)); err == nil {
		s.openAhead(s.Config(nil), "")
	}
}

// openAhead opens the store in the background, because opening takes most of the time of a first
// prompt. If it fails, the prompt reports the error. It also builds the schemas of the tools, which
// are cached.
func (s *Service) openAhead(conf *config.Loaded, cwd string) {
	st := s.theStore(conf.Store.Synchronous)
	s.ahead.Do(func() {
		s.background(func() {
			if _, _, err := st.List(s.ctx, store.Filter{Cwd: cwd, NoSubagents: true, Limit: 1}); err != nil {
				s.Log.Debug("the store could not be opened ahead", "error", err)
			}
			if s.ctx.Err() == nil {
				for _, f := range s.features {
					if f.Preload != nil {
						f.Preload()
					}
				}
			}
		})
	})
}

// background runs f in a goroutine; Close waits for it. If the service is closed, it does nothing.
func (s *Service) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.watched.Go(f)
	}
}

// theStore makes the store when it is first needed; the file is opened by its
// first use.
func (s *Service) theStore(synchronous string) *store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		s.store = store.New(filepath.Join(s.Home, store.FileName), store.Options{Synchronous: synchronous})
	}
	return s.store
}
