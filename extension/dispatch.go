package extension

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Dispatcher calls the functions of a [Set] at events. If no function is called at an event, it
// costs nothing. The zero value calls none.
type Dispatcher struct {
	// Failed is called for each failed function; nil: failures are ignored.
	Failed func(event, name string, err error)
	kind   Kind

	preTool, transform, postTool   []Handlers
	turn, prompt, output, compress []Handlers
	afterTurn                      []Handlers
	sessionStart, sessionEnd       []Handlers
	subagentStart, subagentStopped []Handlers

	running sync.WaitGroup // running functions
}

// collectEvents finds the functions of the set's instances. In a derived set, an instance without a
// derived counterpart keeps the parent's functions.
func (s *Set) collectEvents(parent *Set) {
	for i, o := range s.opened {
		if o.instance == nil && parent != nil {
			o = parent.opened[i]
		}
		for _, h := range o.hooks.Events {
			if h.Name == "" {
				h.Name = "the extension " + o.ext.Name()
			}
			if h.Limit == 0 {
				h.Limit = DefaultLimit
			}
			s.events.add(h)
		}
	}
}

// Events returns the dispatcher of the set's functions.
func (s *Set) Events() *Dispatcher { return &s.events }

func (d *Dispatcher) add(h Handlers) {
	for _, one := range []struct {
		list *[]Handlers
		has  bool
	}{
		{&d.preTool, h.PreToolCall != nil}, {&d.transform, h.TransformToolResult != nil}, {&d.postTool, h.PostToolCall != nil},
		{&d.turn, h.Turn != nil}, {&d.afterTurn, h.AfterTurn != nil}, {&d.prompt, h.PreLLMCall != nil}, {&d.output, h.TransformLLMOutput != nil}, {&d.compress, h.PreCompress != nil},
		{&d.sessionStart, h.SessionStart != nil}, {&d.sessionEnd, h.SessionEnd != nil},
		{&d.subagentStart, h.SubagentStart != nil}, {&d.subagentStopped, h.SubagentStop != nil},
	} {
		if one.has {
			*one.list = append(*one.list, h)
		}
	}
}

// close waits for functions that exceeded their limit.
func (d *Dispatcher) close(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { d.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for functions of extensions: %w", context.Cause(ctx))
	}
}

// BeforeCall implements [tools.Events].
func (d *Dispatcher) BeforeCall(ctx context.Context, env *tools.Env, t tools.Tool, c tools.Call) tools.Admission {
	b := tools.Admission{Call: c}
	if len(d.preTool) == 0 {
		return b
	}
	args, err := tools.RepairArgs(string(c.Args))
	if err != nil {
		return b // the argument check reports it
	}
	b.Call.Args = args
	call := d.callOf(env, t, b.Call)
	answers := ask(ctx, d, "pre_tool_call", d.preTool, func(ctx context.Context, h Handlers) (Decision, error) { return h.PreToolCall(ctx, call) })
	var asks []string
	for i, a := range answers {
		if a.value.Ended != nil {
			b.Ended = append(b.Ended, a.value.Ended)
		}
		if a.value.Running != nil {
			b.Running = append(b.Running, a.value.Running)
		}
		deny := a.value.Deny
		if a.err != nil && !d.preTool[i].FailOpen {
			deny = fmt.Sprintf("%s was not run: %s failed (%v). Tell the user; do not try to get around it.", t.Name, d.preTool[i].Name, a.err)
		}
		if deny != "" && b.Answer == nil {
			r := tools.Failure(deny)
			b.Answer = &r
		}
		if a.err != nil {
			continue
		}
		if a.value.Ask != "" {
			asks = append(asks, a.value.Ask)
		}
		b.Call.Args = changed(b.Call.Args, a.value)
	}
	b.Ask = strings.Join(asks, "; ")
	return b
}

func changed(args json.RawMessage, d Decision) json.RawMessage {
	if d.Args != nil {
		args = d.Args
	}
	if len(d.Merge) == 0 {
		return args
	}
	object := map[string]json.RawMessage{}
	if json.Unmarshal(args, &object) != nil {
		return args // the argument check reports the mistake
	}
	maps.Copy(object, d.Merge)
	merged, err := json.Marshal(object)
	if err != nil {
		return args
	}
	return merged
}

// AfterCall implements [tools.Events].
func (d *Dispatcher) AfterCall(ctx context.Context, env *tools.Env, t tools.Tool, c tools.Call, r tools.Result) tools.Result {
	if len(d.transform)+len(d.postTool) == 0 {
		return r
	}
	call := d.callOf(env, t, c)
	for _, h := range d.transform {
		before := r // a late function may still read it
		answers := ask(ctx, d, "transform_tool_result", []Handlers{h}, func(ctx context.Context, h Handlers) (tools.Result, error) {
			return h.TransformToolResult(ctx, call, before)
		})
		switch err := answers[0].err; {
		case err == nil:
			r = answers[0].value
		case h.FailClosed:
			r = tools.Fail("the result of %s is withheld: %s failed (%v). Tell the user; do not try to get around it.", t.Name, h.Name, err)
		}
	}
	last := r
	notes := texts(ask(ctx, d, "post_tool_call", d.postTool, func(ctx context.Context, h Handlers) (string, error) { return h.PostToolCall(ctx, call, last) }))
	for _, text := range notes {
		r = WithNote(r, text)
	}
	return r
}

func (d *Dispatcher) callOf(env *tools.Env, t tools.Tool, c tools.Call) ToolCall {
	return ToolCall{Call: c, Tool: t, SessionID: env.SessionID, Kind: d.kind}
}

// Turn is called before a turn begins. Its caller calls ended when the turn has ended.
func (d *Dispatcher) Turn(ctx context.Context, p Prompt) (ended func()) {
	answers := ask(ctx, d, "turn", d.turn, func(ctx context.Context, h Handlers) (func(), error) { return h.Turn(ctx, p) })
	return func() {
		for _, a := range slices.Backward(answers) {
			if a.value != nil {
				a.value()
			}
		}
	}
}

// AfterTurn is called when the model has ended its work on a prompt. It returns the text that
// continues the turn, or "", and the decisions in their order.
func (d *Dispatcher) AfterTurn(ctx context.Context, t TurnEnd) (more string, all []TurnDecision) {
	for _, a := range ask(ctx, d, "after_turn", d.afterTurn, func(ctx context.Context, h Handlers) (TurnDecision, error) { return h.AfterTurn(ctx, t) }) {
		if a.err != nil {
			continue
		}
		if more == "" {
			more = a.value.Continue
		}
		all = append(all, a.value)
	}
	if t.Waiting || t.Stop == "" || ctx.Err() != nil {
		more = ""
	}
	return more, all
}

// Prompt is called before a prompt is sent. If a function blocks it, Prompt returns the reason.
func (d *Dispatcher) Prompt(ctx context.Context, p Prompt) (added []string, attached []Attachment, block string) {
	for _, a := range ask(ctx, d, "pre_llm_call", d.prompt, func(ctx context.Context, h Handlers) (PromptDecision, error) { return h.PreLLMCall(ctx, p) }) {
		if a.err != nil {
			continue
		}
		if block == "" {
			block = a.value.Block
		}
		if a.value.Context != "" {
			added = append(added, a.value.Context)
		}
		attached = append(attached, a.value.Attached...)
	}
	return added, attached, block
}

// HasOutput reports whether a function checks the text at the end of a turn. If so, the text is
// shown after the check.
func (d *Dispatcher) HasOutput() bool { return len(d.output) > 0 }

// Output is called with the final text of a turn. It returns the text to show. If a function
// continues the turn, more is the text for the model.
func (d *Dispatcher) Output(ctx context.Context, o Output) (text, more string) {
	text = o.Text
	for _, a := range ask(ctx, d, "transform_llm_output", d.output, func(ctx context.Context, h Handlers) (OutputDecision, error) { return h.TransformLLMOutput(ctx, o) }) {
		if a.err != nil {
			continue
		}
		if a.value.Text != nil {
			text = *a.value.Text
		}
		if more == "" && !o.Continued {
			more = a.value.Continue
		}
	}
	return text, more
}

// Compress is called before a compaction. It returns texts for the summary.
func (d *Dispatcher) Compress(ctx context.Context, c Compression) []string {
	return texts(ask(ctx, d, "pre_compress", d.compress, func(ctx context.Context, h Handlers) (string, error) { return h.PreCompress(ctx, c) }))
}

// SessionStart is called before a session's first prompt. It returns texts for the model.
func (d *Dispatcher) SessionStart(ctx context.Context, s SessionEvent) []string {
	return texts(ask(ctx, d, "on_session_start", d.sessionStart, func(ctx context.Context, h Handlers) (string, error) { return h.SessionStart(ctx, s) }))
}

// endLimit is how long functions at the end of a session may take if the server ends.
const endLimit = 2 * time.Second

// SessionEnd is called when a session is closed. If ctx has a deadline, the server is ending: the
// functions may take endLimit. Their time is added to the deadline of the returned context, which
// is for the rest of the session's end.
func (d *Dispatcher) SessionEnd(ctx context.Context, s SessionEvent) (context.Context, context.CancelFunc) {
	call := func(ctx context.Context) {
		ask(ctx, d, "on_session_end", d.sessionEnd, func(ctx context.Context, h Handlers) (struct{}, error) { return struct{}{}, h.SessionEnd(ctx, s) })
	}
	deadline, ends := ctx.Deadline()
	if !ends {
		call(ctx)
		return context.WithCancel(ctx)
	}
	began, apart := time.Now(), context.WithoutCancel(ctx)
	limited, stop := context.WithTimeout(apart, endLimit)
	defer stop()
	call(limited)
	return context.WithDeadline(apart, deadline.Add(time.Since(began)))
}

// SubagentStart is called before a subagent's first prompt. It returns texts for its model.
func (d *Dispatcher) SubagentStart(ctx context.Context, s SubagentEvent) []string {
	return texts(ask(ctx, d, "subagent_start", d.subagentStart, func(ctx context.Context, h Handlers) (string, error) { return h.SubagentStart(ctx, s) }))
}

// SubagentStop is called when a subagent has ended.
func (d *Dispatcher) SubagentStop(ctx context.Context, s SubagentEvent) {
	ask(ctx, d, "subagent_stop", d.subagentStopped, func(ctx context.Context, h Handlers) (struct{}, error) { return struct{}{}, h.SubagentStop(ctx, s) })
}

// answer holds the value or error of a function.
type answer[T any] struct {
	value T
	err   error
}

func texts(answers []answer[string]) []string {
	var all []string
	for _, a := range answers {
		if a.err == nil && a.value != "" {
			all = append(all, a.value)
		}
	}
	return all
}

// ask calls f for each of the handlers side by side and returns their answers in order. It returns
// when each has answered or reached its limit, or ctx is done.
func ask[T any](ctx context.Context, d *Dispatcher, event string, handlers []Handlers, f func(context.Context, Handlers) (T, error)) []answer[T] {
	if len(handlers) == 0 {
		return nil
	}
	answers := make([]answer[T], len(handlers))
	var all sync.WaitGroup
	for i, h := range handlers {
		if h.Limit < 0 || len(handlers) == 1 {
			continue
		}
		all.Go(func() { answers[i] = within(ctx, d, h, f) })
	}
	for i, h := range handlers {
		switch {
		case h.Limit < 0:
			answers[i] = guarded(ctx, h, f)
		case len(handlers) == 1:
			answers[i] = within(ctx, d, h, f)
		}
	}
	all.Wait()
	for i, a := range answers {
		if a.err != nil && d.Failed != nil && ctx.Err() == nil {
			d.Failed(event, handlers[i].Name, a.err)
		}
	}
	return answers
}

// within calls f in a new goroutine. After h.Limit, it returns and leaves f running.
func within[T any](ctx context.Context, d *Dispatcher, h Handlers, f func(context.Context, Handlers) (T, error)) answer[T] {
	limited, stop := context.WithTimeoutCause(ctx, h.Limit, errLimit(h.Limit))
	defer stop()
	answered := make(chan answer[T], 1)
	d.running.Go(func() { answered <- guarded(limited, h, f) })
	var a answer[T]
	select {
	case a = <-answered:
	case <-limited.Done():
	}
	if limited.Err() != nil { // an answer at the limit is late
		a.err = context.Cause(limited)
	}
	return a
}

type errLimit time.Duration

func (e errLimit) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(e)) }

func guarded[T any](ctx context.Context, h Handlers, f func(context.Context, Handlers) (T, error)) (a answer[T]) {
	defer func() {
		if p := recover(); p != nil {
			a = answer[T]{err: fmt.Errorf("it failed by a mistake: %v", p)}
		}
	}()
	a.value, a.err = f(ctx, h)
	return a
}
