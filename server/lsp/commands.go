package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol"
)

// command is a command whose argument has been understood, and whose documents
// have been read as they were when it came.
type command struct {
	// run runs in its turn, away from the reader. It calls next of its place when later
	// commands need not wait for it any more.
	run  func(ctx context.Context, at *ticket) (any, error)
	turn *pendingTurn // that it begins; nil: none
}

// executeCommand answers workspace/executeCommand.
func (s *server) executeCommand(ctx context.Context, p *lsp.ExecuteCommandParams, free func()) (any, error) {
	s.edits.reopen()
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

func (s *server) command(p *lsp.ExecuteCommandParams) (command, error) {
	token := p.WorkDoneToken
	switch p.Command {
	case protocol.CommandPrompt:
		return prepared(p, func(a protocol.PromptArgs) (command, error) { return s.prompt(a, token) })
	case protocol.CommandExplain, protocol.CommandFix, protocol.CommandReview, protocol.CommandTest, protocol.CommandDocument:
		return prepared(p, func(a protocol.ActionArgs) (command, error) { return s.action(p.Command, a, token) })
	case protocol.CommandDelegate:
		return prepared(p, func(a protocol.DelegateArgs) (command, error) { return s.delegate(a, token) })
	case protocol.CommandSubagentList:
		return simple(p, s.subagentList)
	case protocol.CommandSubagentMessage:
		return simple(p, s.subagentMessage)
	case protocol.CommandSubagentStop:
		return simple(p, s.subagentStop)
	case protocol.CommandChatOpen:
		return prepared(p, s.chatOpen)
	case protocol.CommandChatSend:
		return prepared(p, func(a protocol.ChatSendArgs) (command, error) { return s.chatSend(a, token) })
	case protocol.CommandSessionNew:
		return simple(p, s.sessionNew)
	case protocol.CommandSessionList:
		return simple(p, s.sessionList)
	case protocol.CommandSessionLoad:
		return simple(p, s.sessionLoad)
	case protocol.CommandSessionDelete:
		return simple(p, s.sessionDelete)
	case protocol.CommandSessionFork:
		return simple(p, s.sessionFork)
	case protocol.CommandCheckpoints:
		return simple(p, s.checkpointList)
	case protocol.CommandCheckpointDiff:
		return simple(p, s.checkpointDiff)
	case protocol.CommandRestore:
		return released(p, s.restore)
	case protocol.CommandTranscript:
		return prepared(p, s.transcript)
	}
	return command{}, invalidParams("unknown command %q; the commands are %s", p.Command, strings.Join(protocol.Commands(), ", "))
}

func prepared[A any](p *lsp.ExecuteCommandParams, prepare func(A) (command, error)) (command, error) {
	var args A
	if err := decode(p, &args); err != nil {
		return command{}, err
	}
	return prepare(args)
}

func simple[A any](p *lsp.ExecuteCommandParams, run func(context.Context, A) (any, error)) (command, error) {
	return prepared(p, func(args A) (command, error) {
		return command{run: func(ctx context.Context, _ *ticket) (any, error) { return run(ctx, args) }}, nil
	})
}

// released is simple for commands that may take long, such as a question to the user: later
// commands need not wait for it.
func released[A any](p *lsp.ExecuteCommandParams, run func(context.Context, A) (any, error)) (command, error) {
	return prepared(p, func(args A) (command, error) {
		return command{run: func(ctx context.Context, at *ticket) (any, error) {
			at.release()
			return run(ctx, args)
		}}, nil
	})
}

// decode reads a command's one argument. Its error names a member that does not fit.
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
