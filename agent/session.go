// Package agent runs turns: model, tools, model, until a reply asks for nothing.
//
// A [Session] has at most one turn running. [Session.Turn] returns after every
// goroutine it started; cancelling its context ends the turn, not the session.
// The log only grows: each request to the model is an extension of the one before,
// but for a compaction, and what the editor is told has been stored first. Whatever ends a turn (a
// cancel, an error of the model, a kill -9), every call in the log has a result
// before the next prompt is added, and the session goes on.
//
//	s, err := agent.New(ctx, agent.Config{Head: head, Model: m, Tools: set, Env: env, Store: st})
//	stop, err := s.Turn(ctx, agent.Input{Text: "why does the build fail?"}, sink)
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// ErrBusy: the session has a turn running.
var ErrBusy = errors.New("a turn is running in this session")

// Config is what a session is made of.
type Config struct {
	// Head is the session's beginning. For [New]: ID (empty: a fresh one), Cwd,
	// Folders, Model, System and so on; empty Tools are filled in from the set
	// with the first prompt. For [Load] only the ID counts.
	Head store.Session

	Model model.Model  // required
	Store *store.Store // required
	Tools *tools.Set   // nil: none
	Env   *tools.Env   // lent to the tools; nil: empty
	// News is asked before each request of a turn for what the model has to be told,
	// such as what became of processes in the background. Nil: there is none.
	News func() []string

	// Renew is asked at a compaction for what the session says of itself and offers from
	// then on: the request after it is a new beginning in any case. Nil: nothing changes.
	Renew func(context.Context) (Beginning, error)

	// Changed is asked at a compaction for the files that the session has changed by
	// tools, commands and scripts, oldest change first. If it is nil, they are not known.
	Changed func(context.Context) ([]string, error)

	// Output is called with the text that would end a turn, before the sink gets it. It
	// returns the text that takes its place and, if the turn shall continue, a text for the
	// model. continued says that the turn was continued before. Nil: texts stay.
	Output func(ctx context.Context, text string, continued bool) (shown, more string)
	// Compress is called before a compaction. It returns texts for the summary. Nil: none.
	Compress func(ctx context.Context, hints string) []string

	MaxIterations int // requests a turn at most; 0: 90
	Window        int // the model's context window in tokens; 0: what its method Window says, if it has one
	// CompactAt is the share of the window at which the log is summed up; 0: 0.8,
	// negative: never by itself.
	CompactAt float64
	Effort    string // reasoning effort; empty: the model's default
	Log       *slog.Logger
}

// Beginning is what stands before the log in each request.
type Beginning struct {
	System string
	Tools  *tools.Set
}

// Session is one conversation. It is safe for concurrent use.
type Session struct {
	config Config
	id     string

	running atomic.Bool // by one turn

	headMu sync.Mutex // also held while the head is being stored
	head   store.Session
	stored bool // the store knows the session
	tools  *tools.Set
	effort string

	saying   saying // what is said to the running turn
	spending spending

	historyMu sync.Mutex // only the running turn writes
	history   history
	read      bool // the history is there as the next request needs it, not only its end
	rewinds   int  // of the log, when the history was read
}

// New begins a session. The store learns of it with its first prompt.
func New(_ context.Context, c Config) (*Session, error) {
	if c.Head.ID == "" {
		c.Head.ID = store.NewID()
	}
	s, err := newSession(c)
	if err != nil {
		return nil, err
	}
	s.read = true // there is nothing to be read
	return s, nil
}

// Load takes up a stored session; an unknown one is [store.ErrNotFound]. Calls
// that a dead server left without a result get one, unless another window is at
// work in the session. Of the log only the end is read; the rest when it is needed.
func Load(ctx context.Context, c Config) (*Session, error) {
	s, err := newSession(c)
	if err != nil {
		return nil, err
	}
	if s.head, err = c.Store.Session(ctx, s.id); err != nil {
		return nil, fmt.Errorf("loading a session: %w", err)
	}
	s.stored = true
	if err := s.glance(ctx, s.head.Totals); err != nil {
		return nil, fmt.Errorf("loading a session: %w", err)
	}
	if err := s.mendAfterCrash(ctx); err != nil {
		return nil, fmt.Errorf("loading a session: %w", err)
	}
	return s, nil
}

func newSession(c Config) (*Session, error) {
	if c.Model == nil || c.Store == nil {
		return nil, errors.New("a session needs a model and a store")
	}
	if c.Env == nil {
		c.Env = &tools.Env{}
	}
	if c.Tools == nil {
		c.Tools = &tools.Set{}
	}
	if c.MaxIterations <= 0 {
		c.MaxIterations = 90
	}
	if c.CompactAt == 0 {
		c.CompactAt = 0.8
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Session{config: c, id: c.Head.ID, head: c.Head, tools: c.Tools, effort: c.Effort}, nil
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Head is the session's head as it is now.
func (s *Session) Head() store.Session {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	head := s.head
	head.Folders, head.Tools = slices.Clone(head.Folders), slices.Clone(head.Tools)
	return head
}

// Update changes the head, here and in the store. ID, System and Tools stay; a
// running turn goes on as it began.
func (s *Session) Update(ctx context.Context, change func(*store.Session)) error {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	frozen := func(head *store.Session) {
		id, system, offered := head.ID, head.System, head.Tools
		change(head)
		head.ID, head.System, head.Tools = id, system, offered
	}
	if s.stored {
		if err := s.config.Store.Update(ctx, s.id, frozen); err != nil {
			return err
		}
	}
	frozen(&s.head)
	return nil
}

// SetEffort sets the reasoning effort from the next turn on.
func (s *Session) SetEffort(effort string) {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	s.effort = effort
}

// window is the model's context window in tokens; 0: unknown. A model that knows its
// own may learn it from its endpoint meanwhile.
func (s *Session) window() int {
	if s.config.Window > 0 {
		return s.config.Window
	}
	if sized, ok := s.config.Model.(interface{ Window() int }); ok {
		return sized.Window()
	}
	return 0
}

// Last is the newest entry of the log; without one it is zero.
func (s *Session) Last() model.Message {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	if n := len(s.history.messages); n > 0 {
		return s.history.messages[n-1]
	}
	return model.Message{}
}

// Usage is what the session has cost so far.
func (s *Session) Usage() UsageChanged {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	return UsageChanged{Total: s.history.usage, Requests: s.history.requests, Used: s.history.gauge.used(), Window: s.window()}
}

// Todos is the plan as it stands.
func (s *Session) Todos() []tools.Todo {
	if s.config.Env.Todos == nil {
		return nil
	}
	return s.config.Env.Todos.All()
}

// create stores the head, once, with what is frozen at the first prompt, and that
// prompt with it; made: it did so now.
func (s *Session) create(ctx context.Context, title string, prompt *store.Message) (made, named bool, err error) {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	named = s.head.Title == "" && title != ""
	if !named {
		title = s.head.Title
	}
	if s.stored {
		if named {
			err = s.config.Store.Update(ctx, s.id, func(head *store.Session) { head.Title = title })
		}
		if err == nil {
			s.head.Title = title
		}
		return false, named, err
	}
	if s.head.Tools == nil {
		s.head.Tools = offeredBy(ctx, s.tools)
	}
	head := s.head
	head.Title = title
	if err := s.config.Store.Create(ctx, head, prompt); err != nil {
		return false, false, err
	}
	s.head, s.stored = head, true
	return true, named, nil
}

func offeredBy(ctx context.Context, set *tools.Set) (offered []model.Tool) {
	for _, spec := range set.Specs(ctx) {
		offered = append(offered, model.Tool(spec))
	}
	return offered
}

// toolset are the tools that there are now.
func (s *Session) toolset() *tools.Set {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	return s.tools
}

// env is what the tools of one turn are lent.
func (s *Session) env(head store.Session, progress func(tools.Progress)) *tools.Env {
	env := *s.config.Env
	env.SessionID = s.id
	env.Progress = progress
	env.Tools = s.toolset()
	env.Call = env.Tools.Call
	env.Room = s.room()
	env.Offered = func(name string) bool {
		return slices.ContainsFunc(head.Tools, func(t model.Tool) bool { return t.Name == name })
	}
	return &env
}
