// Package agent runs turns. A turn alternates model requests and tool calls until a
// response contains no tool calls.
//
// A [Session] runs at most one turn at a time. [Session.Turn] returns after all its goroutines
// have ended. Canceling its context ends the turn, not the session. Each request extends the
// previous request, except after a compaction or a rewind. Prompts, calls and results are
// stored before the sink gets their events. A turn may end by a cancel, an error of the model
// or a kill -9. The session continues: every call gets a result before the next prompt is
// appended.
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

// ErrBusy means the session is running a turn.
var ErrBusy = errors.New("a turn is running in this session")

// Config configures a session.
type Config struct {
	// Head is the head of the session. For [New]: ID (empty: New chooses it), Cwd, Folders,
	// Model, System and so on; empty Tools are set with the first prompt. [Load] uses only the
	// ID.
	Head store.Session

	Model model.Model  // required
	Store *store.Store // required
	Tools *tools.Set   // nil: none
	Plan  *tools.Plan  // the session's; nil: there is none
	Files tools.Files  // name the files of calls; nil: none
	Env   *tools.Env   // copied for the tools of each turn; nil: empty
	// Notices returns the notices for the model, such as the exit of a background command. It
	// is called before each request of a turn. Nil: none.
	Notices func() []string

	// Renew returns the system prompt and the tools from a compaction on. Nil: they stay.
	Renew func(context.Context) (Prefix, error)

	// Rewritten is called when the model may no longer have earlier messages: the history was
	// compacted or rewound. It may be nil.
	Rewritten func()

	// Changed returns the files changed by tools, commands and scripts in the session, oldest
	// change first. It is called at a compaction. Nil: the files are not known.
	Changed func(context.Context) ([]string, error)

	// Output is called with the final text of a turn, before the sink gets it. It returns the
	// text to show instead. If more is not empty, the turn continues with it. continued means
	// Output has already continued the turn. If Output is nil, texts stay.
	Output func(ctx context.Context, text string, continued bool) (shown, more string)
	// Compress is called before a compaction. It returns texts for the summary. Nil means
	// none.
	Compress func(ctx context.Context, hints string) []string

	// Notes returns the model for the notes of a compaction. If it is nil or returns nil, the
	// session's model writes them.
	Notes func() model.Model
	// Describe asks another model to describe a picture. prompt is the user's text. If there is
	// no such model, asked is false. It may be nil.
	Describe func(ctx context.Context, i model.Image, prompt string) (d model.Description, asked bool, err error)

	MaxIterations int // limit of requests in a turn; 0: 90
	Window        int // the model's context window in tokens; 0: the model's method Window, if any
	// CompactAt is the share of the context window that triggers a compaction. 0 means 0.8. If
	// it is negative, the history is compacted only on request.
	CompactAt float64
	// Small is the profile for small context windows: a result takes at most a seventh of the
	// window, and the history is compacted at 0.7 of it. [Prefix] changes it.
	Small bool
	// LeastWindow is the smallest context window, in tokens, for which prompts are sent. If it
	// is set, requests too long for a small window are not sent either, because some servers
	// cut them silently. 0: every request is sent.
	LeastWindow int

	Effort string // reasoning effort; empty: the model's default
	Log    *slog.Logger
}

// Prefix is the start of each request, before the history.
type Prefix struct {
	System string
	Tools  *tools.Set
	Small  bool // see [Config]
}

// Session is a session with its history. It is safe for concurrent use.
type Session struct {
	config Config
	id     string

	running atomic.Bool // a turn, a compaction, a rewind or a load runs

	headMu sync.Mutex // also held while the head is being stored
	head   store.Session
	stored bool // the session is in the store
	// doubted: the turn before was refused, perhaps by a fault of the server, see keepPlain.
	doubted bool
	tools   *tools.Set
	effort  string

	small atomic.Bool // the profile for small context windows applies
	bound atomic.Pointer[bound]

	inbox   inbox // messages to the running turn
	pending pendingUsage

	historyMu sync.Mutex // only the running turn writes
	history   history
	read      bool // the messages of the next request are loaded, not only the end of the history
	rewinds   int  // number of rewinds when the history was read

	undescribed bool // the user got the notice about pictures without a description
}

// New returns a new session. Its first prompt stores it.
func New(_ context.Context, c Config) (*Session, error) {
	if c.Head.ID == "" {
		c.Head.ID = store.NewID()
	}
	s, err := newSession(c)
	if err != nil {
		return nil, err
	}
	s.read = true // the store contains no messages of a new session
	return s, nil
}

// Load opens a stored session. If the id is unknown, it returns [store.ErrNotFound]. Calls left
// open by a killed server get a result, unless another process has claimed the session. Load
// reads only the end of the history; the rest is read on demand.
func Load(ctx context.Context, c Config) (*Session, error) {
	s, err := newSession(c)
	if err != nil {
		return nil, err
	}
	if s.head, err = c.Store.Session(ctx, s.id); err != nil {
		return nil, fmt.Errorf("loading a session: %w", err)
	}
	s.stored = true
	if err := s.loadTail(ctx, s.head.Totals); err != nil {
		return nil, fmt.Errorf("loading a session: %w", err)
	}
	if err := s.repairAfterCrash(ctx); err != nil {
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
	s := &Session{config: c, id: c.Head.ID, head: c.Head, tools: c.Tools, effort: c.Effort, history: history{planTool: c.Plan.Tool()}}
	s.small.Store(c.Small)
	return s, nil
}

// ID returns the id of the session.
func (s *Session) ID() string { return s.id }

// Head returns a copy of the session's current head.
func (s *Session) Head() store.Session {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	head := s.head
	head.Folders, head.Tools = slices.Clone(head.Folders), slices.Clone(head.Tools)
	return head
}

// Update changes the head, here and in the store. ID, System and Tools stay. A running turn
// keeps its head.
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

// window returns the context window of the model in tokens. If it is not known, it returns
// 0. A smaller window named in a refusal applies until the model reports another.
func (s *Session) window() int {
	window := s.believedWindow()
	if bound := s.bound.Load(); bound != nil && bound.believed == window && (window == 0 || bound.window < window) {
		return bound.window
	}
	return window
}

// believedWindow returns the context window from the configuration or the model.
func (s *Session) believedWindow() int {
	if s.config.Window > 0 {
		return s.config.Window
	}
	return model.WindowOf(s.config.Model)
}

// bound is a context window in tokens named in a refusal, with the window believed at the time.
type bound struct{ window, believed int }

// Small reports whether the session uses the profile for small context windows.
func (s *Session) Small() bool { return s.small.Load() }

// Last returns the newest message. If there is none, it returns the zero value.
func (s *Session) Last() model.Message {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	if n := len(s.history.messages); n > 0 {
		return s.history.messages[n-1]
	}
	return model.Message{}
}

// Usage returns the usage of the session so far.
func (s *Session) Usage() UsageChanged {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	return UsageChanged{Total: s.history.usage, Last: s.history.last, Requests: s.history.requests, Used: s.history.gauge.used(), Window: s.window(), Model: s.history.answered}
}

// Todos returns the plan.
func (s *Session) Todos() []tools.Todo { return s.config.Plan.All() }

// create stores the head with the first prompt. It reports whether it stored the head now, and
// whether the session got a title.
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

// toolset returns the tools of the session.
func (s *Session) toolset() *tools.Set {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	return s.tools
}

// forget informs the tools: earlier results are unknown to the model again.
func (s *Session) forget() {
	if forget := s.toolset().Forget; forget != nil {
		forget()
	}
	if s.config.Rewritten != nil {
		s.config.Rewritten()
	}
}

// env returns the environment for the tool calls of a turn.
func (s *Session) env(head store.Session, progress func(tools.Progress)) *tools.Env {
	env := *s.config.Env
	env.SessionID = s.id
	env.Progress, env.Waits = progress, s.waits
	env.Reader.Room = s.freeTokens()
	env.Dispatch = tools.Dispatch{Set: s.toolset(), Offered: offers(head)}
	return &env
}

// offers returns a function reporting whether a session with this head offers a tool.
func offers(head store.Session) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(head.Tools, func(t model.Tool) bool { return t.Name == name })
	}
}
