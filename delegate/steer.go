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

// Status is a subagent as people and the parent's model are told of it.
type Status struct {
	SessionID  string  `json:"session_id"`
	ParentID   string  `json:"parent_id,omitempty"` // of a subagent of a subagent
	Goal       string  `json:"goal"`
	Status     string  `json:"status"`          // running, or how it ended
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

// List tells of the session's subagents and of theirs, those of earlier processes
// included, the oldest first.
func (x *Children) List(ctx context.Context, parent string) ([]Status, error) {
	var now []Status
	known := map[string]bool{}
	for _, c := range x.everybody() {
		s := c.status()
		if c.Parent != parent {
			s.ParentID = c.Parent
		}
		now, known[c.ID] = append(now, s), true
	}
	heads, err := x.descendants(ctx, parent)
	if err != nil {
		return nil, fmt.Errorf("listing subagents: %w", err)
	}
	var earlier []Status
	for _, head := range heads {
		if known[head.ID] {
			continue
		}
		if o, kept, err := x.fromLog(ctx, head, x.lentTools()); err == nil {
			s := Status{
				SessionID: head.ID, Goal: kept.Goal, Status: o.Status, Calls: len(o.Trace),
				Tokens: o.Tokens.Input + o.Tokens.Output, Seconds: o.Duration, Background: kept.Background,
			}
			if head.Parent != parent {
				s.ParentID = head.Parent
			}
			earlier = append(earlier, s)
		}
	}
	return append(earlier, now...), nil
}

// enter notes the subagents of a subagent, until leave is called.
func (x *Children) enter(theirs *Children) (leave func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.below = append(x.below, theirs)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.below = slices.DeleteFunc(x.below, func(o *Children) bool { return o == theirs })
	}
}

// everybody are the subagents of this process and, of those at work, theirs.
func (x *Children) everybody() []*child {
	list := x.latest()
	x.mu.Lock()
	below := slices.Clone(x.below)
	x.mu.Unlock()
	for _, theirs := range below {
		for _, c := range theirs.everybody() {
			if !slices.ContainsFunc(list, func(o *child) bool { return o.ID == c.ID }) { // else it was gone on with
				list = append(list, c)
			}
		}
	}
	return list
}

// seek finds a subagent, whosesoever it is.
func (x *Children) seek(id string) *child {
	for _, c := range x.everybody() {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// latest are the children of this process; of one that was gone on with, the newest.
func (x *Children) latest() []*child {
	x.mu.Lock()
	defer x.mu.Unlock()
	newest := make(map[string]*child, len(x.all))
	for _, c := range x.all {
		newest[c.ID] = c
	}
	return slices.DeleteFunc(slices.Clone(x.all), func(c *child) bool { return newest[c.ID] != c })
}

func (x *Children) find(id string) *child {
	for _, c := range x.latest() {
		if c.ID == id {
			return c
		}
	}
	return nil
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

// wait waits for one child, or for all that run, and gives what is known then.
func (x *Children) wait(ctx context.Context, env *tools.Env, c tools.Call, in input) tools.Result {
	x.restore(ctx, env.SessionID)
	batch := x.untold()
	if in.SessionID != "" {
		one := x.find(in.SessionID)
		if one == nil {
			return tools.Fail("%v", x.unknown(in.SessionID))
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
	result := x.results(env, done)
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

// untold are the children in the background whose results the parent does not have.
func (x *Children) untold() []*child {
	return slices.DeleteFunc(x.latest(), func(c *child) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.told || !c.Background
	})
}

func (x *Children) tell(ctx context.Context, env *tools.Env, in input) tools.Result {
	if err := x.message(ctx, env, in.SessionID, in.Message); err != nil {
		return tools.Fail("%v", err)
	}
	return tools.OK(map[string]any{"session_id": in.SessionID, "status": running})
}

// Message says text to a subagent: one that works hears it with its next request,
// one that has ended goes on in the background with its conversation.
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
	if c := x.seek(id); c != nil {
		if c.say(text) {
			return nil
		}
		select { // it has ended, or is about to
		case <-c.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return x.goOn(ctx, env, id, text)
}

// goOn takes a child up again, by its session. A child of a child comes to work for
// the session itself, with no more than it had.
func (x *Children) goOn(ctx context.Context, env *tools.Env, id, text string) error {
	line, err := x.lineage(ctx, id, env.SessionID)
	if err != nil {
		return err
	}
	t := line[0].Task
	for i, above := range slices.Backward(line[1:]) {
		above.below = len(line) - 2 - i
		narrow := *env
		if narrow.Tools, err = x.toolsFor(env, &above.Task); err != nil {
			return err
		}
		env = &narrow
		t.Isolation = cmp.Or(t.Isolation, above.Isolation)
	}
	t.Background, t.Call, t.Owner, t.message, t.below = true, "", env.SessionID, text, len(line)-1
	if err := x.check(ctx, env, &t); err != nil {
		return err
	}
	if _, err := x.start(ctx, env, []*Task{&t}); err != nil {
		return err
	}
	return nil
}

// lineage is what the store keeps of a subagent, and of those between it and the
// session that began it all.
func (x *Children) lineage(ctx context.Context, id, root string) (line []origin, err error) {
	for at := id; at != root; {
		head, err := x.Store.Session(ctx, at)
		if err != nil || head.Origin == "" || head.Parent == "" || len(line) > depthMost {
			return nil, x.unknown(id)
		}
		var kept origin
		if err := json.Unmarshal([]byte(head.Origin), &kept); err != nil {
			return nil, fmt.Errorf("the subagent's task cannot be read: %w", err)
		}
		kept.ID, kept.Parent = head.ID, head.Parent
		line, at = append(line, kept), head.Parent
	}
	if len(line) == 0 {
		return nil, x.unknown(id)
	}
	return line, nil
}

// depthMost is more than anybody will configure.
const depthMost = 32

func (x *Children) unknown(id string) error {
	if id == "" {
		return errors.New("session_id is missing; action list names the subagents")
	}
	return fmt.Errorf("this session has no subagent %q; action list names those there are", id)
}

func (x *Children) stop(_ context.Context, _ *tools.Env, in input) tools.Result {
	stopped, err := x.Stop(in.SessionID)
	if err != nil {
		return tools.Fail("%v", err)
	}
	c := x.seek(in.SessionID)
	if c == nil { // gone with its parent
		return tools.OK(map[string]any{"session_id": in.SessionID, "stopped": stopped, "status": interrupted})
	}
	<-c.done
	return tools.OK(map[string]any{"session_id": in.SessionID, "stopped": stopped, "status": c.status().Status})
}

// Stop ends one subagent; false: it had ended already. It does not wait for it.
func (x *Children) Stop(id string) (bool, error) {
	c := x.seek(id)
	if c == nil {
		return false, x.unknown(id)
	}
	select {
	case <-c.done:
		return false, nil
	default:
		c.cancel(errStopped)
		return true, nil
	}
}

// Waiting counts the results that the parent has not been told of yet.
func (x *Children) Waiting() int { return len(x.ready()) }

// Ready tells of the subagents whose results wait.
func (x *Children) Ready() []Status { return statuses(x.ready()) }

func (x *Children) ready() (ready []*child) {
	for _, c := range x.untold() {
		select {
		case <-c.done:
			ready = append(ready, c)
		default:
		}
	}
	return ready
}

// News is what the parent's next turn has to be told: results of work in the
// background, as JSON, once. Empty: nothing is new.
func (x *Children) News(ctx context.Context, parent string) string {
	x.restore(ctx, parent)
	ready := x.ready()
	if len(ready) == 0 {
		return ""
	}
	env := &tools.Env{}
	return "Results of subagents that worked in the background:\n" + string(x.results(env, ready).JSON)
}

// Fresh says that the session is new: an earlier run has left nothing for it, and
// [Children.News] does not look for it in the store.
func (x *Children) Fresh() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.restored = true
}

// restore finds, once, the children in the background that a dead server left, or
// whose results nobody was told.
func (x *Children) restore(ctx context.Context, parent string) {
	x.mu.Lock()
	before := x.restored
	x.restored = true
	x.mu.Unlock()
	if before {
		return
	}
	if env, err := x.sessionEnv(); err == nil {
		x.recoverWorktreesOf(ctx, env)
	}
	heads, err := x.descendants(ctx, parent)
	if err != nil {
		x.Log.Warn("the subagents of an earlier run were not found", "error", err)
		return
	}
	for _, head := range heads {
		if x.find(head.ID) == nil {
			x.adopt(ctx, head, parent)
		}
	}
}

// adopt makes an ended child of one that the store knows, that worked for the session
// owner, and that nobody was told of.
func (x *Children) adopt(ctx context.Context, head store.Session, owner string) {
	var kept origin
	if json.Unmarshal([]byte(head.Origin), &kept) != nil || !kept.Background || kept.Told || cmp.Or(kept.Owner, head.Parent) != owner {
		return
	}
	o, kept, err := x.fromLog(ctx, head, x.lentTools())
	if err != nil {
		return
	}
	release, err := x.Store.Claim(head.ID)
	if err != nil {
		return // it works in another window
	}
	release()
	t := kept.Task
	t.ID, t.Parent, t.Model = head.ID, head.Parent, head.Model
	c := x.newChild(x.ctx, nil, &t)
	c.outcome = o
	c.cancel(nil)
	close(c.done)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append([]*child{c}, x.all...)
}
