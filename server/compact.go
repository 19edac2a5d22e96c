package server

import (
	"context"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// StartCompaction claims a place in the session's queue, as a prompt does, for
// summing up its older part. Hints tell what matters; they may be empty. Events go to
// the host's sink and then to also, which may be nil. [Turn.Run] must follow.
func (x *Session) StartCompaction(hints string, also agent.Sink) *Turn {
	return x.start("", func(ctx context.Context) (agent.StopReason, error) {
		sink := x.host.Sink(x.id)
		if also != nil {
			sink = both{sink, also}
		}
		if x.draft() {
			sink.Event(agent.Notice{Text: "There is nothing to compact yet: the session has no messages."})
			return agent.EndTurn, nil
		}
		if err := x.ready(); err != nil {
			return "", err
		}
		a, err := x.begin(ctx)
		if err != nil {
			return "", err
		}
		return a.Compact(ctx, hints, sink)
	})
}

// renew is what a session that began now would say of itself and offer, for a
// compaction. Env is what the tools were lent.
func (x *Session) renew(ctx context.Context, env tools.Env, shell string) (agent.Prefix, error) {
	x.mu.Lock()
	conf := x.conf
	x.mu.Unlock()
	head := x.Head()
	set, err := x.tools(ctx, conf, store.Session{ID: head.ID, Cwd: head.Cwd, Folders: head.Folders})
	if err != nil {
		return agent.Prefix{}, err
	}
	env.Tools = set
	x.extensions.Begun(&env)
	return agent.Prefix{System: x.systemPrompt(ctx, set.Specs(ctx), shell), Tools: set}, nil
}
