package server

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server/attachments"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// Values of agent.on_new_prompt: a prompt interrupts the running turn, or waits for it.
const (
	Interrupt = "interrupt"
	Queue     = "queue"
)

// Start adds a prompt to the session's queue, at once. By agent.on_new_prompt it cancels the
// turns in the queue or waits for them. The events of the turn go to the host's sink, and to
// also if it is not nil. [Turn.Run] must follow.
func (x *Session) Start(in agent.Input, also agent.Sink) *Turn { return x.StartAs("", in, also) }

// StartAs is Start for a user who has chosen how to treat the running turn. If onNewPrompt is
// empty, the configuration decides.
func (x *Session) StartAs(onNewPrompt string, in agent.Input, also agent.Sink) *Turn {
	if c, args, ok := commandOf(x, in); ok {
		return startCommand(x, c, in, args, also)
	}
	if t := x.questions.take(in); t != nil {
		return x.start(Queue, func(ctx context.Context) (agent.StopReason, error) {
			if !x.questions.starts(t) {
				return agent.EndTurn, nil
			}
			return x.prompt(ctx, in, also)
		})
	}
	return x.start(onNewPrompt, func(ctx context.Context) (agent.StopReason, error) { return x.prompt(ctx, in, also) })
}

func (x *Session) start(onNewPrompt string, work func(context.Context) (agent.StopReason, error)) *Turn {
	return x.queue.add(cmp.Or(onNewPrompt, x.settings.config().Agent.OnNewPrompt) != Queue, work)
}

// StartReplay adds a replay of the history for sink to the queue. If a turn runs, it returns
// [ErrRunning], because the events of both would be mixed. [Turn.Run] must follow.
func (x *Session) StartReplay(sink agent.Sink) (*Turn, error) {
	t, err := x.queue.exclusive(func(ctx context.Context) (agent.StopReason, error) {
		if x.record.draft() {
			return "", nil
		}
		a, err := x.open(ctx)
		if err != nil {
			return "", err
		}
		return "", a.Replay(ctx, sink)
	})
	if err == nil {
		t.quiet = true
	}
	return t, err
}

// Prompt runs a turn; see [Session.Start] and [Turn.Run].
func (x *Session) Prompt(ctx context.Context, in agent.Input, also agent.Sink) (agent.StopReason, error) {
	return x.Start(in, also).Run(ctx)
}

// Cancel cancels the turns in the queue. If there is none, it cancels the work in the background.
// It does not wait for them. If there is nothing to cancel, it returns false. Until the user's
// next prompt, no notice starts a turn.
func (x *Session) Cancel() bool {
	return x.queue.cancel() || x.extensions.Cancel(errCancelled)
}

// Running reports whether a turn runs or waits.
func (x *Session) Running() bool { return x.queue.running() }

func (x *Session) prompt(ctx context.Context, in agent.Input, also agent.Sink) (agent.StopReason, error) {
	shown := x.settings.windowInUse()
	if err := x.settings.readyFor(in.Route, x.notifier.show); err != nil {
		return "", err
	}
	x.settings.model.Prepare(ctx)
	shown = x.showWindow(shown)
	x.settings.spending.Turn()
	defer func() {
		if x.settings.config().Limits != (config.Limits{}) { // the option shows what is left, too
			x.settingsChanged()
			return
		}
		x.showWindow(shown) // a server may tell it with the first response
	}()
	a, err := x.open(ctx)
	if err != nil {
		return "", err
	}
	sink := x.svc.Instruments.sink(x.id, x.host.Sink(x.id))
	if also != nil {
		sink = teeSink{sink, also}
	}
	x.notifier.flush(sink)
	defer x.notifier.during(also)()
	workspace.Sweep(x.location.ws.Unfinished) // of servers still ending when the session was opened
	events := x.extensions.Events()
	defer events.Turn(ctx, extension.Prompt{SessionID: x.id, Text: cmp.Or(in.Text, "Results of background work"), Note: in.Note})()
	added, attached, block := beforePrompt(ctx, x, in)
	if block != "" {
		sink.Event(agent.Notice{Text: block})
		return agent.EndTurn, nil
	}
	in.News = slices.Concat(in.News, added, x.extensions.Notices(ctx, extension.WithPrompt))
	if in.Note && in.Text == "" && len(in.News) == 0 {
		return agent.EndTurn, nil
	}
	if !in.Note {
		in.Environment = x.extensions.Environment(ctx)
	}
	if !x.location.remote.otherFiles() {
		in.Context = attachments.Read(ctx, x.location.ws, in.Context)
	}
	for _, a := range attached {
		in.Context = append(in.Context, agent.Resource{URI: a.Name, Text: a.Text})
	}
	x.queue.prompted(ctx, in.Note)
	defer x.record.prompted()
	defer func() {
		gate.Rest(ctx, x.queue.ctx, &tools.Env{SessionID: x.id, Gate: x.settings.gate}, x.location.box, x.settings.secrets.Hide)
	}()
	return runTurn(ctx, x, a, in, sink)
}

// showWindow sends the options of the session if its window differs from before. It returns the
// window.
func (x *Session) showWindow(before string) string {
	now := x.settings.windowInUse()
	if now != before && !x.settings.routed.Load() {
		x.settingsChanged()
	}
	return now
}

// runTurn runs a turn. As long as an extension continues it, it gives the model the text of
// the extension.
func runTurn(ctx context.Context, x *Session, a *agent.Session, in agent.Input, sink agent.Sink) (agent.StopReason, error) {
	for continued := 0; ; continued++ {
		stop, err := a.Turn(ctx, in, sink)
		if errors.Is(context.Cause(ctx), errNewPrompt) {
			return stop, err
		}
		end := extension.TurnEnd{SessionID: x.id, Stop: string(stop), Continued: continued, Waiting: x.queue.waiting()}
		if last := a.Last(); last.Role == model.Assistant {
			end.Answer = last.Text()
		}
		during := ctx
		if ctx.Err() != nil {
			during = context.WithoutCancel(ctx) // the summary is shown, too
		}
		more, decisions := x.extensions.Events().AfterTurn(during, end)
		for _, d := range decisions {
			if d.Notice != "" {
				sink.Event(agent.Notice{Text: d.Notice, Offers: d.Offers})
			}
			if d.Summary != "" && (more == "" || ctx.Err() != nil) {
				sink.Event(agent.TurnSummary{Brief: d.Brief, Text: d.Summary})
			}
		}
		switch {
		case err != nil || stop == agent.Cancelled:
			return stop, err
		case ctx.Err() != nil:
			return agent.Cancelled, nil
		case more == "":
			return stop, nil
		}
		in = agent.Input{Text: more, Note: true, News: x.extensions.Notices(ctx, extension.WithPrompt)}
	}
}

// StartNotices queues a turn that begins with the waiting notices, if no turn runs or waits. If
// there is nothing to do, the turn ends without a request. The events go to the host's sink, and to
// also if it is not nil. [Turn.Run] must follow.
func StartNotices(x *Session, also agent.Sink) *Turn {
	return x.queue.add(false, func(ctx context.Context) (agent.StopReason, error) {
		if !x.startsTurn() || x.queue.waiting() {
			return agent.EndTurn, nil
		}
		return x.prompt(ctx, agent.Input{Note: true}, also)
	})
}

// startsTurn reports whether waiting notices may start a turn.
func (x *Session) startsTurn() bool { return !x.queue.held() && x.extensions.StartsTurn() }

// beforePrompt calls the functions at the start of a session, and of its prompts. It returns texts
// for the model, the attachments of the prompt, or the reason why the prompt is not sent.
func beforePrompt(ctx context.Context, x *Session, in agent.Input) (added []string, attached []extension.Attachment, block string) {
	events := x.extensions.Events()
	if x.record.draft() {
		added = events.SessionStart(ctx, eventOf(x))
	}
	more, attached, block := events.Prompt(ctx, extension.Prompt{SessionID: x.id, Text: in.Text, Typed: in.TypedText(), Own: in.Own, Note: in.Note, Given: given(in.Context)})
	return append(added, more...), attached, block
}

// given returns the addresses of the resources that have a text.
func given(all []agent.Resource) (addresses []string) {
	for _, r := range all {
		if r.Text != "" {
			addresses = append(addresses, r.URI)
		}
	}
	return addresses
}

func eventOf(x *Session) extension.SessionEvent {
	return extension.SessionEvent{SessionID: x.id, Folders: x.location.ws.Folders()}
}

// GoNotices runs [StartNotices] in the background, for a host without a request to answer. failed
// gets its error. The end of the session waits for the turn.
func GoNotices(x *Session, failed func(error)) {
	turn := StartNotices(x, nil)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				x.svc.Log.Error("a turn panicked", "session", x.id, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		if _, err := turn.Run(x.queue.ctx); err != nil && x.queue.ctx.Err() == nil {
			failed(err)
		}
	}()
}

// StartCompaction adds a compaction to the queue, as Start adds a prompt. Hints say which
// parts matter; they may be empty. The events go to the host's sink, and to also if it is not
// nil. [Turn.Run] must follow.
func (x *Session) StartCompaction(hints string, also agent.Sink) *Turn {
	return x.start("", func(ctx context.Context) (agent.StopReason, error) {
		sink := x.notifier.sink(also)
		if x.record.draft() {
			sink.Event(agent.Notice{Text: "There is nothing to compact yet: the session has no messages."})
			return agent.EndTurn, nil
		}
		if err := x.settings.ready(); err != nil {
			return "", err
		}
		a, err := x.open(ctx)
		if err != nil {
			return "", err
		}
		return a.Compact(ctx, hints, sink)
	})
}
