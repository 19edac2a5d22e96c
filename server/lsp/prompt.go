package lsp

import (
	"context"
	"strings"
	"sync"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
)

// job is one prompt and the destination of its answer.
type job struct {
	session *service.Session
	input   agent.Input
	title   string            // of the progress
	token   lsp.ProgressToken // the editor's; nil: ours
	chat    *chat.Chat        // the document that shows the answer; nil: none
	shown   string            // the prompt as the chat shows it; empty: it stands there already
	at      *ticket           // of the command; nil: there is none
}

// prompt is hermes.prompt.
func (s *server) prompt(a protocol.PromptArgs, token lsp.ProgressToken) (command, error) {
	if strings.TrimSpace(a.Prompt) == "" {
		return command{}, invalidParams("%s: prompt is missing or empty", protocol.CommandPrompt)
	}
	input := agent.Input{Text: a.Prompt}
	shown := a.Prompt
	if a.TextDocument != nil {
		q, err := s.quote(a.TextDocument.URI, a.Range)
		if err != nil {
			return command{}, err
		}
		input.Context = append(input.Context, q.resource())
		shown += "\n\n(" + q.place + ")"
	}
	return s.prompting(a.SessionID, input, shown, token, a.Wait), nil
}

// prompting makes the command that runs a prompt: at once, or waiting for the answer.
// For an editor without a plugin, the answer goes into the chat unless the command waits for
// it, so that it is visible.
func (s *server) prompting(sessionID string, input agent.Input, shown string, token lsp.ProgressToken, wait bool) command {
	run := func(ctx context.Context, at *ticket) (any, error) {
		session, err := s.session(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		j := job{session: session, input: input, title: titleOf(shown), token: token, shown: shown, at: at}
		if !s.updates(session.ID()) && !wait {
			if j.chat, err = s.ensureChat(ctx, session); err != nil {
				s.log.Warn("there is no chat document for the answer", "error", err)
				s.show(lsp.MessageTypeWarning, "Hermes cannot keep a chat document: %v", err)
			} else {
				j.chat.ShowBeforeAnswer()
			}
		}
		result := protocol.TurnResult{SessionID: session.ID()}
		if !wait {
			return followed{result, s.start(j)}, nil
		}
		work := s.begin(j)
		at.release()
		outcome := work(ctx)
		result.StopReason, result.Text = string(outcome.stop), &outcome.text
		return result, outcome.err
	}
	return command{run, &pendingTurn{sessionID, token}}
}

// start claims the job's place in its session. The function that it returns, which must
// be called, does the work in the background.
func (s *server) start(j job) func() {
	work := s.begin(j)
	return func() { s.background("a turn", func() { s.tell(j, work(s.ctx)) }) }
}

// outcome is how a turn ended.
type outcome struct {
	stop agent.StopReason
	text string
	err  error
}

// begin claims the place at once, in the order of the calls. The function that it
// returns, which must be called, does the work, and has told the progress and the chat
// when it returns.
func (s *server) begin(j job) func(context.Context) outcome {
	sink := &fanOut{}
	turn := j.session.Start(j.input, sink)
	return func(ctx context.Context) outcome {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		progress := s.startTurn(j.token, j.title, cancel)
		if j.at != nil && j.at.begin() {
			cancel()
		}
		sink.progress = progress
		if s.updates(j.session.ID()) {
			sink.echo = s.agent.EchoSink(j.session.ID())
		}
		if j.chat != nil {
			sink.answer = j.chat.Answer(j.shown)
		}
		stop, err := turn.Run(ctx)
		if sink.answer != nil {
			sink.answer.Finish(stop, err)
		}
		progress.finish(endOf(stop, err))
		return outcome{stop, sink.answerText(), err}
	}
}

// tell shows the error of a turn that no command waits for.
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
	return chat.OneLine(first, 50)
}

// fanOut passes a turn's events on and keeps the last answer.
type fanOut struct {
	progress *progress
	answer   *chat.Answer // nil: no chat
	echo     agent.Sink   // shows a plugin the prompt of a command; nil: no plugin

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
	case agent.CallStarted: // text before a call is not the answer
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
