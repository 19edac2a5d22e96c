package agent

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// call is a tool call of a response.
type call struct {
	tools.Call        // Args as the model wrote them; dispatch repairs or rejects them
	logged     string // the arguments as stored: always a JSON object
	cut        bool   // the response was cut within this call
	tool       tools.Tool
	result     tools.Result
	took       time.Duration
	stopped    context.Context // ends when the user stops only this call

	interrupted bool // the turn was canceled, or the user stopped this call, before it ended
}

// together limits the number of concurrent calls.
const together = 16

// callAll runs the calls of a response: adjacent read-only calls together, any other call
// alone. Results keep the order of the calls.
func (t *turn) callAll(ctx context.Context, calls []*call) error {
	t.budget = t.resultBudget()
	for _, c := range calls {
		e := t.started(c)
		c.stopped, e.Stop = context.WithCancel(context.Background())
		defer e.Stop()
		t.sink.Event(e)
	}
	for batch := range batches(calls) {
		if err := t.callBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func batches(calls []*call) iter.Seq[[]*call] {
	return func(yield func([]*call) bool) {
		for len(calls) > 0 {
			n := 1
			for n < len(calls) && n < together && calls[n-1].together() && calls[n].together() {
				n++
			}
			if !yield(calls[:n]) {
				return
			}
			calls = calls[n:]
		}
	}
}

// together reports whether the call may run at the same time as others.
func (c *call) together() bool { return c.tool.ReadOnly || c.tool.Parallel }

// callBatch runs calls concurrently. It owns their goroutines. Meanwhile, only callBatch uses
// the sink and the history.
func (t *turn) callBatch(ctx context.Context, batch []*call) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	progress, over := make(chan tools.Progress), make(chan struct{})
	defer close(over)
	env := t.env(t.head, func(p tools.Progress) {
		select {
		case progress <- p:
		case <-over: // the batch has ended
		}
	})
	ended := make(chan int)
	for i, c := range batch {
		go func() {
			defer func() { ended <- i }()
			c.run(ctx, env)
		}()
	}
	var failure error
	next, done := 0, make([]bool, len(batch))
	for running := len(batch); running > 0; {
		select {
		case p := <-progress:
			t.sink.Event(CallProgress{p})
			continue
		case i := <-ended:
			done[i] = true
			running--
		}
		for ; failure == nil && next < len(batch) && done[next]; next++ {
			if failure = t.end(batch[next]); failure != nil {
				stop() // no other result could be stored either
			}
		}
	}
	return failure
}

// errCallStopped is the cause if the user stops a single call, not the turn.
var errCallStopped = &tools.Stopped{Who: "the user stopped this call", Again: "Do not run it again unless the user asks for it"}

// run runs the call and sets its result in every case.
func (c *call) run(ctx context.Context, env *tools.Env) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.stopped, func() { stop(errCallStopped) })()
	began := time.Now()
	switch {
	case c.stopped.Err() != nil:
		stop(errCallStopped)
		fallthrough
	case ctx.Err() != nil:
		c.interrupted = true
		c.result = tools.Fail("%s was not run: %s", c.Name, tools.NotRunText(ctx, ""))
		return
	case c.cut:
		c.result = tools.Fail(cutText, c.Name)
		return
	case c.Name == model.Unnamed && c.tool.Name == "":
		c.result = tools.Fail(unnamedText)
		return
	}
	c.result = tools.Fail("%s ended without a result", c.Name) // in case the tool exits its goroutine
	c.result, _ = env.Dispatch.Set.Call(ctx, env, c.Call)      // the error is ctx's, and the result contains it
	c.took, c.interrupted = time.Since(began), ctx.Err() != nil
}

// stored returns the call as later requests repeat it.
func (c *call) stored() model.Call { return model.Call{ID: c.ID, Name: c.Name, Args: c.logged} }

// display returns the call with arguments in valid JSON.
func (c *call) display() tools.Call {
	return tools.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.logged)}
}

// started returns the event for the start of a call.
func (s *Session) started(c *call) CallStarted {
	e := CallStarted{Call: c.display(), Kind: c.tool.Kind, Title: c.Name}
	if c.Name == model.Unnamed {
		e.Title = "Tool call without a name"
	}
	if e.Kind == "" {
		e.Kind = tools.KindOther
	}
	if c.tool.Title != nil {
		if title := c.tool.Title(e.Call.Args); title != "" {
			e.Title = title
		}
	}
	e.Locations = s.locations(e.Kind, e.Call.Args)
	return e
}

// locations returns the file location in a call's arguments, for editors that follow the agent.
// If the call names no path, it returns nil.
func (s *Session) locations(kind tools.Kind, args json.RawMessage) []tools.Location {
	var in struct {
		Path   string
		Offset json.RawMessage // a number, or a quoted number
	}
	files := s.config.Files
	if files == nil || json.Unmarshal(args, &in) != nil || in.Path == "" {
		return nil
	}
	path, err := files.Abs(in.Path)
	if err != nil {
		return nil
	}
	place := tools.Location{Path: path}
	if line, err := strconv.Atoi(strings.Trim(string(in.Offset), `"`)); err == nil && kind == tools.KindRead {
		place.Line = max(line, 0) // other tools' offsets are not lines
	}
	return []tools.Location{place}
}

// todosChanged returns the plan and reports whether it differs from the editor's.
func (t *turn) todosChanged() (todos []tools.Todo, changed bool) {
	todos = t.config.Plan.All()
	changed = !slices.Equal(todos, t.shown)
	t.shown = todos
	return todos, changed
}

const (
	replyCap   = 200_000 // bytes of all results of a response's calls
	resultMin  = 2_000   // bytes granted to each result in any case
	smallShare = 7       // in a small window, a result takes at most this fraction
	// bytesOfResult is the number of result bytes for each token. JSON and code need fewer
	// bytes a token than other texts.
	bytesOfResult = 3
)

// budget limits the total size of a response's results. A model may call many tools at once,
// and each result may be near its own limit.
type budget struct {
	left, each, least int
	tokens            int // of each result; 0: no token limit
}

// resultBudget returns the budget of the next response's calls. All results together fill at most
// half of the context window without its fixed part.
func (t *turn) resultBudget() budget {
	b := budget{left: replyCap, each: replyCap, least: resultMin}
	window := t.window()
	if window <= 0 {
		return b
	}
	b.left = min(b.left, max((window-t.history.gauge.fixed())/2*bytesOfResult, resultMin))
	b.each = b.left
	if t.Small() {
		b.tokens = window / smallShare
		b.each = b.tokens * bytesPerToken
		b.least = min(b.least, b.each/4)
	}
	return b
}

// fit shortens a result to the rest of the budget.
func (b *budget) fit(set *tools.Set, env *tools.Env, c *call) {
	limit := min(b.each, max(b.left, b.least))
	c.result = set.Fit(env, c.Name, c.result, limit)
	for range 4 { // the bytes per token vary
		n := tools.Tokens(string(c.result.JSON))
		if b.tokens == 0 || n <= b.tokens {
			break
		}
		limit = min(limit, len(c.result.JSON)) * b.tokens / n * 95 / 100
		c.result = set.Fit(env, c.Name, c.result, limit)
	}
	b.left -= len(c.result.JSON)
}
