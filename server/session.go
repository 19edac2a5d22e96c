package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Session is an open session: a conversation in a workspace, as guest of a host.
type Session struct {
	id      string
	svc     *Service
	host    Host
	preset  string // chooses the default toolset
	editor  string // the host's name, for the model
	opened  time.Time
	ws      *workspace.Workspace
	gate    *tools.Gate
	secrets *tools.Secrets // follow the configuration
	sandbox *sandbox.Box
	away    away // where commands run
	model   *chosen
	ctx     context.Context // ends with the session
	cancel  context.CancelCauseFunc

	extensions *extension.Set

	beginMu chan struct{} // one place: whoever makes or waits for the conversation
	agent   *agent.Session

	mu       sync.Mutex
	conf     *config.Loaded
	head     store.Session // until there is an agent; then the agent's counts
	problems []string      // still to be told
	turns    []*Turn       // the first one runs, the others wait
	woken    bool          // the host knows that notices wait
	closed   bool
}

func (s *Service) newSession(head store.Session, p Place, h Host, draft bool) (*Session, error) {
	unfinished := workspace.UnfinishedIn(s.Home)
	workspace.Sweep(unfinished)
	ws, err := workspace.Open(append([]string{head.Cwd}, head.Folders...), h.Documents(head.ID))
	if err != nil {
		return nil, badInput("cwd", "%v", err)
	}
	ws.Unfinished = unfinished
	conf := s.Config(ws.Folders())
	x := &Session{
		id: head.ID, svc: s, host: h, preset: p.Preset, editor: p.Editor, opened: time.Now(), ws: ws, conf: conf, head: head,
		beginMu: make(chan struct{}, 1),
	}
	x.ctx, x.cancel = context.WithCancelCause(s.ctx)
	x.gate = tools.NewGate(tools.GateConfig{
		Mode:    conf.Approvals.Mode,
		Timeout: time.Duration(conf.Approvals.Timeout) * time.Second,
		Asker:   h,
		Judge:   func(ctx context.Context, action, reason string) bool { return x.judge(ctx, action, reason) },
		Always:  func(key string) error { return config.AppendAllowlist(s.Home, key) },
	})
	x.sandbox = x.newSandbox(conf)
	ws.Ripgrep = ripgrep(ws.Folders(), x.sandbox)
	x.away = x.newAway(conf)
	x.model = &chosen{name: head.Preferred, effort: head.Thinking}
	x.secrets = &tools.Secrets{}
	x.openExtensions(draft)
	x.applyMode()
	x.report(conf.Problems)
	s.watch()
	return x, nil
}

// Warm does what a first prompt would wait for. Hosts call it when the client has been
// told of the session.
func (x *Session) Warm() {
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	x.svc.openAhead(conf, x.Head().Cwd)
}

// ID names the session, in the store too.
func (x *Session) ID() string { return x.id }

// Head is what is known of the session.
func (x *Session) Head() store.Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.agent != nil {
		return x.agent.Head()
	}
	return x.head
}

// Cwd is the session's first folder, as it was given.
func (x *Session) Cwd() string { return x.Head().Cwd }

// Title names the session for people; empty before the first prompt.
func (x *Session) Title() string { return x.Head().Title }

// SetFolders changes the workspace: the whole list, the working directory first.
func (x *Session) SetFolders(folders []string) error {
	if err := x.ws.SetFolders(folders); err != nil {
		return badInput("folders", "%v", err)
	}
	x.extensions.FoldersChanged()
	return nil
}

// setFurther gives the session the further folders of a new attachment.
func (x *Session) setFurther(ctx context.Context, folders []string) error {
	if err := x.SetFolders(append([]string{x.Cwd()}, folders...)); err != nil {
		return err
	}
	return x.save(ctx, func(h *store.Session) { h.Folders = folders })
}

// begin makes the conversation when it is first needed. What it says to the model
// of itself, and the tools it offers, are frozen from here on.
func (x *Session) begin(ctx context.Context) (*agent.Session, error) {
	select {
	case x.beginMu <- struct{}{}:
		defer func() { <-x.beginMu }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	x.mu.Lock()
	made, conf, head := x.agent, x.conf, x.head
	x.mu.Unlock()
	if made != nil {
		return made, nil
	}
	c, err := x.agentConfig(ctx, conf, head)
	if err != nil {
		return nil, err
	}
	if x.draft() {
		made, err = agent.New(ctx, c)
	} else {
		made, err = agent.Load(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("opening session %s: %w", x.id, err)
	}
	x.mu.Lock()
	x.agent = made
	x.mu.Unlock()
	return made, nil
}

// draft reports whether the session has had no prompt yet.
func (x *Session) draft() bool {
	x.svc.mu.Lock()
	defer x.svc.mu.Unlock()
	_, draft := x.svc.drafts[x.id]
	return draft
}

// prompted takes the session off the list of those without a prompt.
func (x *Session) prompted() {
	x.svc.mu.Lock()
	defer x.svc.mu.Unlock()
	delete(x.svc.drafts, x.id)
}

func (x *Session) agentConfig(ctx context.Context, conf *config.Loaded, head store.Session) (agent.Config, error) {
	set, err := x.tools(ctx, conf, head)
	if err != nil {
		return agent.Config{}, err
	}
	// A session can be looked at without a model; a prompt asks again.
	if err := x.ready(); err != nil {
		x.svc.Log.Info("no model yet", "session", x.id, "reason", err)
	}
	env := x.env(conf)
	env.Recall.OnForget = x.extensions.Forget
	lent := *env
	lent.Tools = set
	x.extensions.Begun(&lent)
	shell := x.away.describe(env.Shell.Name())
	if head.System == "" {
		offered := set.Specs(ctx)
		head.System = x.systemPrompt(ctx, offered, shell)
		for _, t := range offered {
			head.Tools = append(head.Tools, model.Tool(t))
		}
		head.Model = conf.Model.Default
	}
	return agent.Config{
		Head: head, Model: x.model, Tools: set, Env: env,
		Store:         x.svc.theStore(conf.Store.Synchronous),
		MaxIterations: conf.Agent.MaxIterations,
		CompactAt:     cmp.Or(conf.Compaction.At, -1),
		Notices:       func() []string { return x.extensions.Notices(x.ctx, extension.WithRequest) },
		Changed:       x.changedFiles,
		Output:        outputOf(x),
		Compress: func(ctx context.Context, hints string) []string {
			return x.extensions.Events().Compress(ctx, extension.Compression{SessionID: x.id, Hints: hints})
		},
		Renew: func(ctx context.Context) (agent.Prefix, error) { return x.renew(ctx, lent, shell) },
		Log:   x.svc.Log,
	}, nil
}

func (x *Session) tools(ctx context.Context, conf *config.Loaded, head store.Session) (*tools.Set, error) {
	all, err := tools.NewSet(tools.Builtin()...)
	if err != nil {
		return nil, fmt.Errorf("listing the tools: %w", err)
	}
	extended, err := x.extensions.Tools(ctx, told(head))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(extended, func(a, b tools.Tool) int { return cmp.Compare(a.Order, b.Order) })
	for _, t := range extended {
		if err := all.Add(t); err != nil {
			return nil, fmt.Errorf("listing the tools: %w", err)
		}
	}
	all.Events = x.extensions.Events()
	all.Defect = func(tool string, panicked any, stack []byte) {
		x.svc.Log.Error("a tool panicked", "tool", tool, "panic", panicked, "stack", string(stack))
	}
	enabled := conf.Agent.Tools.Enabled
	if len(enabled) == 0 {
		enabled = tools.Preset(strings.TrimPrefix(x.preset, "hermes-"))
	}
	if x.svc.Offers != nil {
		all = all.Where(x.svc.Offers)
	}
	set, err := all.Select(enabled, slices.Concat(conf.Agent.Tools.Disabled, x.away.without()))
	if err != nil {
		return nil, fmt.Errorf("agent.tools in the configuration: %w", err)
	}
	return set, nil
}

func (x *Session) env(conf *config.Loaded) *tools.Env {
	return &tools.Env{
		SessionID:  x.id,
		Files:      x.toolFiles(),
		Shell:      x.newShell(conf),
		Todos:      tools.NewTodos(),
		Recall:     tools.NewRecall(),
		Sees:       x.sees,
		Processes:  x.background(),
		Gate:       x.gate,
		Diagnoser:  x.diagnoser(),
		Secrets:    x.secrets,
		Terminals:  x.host.Terminals(x.id),
		Sandbox:    x.sandbox,
		OutputDir:  x.svc.outputDir(x.id),
		HermesHome: x.svc.Home,
	}
}

// outputOf returns the function that sees the texts that end turns; nil: none does.
func outputOf(x *Session) func(context.Context, string, bool) (string, string) {
	events := x.extensions.Events()
	if !events.HasOutput() {
		return nil
	}
	return func(ctx context.Context, text string, continued bool) (string, string) {
		return events.Output(ctx, extension.Output{SessionID: x.id, Text: text, Continued: continued})
	}
}

// background returns the session's commands in the background; nil: there can be none.
func (x *Session) background() *tools.Processes {
	own, ok := extension.Find[interface{ Background() *tools.Processes }](x.extensions)
	if !ok {
		return nil
	}
	return own.Background()
}

// changedFiles returns the files that were changed in the session, if an extension knows.
func (x *Session) changedFiles(ctx context.Context) ([]string, error) {
	known, ok := extension.Find[interface {
		ChangedFiles(context.Context) ([]string, error)
	}](x.extensions)
	if !ok {
		return nil, nil
	}
	return known.ChangedFiles(ctx)
}

func (x *Session) systemPrompt(ctx context.Context, offered []tools.Spec, shell string) string {
	names := make([]string, len(offered))
	for i, t := range offered {
		names[i] = t.Name
	}
	folders, shown := x.ws.Folders(), x.ws.Folders()
	if x.away.away() { // they are not where the work is
		shown = nil
	}
	return prompt.System(prompt.Config{
		Folders: shown,
		Git:     inGit(folders[0]),
		OS:      runtime.GOOS,
		Shell:   shell,
		Date:    time.Now(),
		Tools:   names,
		Host:    x.editor,

		Sections: x.extensions.Sections(ctx),
	})
}

// inGit looks for a repository around folder.
func inGit(folder string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(folder)
		if above == folder {
			return false
		}
		folder = above
	}
}

// Replay shows the log to the host's sink, from the beginning.
func (x *Session) Replay(ctx context.Context) error { return x.ReplayTo(ctx, x.host.Sink(x.id)) }

// ReplayTo shows the log to sink; see [Session.StartReplay].
func (x *Session) ReplayTo(ctx context.Context, sink agent.Sink) error {
	t, err := x.StartReplay(sink)
	if err != nil {
		return err
	}
	_, err = t.Run(ctx)
	return err
}

// close cancels every turn, waits for them within ctx, and lets go of the
// workspace.
func (x *Session) close(ctx context.Context) error {
	x.mu.Lock()
	x.closed = true
	turns, begun := append([]*Turn(nil), x.turns...), x.agent != nil
	x.mu.Unlock()
	x.cancel(errClosing)
	for _, t := range turns {
		select {
		case <-t.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the turn that runs: %w", context.Cause(ctx))
		}
	}
	if begun && !x.draft() {
		x.extensions.Events().SessionEnd(ctx, eventOf(x))
	}
	late := x.extensions.Close(ctx)
	x.away.close()
	x.sandbox.Close()
	return errors.Join(late, x.ws.Close())
}
