package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/mcpservers"
)

// command is a command with decoded arguments and its documents, as they were when the command
// came.
type command struct {
	// run runs in its turn, away from the reader. It calls next of its place when later
	// commands need not wait for it any more.
	run  func(ctx context.Context, at *ticket) (any, error)
	turn *pendingTurn // the turn it begins; nil: none
}

// executeCommand answers workspace/executeCommand.
func (s *server) executeCommand(ctx context.Context, p *lsp.ExecuteCommandParams, free func()) (any, error) {
	s.editor.Reopen()
	if p.Command == protocol.CommandCancel {
		return s.cancelCommand(p, free)
	}
	c, err := s.command(p)
	if err != nil {
		return nil, err
	}
	at := s.queue.acquire(c.turn)
	defer at.release()
	free()
	if err = at.wait(ctx); err != nil {
		at.begin()
		return nil, err
	}
	result, err := c.run(ctx, at)
	if err != nil {
		at.begin()
		return nil, err
	}
	return raw(result)
}

// handler prepares a command.
type handler func(p *lsp.ExecuteCommandParams) (command, error)

// handlers returns the functions of the commands of [executable], except hermes.cancel.
func handlers(s *server) map[string]handler {
	sessions, checkpoints, subagents := sessionCommands{&s.sessions, &s.quotes}, checkpointCommands{&s.sessions}, subagentCommands{&s.sessions}
	return map[string]handler{
		protocol.CommandPrompt:          prepared(s.prompts.prompt),
		protocol.CommandExplain:         prepared(s.prompts.action),
		protocol.CommandFix:             prepared(s.prompts.action),
		protocol.CommandReview:          prepared(s.prompts.action),
		protocol.CommandTest:            prepared(s.prompts.action),
		protocol.CommandDocument:        prepared(s.prompts.action),
		protocol.CommandEdit:            prepared(s.prompts.edit),
		protocol.CommandDelegate:        prepared(s.prompts.delegate),
		protocol.CommandSubagentList:    simple(subagents.list),
		protocol.CommandSubagentMessage: simple(subagents.message),
		protocol.CommandSubagentStop:    simple(subagents.stop),
		protocol.CommandChatOpen:        prepared(s.chats.open),
		protocol.CommandChatSend:        prepared(s.chats.send),
		protocol.CommandSessionNew:      simple(sessions.begin),
		protocol.CommandSessionList:     simple(sessions.list),
		protocol.CommandSessionLoad:     simple(sessions.load),
		protocol.CommandSessionDelete:   simple(sessions.delete),
		protocol.CommandSessionFork:     simple(sessions.fork),
		protocol.CommandCheckpoints:     simple(checkpoints.list),
		protocol.CommandCheckpointDiff:  simple(checkpoints.diff),
		protocol.CommandRestore:         released(checkpoints.restore),
		protocol.CommandChanges:         released(checkpoints.changes),
		protocol.CommandAccept:          simple(checkpoints.accept),
		protocol.CommandTrust:           simple(sessions.trust),
		protocol.CommandExtensions:      released(sessions.extensions),
		protocol.CommandMCPLogin:        released(sessions.mcp(mcpservers.Login)),
		protocol.CommandMCPLogout:       released(sessions.mcp(mcpservers.Logout)),
		protocol.CommandMCPRestart:      released(sessions.mcp(mcpservers.Restart)),
		protocol.CommandMCPApprove:      released(sessions.mcp(mcpservers.Approve)),
		protocol.CommandMCPRevoke:       released(sessions.mcp(mcpservers.Revoke)),
		protocol.CommandSkillOpen:       released(sessions.open(protocol.CommandSkillOpen)),
		protocol.CommandMemoryOpen:      released(sessions.open(protocol.CommandMemoryOpen)),
		protocol.CommandLearningsOpen:   released(sessions.open(protocol.CommandLearningsOpen)),
		protocol.CommandFeedback:        prepared(s.prompts.feedback),
		protocol.CommandTranscript:      prepared(sessions.transcript),
	}
}

func (s *server) command(p *lsp.ExecuteCommandParams) (command, error) {
	if prepare := s.commands[p.Command]; prepare != nil {
		return prepare(p)
	}
	return command{}, invalidParams("unknown command %q; the commands are %s", p.Command, strings.Join(executable(s.service), ", "))
}

// executable returns the names of the commands, from the command table.
func executable(svc *service.Service) []string {
	var names []string
	for _, c := range svc.CommandTable() {
		if c.Execute != "" {
			names = append(names, c.Execute)
		}
	}
	return names
}

// prepared decodes the argument of a command for prepare.
func prepared[A any](prepare func(A, *lsp.ExecuteCommandParams) (command, error)) handler {
	return func(p *lsp.ExecuteCommandParams) (command, error) {
		var args A
		if err := decode(p, &args); err != nil {
			return command{}, err
		}
		return prepare(args, p)
	}
}

// simple is prepared for commands without a turn or a document.
func simple[A any](run func(context.Context, A) (any, error)) handler {
	return prepared(func(args A, _ *lsp.ExecuteCommandParams) (command, error) {
		return command{run: func(ctx context.Context, _ *ticket) (any, error) { return run(ctx, args) }}, nil
	})
}

// released is simple for commands of long duration, such as a question to the user: later commands
// do not wait for it.
func released[A any](run func(context.Context, A) (any, error)) handler {
	return prepared(func(args A, _ *lsp.ExecuteCommandParams) (command, error) {
		return command{run: func(ctx context.Context, at *ticket) (any, error) {
			at.release()
			return run(ctx, args)
		}}, nil
	})
}

// decode reads a command's only argument. Its error names an invalid member.
func decode(p *lsp.ExecuteCommandParams, args any) error {
	if len(p.Arguments) > 1 {
		return invalidParams("%s takes one object, not %d arguments", p.Command, len(p.Arguments))
	}
	if len(p.Arguments) == 0 || string(p.Arguments[0]) == "null" {
		return nil
	}
	body := []byte(p.Arguments[0])
	if trimmed := bytes.TrimSpace(body); trimmed[0] != '{' {
		return invalidParams("%s takes one object, such as {\"sessionId\": \"…\"}", p.Command)
	}
	err := json.Unmarshal(body, args)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return invalidParams("%s: %s must be %s, not %s", p.Command, wrong.Field, kindName(wrong.Type.String()), wrong.Value)
	}
	if err != nil {
		return invalidParams("%s: %v", p.Command, err)
	}
	return nil
}

// kindName says a Go type in JSON's words.
func kindName(goType string) string {
	switch {
	case goType == "string":
		return "a string"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"):
		return "a whole number"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "an object"
}
