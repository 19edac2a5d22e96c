package delegate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/tools"
)

// archive reads and writes the subagents of a store.
type archive struct {
	store *store.Store
	log   *slog.Logger
}

// origin is the stored data of a subagent besides its history.
type origin struct {
	Task
	Status    string          `json:"status,omitempty"` // empty: it is running, or its server died
	Exit      string          `json:"exit_reason,omitempty"`
	Error     string          `json:"error,omitempty"`
	Duration  float64         `json:"duration_seconds,omitempty"`
	Delivered bool            `json:"told,omitempty"`              // the parent got the result
	Reported  bool            `json:"reported,omitempty"`          // the last text is the report
	Cut       []string        `json:"interrupted_calls,omitempty"` // ids of canceled calls
	Changes   *worktree.Merge `json:"changes,omitempty"`
}

// result returns the origin of a finished child.
func (c *child) result() origin {
	o := c.outcome
	return origin{
		Task: *c.Task, Status: o.Status, Exit: o.Exit, Error: o.Error, Duration: o.Duration,
		Delivered: !c.Background, Changes: o.Changes, Reported: o.reported, Cut: o.cut(),
	}
}

// keep writes the origin of a subagent. It does not store a subagent that never made a request.
func (a archive) keep(ctx context.Context, id string, saved origin) {
	data, err := json.Marshal(saved)
	if err == nil {
		err = a.store.SetOrigin(ctx, id, string(data))
	}
	a.complain(id, err)
}

// complain logs an error, unless the subagent is not stored.
func (a archive) complain(id string, err error) {
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrClosed) {
		a.log.Warn("the end of a subagent was not stored", "session", id, "error", err)
	}
}

// update changes the origin of a subagent.
func (a archive) update(ctx context.Context, id string, change func(*origin)) {
	err := a.store.Update(ctx, id, func(head *store.Session) {
		var saved origin
		_ = json.Unmarshal([]byte(head.Origin), &saved) // an unreadable origin is replaced
		change(&saved)
		if data, err := json.Marshal(saved); err == nil {
			head.Origin = string(data)
		}
	})
	a.complain(id, err)
}

// markDelivered stores that the parent got the result.
func (c *child) markDelivered() {
	c.mu.Lock()
	before := c.delivered && !c.handed
	c.delivered, c.handed = true, false
	c.mu.Unlock()
	if !before && c.Background {
		c.storeDelivered()
	}
}

// handOver records that the next prompt contains the result. The store is updated after the
// prompt is stored, so a kill in between loses no result.
func (c *child) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delivered, c.handed = true, true
}

func (c *child) storeDelivered() {
	c.owner.archive.update(context.WithoutCancel(c.ctx), c.ID, func(saved *origin) { saved.Delivered = true })
}

// stored returns the stored subagents of a session, the oldest first.
func (a archive) stored(ctx context.Context, parent string) ([]store.Session, error) {
	var found []store.Session
	for cursor := ""; ; {
		page, next, err := a.store.List(ctx, store.Filter{Parent: parent, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, head := range page {
			if head.Origin != "" {
				found = append(found, head)
			}
		}
		if cursor = next; cursor == "" {
			slices.SortFunc(found, func(a, b store.Session) int { return strings.Compare(a.ID, b.ID) }) // in the order of their start
			return found, nil
		}
	}
}

// descendants returns the stored subagents of a session, and after them their own.
func (a archive) descendants(ctx context.Context, parent string) ([]store.Session, error) {
	all, err := a.stored(ctx, parent)
	for i := 0; err == nil && i < len(all); i++ {
		var theirs []store.Session
		theirs, err = a.stored(ctx, all[i].ID)
		all = append(all, theirs...)
	}
	return all, err
}

const serverStopped = "interrupted: the server stopped. What it did until then may have had effects: check them before you run it again"

// fromLog makes the outcome of a subagent of another process. set holds its tools.
func (a archive) fromLog(ctx context.Context, head store.Session, set *tools.Set) (*outcome, origin, error) {
	var saved origin
	if err := json.Unmarshal([]byte(head.Origin), &saved); err != nil {
		return nil, saved, err
	}
	log, err := a.store.Messages(ctx, head.ID, 0, 0)
	if err != nil {
		return nil, saved, err
	}
	r := record{titles: map[string]string{}}
	for i := range log {
		r.read(&log[i], set)
	}
	for i := range r.trace {
		if slices.Contains(saved.Cut, r.trace[i].id) {
			r.trace[i].Status = interrupted
		}
	}
	for _, c := range r.open { // its server died
		r.trace = append(r.trace, traced{Tool: c.Name, Status: interrupted, title: r.titles[c.ID]})
	}
	o := r.outcome()
	o.Index, o.Session, o.Model, o.Duration, o.Changes = saved.Index, head.ID, head.Model, saved.Duration, saved.Changes
	o.Status, o.Exit, o.Error = saved.Status, saved.Exit, saved.Error
	if saved.Status == "" {
		o.Status, o.Exit, o.Error = interrupted, interrupted, serverStopped
		o.Duration = seconds(head.UpdatedAt.Sub(head.CreatedAt))
	}
	o.Summary = r.partial()
	if o.Exit == completed || saved.Reported {
		o.Summary = r.report()
	}
	return o, saved, nil
}

// titleOf returns the title of a call. If there is no such tool, it returns "".
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

// read adds a message of a history.
func (r *record) read(m *store.Message, set *tools.Set) {
	took := m.Time.Sub(r.last) // since the previous message
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
		_ = json.Unmarshal(m.Shown, &shown) // otherwise the files are unknown
		r.called(traced{Tool: m.Name(), Status: statusOf(m.IsError), Duration: seconds(took), id: m.CallID(), result: m.Text()}, shown)
	case m.Role == model.User:
		r.reply()
	}
}

// lineage returns a subagent, and the subagents between it and the session root. If it does not
// descend from root, lineage returns nil.
func (a archive) lineage(ctx context.Context, id, root string) (line []origin, err error) {
	for at := id; at != root; {
		head, err := a.store.Session(ctx, at)
		if err != nil || head.Origin == "" || head.Parent == "" || len(line) > depthMost {
			return nil, nil
		}
		var saved origin
		if err := json.Unmarshal([]byte(head.Origin), &saved); err != nil {
			return nil, fmt.Errorf("the subagent's task cannot be read: %w", err)
		}
		saved.ID, saved.Parent = head.ID, head.Parent
		line, at = append(line, saved), head.Parent
	}
	return line, nil
}

// Told returns the origin of a stored session, marked as delivered to its parent. An unreadable
// origin stays unchanged.
func Told(stored string) string {
	var saved origin
	if stored == "" || json.Unmarshal([]byte(stored), &saved) != nil {
		return stored
	}
	saved.Delivered = true
	data, _ := json.Marshal(saved) // never fails: it was read
	return string(data)
}

// depthMost exceeds any configured depth.
const depthMost = 32

// waitsFor returns the task of a stored subagent, if the session owner delegated it to the
// background and did not get its result. If it runs in another server, it returns false.
func (a archive) waitsFor(head store.Session, owner string) (saved origin, ok bool) {
	if json.Unmarshal([]byte(head.Origin), &saved) != nil || !saved.Background || saved.Delivered || cmp.Or(saved.Owner, head.Parent) != owner {
		return saved, false
	}
	release, err := a.store.Claim(head.ID)
	if err != nil {
		return saved, false
	}
	release()
	return saved, true
}

// interrupted returns the result of a call whose server died, with an entry for each task.
func (x *Children) interrupted(ctx context.Context, env *tools.Env, c tools.Call) tools.Result {
	var in input
	if json.Unmarshal(c.Args, &in) != nil || in.Action != "" && in.Action != actionRun {
		return tools.Fail(serverStopped)
	}
	x.recoverOwnWorktrees(ctx)
	heads, err := x.archive.stored(ctx, env.SessionID)
	if err != nil {
		return tools.Fail("%s; what its subagents had done could not be read: %v", serverStopped, err)
	}
	asked := in.asked()
	list := make([]*outcome, len(asked))
	for i := range list {
		list[i] = &outcome{Index: i, Status: interrupted, Exit: interrupted, Trace: []traced{}, Error: serverStopped, Summary: "It had not begun."}
	}
	for _, head := range heads {
		o, saved, err := x.archive.fromLog(ctx, head, env.Dispatch.Set)
		if err == nil && saved.Call == c.ID && o.Index < len(list) {
			list[o.Index] = o.shortened(room(env, len(list)))
			x.archive.update(ctx, head.ID, func(saved *origin) {
				saved.Status, saved.Exit, saved.Error, saved.Delivered = o.Status, o.Exit, o.Error, true
			})
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
