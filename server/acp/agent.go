// Package acp is the agent for clients of the Agent Client Protocol.
//
// An [Agent] handles the methods of the protocol over any [Peer]. [Serve] runs an agent on a pair
// of pipes, with a JSON message per line. The language server carries the same methods on its own
// connection. Messages are handled in order. A prompt and a load enter the queue of their session,
// and then the next message is handled. A cancel waits for no other message. No message of a client
// ends the process.
package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/mcpservers"
)

// Peer is the client's end of a connection.
type Peer interface {
	// Call sends a request and waits for its response, or for ctx. If the client responds
	// with an error, it is an [*acp.Error].
	Call(ctx context.Context, method string, params, result any) error
	// Post queues a notification; see [wire.Writer.Post].
	Post(key string, n wire.Note) error
	// Drain waits until little is queued; see [wire.Writer.Drain].
	Drain(ctx context.Context, most int) error
}

// Options are the settings of an agent. All are optional.
type Options struct {
	// Host is the host of sessions. If it is nil, it is the [Client], with its files,
	// terminals and permission dialogue.
	Host server.Host
	// Preset chooses the default toolset; empty: "acp".
	Preset string
	// Turn is called before each session/prompt. It returns the context of the turn, an additional
	// sink, which may be nil, and a function to call at the end of the turn.
	Turn func(ctx context.Context, sessionID string, in agent.Input) (context.Context, agent.Sink, func(agent.StopReason, error))
	// InWorkspace reports whether a folder belongs to the client's workspace. Requests for the
	// checkpoints of closed sessions are limited to these folders. If InWorkspace is nil, the
	// client has no workspace, so all folders are allowed.
	InWorkspace func(cwd string) bool
	Log         *slog.Logger
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

// method handles a method. After next, later messages are handled.
type method func(ctx context.Context, params json.RawMessage, next func()) (any, error)

// NewAgent makes an agent for a client.
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
		acp.MethodSessionSearch:     short(a.searchSessions),
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
		acp.MethodCheckpointList:    long(a.listCheckpoints),
		acp.MethodCheckpointDiff:    long(a.checkpointDiff),
		acp.MethodCheckpointRestore: long(a.restoreCheckpoint),
		acp.MethodCheckpointFile:    long(a.checkpointFile),
		acp.MethodCheckpointChanges: long(a.listChanges),
		acp.MethodCheckpointAccept:  long(a.acceptChanges),
		acp.MethodSubagentList:      short(a.listSubagents),
		acp.MethodSubagentMessage:   long(a.messageSubagent),
		acp.MethodSubagentStop:      short(a.stopSubagent),
		acp.MethodTrust:             long(a.trust),
		acp.MethodExtensions:        long(extensions(a)),
		acp.MethodSkillOpen:         long(open(a, protocol.CommandSkillOpen)),
		acp.MethodMemoryOpen:        long(open(a, protocol.CommandMemoryOpen)),
		acp.MethodLearningsOpen:     long(open(a, protocol.CommandLearningsOpen)),
		acp.MethodFeedback:          long(feedback(a)),
		acp.MethodMCPLogin:          long(mcpMethod(a, mcpservers.Login)),
		acp.MethodMCPLogout:         long(mcpMethod(a, mcpservers.Logout)),
		acp.MethodMCPRestart:        long(mcpMethod(a, mcpservers.Restart)),
		acp.MethodMCPApprove:        long(mcpMethod(a, mcpservers.Approve)),
		acp.MethodMCPRevoke:         long(mcpMethod(a, mcpservers.Revoke)),
		acp.MethodModelList: long(func(ctx context.Context, p *acp.SessionRequest, next func()) (*acp.ModelListResponse, error) {
			x, err := a.session(p.SessionID)
			if err != nil {
				return nil, err
			}
			next()
			return modelsOf(ctx, x), nil
		}),
		acp.MethodEditor: short(a.setEditor),
	}
	return a
}

// Handles reports whether a method is one of the agent's.
func (a *Agent) Handles(name string) bool { return a.methods[name] != nil }

// Handle handles a request or a notification. A long method calls next once, to let the agent
// handle later messages. The error is always an [*acp.Error], also after a panic.
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

// short makes a method whose response precedes the next message.
func short[P, R any](f func(context.Context, *P) (R, error)) method {
	return long(func(ctx context.Context, p *P, _ func()) (R, error) { return f(ctx, p) })
}

// long makes a method that can have later messages handled before its response.
func long[P, R any](f func(context.Context, *P, func()) (R, error)) method {
	return func(ctx context.Context, params json.RawMessage, next func()) (any, error) {
		p := new(P)
		if err := decode(params, p); err != nil {
			return nil, err
		}
		return f(ctx, p, next)
	}
}

// session returns the open session of an id.
func (a *Agent) session(id string) (*server.Session, error) {
	if id == "" {
		return nil, missing("sessionId")
	}
	return a.svc.Session(id)
}

func missing(param string) error {
	return &acp.Error{Code: acp.CodeInvalidParams, Message: fmt.Sprintf("%s is missing", param), Data: map[string]string{"param": param}}
}
