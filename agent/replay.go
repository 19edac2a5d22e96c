package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Replay sends the history to the sink as events, in order, and then the current plan, title
// and usage. It reads page by page. It omits messages meant only for the model.
func (s *Session) Replay(ctx context.Context, sink Sink) error {
	if err := s.sendHistory(ctx, sink); err != nil {
		return err
	}
	if err := s.ensureLoaded(ctx); err != nil {
		return err
	}
	s.historyMu.Lock()
	todos := slices.Clone(s.history.todos)
	s.historyMu.Unlock()
	if len(todos) > 0 {
		sink.Event(PlanChanged{Todos: todos})
	}
	if title := s.Head().Title; title != "" {
		sink.Event(TitleChanged{Title: title})
	}
	sink.Event(s.Usage())
	return nil
}

// ReplayStored sends a stored history to the sink like [Session.Replay]. It neither loads,
// claims nor changes the session. set provides the titles of calls; it may be nil.
func ReplayStored(ctx context.Context, st *store.Store, id string, set *tools.Set, sink Sink) error {
	if set == nil {
		set = &tools.Set{}
	}
	s := &Session{config: Config{Store: st, Env: &tools.Env{}}, tools: set, id: id}
	return s.sendHistory(ctx, sink)
}

func (s *Session) sendHistory(ctx context.Context, sink Sink) error {
	r := &replay{Session: s, sink: sink, calls: map[string]tools.Call{}}
	for after := int64(0); ; {
		messages, err := s.config.Store.Messages(ctx, s.id, after, replayPage)
		if err != nil {
			return err
		}
		for i := range messages {
			r.message(&messages[i])
			after = messages[i].Seq
		}
		if len(messages) < replayPage {
			return nil
		}
		if pacer, ok := sink.(Pacer); ok {
			if err := pacer.Pace(ctx); err != nil {
				return fmt.Errorf("waiting for the replay to be read: %w", err)
			}
		}
	}
}

// replayPage is the number of messages of a page.
const replayPage = 64

// Pacer is a [Sink] that can delay a replay. The replay calls Pace after each page, so pages
// for a slow reader do not fill the memory.
type Pacer interface {
	Pace(context.Context) error
}

type replay struct {
	*Session
	sink  Sink
	calls map[string]tools.Call // calls without a result so far
}

func (r *replay) message(m *store.Message) {
	switch {
	case m.Keeps > 0:
		r.sink.Event(Compaction{ID: m.ID, Status: CompactionCompleted, Summary: m.Text()})
	case m.Role == model.User && !m.Note:
		r.sink.Event(userMessage(m))
	case m.Role == model.Assistant:
		r.reply(m)
	case m.Role == model.ToolRole:
		r.result(m)
	}
}

// userMessage returns the event of a prompt.
func userMessage(m *store.Message) UserMessage {
	text := m.Text()
	typed := min(m.Typed, len(text))
	return UserMessage{MessageID: m.ID, Text: text[:typed], Images: m.Images(), Attached: strings.TrimSpace(visible(text[typed:]))}
}

func (r *replay) reply(m *store.Message) {
	for _, p := range m.Parts {
		switch {
		case p.Type == model.ReasoningType && p.Text != "":
			r.sink.Event(Thought{MessageID: m.ID, Text: p.Text})
		case p.Type == model.TextType && p.Text != "" && !m.Note:
			r.sink.Event(Text{MessageID: m.ID, Text: p.Text})
		case p.Type == model.CallType:
			c := &call{Call: tools.Call{ID: p.Call.ID, Name: p.Call.Name, Args: json.RawMessage(p.Call.Args)}, logged: p.Call.Args}
			c.tool, _ = r.toolset().Get(p.Call.Name)
			r.sink.Event(r.started(c))
			r.calls[p.Call.ID] = c.Call
		}
	}
}

func (r *replay) result(m *store.Message) {
	c, ok := r.calls[m.CallID()]
	if !ok {
		c = tools.Call{ID: m.CallID(), Name: m.Name()}
	}
	delete(r.calls, m.CallID())
	result := tools.Result{JSON: json.RawMessage(m.Text()), IsError: m.IsError}
	if m.Shown != nil {
		_ = json.Unmarshal(m.Shown, &result.Shown) // omit content that cannot be decoded
	}
	for _, i := range m.Images() {
		if data, err := base64.StdEncoding.DecodeString(i.Data); err == nil {
			result.Images = append(result.Images, tools.Image{Name: i.Name, MIMEType: i.MIMEType, Data: data})
		}
	}
	// The editor's terminals no longer exist.
	result.Shown = slices.DeleteFunc(result.Shown, func(c tools.Content) bool { return c.Terminal != "" })
	r.sink.Event(CallEnded{Call: c, Result: result})
}
