package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/tools"
)

// origin is what the store keeps of a child beside its conversation.
type origin struct {
	Task
	Status   string          `json:"status,omitempty"` // empty: it is at work, or its server died
	Exit     string          `json:"exit_reason,omitempty"`
	Error    string          `json:"error,omitempty"`
	Duration float64         `json:"duration_seconds,omitempty"`
	Told     bool            `json:"told,omitempty"`              // the parent has the result
	Reported bool            `json:"reported,omitempty"`          // the last thing said is the report
	Cut      []string        `json:"interrupted_calls,omitempty"` // ids of calls that a cancel or a stop cut off
	Changes  *worktree.Merge `json:"changes,omitempty"`
}

// result is what is kept of a child that has ended.
func (c *child) result() origin {
	o := c.outcome
	return origin{
		Task: *c.Task, Status: o.Status, Exit: o.Exit, Error: o.Error, Duration: o.Duration,
		Told: !c.Background, Changes: o.Changes, Reported: o.reported, Cut: o.cut(),
	}
}

// keep writes into a child's session what has to be known of it later. A child that
// never had a request has none.
func (x *Children) keep(ctx context.Context, c *child, kept origin) {
	data, err := json.Marshal(kept)
	if err == nil {
		err = x.Store.SetOrigin(ctx, c.ID, string(data))
	}
	x.complain(c.ID, err)
}

// complain logs what was not kept, unless there is nothing to keep it in.
func (x *Children) complain(id string, err error) {
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrClosed) {
		x.Log.Warn("how a subagent ended was not kept", "session", id, "error", err)
	}
}

func (x *Children) update(ctx context.Context, id string, change func(*origin)) {
	err := x.Store.Update(ctx, id, func(head *store.Session) {
		var kept origin
		_ = json.Unmarshal([]byte(head.Origin), &kept) // what cannot be read is written anew
		change(&kept)
		if data, err := json.Marshal(kept); err == nil {
			head.Origin = string(data)
		}
	})
	x.complain(id, err)
}

// markTold remembers that the parent has the result.
func (c *child) markTold() {
	c.mu.Lock()
	before := c.told
	c.told = true
	c.mu.Unlock()
	if !before && c.Background {
		c.owner.update(context.WithoutCancel(c.ctx), c.ID, func(kept *origin) { kept.Told = true })
	}
}

// stored are the children of a session that the store knows, the oldest first.
func (x *Children) stored(ctx context.Context, parent string) ([]store.Session, error) {
	var found []store.Session
	for cursor := ""; ; {
		page, next, err := x.Store.List(ctx, store.Filter{Parent: parent, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, head := range page {
			if head.Origin != "" {
				found = append(found, head)
			}
		}
		if cursor = next; cursor == "" {
			slices.SortFunc(found, func(a, b store.Session) int { return strings.Compare(a.ID, b.ID) }) // as they were asked for
			return found, nil
		}
	}
}

// descendants are the subagents of a session that the store knows, theirs after them.
func (x *Children) descendants(ctx context.Context, parent string) ([]store.Session, error) {
	all, err := x.stored(ctx, parent)
	for i := 0; err == nil && i < len(all); i++ {
		var theirs []store.Session
		theirs, err = x.stored(ctx, all[i].ID)
		all = append(all, theirs...)
	}
	return all, err
}

const serverStopped = "interrupted: the server stopped"

// fromLog makes the outcome of a child that is not of this process; set knows its tools.
func (x *Children) fromLog(ctx context.Context, head store.Session, set *tools.Set) (*outcome, origin, error) {
	var kept origin
	if err := json.Unmarshal([]byte(head.Origin), &kept); err != nil {
		return nil, kept, err
	}
	log, err := x.Store.Messages(ctx, head.ID, 0, 0)
	if err != nil {
		return nil, kept, err
	}
	r := record{titles: map[string]string{}}
	for i := range log {
		r.read(&log[i], set)
	}
	for i := range r.trace {
		if slices.Contains(kept.Cut, r.trace[i].id) {
			r.trace[i].Status = interrupted
		}
	}
	for _, c := range r.open { // its server died meanwhile
		r.trace = append(r.trace, traced{Tool: c.Name, Status: interrupted, title: r.titles[c.ID]})
	}
	o := r.outcome()
	o.Index, o.Session, o.Model, o.Duration, o.Changes = kept.Index, head.ID, head.Model, kept.Duration, kept.Changes
	o.Status, o.Exit, o.Error = kept.Status, kept.Exit, kept.Error
	if kept.Status == "" {
		o.Status, o.Exit, o.Error = interrupted, interrupted, serverStopped
		o.Duration = seconds(head.UpdatedAt.Sub(head.CreatedAt))
	}
	o.Summary = r.partial()
	if o.Exit == completed || kept.Reported {
		o.Summary = r.report()
	}
	return o, kept, nil
}

// titleOf is what a person is told of a call; empty: there is no such tool here.
func titleOf(set *tools.Set, c model.Call) string {
	if set == nil {
		return ""
	}
	tool, ok := set.Get(c.Name)
	if !ok || tool.Title == nil {
		return ""
	}
	return tool.Title(json.RawMessage(c.Args))
}

// read takes an entry of a log.
func (r *record) read(m *store.Message, set *tools.Set) {
	took := m.Time.Sub(r.last) // since the entry before it, at least
	r.last = m.Time
	switch {
	case m.Role == model.Assistant:
		r.open = append(r.open, m.Calls()...)
		for _, c := range m.Calls() {
			r.titles[c.ID] = titleOf(set, c)
		}
		r.reply()
		if !m.Note {
			r.speaking.WriteString(m.Text())
		}
		if len(m.Calls()) > 0 {
			r.reply()
		}
		if m.Usage != nil {
			r.requests++
			r.usage.Input += m.Usage.Input
			r.usage.Output += m.Usage.Output
		}
	case m.Role == model.ToolRole:
		r.open = slices.DeleteFunc(r.open, func(c model.Call) bool { return c.ID == m.CallID() })
		var shown []tools.Content
		_ = json.Unmarshal(m.Shown, &shown) // without it the files are unknown
		r.called(traced{Tool: m.Name(), Status: statusOf(m.IsError), Duration: seconds(took), id: m.CallID(), result: m.Text()}, shown)
	case m.Role == model.User:
		r.reply()
	}
}

// interrupted is the result of a call whose server died: what its children had done
// by then. Every task of the call is accounted for.
func (x *Children) interrupted(ctx context.Context, env *tools.Env, c tools.Call) tools.Result {
	var in input
	if json.Unmarshal(c.Args, &in) != nil || in.Action != "" && in.Action != actionRun {
		return tools.Fail(serverStopped)
	}
	x.recoverWorktreesOf(ctx, env)
	heads, err := x.stored(ctx, env.SessionID)
	if err != nil {
		return tools.Fail("%s; what its subagents had done could not be read: %v", serverStopped, err)
	}
	asked := in.asked()
	list := make([]*outcome, len(asked))
	for i := range list {
		list[i] = &outcome{Index: i, Status: interrupted, Exit: interrupted, Trace: []traced{}, Error: serverStopped, Summary: "It had not begun."}
	}
	for _, head := range heads {
		o, kept, err := x.fromLog(ctx, head, env.Tools)
		if err == nil && kept.Call == c.ID && o.Index < len(list) {
			list[o.Index] = o.shortened(room(env, len(list)))
			x.update(ctx, head.ID, func(kept *origin) { kept.Status, kept.Exit, kept.Error, kept.Told = o.Status, o.Exit, o.Error, true })
		}
	}
	return tools.OK(map[string]any{"results": list, "total_duration_seconds": longest(list), "error": serverStopped})
}

func longest(list []*outcome) (most float64) {
	for _, o := range list {
		most = max(most, o.Duration)
	}
	return most
}
