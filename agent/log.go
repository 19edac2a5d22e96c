package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Results of calls that ended without a tool result.
const (
	readStopped   = "interrupted: the server stopped before this ended. Run it again if it is still needed"
	effectStopped = "interrupted: the server stopped before this ended. It may have had effects: check what it has changed before you run it again"
	notApproved   = "not run: the server stopped while this waited for approval, so it has changed nothing. Run it if it is still needed"
	neverBegun    = "not run: the server stopped before this began, so it has changed nothing. Run it if it is still needed"
)

// history holds the messages of the next request in memory, and values computed from them.
// It only grows, except at a compaction.
type history struct {
	messages []model.Message
	origins  []origin        // of messages
	seq      int64           // of the last message
	open     []model.Call    // calls without a result, in order
	ids      map[string]bool // of all calls
	planTool string          // its results are the plan
	todos    []tools.Todo    // the current plan
	usage    model.Usage     // total usage
	last     model.Usage     // of the last request of this process
	requests int
	answered string // PROVIDER/MODEL of the last response
	edits    edits
	trial    []string // ids of edits.Plain that are not stored, see keepPlain
	counted  int64    // the Seq up to which usage and requests include all messages
	gauge    gauge
	pairs    paired
	floor    int // tokens left after the last compaction
	// unmeasured is a Seq. Token counts up to it belong to requests with messages not in
	// memory.
	unmeasured int64
}

// origin identifies the stored message of a message in memory.
type origin struct {
	seq      int64 // 0: it replaces compacted messages
	isPrompt bool  // a user message
	id       string
	typed    int // bytes of the user's part of its text
}

func (h *history) add(m *store.Message) {
	h.seq = m.Seq
	if m.Keeps > 0 {
		h.compact(m)
		return
	}
	if sent, ok := h.edits.apply(m); ok {
		h.put(sent, origin{m.Seq, m.Role == model.User && !m.Note, m.ID, m.Typed})
	}
	switch m.Role {
	case model.Assistant:
		h.open = m.Calls()
		h.remember(h.open)
	case model.ToolRole:
		id := m.CallID()
		h.open = slices.DeleteFunc(h.open, func(c model.Call) bool { return c.ID == id })
		h.readTodos(m)
	}
	h.count(m)
	if m.Usage != nil && m.Role == model.Assistant && m.Seq > h.unmeasured {
		h.gauge.measured(m.Usage)
	}
}

// put appends m to the next request, in a form accepted by every API.
func (h *history) put(m model.Message, o origin) {
	before, sent := h.paired(m, slices.Contains(h.edits.Plain, o.id))
	for _, r := range before {
		h.push(r, origin{seq: o.seq})
	}
	for _, s := range sent {
		h.push(s, o)
	}
}

// push appends m to the next request as it is. It joins results in plain form, because some
// servers require alternating roles.
func (h *history) push(m model.Message, o origin) {
	n := len(h.messages)
	if h.pairs.plain && n > 0 && isText(&m) && isText(&h.messages[n-1]) {
		joined := model.NewMessage(model.User, h.messages[n-1].Text()+"\n\n"+m.Text())
		h.gauge.own += weight(&joined) - weight(&h.messages[n-1])
		h.messages = append(slices.Clone(h.messages[:n-1]), joined) // a running request still uses the old messages
		return
	}
	h.messages, h.origins = append(h.messages, m), append(h.origins, o)
	h.gauge.own += weight(&m)
}

// isText reports whether a user message consists of a single text.
func isText(m *model.Message) bool {
	return m.Role == model.User && len(m.Parts) == 1 && m.Parts[0].Type == model.TextType
}

func (h *history) remember(calls []model.Call) {
	if h.ids == nil {
		h.ids = map[string]bool{}
	}
	for _, c := range calls {
		h.ids[c.ID] = true
	}
}

// count adds the usage of m to the totals. If they already include m, it does nothing.
func (h *history) count(m *store.Message) {
	u := m.Usage
	if u == nil || m.Seq <= h.counted {
		return
	}
	h.requests++
	h.usage.Input += u.Input
	h.usage.Output += u.Output
	h.usage.Reasoning += u.Reasoning
	h.usage.CachedRead += u.CachedRead
	h.usage.CachedWrite += u.CachedWrite
	h.usage.Cost += u.Cost
}

// readTodos sets the plan from a result of the plan's tool.
func (h *history) readTodos(m *store.Message) {
	if h.planTool == "" || m.Name() != h.planTool || m.IsError {
		return
	}
	var list struct{ Todos []tools.Todo }
	if json.Unmarshal([]byte(m.Text()), &list) == nil && list.Todos != nil {
		h.todos = list.Todos
	}
}

// append stores m at the end of the history. If that fails, the history in memory is
// unchanged.
func (s *Session) append(ctx context.Context, m *store.Message) error {
	m.Seq = s.history.seq + 1
	if err := s.config.Store.Append(ctx, s.id, m); err != nil {
		return err
	}
	s.remember(m)
	return nil
}

// remember adds a stored message to the history in memory.
func (s *Session) remember(m *store.Message) {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	s.history.add(m)
}

// repairAfterCrash adds results for calls left open by a killed server. If another process has
// claimed the session, it does nothing.
func (s *Session) repairAfterCrash(ctx context.Context) error {
	if len(s.history.open) == 0 {
		return nil
	}
	release, err := s.config.Store.Claim(s.id)
	if errors.Is(err, store.ErrClaimed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	return s.closeCalls(ctx)
}

// closeCalls adds a result for every open call.
func (s *Session) closeCalls(ctx context.Context) error {
	open := slices.Clone(s.history.open)
	if len(open) == 0 {
		return nil
	}
	begun, waiting := s.begun(open), s.waiting(ctx)
	for i, c := range open {
		m := resultMessage(tools.Call{ID: c.ID, Name: c.Name}, s.leftOpen(ctx, c, i < begun, c.ID == waiting))
		if err := s.append(ctx, m); err != nil {
			return fmt.Errorf("closing the call %s: %w", c.ID, err)
		}
	}
	return nil
}

// begun returns the number of open calls that may have run: the first call and the calls
// concurrent with it. A later call starts only after all earlier results are stored.
func (s *Session) begun(open []model.Call) int {
	var calls []*call
	for _, c := range open {
		tool, known := s.toolset().Get(c.Name)
		tool.Parallel = tool.Parallel || !known
		calls = append(calls, &call{tool: tool})
	}
	for batch := range batches(calls) {
		return len(batch)
	}
	return 0
}

// waitingKey is the key for the id of the call awaiting approval, in the state of the session.
const waitingKey = "waiting"

// waits records that a call awaits approval and has had no effect. If the server is killed
// meanwhile, the result of the call says so. The caller calls resumed before the call
// continues.
func (s *Session) waits(ctx context.Context, callID string) (resumed func()) {
	state := s.editsOf()
	if state.Save(ctx, waitingKey, callID) != nil {
		return func() {} // a later result then claims possible effects
	}
	return func() { _ = state.Delete(context.WithoutCancel(ctx), waitingKey) }
}

// waiting returns the id of the call that awaited approval when the server stopped. If there is
// none, it returns "".
func (s *Session) waiting(ctx context.Context) (callID string) {
	_, _ = s.editsOf().Load(ctx, waitingKey, &callID)
	return callID
}

// leftOpen returns the result of an interrupted call. begun: the call may have run. waited: it
// awaited approval, so it had no effect.
func (s *Session) leftOpen(ctx context.Context, c model.Call, begun, waited bool) tools.Result {
	tool, known := s.toolset().Get(c.Name)
	switch {
	case known && tool.Interrupted != nil:
		return tool.Interrupted(ctx, s.env(s.Head(), nil), tools.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)})
	case !begun:
		return tools.Fail(neverBegun)
	case waited:
		return tools.Fail(notApproved)
	case known && tool.ReadOnly:
		return tools.Fail(readStopped)
	}
	return tools.Fail(effectStopped) // the tool is unknown
}

// appendPrompt appends a user message. It first closes open calls, and separates two user
// messages by an assistant message without text.
func (s *Session) appendPrompt(ctx context.Context, m *store.Message) error {
	if err := s.closeCalls(ctx); err != nil {
		return err
	}
	if last := s.Last(); last.Role == model.User || last.Role == model.ToolRole {
		if err := s.append(ctx, emptyMessage(nil)); err != nil {
			return err
		}
	}
	m.Role = model.User
	return s.append(ctx, m)
}

// emptyMessage returns an assistant message without text. No request contains it.
func emptyMessage(usage *model.Usage, reasoning ...model.Part) *store.Message {
	return &store.Message{
		Message: model.Message{Role: model.Assistant, Parts: reasoning},
		Usage:   usage,
		Note:    true,
	}
}

// shownLimit limits the stored bytes of a result's content for the editor.
const shownLimit = 1 << 20

func resultMessage(c tools.Call, r tools.Result) *store.Message {
	m := &store.Message{
		Message: model.ResultMessage(c.ID, c.Name, string(r.JSON)),
		IsError: r.IsError,
	}
	for _, i := range r.Images {
		m.Parts = append(m.Parts, model.ImagePart(model.Image{Name: i.Name, MIMEType: i.MIMEType, Data: base64.StdEncoding.EncodeToString(i.Data)}))
	}
	if len(r.Shown) == 0 {
		return m
	}
	if shown, err := json.Marshal(r.Shown); err == nil && len(shown) <= shownLimit {
		m.Shown = shown
	}
	return m
}
