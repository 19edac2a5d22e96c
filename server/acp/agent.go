// Package acp is the service's face for clients of the Agent Client Protocol.
//
// An [Agent] answers the protocol's methods over any [Peer]; [Serve] is one on a
// pair of pipes, one JSON message a line. The language server carries the same
// methods over its own wire. Messages are handled in order; a prompt and a load
// claim their place and then let the next message through. A cancel waits for no
// other message. Nothing that a client sends ends the process.
package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
)

// Peer is the client's end of a connection.
type Peer interface {
	// Call sends a request and waits for its answer, or for ctx. An error that
	// the client answered is an [*acp.Error].
	Call(ctx context.Context, method string, params, result any) error
	// Post queues a notification; see [wire.Writer.Post].
	Post(key string, n wire.Note) error
	// Drain waits until little is queued; see [wire.Writer.Drain].
	Drain(ctx context.Context, most int) error
}

// Options are an agent's surroundings. All are optional.
type Options struct {
	// Host is the host of sessions. If it is nil, it is the [Client], with its files,
	// terminals and permission dialogue.
	Host server.Host
	// Preset chooses the default toolset; empty: "acp".
	Preset string
	// Turn is called around each session/prompt: the context and the sink, which
	// may be nil, are the turn's, and the function is told how it ended.
	Turn func(ctx context.Context, sessionID string, in agent.Input) (context.Context, agent.Sink, func(agent.StopReason, error))
	Log  *slog.Logger
}

// Agent answers the methods of the protocol. It is safe for concurrent use.
type Agent struct {
	Client   *Client
	svc      *server.Service
	o        Options
	host     server.Host
	canLogin atomic.Bool // the client knows the ways to log in
	methods  map[string]method
}

// method answers one method; next lets the messages behind it through.
type method func(ctx context.Context, params json.RawMessage, next func()) (any, error)

// NewAgent makes an agent for one client.
func NewAgent(svc *server.Service, peer Peer, o Options) *Agent {
	if o.Preset == "" {
		o.Preset = "acp"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{Client: newClient(peer), svc: svc, o: o, host: o.Host}
	if a.host == nil {
		a.host = a.Client
	}
	a.methods = map[string]method{
		acp.MethodInitialize:        short(a.initialize),
		acp.MethodAuthenticate:      short(a.authenticate),
		acp.MethodLogout:            short(a.logout),
		acp.MethodSessionFork:       short(a.forkSession),
		acp.MethodSessionRewind:     long(a.rewindSession),
		acp.MethodSessionDescribe:   short(a.describeSession),
		acp.MethodSessionTree:       short(a.sessionTree),
		acp.MethodSessionNew:        short(a.newSession),
		acp.MethodSessionLoad:       long(a.loadSession),
		acp.MethodSessionResume:     short(a.resumeSession),
		acp.MethodSessionList:       short(a.listSessions),
		acp.MethodSessionClose:      long(a.closeSession),
		acp.MethodSessionDelete:     long(a.deleteSession),
		acp.MethodSessionPrompt:     long(a.prompt),
		acp.MethodSessionCancel:     short(a.cancel),
		acp.MethodSessionSetMode:    short(a.setMode),
		acp.MethodSessionSetValue:   short(a.setOption),
		acp.MethodCheckpointList:    short(a.listCheckpoints),
		acp.MethodCheckpointDiff:    long(a.checkpointDiff),
		acp.MethodCheckpointRestore: long(a.restoreCheckpoint),
		acp.MethodCheckpointFile:    long(a.checkpointFile),
		acp.MethodSubagentList:      short(a.listSubagents),
		acp.MethodSubagentMessage:   long(a.messageSubagent),
		acp.MethodSubagentStop:      short(a.stopSubagent),
	}
	return a
}

// Handles reports whether a method is one of the agent's.
func (a *Agent) Handles(name string) bool { return a.methods[name] != nil }

// Handle answers a request or a notification. A long one calls next once, when
// later messages may be handled. The error is always an [*acp.Error]; a panic
// becomes one.
func (a *Agent) Handle(ctx context.Context, name string, params json.RawMessage, next func()) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.o.Log.Error("a handler panicked", "method", name, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, acp.Errorf(acp.CodeInternal, "%s failed inside hermes-ls: %v; please report it", name, p)
		}
	}()
	m := a.methods[name]
	if m == nil {
		return nil, acp.Errorf(acp.CodeMethodNotFound, "unknown method %q", name)
	}
	if result, err = m(ctx, params, next); err != nil {
		return nil, Error(err)
	}
	return result, nil
}

// short is a method that is answered before the next message is looked at.
func short[P, R any](f func(context.Context, *P) (R, error)) method {
	return long(func(ctx context.Context, p *P, _ func()) (R, error) { return f(ctx, p) })
}

// long is a method that lets later messages through.
func long[P, R any](f func(context.Context, *P, func()) (R, error)) method {
	return func(ctx context.Context, params json.RawMessage, next func()) (any, error) {
		p := new(P)
		if err := decode(params, p); err != nil {
			return nil, err
		}
		return f(ctx, p, next)
	}
}

// session finds the open session that parameters name.
func (a *Agent) session(id string) (*server.Session, error) {
	if id == "" {
		return nil, missing("sessionId")
	}
	return a.svc.Session(id)
}

func missing(param string) error {
	return &acp.Error{Code: acp.CodeInvalidParams, Message: fmt.Sprintf("%s is missing", param), Data: map[string]string{"param": param}}
}
