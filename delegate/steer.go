package delegate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Status describes a subagent, for the user and for the model of its parent.
type Status struct {
	SessionID  string  `json:"session_id"`
	ParentID   string  `json:"parent_id,omitempty"` // of a subagent of a subagent
	Goal       string  `json:"goal"`
	Status     string  `json:"status"`          // running, or the way it ended
	Doing      string  `json:"doing,omitempty"` // at the moment
	Calls      int     `json:"calls"`
	Tokens     int     `json:"tokens"`
	Seconds    float64 `json:"seconds"`
	Background bool    `json:"background,omitempty"`
}

const running = "running"

func (c *child) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{
		SessionID: c.ID, Goal: c.Goal, Status: running, Doing: c.record.doing, Calls: len(c.record.trace),
		Tokens: c.record.usage.Input + c.record.usage.Output, Seconds: seconds(time.Since(c.began)), Background: c.Background,
	}
	if c.outcome != nil {
		s.Status, s.Doing, s.Seconds = c.outcome.Status, "", c.outcome.Duration
	}
	return s
}

func statuses(batch []*child) []Status {
	list := make([]Status, len(batch))
	for i, c := range batch {
		list[i] = c.status()
	}
	return list
}

// List returns the session's subagents and their own, including subagents of earlier processes,
// the oldest first.
func (x *Children) List(ctx context.Context, parent string) ([]Status, error) {
	var now []Status
	known := map[string]bool{}
	for _, c := range x.roster.descendants() {
		s := c.status()
		if c.Parent != parent {
			s.ParentID = c.Parent
		}
		now, known[c.ID] = append(now, s), true
	}
	heads, err := x.archive.descendants(ctx, parent)
	if err != nil {
		return nil, fmt.Errorf("listing subagents: %w", err)
	}
	var earlier []Status
	for _, head := range heads {
		if known[head.ID] {
			continue
		}
		if o, saved, err := x.archive.fromLog(ctx, head, x.sessionTools()); err == nil {
			s := Status{
				SessionID: head.ID, Goal: saved.Goal, Status: o.Status, Calls: len(o.Trace),
				Tokens: o.Tokens.Input + o.Tokens.Output, Seconds: o.Duration, Background: saved.Background,
			}
			if head.Parent != parent {
				s.ParentID = head.Parent
			}
			earlier = append(earlier, s)
		}
	}
	return append(earlier, now...), nil
}

func (x *Children) list(ctx context.Context, env *tools.Env) tools.Result {
	list, err := x.List(ctx, env.SessionID)
	if err != nil {
		return tools.Fail("%v", err)
	}
	if list == nil {
		list = []Status{}
	}
	return tools.OK(map[string]any{"subagents": list})
}

// wait waits for one child or for all in the background, and returns the results. If the
// timeout ends first, it lists the running children.
func (x *Children) wait(ctx context.Context, env *tools.Env, c tools.Call, in input) tools.Result {
	x.restore(ctx, env.SessionID)
	batch := x.roster.undelivered()
	if in.SessionID != "" {
		one := x.roster.find(in.SessionID)
		if one == nil {
			return tools.Fail("%v", errUnknown(in.SessionID))
		}
		batch = []*child{one}
	}
	if in.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(in.Timeout*float64(time.Second)))
		defer stop()
	}
	var done, still []*child
	for i, child := range batch {
		if env.Progress != nil {
			env.Progress(tools.Progress{CallID: c.ID, Message: fmt.Sprintf("%d of %d done", i, len(batch))})
		}
		select {
		case <-child.done:
		default:
			select {
			case <-child.done:
			case <-ctx.Done():
				still = append(still, child)
				continue
			}
		}
		done = append(done, child)
	}
	result := results(env, done)
	if len(still) == 0 {
		return result
	}
	var fields map[string]any
	if err := json.Unmarshal(result.JSON, &fields); err != nil {
		return result
	}
	fields["running"] = statuses(still)
	return tools.OK(fields).With(result.Shown...)
}

func (x *Children) callMessage(ctx context.Context, env *tools.Env, in input) tools.Result {
	if err := x.message(ctx, env, in.SessionID, in.Message); err != nil {
		return tools.Fail("%v", err)
	}
	return tools.OK(map[string]any{"session_id": in.SessionID, "status": running})
}

// Message sends text to a subagent. A running subagent gets it with its next request. A
// finished subagent is resumed in the background.
func (x *Children) Message(ctx context.Context, id, text string) error {
	env, err := x.sessionEnv()
	if err != nil {
		return err
	}
	return x.message(ctx, env, id, text)
}

func (x *Children) message(ctx context.Context, env *tools.Env, id, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("message is missing or empty")
	}
	if c := x.roster.seek(id); c != nil {
		if c.steer(text) {
			return nil
		}
		select { // it has ended, or is about to
		case <-c.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return x.resume(ctx, env, id, text)
}

// resume resumes a subagent. A subagent of a subagent then works directly for the session, with
// no more tools than before.
func (x *Children) resume(ctx context.Context, env *tools.Env, id, text string) error {
	line, err := x.archive.lineage(ctx, id, env.SessionID)
	if err == nil && len(line) == 0 {
		err = errUnknown(id)
	}
	if err != nil {
		return err
	}
	t := line[0].Task
	for i, above := range slices.Backward(line[1:]) {
		above.below = len(line) - 2 - i
		narrow := *env
		if narrow.Dispatch.Set, err = x.toolsFor(env, &above.Task); err != nil {
			return err
		}
		env = &narrow
		t.Isolation = cmp.Or(t.Isolation, above.Isolation)
	}
	t.Background, t.Call, t.Owner, t.message, t.below = true, "", env.SessionID, text, len(line)-1
	if err := x.check(ctx, env, &t); err != nil {
		return err
	}
	_, err = x.start(ctx, env, []*Task{&t})
	return err
}

func (x *Children) callStop(in input) tools.Result {
	stopped, err := x.Stop(in.SessionID)
	if err != nil {
		return tools.Fail("%v", err)
	}
	c := x.roster.seek(in.SessionID)
	if c == nil { // its parent has ended
		return tools.OK(map[string]any{"session_id": in.SessionID, "stopped": stopped, "status": interrupted})
	}
	<-c.done
	return tools.OK(map[string]any{"session_id": in.SessionID, "stopped": stopped, "status": c.status().Status})
}

// Stop ends a subagent, and does not wait for it. If it had already ended, Stop returns false.
func (x *Children) Stop(id string) (bool, error) {
	c := x.roster.seek(id)
	if c == nil {
		return false, errUnknown(id)
	}
	if c.hasEnded() {
		return false, nil
	}
	c.cancel(errStopped)
	return true, nil
}

// Waiting counts the undelivered results, except results of subagents canceled by the user with
// their turn.
func (x *Children) Waiting() int {
	return len(slices.DeleteFunc(x.roster.ready(), (*child).canceledByUser))
}

// Ready describes the subagents with waiting results.
func (x *Children) Ready() []Status { return statuses(x.roster.ready()) }

// Notice returns the results of background subagents for the parent's next turn, as JSON,
// once. If there are none, it returns "".
func (x *Children) Notice(ctx context.Context, parent string) string {
	x.restore(ctx, parent)
	ready := x.roster.ready()
	if len(ready) == 0 {
		return ""
	}
	text := "Results of subagents that worked in the background:\n" + string(describe(&tools.Env{}, ready).JSON)
	for _, c := range ready {
		c.handOver()
	}
	return text
}

// Confirm stores that the parent got the results of [Children.Notice]. Call it after the prompt
// with the results is stored. If the server dies before, the next server returns them again.
func (x *Children) Confirm() {
	for _, c := range x.roster.latest() {
		c.mu.Lock()
		handed := c.handed
		c.handed = false
		c.mu.Unlock()
		if handed {
			c.storeDelivered()
		}
	}
}

// storedWaiting describes the subagents of earlier servers with waiting results, until restore
// has loaded them.
func (x *Children) storedWaiting(ctx context.Context, parent string) []Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.restored {
		return nil
	}
	if x.asked {
		return slices.Clone(x.earlier)
	}
	heads, err := x.archive.stored(ctx, parent)
	if err != nil {
		x.Log.Warn("the subagents of an earlier run were not found", "error", err)
		return nil
	}
	x.asked = true
	for _, head := range heads {
		saved, ok := x.archive.waitsFor(head, parent)
		if !ok || x.roster.find(head.ID) != nil {
			continue
		}
		x.earlier = append(x.earlier, Status{
			SessionID: head.ID, Goal: saved.Goal, Status: cmp.Or(saved.Status, interrupted), Seconds: saved.Duration, Background: true,
		})
	}
	return slices.Clone(x.earlier)
}

// SetNew marks the session as new, so [Children.Notice] does not look for earlier subagents in
// the store.
func (x *Children) SetNew() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.restored = true
}

// restore loads, once, the background subagents of earlier servers with undelivered results.
func (x *Children) restore(ctx context.Context, parent string) {
	x.mu.Lock()
	before := x.restored
	x.restored = true
	x.mu.Unlock()
	if before {
		return
	}
	if _, err := x.sessionEnv(); err == nil {
		x.recoverOwnWorktrees(ctx)
	}
	heads, err := x.archive.descendants(ctx, parent)
	if err != nil {
		x.Log.Warn("the subagents of an earlier run were not found", "error", err)
		return
	}
	for _, head := range heads {
		if x.roster.find(head.ID) == nil {
			x.loadFinished(ctx, head, parent)
		}
	}
}

// loadFinished adds a stored subagent that has ended, if it worked for the session owner and
// its result was not delivered.
func (x *Children) loadFinished(ctx context.Context, head store.Session, owner string) {
	if _, ok := x.archive.waitsFor(head, owner); !ok {
		return
	}
	o, saved, err := x.archive.fromLog(ctx, head, x.sessionTools())
	if err != nil {
		return
	}
	t := saved.Task
	t.ID, t.Parent, t.Model = head.ID, head.Parent, head.Model
	c := x.newChild(x.ctx, nil, &t)
	c.outcome = o
	c.cancel(nil)
	close(c.done)
	x.roster.addEnded(c)
}
