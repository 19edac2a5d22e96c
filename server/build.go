package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/builder"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// openAgent opens the agent's session of x.
func openAgent(ctx context.Context, x *Session, head store.Session, draft bool) (*agent.Session, error) {
	// A session can be opened without a model. A prompt checks again.
	if err := x.settings.ready(); err != nil {
		x.svc.Log.Info("no model yet", "session", x.id, "reason", err)
	}
	conf, at := x.settings.config(), x.location
	env := envOf(x)
	if head.System == "" {
		head.Model = x.settings.modelName()
	}
	x.settings.small.Store(isBrief(x, head))
	a, err := builder.Open(ctx, builder.Plan{
		Kind: extension.Main, Stored: !draft, Extensions: x.extensions, Lifetime: x.queue.ctx,
		Agent: agent.Config{
			Head: head, Model: x.settings.spending.Model(x.settings.model), Env: env, Files: at.files(), Plan: x.record.plan, Store: x.svc.theStore(conf.Store.Synchronous),
			LeastWindow: agent.LeastWindow, MaxIterations: conf.Agent.MaxIterations, CompactAt: cmp.Or(conf.Compaction.At, -1), Log: x.svc.Log,
			Notes: func() model.Model { return x.settings.notesModel() }, Describe: x.settings.describe,
		},
		Tools: func(ctx context.Context, stored []tools.Spec) (*tools.Set, error) { return toolsOf(ctx, x, stored) },
		Prompt: func(c prompt.Config) string {
			c.Folders, c.Shell, c.Host = at.ws.Folders(), at.remote.describe(c.Shell), x.place.Editor
			c.Model, c.Facts = x.settings.modelName(), at.facts(x.settings)
			c.Git = builder.InGit(c.Folders[0])
			if at.remote.otherFiles() {
				c.Folders = nil
			}
			if x.settings.small.Load() {
				return prompt.Small(c)
			}
			return prompt.System(c)
		},
		Small: x.settings.small.Load,
	})
	if err != nil {
		return nil, fmt.Errorf("opening session %s: %w", x.id, err)
	}
	return a, nil
}

// toolsOf returns the enabled tools of the session's extensions. See [builder.Plan] for stored.
func toolsOf(ctx context.Context, x *Session, stored []tools.Spec) (*tools.Set, error) {
	conf := x.settings.config()
	all := &tools.Set{}
	all.Toolsets = Toolsets(x.svc.features)
	extended, err := x.extensions.Tools(ctx, stored)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(extended, func(a, b tools.Tool) int { return cmp.Compare(a.Order, b.Order) })
	for _, t := range withoutDoubles(extended, x.notifier.show) {
		if err := all.Add(t); err != nil {
			return nil, fmt.Errorf("listing the tools: %w", err)
		}
	}
	all.Secrets = x.settings.secrets
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
	set, err := all.Select(enabled, slices.Concat(conf.Agent.Tools.Disabled, x.location.remote.without(x.svc.features)))
	if err != nil {
		return nil, fmt.Errorf("agent.tools in the configuration: %w", err)
	}
	if stored == nil {
		x.settings.chooseProfile()
	}
	if x.settings.small.Load() {
		set = set.Brief()
	}
	return set, nil
}

// isBrief reports whether a stored session uses the profile for small context windows: its tools
// use short descriptions.
func isBrief(x *Session, head store.Session) bool {
	if len(head.Tools) == 0 {
		return false
	}
	all, err := x.extensions.Tools(x.queue.ctx, builder.StoredTools(head))
	return err == nil && slices.ContainsFunc(all, func(t tools.Tool) bool {
		return t.Brief != "" && slices.ContainsFunc(head.Tools, func(had model.Tool) bool { return had.Name == t.Name && had.Description == t.Brief })
	})
}

// withoutDoubles drops server and plugin tools whose name is already used, and reports them. It
// also drops built-in tools that a plugin overrides.
func withoutDoubles(all []tools.Tool, report func(text string)) []tools.Tool {
	owner := map[string]string{}
	for _, t := range all {
		if t.Group == nil {
			owner[t.Name] = "hermes-ls"
		}
	}
	var kept []tools.Tool
	for _, t := range all {
		if t.Group != nil && !t.Override {
			if other := owner[t.Name]; other != "" {
				report(fmt.Sprintf("The tool %s of %s is left out: %s has a tool of that name.", t.Name, t.Group.Name, other))
				continue
			}
			owner[t.Name] = t.Group.Name
		}
		kept = append(kept, t)
	}
	return slices.DeleteFunc(kept, func(t tools.Tool) bool {
		return t.Group == nil && slices.ContainsFunc(kept, func(o tools.Tool) bool { return o.Group != nil && o.Override && o.Name == t.Name })
	})
}

// toolNames returns the names of the model's tools.
func toolNames(ctx context.Context, x *Session) (names []string, err error) {
	unlock, err := x.record.lock(ctx) // a starting turn lists them, too
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
	stored := builder.StoredTools(x.Head())
	set, err := toolsOf(ctx, x, stored)
	if err == nil {
		err = x.extensions.Arrange(ctx, set, stored)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range set.Offered(ctx) {
		names = append(names, t.Name)
	}
	return names, nil
}

func envOf(x *Session) *tools.Env {
	return &tools.Env{
		SessionID: x.id,
		Reader:    tools.Reader{Sees: func() bool { return x.settings.model.Sees(x.queue.ctx) }},
		Gate:      x.settings.gate,
		OutputDir: x.svc.outputDir(x.id),
	}
}
