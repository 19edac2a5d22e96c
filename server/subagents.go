package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Waker is a [Host] that can tell its user, or its plugin, that subagents in the
// background have results while no turn runs.
type Waker interface {
	SubagentsReady(sessionID string, ready []delegate.Status)
}

// newChildren makes the subagents of a session: none yet.
func (x *Session) newChildren() *delegate.Children {
	return delegate.New(delegate.Config{
		Store:  x.svc.theStore(x.conf.Store.Synchronous),
		Model:  x.childModel,
		Limits: x.childLimits,
		Cwd:    x.head.Cwd,
		Sink:   x.svc.Instruments.sink(x.id, x.host.Sink(x.id)),
		Ended:  x.wake,
		Host:   x.editor,
		Log:    x.svc.Log,

		Sandbox: x.sandbox, Extensions: x.extensions,
	})
}

func (x *Session) childLimits() delegate.Limits {
	x.mu.Lock()
	d := x.conf.Delegation
	x.mu.Unlock()
	return delegate.Limits{
		Children: d.MaxConcurrentChildren, Depth: d.MaxSpawnDepth, Iterations: d.MaxIterations, Toolsets: d.DefaultToolsets,
		Inactivity: time.Duration(d.InactivityTimeout) * time.Second, Tokens: d.MaxBatchTokens,
	}
}

// childModel is the model of a route; without one and without a configured one the
// session's own, whatever is chosen there.
func (x *Session) childModel(ctx context.Context, route string) (delegate.Model, error) {
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	endpoints, err := conf.ChildEndpoints(route)
	if err != nil {
		return delegate.Model{}, err
	}
	if endpoints == nil {
		if err := x.ready(); err != nil {
			return delegate.Model{}, err
		}
		return delegate.Model{Model: x.model, Name: x.modelName(), Window: x.model.Window()}, nil
	}
	if x.svc.Model != nil {
		return delegate.Model{Model: x.svc.Instruments.model(x.svc.Model), Name: endpoints[0].Model}, nil
	}
	m := x.svc.models.get(x.svc, endpoints)
	return delegate.Model{Model: x.svc.Instruments.model(m), Name: endpoints[0].Model, Window: m.Window()}, nil
}

func (x *Session) modelName() string {
	if name := x.model.choice(); name != "" {
		return name
	}
	return x.Options()[1].Value
}

// Delegation is the prompt that has subagents work on tasks without asking the model
// first; args are those of delegate_task.
func Delegation(goals []string, args json.RawMessage) agent.Input {
	text := "Delegate: " + strings.Join(goals, "\n")
	if len(goals) > 1 {
		text = fmt.Sprintf("Delegate %d tasks:\n\n- %s", len(goals), strings.Join(goals, "\n- "))
	}
	return agent.Input{Text: text, Calls: []tools.Call{{Name: delegate.ToolName, Args: args}}}
}

// Subagents lists the session's subagents, those of earlier runs included.
func (x *Session) Subagents(ctx context.Context) ([]delegate.Status, error) {
	x.mu.Lock()
	begun := x.agent != nil
	x.mu.Unlock()
	if !begun && x.draft() {
		return nil, nil
	}
	return x.children.List(ctx, x.id)
}

// MessageSubagent says text to a subagent; one that has ended goes on.
func (x *Session) MessageSubagent(ctx context.Context, id, text string) error {
	if _, err := x.begin(ctx); err != nil {
		return err
	}
	if err := x.children.Message(ctx, id, text); err != nil {
		return badInput("subagentId", "%v", err)
	}
	return nil
}

// StopSubagent ends one subagent; false: it had ended already.
func (x *Session) StopSubagent(id string) (bool, error) {
	stopped, err := x.children.Stop(id)
	if err != nil {
		return false, badInput("subagentId", "%v", err)
	}
	return stopped, nil
}

// withNews adds what subagents in the background have to tell.
func (x *Session) withNews(ctx context.Context, in agent.Input) agent.Input {
	if news := x.children.News(ctx, x.id); news != "" {
		in.News = append(in.News, news)
	}
	in.News = append(in.News, x.processes.News()...)
	in.News = append(in.News, x.newsOfRestores()...)
	x.mu.Lock()
	x.woken = false
	x.mu.Unlock()
	return in
}

// wake tells the host, once, of results that wait while no turn runs.
func (x *Session) wake() {
	w, ok := x.host.(Waker)
	if !ok || x.children.Waiting() == 0 {
		return
	}
	x.mu.Lock()
	quiet := len(x.turns) > 0 || x.woken || x.closed
	if !quiet {
		x.woken = true
	}
	x.mu.Unlock()
	if !quiet {
		w.SubagentsReady(x.id, x.children.Ready())
	}
}

// endChildren ends the session's subagents.
func (x *Session) endChildren(ctx context.Context) error {
	if err := x.children.Close(ctx); err != nil {
		return fmt.Errorf("waiting for subagents: %w", err)
	}
	return nil
}
