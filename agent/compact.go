package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

//go:embed compact.md
var compactWords string

const (
	keptShare     = 0.2             // of the context window, for the newest messages, which are not compacted
	keptMost      = 20_000          // limit of their tokens
	windowGuess   = 128_000         // tokens, if the window is not known
	growthBefore  = 1.2             // growth since the last compaction before the next one
	changedWithin = 5 * time.Second // timeout for the list of changed files
)

// errNothingToCompact means that the history has no messages before the newest ones.
var errNothingToCompact = errors.New("there are no older messages to replace")

// Compact replaces the older part of the history by a summary, on request. Hints tell the
// model which facts matter; they may be empty. The sink gets a [Compaction], or a [Notice]
// if there is nothing to compact. If ctx is canceled, the history is unchanged.
func (s *Session) Compact(ctx context.Context, hints string, sink Sink) (StopReason, error) {
	if !s.running.CompareAndSwap(false, true) {
		return "", ErrBusy
	}
	defer s.running.Store(false)
	release, err := s.config.Store.Claim(s.id)
	if err != nil {
		return "", err
	}
	defer release()
	t := &turn{Session: s, sink: sink, storeCtx: context.WithoutCancel(ctx), head: s.Head(), prompt: &store.Message{}}
	if err := errors.Join(t.sync(t.storeCtx), t.closeCalls(t.storeCtx)); err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	}
	switch err := t.compact(ctx, hints); {
	case errors.Is(err, errNothingToCompact):
		t.notice("There is nothing to compact yet: the session is short.")
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return Cancelled, nil
	}
	return EndTurn, nil
}

// makeRoom compacts the history if the next request would fill the context window.
func (t *turn) makeRoom(ctx context.Context) error {
	used, limit := t.history.gauge.used(), t.config.CompactAt*float64(t.window())
	if limit <= 0 || float64(used) < max(limit, growthBefore*float64(t.history.floor)) {
		return nil
	}
	if err := t.compact(ctx, ""); err != nil && !errors.Is(err, errNothingToCompact) {
		return err
	}
	return nil
}

func overflowed(err error) bool {
	var failure *model.Error
	return errors.As(err, &failure) && failure.Kind == model.ErrOverflow
}

// compact replaces all but the newest messages by a summary. It asks the model for notes.
// If that fails, the summary has only the facts that hermes-ls knows. If ctx ends first,
// compact changes nothing and returns nil.
func (t *turn) compact(ctx context.Context, hints string) error {
	window := t.window()
	if window <= 0 {
		window = windowGuess
	}
	from := t.history.boundary(min(int(keptShare*float64(window)), keptMost, t.history.gauge.used()/4), window/2)
	if from < 0 {
		return errNothingToCompact
	}
	news := Compaction{ID: store.NewID(), Status: CompactionRunning, Before: t.history.gauge.used()}
	t.sink.Event(news)
	var added []string
	if t.config.Compress != nil {
		added = t.config.Compress(ctx, hints)
	}
	notes, usage, failure := t.askForNotes(ctx, hints)
	notes = strings.TrimSpace(strings.Join(append([]string{notes}, added...), "\n\n"))
	if ctx.Err() != nil {
		news.Status = CompactionCancelled
		t.sink.Event(news)
		return nil
	}
	facts := digestFacts{notes: notes, changed: t.changedFiles(ctx), lastMost: window} // a quarter of the window in bytes
	m := &store.Message{
		ID:      news.ID,
		Message: model.NewMessage(model.User, t.history.digest(from, facts, t.toolset(), t.config.Files)),
		Usage:   usage, Note: true, Keeps: t.history.seqAt(from),
	}
	if err := t.append(t.storeCtx, m); err != nil {
		news.Status, news.Error = CompactionFailed, err.Error()
		t.sink.Event(news)
		return fmt.Errorf("keeping the summary: %w", err)
	}
	t.forget() // the model no longer has the files that it read
	if err := t.renew(); err != nil {
		t.notice("The session goes on with the instructions and tools it had: %v.", err)
	}
	news.Status, news.Summary, news.After = CompactionCompleted, m.Text(), t.history.gauge.used()
	if failure != nil {
		news.Error = fmt.Sprintf("the model could not write its notes (%v): only requests, plan and files are kept of the older part", failure)
	}
	t.sink.Event(news)
	t.sink.Event(t.Usage())
	return nil
}

// changedFiles returns the files that the session has changed. If they cannot be read, it
// returns nil, and the summary has the files of the calls.
func (t *turn) changedFiles(ctx context.Context) []string {
	if t.config.Changed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, changedWithin)
	defer cancel()
	paths, err := t.config.Changed(ctx)
	if err != nil {
		t.config.Log.Warn("the changed files of a compaction come from its calls alone", "session", t.id, "error", err)
	}
	for i := range paths {
		paths[i] = nameOf(paths[i], t.config.Files)
	}
	return paths
}

// renew replaces the system prompt and the tools by the current ones. A compaction has
// already made the prompt cache useless.
func (t *turn) renew() error {
	if t.config.Renew == nil {
		return nil
	}
	fresh, err := t.config.Renew(t.storeCtx)
	if err != nil {
		return fmt.Errorf("making them anew: %w", err)
	}
	offered := offeredBy(t.storeCtx, fresh.Tools)
	change := func(head *store.Session) { head.System, head.Tools = fresh.System, offered }
	t.headMu.Lock()
	if err = t.config.Store.Update(t.storeCtx, t.id, change); err == nil {
		change(&t.Session.head)
		t.tools = fresh.Tools
	}
	t.headMu.Unlock()
	if err != nil {
		return fmt.Errorf("keeping them: %w", err)
	}
	t.head = t.Head()
	t.historyMu.Lock()
	defer t.historyMu.Unlock()
	t.history.gauge.setPrefix(t.head.System, t.head.Tools)
	t.history.floor = t.history.gauge.used()
	return nil
}

// askForNotes asks for notes: first the model of [Config.Notes], if there is one, then the
// session's. The request to the session's model extends the previous one by one message,
// so that the prompt cache applies. If it is too long, only its newer half is sent.
func (t *turn) askForNotes(ctx context.Context, hints string) (string, *model.Usage, error) {
	text := compactWords
	if hints = strings.TrimSpace(hints); hints != "" {
		text += "\nThe user adds: " + hints + "\n"
	}
	messages := t.history.messages
	var reply *model.Reply
	err := errors.New("no other model")
	if small := t.notesModel(); small != nil {
		from := 0
		if most := small.Window() / 2; most < t.history.gauge.used() {
			from = max(t.history.boundary(most, 0), 0)
		}
		if reply, err = t.notesOf(ctx, small, messages[from:], text); err != nil && ctx.Err() == nil {
			t.notice("The notes of the compaction are written by the session's model: %v", err)
		}
	}
	if err != nil {
		reply, err = t.notesOf(ctx, t.config.Model, messages, text)
	}
	if overflowed(err) {
		if half := t.history.boundary(t.history.gauge.used()/2, 0); half > 0 {
			reply, err = t.notesOf(ctx, t.config.Model, messages[half:], text)
		}
	}
	var usage *model.Usage
	if reply.Usage != (model.Usage{}) {
		usage = &reply.Usage
	}
	notes := strings.TrimSpace(reply.Text)
	if err == nil && notes == "" {
		err = errors.New("it answered with nothing")
	}
	return notes, usage, err
}

// notesModel returns the model of [Config.Notes], or nil.
func (t *turn) notesModel() Sized {
	if t.config.Notes == nil {
		return nil
	}
	return t.config.Notes()
}

func (t *turn) notesOf(ctx context.Context, from model.Model, messages []model.Message, text string) (*model.Reply, error) {
	messages = slices.Clip(messages)
	if n := len(messages); n > 0 && messages[n-1].Role != model.Assistant {
		messages = append(messages, emptyMessage(nil).Message)
	}
	request := &model.Request{
		Model: t.head.Model, System: t.head.System, Tools: t.head.Tools, Effort: t.effort, SessionID: t.id, Turn: t.prompt.ID,
		Messages: append(messages, model.NewMessage(model.User, text)),
	}
	if from != t.config.Model {
		request.Model, request.Effort = "", ""
	}
	reply := &model.Reply{CallsBefore: len(t.history.ids)}
	for delta, err := range from.Stream(ctx, request) {
		if err != nil {
			return reply, err
		}
		if delta.Notice != "" {
			t.sink.Event(Notice{Text: delta.Notice, Passing: true})
		}
		if err := reply.Add(delta); err != nil {
			return reply, err
		}
	}
	return reply, nil
}

// boundary returns the index of the first of the newest messages, which together have at
// most the given tokens. It is not a tool result, so the calls before it have results. The
// last such message may have up to most tokens. If there is too little to compact before
// it, boundary returns -1.
func (h *history) boundary(tokens, most int) int {
	from, bytes := len(h.messages), 0
	for i := len(h.messages) - 1; i >= 0 && h.origins[i].seq > 0; i-- {
		bytes += weight(&h.messages[i])
		size, limit := h.gauge.estimate(bytes), tokens
		if from == len(h.messages) {
			limit = max(tokens, most)
		}
		if size > limit {
			break
		}
		if h.messages[i].Role != model.ToolRole {
			from = i
		}
	}
	if from < 2 || h.origins[from-2].seq == 0 {
		return -1
	}
	return from
}

// seqAt returns the Seq of the message at i. If i is the end, it is the Seq of the next
// message.
func (h *history) seqAt(i int) int64 {
	if i < len(h.origins) {
		return h.origins[i].seq
	}
	return h.seq + 1
}

// compact replaces the messages that m does not keep by m.
func (h *history) compact(m *store.Message) {
	from := slices.IndexFunc(h.origins, func(o origin) bool { return o.seq >= m.Keeps })
	if from < 0 {
		from = len(h.messages)
	}
	messages, origins := slices.Clone(h.messages[from:]), h.origins[from:]
	for i := range messages { // state belongs to the messages that are replaced
		messages[i] = withoutState(messages[i], nil)
	}
	h.messages, h.origins = nil, nil // running requests still use the old slices
	h.pairs = paired{ids: h.pairs.ids}
	h.put(m.Message, origin{})
	if len(messages) > 0 && messages[0].Role == model.User {
		h.put(emptyMessage(nil).Message, origin{})
	}
	h.messages, h.origins = append(h.messages, messages...), append(h.origins, origins...)
	size := 0
	for i := range h.messages {
		size += weight(&h.messages[i])
	}
	h.gauge.shrunk(size)
	h.floor = h.gauge.used()
	h.count(m)
}
