// Package builder builds the agent's session for every kind of session: the sessions of hosts (an
// editor, run or replay) and their subagents.
//
// [Open] makes the system prompt, lists the tools and connects the extensions. A [Plan] holds the
// differences between sessions. The rights of extensions in a derived session are decided in
// [extension.Set.Derive]: rights not named there are not passed on.
//
//	agent, err := builder.Open(ctx, builder.Plan{Kind: extension.Main, Head: head, Extensions: set, Tools: list, …})
package builder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Plan describes a session to open.
type Plan struct {
	// Agent is the configuration of the agent: model, store, limits, Env and so on. Open
	// sets Tools, Head.System, Head.Tools and the functions that call extensions.
	Agent agent.Config
	Kind  extension.Kind
	// Stored marks a session in the store. Its system prompt and its tools stay. An imported
	// session lacks them and gets new ones.
	Stored     bool
	Extensions *extension.Set
	// Tools lists the tools of the session. For a stored session, stored are its stored tools.
	// Tools is called again at each compaction, with nil.
	Tools func(ctx context.Context, stored []tools.Spec) (*tools.Set, error)
	// Prompt writes the system prompt. It gets the fields OS, Date, Shell, Tools and Sections, and
	// sets the others. It is called again at each compaction.
	Prompt func(prompt.Config) string
	// Small reports whether the session uses the profile for small context windows. It is called
	// after Tools. Nil: it does not.
	Small func() bool
	// Lifetime ends with the session. It is passed to extensions for notices.
	Lifetime context.Context // notices are requested in many turns
}

// Open opens the session of a plan.
func Open(ctx context.Context, p Plan) (*agent.Session, error) {
	c := p.Agent
	set, err := p.list(ctx, StoredTools(c.Head))
	if err != nil {
		return nil, err
	}
	c.Rewritten = func() { p.Extensions.HistoryChanged(extension.Rewritten) }
	c.Tools, c.Small = set, p.small()
	c.Notices = func() []string { return p.Extensions.Notices(p.Lifetime, extension.WithRequest) }
	if p.Kind != extension.Subagent {
		p.addEvents(&c)
	}
	begins := c.Head.System == ""
	if begins && p.Stored { // of a subagent, only the id is known here
		stored, err := c.Store.Session(ctx, c.Head.ID)
		if err != nil {
			return nil, fmt.Errorf("opening a stored session: %w", err)
		}
		begins = stored.System == ""
	}
	if begins {
		offered := set.Specs(ctx)
		c.Head.System = p.system(ctx, set, offered)
		c.Head.Tools = make([]model.Tool, len(offered))
		for i, t := range offered {
			c.Head.Tools[i] = model.Tool(t)
		}
	}
	switch {
	case !p.Stored:
		return agent.New(ctx, c)
	case begins: // it was imported
		if err := c.Store.Update(ctx, c.Head.ID, func(x *store.Session) { x.System, x.Tools = c.Head.System, c.Head.Tools }); err != nil {
			return nil, fmt.Errorf("storing the system prompt of an imported session: %w", err)
		}
	}
	return agent.Load(ctx, c)
}

func (p Plan) small() bool { return p.Small != nil && p.Small() }

// addEvents connects the events of turns and compactions. Subagents get none.
func (p Plan) addEvents(c *agent.Config) {
	id, events := c.Head.ID, p.Extensions.Events()
	c.Changed = changedFiles(p.Extensions)
	if events.HasOutput() {
		c.Output = func(ctx context.Context, text string, continued bool) (string, string) {
			return events.Output(ctx, extension.Output{SessionID: id, Text: text, Continued: continued})
		}
	}
	c.Compress = func(ctx context.Context, hints string) []string {
		return events.Compress(ctx, extension.Compression{SessionID: id, Hints: hints})
	}
	c.Renew = func(ctx context.Context) (agent.Prefix, error) {
		set, err := p.list(ctx, nil)
		if err != nil {
			return agent.Prefix{}, err
		}
		return agent.Prefix{System: p.system(ctx, set, set.Specs(ctx)), Tools: set, Small: p.small()}, nil
	}
}

// list lists the tools, and gives extensions the Env of their calls.
func (p Plan) list(ctx context.Context, stored []tools.Spec) (*tools.Set, error) {
	set, err := p.Tools(ctx, stored)
	if err != nil {
		return nil, err
	}
	if err := p.Extensions.Arrange(ctx, set, stored); err != nil {
		return nil, err
	}
	set.Events = p.Extensions.Events()
	set.Forget = func() { p.Extensions.HistoryChanged(extension.ResultsLost) }
	env := *p.Agent.Env
	env.SessionID, env.Dispatch.Set = p.Agent.Head.ID, set
	p.Extensions.ToolsListed(&env)
	return set, nil
}

// StoredTools returns the tools stored with a session. For a new session, it returns nil.
func StoredTools(head store.Session) []tools.Spec {
	if head.System == "" {
		return nil
	}
	specs := make([]tools.Spec, len(head.Tools))
	for i, t := range head.Tools {
		specs[i] = tools.Spec(t)
	}
	return specs
}

func (p Plan) system(ctx context.Context, set *tools.Set, offered []tools.Spec) string {
	c := prompt.Config{OS: runtime.GOOS, Date: time.Now(), Shell: shellName(p.Extensions), Sections: p.Extensions.Sections(ctx), Tools: make([]prompt.Tool, len(offered))}
	for i, spec := range offered {
		t, _ := set.Get(spec.Name)
		c.Tools[i] = prompt.Tool{Name: t.Name, Advice: t.Advice, EditsFiles: t.EditsFiles, RunsCommands: t.RunsCommands}
	}
	return p.Prompt(c)
}

// InGit reports whether folder is in a git repository.
func InGit(folder string) bool {
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

// shellName returns the name of the shell for commands. If no extension runs commands, it returns
// "".
func shellName(s *extension.Set) string {
	own, ok := s.Shell()
	if !ok {
		return ""
	}
	return own.ShellName()
}

// changedFiles returns a function that lists the session's changed files. If no extension records
// them, it returns nil.
func changedFiles(s *extension.Set) func(context.Context) ([]string, error) {
	known, ok := s.Changes()
	if !ok {
		return nil
	}
	return known.ChangedFiles
}
