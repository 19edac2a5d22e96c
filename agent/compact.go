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
)

const (
	// Shares of the context window without its fixed part: the system prompt and the tools.
	keptShare   = 0.2 // of the newest messages, which stay
	newestShare = 0.5 // of the newest message alone
	digestShare = 0.3 // for the summary

	keptMost      = 20_000          // limit of the tokens of the newest messages
	digestLeast   = 600             // minimum for the summary, in tokens
	smallAt       = 0.7             // share of a small context window that triggers a compaction
	windowGuess   = 128_000         // tokens, if the window is not known
	growthBefore  = 1.2             // growth since the last compaction that triggers another
	changedWithin = 5 * time.Second // timeout for the list of changed files
)

// errNothingToCompact means there are no messages older than the newest ones.
var errNothingToCompact = errors.New("there are no older messages to replace")

// Compact replaces the older part of the history by a summary, on request. Hints name the facts
// to keep; they may be empty. The sink gets a [Compaction], or a [Notice] if there is nothing
// to compact. If ctx is canceled, the history is unchanged.
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
	if window, used := t.window(), t.history.gauge.used(); window > 0 && used > window {
		fixed := t.history.gauge.fixed()
		t.notice("The session still does not fit: about %d tokens of %d. The system prompt and the tools have %d, the messages that are left %d. %s",
			used, window, fixed, used-fixed, Enlarge)
	}
	return EndTurn, nil
}

// makeRoom compacts the history if the next request would fill the context window.
func (t *turn) makeRoom(ctx context.Context) error {
	used, limit := t.history.gauge.used(), t.compactAt()*float64(t.window())
	if t.promptAlone() {
		return nil // a compaction would only cut the prompt
	}
	if limit <= 0 || float64(used) < max(limit, growthBefore*float64(t.history.floor)) {
		return nil
	}
	if err := t.compact(ctx, ""); err != nil && !errors.Is(err, errNothingToCompact) {
		return err
	}
	return nil
}

// compactAt returns the share of the context window that triggers a compaction.
func (t *turn) compactAt() float64 {
	if t.Small() && t.config.CompactAt > smallAt {
		return smallAt
	}
	return t.config.CompactAt
}

// room returns the tokens of the context window without its fixed part. If the window is not
// known, it is guessed.
func (t *turn) room() int {
	window := t.window()
	if window <= 0 {
		window = windowGuess
	}
	return max(window-t.history.gauge.fixed(), window/8)
}

// compact replaces all but the newest messages by a summary. It asks the model for notes. If
// the request fails, the summary contains only facts known to hermes-ls. If ctx ends first,
// compact changes nothing and returns nil.
func (t *turn) compact(ctx context.Context, hints string) error {
	room, messages := t.room(), t.history.gauge.used()-t.history.gauge.fixed()
	newest := int(newestShare * float64(room))
	if t.isNewest(t.prompt) {
		newest = max(newest, room*9/10-digestLeast) // the prompt stays whole
	}
	from := t.history.boundary(min(int(keptShare*float64(room)), keptMost, messages/4), newest)
	if from < 0 {
		return errNothingToCompact
	}
	most := max(min(messages/2-t.history.tokensFrom(from), int(digestShare*float64(room))), digestLeast)
	news := Compaction{ID: store.NewID(), Status: CompactionRunning, Before: t.history.gauge.used()}
	t.sink.Event(news)
	var added []string
	if t.config.Compress != nil {
		added = t.config.Compress(ctx, hints)
	}
	notes, usage, failure := t.askForNotes(ctx, hints)
	notes = strings.TrimSpace(strings.Join(append([]string{notes}, added...), "\n\n"))
	if ctx.Err() != nil || limitOf(failure) != nil {
		news.Status = CompactionCancelled
		t.sink.Event(news)
		if ctx.Err() != nil {
			return nil
		}
		return failure
	}
	facts := digestFacts{notes: notes, changed: t.changedFiles(ctx), most: most * bytesPerToken}
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
	t.forget() // the files read so far are unknown to the model again
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

// changedFiles returns the files changed by the session. If they cannot be read, it returns
// nil, and the summary lists the files in the calls.
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

// renew updates the system prompt and the tools. A compaction has already made the prompt cache
// useless.
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
		t.small.Store(fresh.Small)
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

// boundary returns the index of the first of the newest messages. Together they are at most
// tokens long. If even the last message is longer, it may be up to most tokens long. The first
// is not a tool result, so all earlier calls have results. If there is too little to compact
// before it, boundary returns -1.
func (h *history) boundary(tokens, most int) int {
	from, own := len(h.messages), 0
	for i := len(h.messages) - 1; i >= 0 && h.origins[i].seq > 0; i-- {
		own += weight(&h.messages[i])
		size, limit := h.gauge.scaled(own), tokens
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

// tokensFrom estimates the tokens of the messages from an index on.
func (h *history) tokensFrom(from int) int {
	own := 0
	for i := from; i < len(h.messages); i++ {
		own += weight(&h.messages[i])
	}
	return h.gauge.scaled(own)
}

// seqAt returns the Seq of the message at i. If i is the end, it is the Seq of the next
// message.
func (h *history) seqAt(i int) int64 {
	if i < len(h.origins) {
		return h.origins[i].seq
	}
	return h.seq + 1
}

// compact replaces the messages not kept by m with m.
func (h *history) compact(m *store.Message) {
	from := slices.IndexFunc(h.origins, func(o origin) bool { return o.seq >= m.Keeps })
	if from < 0 {
		from = len(h.messages)
	}
	messages, origins := slices.Clone(h.messages[from:]), h.origins[from:]
	for i := range messages { // state belongs to the replaced messages
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
