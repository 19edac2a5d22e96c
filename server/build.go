package server

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// agentConfig returns the configuration of a session's agent. If the session is new, it has
// the system prompt and the tools of now, else those that are stored.
func agentConfig(ctx context.Context, x *Session, head store.Session) (agent.Config, error) {
	conf := x.settings.config()
	set, err := toolsOf(ctx, x, conf, head)
	if err != nil {
		return agent.Config{}, err
	}
	// A session can be opened without a model; a prompt asks for one again.
	if err := x.settings.ready(); err != nil {
		x.svc.Log.Info("no model yet", "session", x.id, "reason", err)
	}
	env := envOf(x, conf)
	env.Recall.OnForget = x.extensions.Forget
	lent := *env
	lent.Tools = set
	x.extensions.Begun(&lent)
	shell := x.location.remote.describe(env.Shell.Name())
	if head.System == "" {
		offered := set.Specs(ctx)
		head.System = systemPrompt(ctx, x, offered, shell)
		for _, t := range offered {
			head.Tools = append(head.Tools, model.Tool(t))
		}
		head.Model = conf.Model.Default
	}
	return agent.Config{
		Head: head, Model: x.settings.model, Tools: set, Env: env,
		Store:         x.svc.theStore(conf.Store.Synchronous),
		MaxIterations: conf.Agent.MaxIterations,
		CompactAt:     cmp.Or(conf.Compaction.At, -1),
		Notices:       func() []string { return x.extensions.Notices(x.queue.ctx, extension.WithRequest) },
		Changed:       changedFiles(x.extensions),
		Output:        outputOf(x),
		Compress: func(ctx context.Context, hints string) []string {
			return x.extensions.Events().Compress(ctx, extension.Compression{SessionID: x.id, Hints: hints})
		},
		Renew: func(ctx context.Context) (agent.Prefix, error) { return renew(ctx, x, lent, shell) },
		Log:   x.svc.Log,
	}, nil
}

// renew returns the system prompt and the tools of now, for a compaction. Env is that of the
// session's calls.
func renew(ctx context.Context, x *Session, env tools.Env, shell string) (agent.Prefix, error) {
	head := x.Head()
	set, err := toolsOf(ctx, x, x.settings.config(), store.Session{ID: head.ID, Cwd: head.Cwd, Folders: head.Folders})
	if err != nil {
		return agent.Prefix{}, err
	}
	env.Tools = set
	x.extensions.Begun(&env)
	return agent.Prefix{System: systemPrompt(ctx, x, set.Specs(ctx), shell), Tools: set}, nil
}

// toolsOf returns the tools of a session: the built-in ones and those of its extensions, as
// far as the configuration enables them.
func toolsOf(ctx context.Context, x *Session, conf *config.Loaded, head store.Session) (*tools.Set, error) {
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
		enabled = tools.Preset(strings.TrimPrefix(x.place.Preset, "hermes-"))
	}
	if x.svc.Offers != nil {
		all = all.Where(x.svc.Offers)
	}
	set, err := all.Select(enabled, slices.Concat(conf.Agent.Tools.Disabled, x.location.remote.without()))
	if err != nil {
		return nil, fmt.Errorf("agent.tools in the configuration: %w", err)
	}
	return set, nil
}

// told returns the tools that are stored with a session. If it is new, told returns nil.
func told(head store.Session) []tools.Spec {
	if head.System == "" {
		return nil
	}
	specs := make([]tools.Spec, len(head.Tools))
	for i, t := range head.Tools {
		specs[i] = tools.Spec(t)
	}
	return specs
}

// toolNames returns the names of the tools that the model has.
func toolNames(ctx context.Context, x *Session) (names []string, err error) {
	unlock, err := x.record.lock(ctx) // a turn that starts lists them, too
	if err != nil {
		return nil, err
	}
	defer unlock()
	if a := x.record.opened(); a != nil {
		for _, t := range a.Head().Tools {
			names = append(names, t.Name)
		}
		return names, nil
	}
	set, err := toolsOf(ctx, x, x.settings.config(), x.Head())
	if err != nil {
		return nil, err
	}
	for _, t := range set.Offered(ctx) {
		names = append(names, t.Name)
	}
	return names, nil
}

func envOf(x *Session, conf *config.Loaded) *tools.Env {
	return &tools.Env{
		SessionID:  x.id,
		Files:      x.location.files(),
		Shell:      x.location.shell(conf),
		Todos:      tools.NewTodos(),
		Recall:     tools.NewRecall(),
		Sees:       func() bool { return x.settings.model.sees(x.queue.ctx) },
		Processes:  background(x.extensions),
		Gate:       x.settings.gate,
		Diagnoser:  x.location.diagnoser(x.host),
		Secrets:    x.settings.secrets,
		Terminals:  x.host.Terminals(x.id),
		Sandbox:    x.location.box,
		OutputDir:  x.svc.outputDir(x.id),
		HermesHome: x.svc.Home,
	}
}

// outputOf returns the function that changes the texts that end turns. If no extension has
// one, it returns nil.
func outputOf(x *Session) func(context.Context, string, bool) (string, string) {
	events := x.extensions.Events()
	if !events.HasOutput() {
		return nil
	}
	return func(ctx context.Context, text string, continued bool) (string, string) {
		return events.Output(ctx, extension.Output{SessionID: x.id, Text: text, Continued: continued})
	}
}

// background returns the background commands. If no extension runs them, it returns nil.
func background(s *extension.Set) *tools.Processes {
	own, ok := extension.Find[interface{ Background() *tools.Processes }](s)
	if !ok {
		return nil
	}
	return own.Background()
}

// changedFiles returns the function that lists the files that the session has changed. If
// no extension knows them, it returns nil.
func changedFiles(s *extension.Set) func(context.Context) ([]string, error) {
	known, ok := extension.Find[interface {
		ChangedFiles(context.Context) ([]string, error)
	}](s)
	if !ok {
		return nil
	}
	return known.ChangedFiles
}

func systemPrompt(ctx context.Context, x *Session, offered []tools.Spec, shell string) string {
	names := make([]string, len(offered))
	for i, t := range offered {
		names[i] = t.Name
	}
	folders, shown := x.location.ws.Folders(), x.location.ws.Folders()
	if x.location.remote.otherFiles() {
		shown = nil
	}
	return prompt.System(prompt.Config{
		Folders: shown,
		Git:     inGit(folders[0]),
		OS:      runtime.GOOS,
		Shell:   shell,
		Date:    time.Now(),
		Tools:   names,
		Host:    x.place.Editor,

		Sections: x.extensions.Sections(ctx),
	})
}

// inGit reports whether folder is in a git repository.
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
