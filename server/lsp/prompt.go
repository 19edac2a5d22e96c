package lsp

import (
	"context"
	"strings"
	"sync"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// job is one prompt on its way: what to ask, and where the answer goes.
type job struct {
	session *service.Session
	input   agent.Input
	title   string            // of the progress
	token   lsp.ProgressToken // the editor's; nil: ours
	chat    *chat             // the document that shows the answer; nil: none
	shown   string            // the prompt as the chat shows it; empty: it stands there already
}

// prompt is hermes.prompt.
func (s *server) prompt(a protocol.PromptArgs, token lsp.ProgressToken) (command, error) {
	if strings.TrimSpace(a.Prompt) == "" {
		return nil, invalidParams("%s: prompt is missing or empty", protocol.CommandPrompt)
	}
	input := agent.Input{Text: a.Prompt}
	shown := a.Prompt
	if a.TextDocument != nil {
		q, err := s.quote(a.TextDocument.URI, a.Range)
		if err != nil {
			return nil, err
		}
		input.Context = append(input.Context, q.resource())
		shown += "\n\n(" + q.place + ")"
	}
	return s.prompting(a.SessionID, input, shown, token, a.Wait), nil
}

// prompting makes the command that runs a prompt: at once, or waiting for the answer.
// For an editor without a plugin an answer that nobody waits for goes into the
// chat, so that it is never invisible.
func (s *server) prompting(sessionID string, input agent.Input, shown string, token lsp.ProgressToken, wait bool) command {
	return func(ctx context.Context, next func()) (any, error) {
		session, err := s.session(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		j := job{session: session, input: input, title: titleOf(shown), token: token, shown: shown}
		if s.client.acp == nil && !wait {
			if j.chat, err = s.chatOf(ctx, session); err != nil {
				s.log.Warn("there is no chat document for the answer", "error", err)
				s.show(lsp.MessageTypeWarning, "Hermes cannot keep a chat document: %v", err)
			}
		}
		return s.start(ctx, j, wait, next)
	}
}

// start claims the job's place in its session. With wait it answers when the turn
// has ended, else at once.
func (s *server) start(ctx context.Context, j job, wait bool, next func()) (any, error) {
	if !wait {
		work := s.begin(s.ctx, j)
		s.goOn("a turn", func() { s.tell(j, work()) })
		return protocol.TurnResult{SessionID: j.session.ID()}, nil
	}
	work := s.begin(ctx, j)
	next()
	outcome := work()
	if outcome.err != nil {
		return nil, outcome.err
	}
	return protocol.TurnResult{SessionID: j.session.ID(), StopReason: string(outcome.stop), Text: &outcome.text}, nil
}

// outcome is how a turn ended.
type outcome struct {
	stop agent.StopReason
	text string
	err  error
}

// begin claims the place at once, in the order of the calls; the function that it
// returns does the work, and has told the progress and the chat when it returns.
func (s *server) begin(ctx context.Context, j job) func() outcome {
	ctx, cancel := context.WithCancel(ctx)
	progress := s.startTurn(j.token, j.title, cancel)
	sink := &fanOut{progress: progress}
	if s.client.acp != nil {
		sink.echo = s.agent.EchoSink(j.session.ID())
	}
	if j.chat != nil {
		sink.answer = j.chat.answer(j.shown)
	}
	turn := j.session.Start(j.input, sink)
	return func() outcome {
		defer cancel()
		stop, err := turn.Run(ctx)
		if sink.answer != nil {
			sink.answer.finish(stop, err)
		}
		progress.finish(endOf(stop, err))
		return outcome{stop, sink.answerText(), err}
	}
}

// tell shows how a turn ended that nobody waits for, where nothing else has.
func (s *server) tell(j job, o outcome) {
	if o.err != nil && s.ctx.Err() == nil {
		s.show(lsp.MessageTypeError, "Hermes: %v", o.err)
	}
}

func endOf(stop agent.StopReason, err error) string {
	switch {
	case err != nil:
		return "failed"
	case stop == agent.Cancelled:
		return "cancelled"
	case stop == agent.EndTurn:
		return "done"
	}
	return "stopped: " + strings.ReplaceAll(string(stop), "_", " ")
}

// acpTurn gives a turn that a plugin started its progress.
func (s *server) acpTurn(ctx context.Context, _ string, in agent.Input) (context.Context, agent.Sink, func(agent.StopReason, error)) {
	ctx, cancel := context.WithCancel(ctx)
	progress := s.startTurn(nil, titleOf(in.Text), cancel)
	return ctx, progress, func(stop agent.StopReason, err error) {
		progress.finish(endOf(stop, err))
		cancel()
	}
}

func titleOf(prompt string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	return oneLine(first, 50)
}

// fanOut passes a turn's events on and keeps the last answer.
type fanOut struct {
	progress *progress
	answer   *answer    // nil: no chat
	echo     agent.Sink // shows a plugin the prompt of a command; nil: no plugin

	mu   sync.Mutex
	text strings.Builder
}

func (f *fanOut) Event(e agent.Event) {
	f.progress.Event(e)
	if _, prompt := e.(agent.UserMessage); prompt && f.echo != nil {
		f.echo.Event(e)
	}
	if f.answer != nil {
		f.answer.Event(e)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case agent.Text:
		f.text.WriteString(e.Text)
	case agent.CallStarted: // what was said before a call is not the answer
		if f.text.Len() > 0 {
			f.text.Reset()
		}
	}
}

func (f *fanOut) answerText() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.String()
}
