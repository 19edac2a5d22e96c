package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// turn is a prompt and all work until its answer.
type turn struct {
	*Session
	sink     Sink
	head     store.Session   // at the start of the turn
	prompt   *store.Message  // the first message of the turn; empty for a compaction alone
	effort   string          // at the start of the turn
	storeCtx context.Context // for the store; not canceled with the turn
	empty    bool            // the previous response was empty
	cut      bool            // the previous response reached the output limit within a call
	repeats  repeats
	shown    []tools.Todo // the editor's plan
	budget   budget       // for the results of the current response
	more     string       // text for the model to continue the turn with; empty: it ends
	goneOn   bool         // [Config.Output] has continued the turn
	report   bool         // a single request whose calls do not run, see [Input]
	news     news
}

// Turn runs a turn. It returns when the answer is complete and all its goroutines have ended.
// If ctx is canceled, it returns [Cancelled] and no error; the partial response is stored, and
// every call has a result. If the model fails, the error wraps a *[model.Error]. After each of
// these the session accepts the next prompt. If a turn runs in this process, Turn returns
// [ErrBusy]; in another process, [store.ErrClaimed].
func (s *Session) Turn(ctx context.Context, in Input, sink Sink) (StopReason, error) {
	if !s.running.CompareAndSwap(false, true) {
		return "", ErrBusy
	}
	defer s.running.Store(false)
	if in.Text == "" && len(in.Images)+len(in.Context)+len(in.News) == 0 {
		return "", errors.New("the prompt is empty")
	}
	if ctx.Err() != nil {
		return Cancelled, nil
	}
	if err := s.tooSmall(); err != nil {
		return "", err
	}
	release, err := s.config.Store.Claim(s.id)
	if err != nil {
		return "", err
	}
	defer release()
	s.inbox.listen()
	defer s.inbox.close()
	t := &turn{Session: s, sink: sink, storeCtx: context.WithoutCancel(ctx), report: in.Report}
	defer func() {
		s.doubted = len(s.history.trial) > 0
		s.read = s.read && !s.doubted // the next turn reads the history again, without the plain form
	}()
	if err := t.begin(in); err != nil {
		return "", fmt.Errorf("keeping the prompt: %w", err)
	}
	if len(in.Calls) > 0 {
		if err := t.callFirst(ctx, in.Calls); err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return Cancelled, nil
		}
	}
	return t.run(ctx)
}

// begin stores the prompt.
func (t *turn) begin(in Input) error {
	kept, err := keptNews(t.storeCtx, t.editsOf())
	if err != nil {
		return err
	}
	t.news = in.News
	in.News = slices.Concat(kept, in.News)
	text, title := compose(in), titleOf(in)
	m := &store.Message{ID: in.ID, Typed: len(in.Text), Note: in.isNote(), Usage: t.pending.drain()}
	if m.Note {
		text, title, m.Typed = strings.TrimSpace(text), "", 0
	}
	m.Message = model.NewMessage(model.User, text, model.ImageParts(in.Images...)...)
	t.prompt = m
	made, named, err := t.create(t.storeCtx, title, m)
	if err != nil {
		return err
	}
	t.head = t.Head()
	t.history.gauge.ground(t.head.System, t.head.Tools)
	t.headMu.Lock()
	t.effort = t.Session.effort
	t.headMu.Unlock()
	if made {
		t.remember(m)
	} else if err := t.appendPending(t.storeCtx, m); err != nil {
		return err
	}
	if len(kept) > 0 {
		if err := t.editsOf().Delete(t.storeCtx, newsKey); err != nil {
			return err
		}
	}
	if !m.Note {
		t.sink.Event(userMessage(m))
	}
	if named {
		t.sink.Event(TitleChanged{Title: t.head.Title})
	}
	t.todosChanged() // the editor already has this plan
	return nil
}

// appendPending loads the messages missing from the history, and then appends a prompt.
func (t *turn) appendPending(ctx context.Context, m *store.Message) error {
	if err := t.sync(ctx); err != nil {
		return err
	}
	return t.appendPrompt(ctx, m)
}

// run alternates requests and calls until a response contains no calls.
func (t *turn) run(ctx context.Context) (StopReason, error) {
	if t.report {
		return t.reportOnly(ctx)
	}
	for range t.config.MaxIterations {
		if err := t.drainInbox(); err != nil {
			return "", err
		}
		stop, err := t.step(ctx)
		if stop == EndTurn && err == nil && !t.inbox.closeIfEmpty() {
			continue // a message arrived during the request
		}
		if err != nil || stop != "" {
			return stop, err
		}
	}
	t.notice("Stopped after %d requests in one turn (agent.max_iterations). Say “go on” to let it continue.", t.config.MaxIterations)
	return MaxTurnRequests, nil
}

// reportOnly sends a single request whose calls do not run. If the response contains calls or
// no text, it returns MaxTurnRequests.
func (t *turn) reportOnly(ctx context.Context) (StopReason, error) {
	if err := t.drainInbox(); err != nil {
		return "", err
	}
	return t.step(ctx)
}

// step runs a request and the calls of its response. If it returns no stop reason and no error,
// the turn continues.
func (t *turn) step(ctx context.Context) (StopReason, error) {
	if err := t.makeRoom(ctx); err != nil {
		if stop := limitOf(err); stop != nil {
			t.sink.Event(Notice{Text: stop.Reason, Limit: true})
			return MaxTurnRequests, nil
		}
		return "", err
	}
	if err := t.fits(); err != nil {
		return "", err
	}
	id := store.NewID()
	reply, err := t.ask(ctx, id)
	if overflowed(err) {
		reply, err = t.afterOverflow(ctx, id, reply, err)
	}
	if refused := refusedHistory(err); refused != nil && ctx.Err() == nil {
		reply, err = t.askPlainly(ctx, id, reply, refused)
		if unexplained(err) && ctx.Err() == nil {
			reply, err = t.askShorter(ctx, id, reply, err)
		}
	}
	if stop := limitOf(err); stop != nil {
		t.sink.Event(Notice{Text: stop.Reason, Limit: true})
		return MaxTurnRequests, nil
	}
	if err != nil || ctx.Err() != nil {
		return t.abort(ctx, id, reply, err)
	}
	if reply.Finish == model.FinishRefusal {
		reply.Calls = nil // these must not run
	}
	called := len(reply.Calls) > 0
	t.output(ctx, id, reply)
	if t.report {
		reply.Calls = nil
	}
	calls := t.callsOf(reply)
	if err := t.saveResponse(id, reply, calls); err != nil {
		return "", fmt.Errorf("keeping the reply: %w", err)
	}
	if t.report && called {
		return MaxTurnRequests, nil
	}
	if len(calls) == 0 {
		return t.stopReason(reply)
	}
	t.empty = false
	if err := t.callAll(ctx, calls); err != nil {
		return "", fmt.Errorf("keeping a result: %w", err)
	}
	switch {
	case ctx.Err() != nil:
		return Cancelled, nil
	case slices.ContainsFunc(calls, func(c *call) bool { return c.result.EndsTurn }):
		return EndTurn, nil
	}
	cutAgain := t.cut
	t.cut = slices.ContainsFunc(calls, func(c *call) bool { return c.cut })
	if t.cut && cutAgain {
		return t.atLimit(), nil
	}
	t.repeats.response(calls)
	return t.stopRepeating()
}

// limitOf returns the passed limit in err, or nil.
func limitOf(err error) *model.Stopped {
	var stop *model.Stopped
	if errors.As(err, &stop) {
		return stop
	}
	return nil
}

// ask streams a model request to the sink. If it fails, ask returns the partial response and
// the error.
func (t *turn) ask(ctx context.Context, id string) (*model.Reply, error) {
	messages := t.history.messages
	request := &model.Request{
		Model:     t.head.Model,
		System:    t.head.System,
		Messages:  messages[:len(messages):len(messages)],
		Tools:     t.head.Tools,
		NoCalls:   t.report,
		Effort:    t.effort,
		SessionID: t.id,
		Turn:      t.prompt.ID,
		Describe:  t.describe,
	}
	t.config.Log.Debug("asking the model", "session", t.id, "model", t.head.Model, "messages", len(messages))
	reply := &model.Reply{CallsBefore: len(t.history.ids)}
	var text, thoughts repetition
	for delta, err := range t.config.Model.Stream(ctx, request) {
		if err != nil {
			return reply, err
		}
		if delta.Reasoning != "" {
			t.sink.Event(Thought{MessageID: id, Text: delta.Reasoning})
		}
		if delta.Text != "" && t.config.Output == nil {
			t.sink.Event(Text{MessageID: id, Text: delta.Text})
		}
		if delta.Notice != "" {
			t.sink.Event(Notice{Text: delta.Notice, Passing: !delta.Lasting})
		}
		if delta.Fallback != "" {
			t.sink.Event(Thought{MessageID: id, Text: delta.Fallback + "\n"})
		}
		if delta.Dropped != nil {
			if err := t.dropState(*delta.Dropped); err != nil {
				return reply, err
			}
		}
		if delta.Pictures != nil {
			if err := t.keepForms(delta.Pictures); err != nil {
				return reply, err
			}
		}
		if err := reply.Add(delta); err != nil {
			return reply, err
		}
		if text.add(delta.Text) || thoughts.add(delta.Reasoning) {
			t.notice("The model repeated the same text again and again, so its answer was stopped. Send the prompt again in other words, or choose a larger model.")
			reply.Calls, reply.Finish = nil, model.FinishStop
			reply.SetText(withoutRepeats(reply.Text))
			return reply, nil
		}
	}
	if reply.Finish == "" {
		return reply, &model.Error{Kind: model.ErrCut, Model: t.head.Model}
	}
	return reply, nil
}

// output passes the final text of a turn to [Config.Output], and then sends it to the sink,
// which did not get it during streaming.
func (t *turn) output(ctx context.Context, id string, reply *model.Reply) {
	if t.config.Output == nil || strings.TrimSpace(reply.Text) == "" {
		return
	}
	if len(reply.Calls) == 0 && reply.Finish != model.FinishRefusal {
		text, more := t.config.Output(ctx, reply.Text, t.goneOn)
		t.more = more
		if text != reply.Text {
			reply.SetText(text)
		}
		if t.goneOn {
			t.more = ""
		}
	}
	if reply.Text != "" {
		t.sink.Event(Text{MessageID: id, Text: reply.Text})
	}
}

// goOnFor continues the turn with a text for the model, only once in a turn.
func (t *turn) goOnFor(text string) (StopReason, error) {
	t.more, t.goneOn = "", true
	if err := t.appendPrompt(t.storeCtx, &store.Message{Message: model.NewMessage("", strings.TrimSpace(compose(Input{News: []string{text}}))), Note: true}); err != nil {
		return "", fmt.Errorf("keeping the log: %w", err)
	}
	return "", nil
}

// abort ends a turn after an incomplete response. It stores the text and the reasoning, but no
// calls.
func (t *turn) abort(ctx context.Context, id string, reply *model.Reply, failure error) (StopReason, error) {
	if t.config.Output != nil && reply.Text != "" {
		t.sink.Event(Text{MessageID: id, Text: reply.Text})
	}
	if err := t.savePartial(id, reply); err != nil {
		return "", errors.Join(failure, fmt.Errorf("keeping the reply: %w", err))
	}
	if ctx.Err() != nil {
		return Cancelled, nil
	}
	return "", fmt.Errorf("asking the model: %w", failure)
}

// longestPart limits the stored bytes of a partial response. A larger part would fill the
// context window.
const longestPart = 64 << 10

func clipPart(text string) string {
	if len(text) <= longestPart {
		return text
	}
	kept := strings.ToValidUTF8(text[:longestPart], "")
	return fmt.Sprintf("%s\n[%d more bytes of this partial response were not saved]", kept, len(text)-len(kept))
}

func (t *turn) savePartial(id string, reply *model.Reply) error {
	var m *store.Message
	text, reasoning := model.SoundText(clipPart(reply.Text)), model.SoundText(clipPart(reply.Reasoning))
	switch {
	case strings.TrimSpace(text) != "":
		m = &store.Message{Message: model.ResponseMessage(reasoning, text)}
	case reasoning != "":
		m = emptyMessage(nil, model.ReasoningPart(reasoning))
	default:
		return nil
	}
	m.ID = id
	if reply.Usage != (model.Usage{}) {
		m.Usage = &reply.Usage
	}
	return t.append(t.storeCtx, m)
}

// saveResponse stores a complete response before its calls run.
func (t *turn) saveResponse(id string, reply *model.Reply, calls []*call) error {
	usage := reply.Usage
	m := &store.Message{Message: model.Message{Role: model.Assistant}, Usage: &usage}
	m.Note = len(calls) == 0 && strings.TrimSpace(reply.Text) == "" // like silence
	for _, p := range reply.Parts() {
		switch {
		case p.Type == model.CallType && len(calls) == 0, p.Type == model.TextType && m.Note:
			continue
		case p.Type == model.CallType:
			if soundCall(p.Call) != p.Call {
				p.State = nil // it shares the faults
			}
			p.Call, calls = calls[0].stored(), calls[1:]
		}
		p.Text = model.SoundText(p.Text)
		m.Parts = append(m.Parts, p)
	}
	m.ID = id
	if err := t.append(t.storeCtx, m); err != nil {
		return err
	}
	t.historyMu.Lock()
	t.history.last, t.history.answered = usage, reply.Answered
	t.historyMu.Unlock()
	t.sink.Event(t.Usage())
	return nil
}

// atLimit ends a turn whose response reached the output limit. After a response cut within a
// call, the model gets a single chance to write less.
func (t *turn) atLimit() StopReason {
	t.notice("The answer reached the model's length limit and is not complete. Say “go on” to let it continue.")
	return MaxTokens
}

// notRun is the notice after an answer with the text of a tool call.
const notRun = "The answer has the text of a tool call, which was not run. If the model should call tools in this way, set model.text_calls: always. " +
	"Better: let the server of the model read its calls (llama.cpp: --jinja, with a --chat-template that has tools; vLLM: --enable-auto-tool-choice)."

// stopReason returns the stop reason after a response without calls.
func (t *turn) stopReason(reply *model.Reply) (StopReason, error) {
	switch {
	case reply.Finish == model.FinishRefusal:
		why := "The model refused to answer"
		if reply.Refusal != "" {
			why += ": " + strings.TrimRight(reply.Refusal, ". \n")
		}
		t.notice("%s. Later requests leave this prompt and its answer out.", why)
		return Refusal, t.leaveOut()
	case reply.Finish == model.FinishLength:
		return t.atLimit(), nil
	case t.more != "":
		return t.goOnFor(t.more)
	case strings.TrimSpace(reply.Text) != "":
		if len(t.head.Tools) > 0 && model.IsCallMarkup(reply.Text, t.head.Tools) {
			t.notice("%s", notRun)
		}
		return EndTurn, nil
	case t.report:
		return MaxTurnRequests, nil
	case t.empty:
		t.notice("The model answered with nothing, twice. Try again, say it in other words, or choose another model.")
		return EndTurn, nil
	}
	t.empty = true
	if err := t.appendPrompt(t.storeCtx, &store.Message{Message: model.NewMessage("", nudge), Note: true}); err != nil {
		return "", fmt.Errorf("keeping the log: %w", err)
	}
	return "", nil
}

func (t *turn) notice(format string, args ...any) {
	t.sink.Event(Notice{Text: fmt.Sprintf(format, args...)})
}

// stopRepeating ends a turn without progress. It stores a note for the model and shows the user
// a notice.
func (t *turn) stopRepeating() (StopReason, error) {
	why := t.repeats.stuck
	if why == "" {
		return "", nil
	}
	text := strings.TrimSpace(compose(Input{News: []string{fmt.Sprintf(stoppedText, why)}}))
	if err := t.appendPrompt(t.storeCtx, &store.Message{Message: model.NewMessage("", text), Note: true}); err != nil {
		return "", fmt.Errorf("keeping the log: %w", err)
	}
	t.notice("Stopped: %s. Say how to go on.", why)
	return EndTurn, nil
}

// end stores the result of a call and sends it to the sink.
func (t *turn) end(c *call) error {
	t.budget.fit(t.toolset(), t.config.Env, c)
	if n := t.repeats.count(c); n >= repeatsTell {
		c.result.JSON = tools.WithNote(c.result.JSON, fmt.Sprintf(repeatedText, n))
	}
	m := resultMessage(c.Call, c.result)
	m.Usage = t.pending.drain()
	if err := t.append(t.storeCtx, m); err != nil {
		return err
	}
	t.sink.Event(CallEnded{Call: c.display(), Result: c.result, Duration: c.took.Round(time.Microsecond), Interrupted: c.interrupted})
	if todos, changed := t.todosChanged(); changed {
		t.sink.Event(PlanChanged{Todos: todos})
	}
	return nil
}
