package codeexec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	maxRejected = 1000     // rejected calls after the limit before the script is ended
	maxRecorded = 500      // calls in the transcript
	maxArgs     = 16 << 10 // bytes of the arguments of each
)

// callQueue takes the calls of a script.
type callQueue struct {
	functions []tools.Tool
	limit     int // of calls
	run       func(ctx context.Context, tool string, args json.RawMessage) tools.Result
	// onLimitAbuse is called once if the script makes maxRejected calls above the
	// limit. It must not wait.
	onLimitAbuse func()

	script context.Context // of the script
	ctx    context.Context // of the calls: ends with script, and with close
	cancel context.CancelFunc
	taken  sync.WaitGroup // calls without a result

	writing sync.Mutex // held by a call while it writes files

	mu       sync.Mutex
	closed   bool
	made     int // calls counted against the limit
	rejected int
	current  []*openCall // oldest first
	record   []tools.Inner
	changes  []tools.Content // of files, for the editor
}

// openCall is a call without a result.
type openCall struct {
	tool   string
	args   json.RawMessage
	writes bool // files
}

// call runs a call as soon as running has room. A call that writes files waits for the earlier
// writing calls.
func (q *callQueue) call(running chan struct{}, tool string, args json.RawMessage) tools.Result {
	c, rejection := q.begin(tool, args)
	if rejection != "" {
		return tools.Fail("%s", rejection)
	}
	defer q.taken.Done()
	if c.writes {
		q.writing.Lock()
		defer q.writing.Unlock()
	}
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-q.ctx.Done():
	}
	began, result := time.Now(), tools.Fail(lateText)
	if q.ctx.Err() == nil {
		result = q.run(q.ctx, tool, args)
	}
	q.end(c, result, time.Since(began))
	return result
}

// close rejects further calls, cancels the running calls, and waits for them.
func (q *callQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cancel()
	q.taken.Wait()
}

// begin counts a call, or returns the reason for its rejection.
func (q *callQueue) begin(tool string, args json.RawMessage) (c *openCall, rejection string) {
	i := slices.IndexFunc(q.functions, func(t tools.Tool) bool { return t.Name == tool })
	q.mu.Lock()
	defer q.mu.Unlock()
	if rejection = q.reject(tool, i >= 0); rejection != "" {
		q.rejected++
		q.note(tool, args, 0, "rejected")
		return nil, rejection
	}
	q.made++
	q.taken.Add(1)
	c = &openCall{tool, args, q.functions[i].Kind == tools.KindEdit}
	q.current = append(q.current, c)
	return c, ""
}

// reject returns the reason why a call must not run, or "". known says whether tool is a
// function of the script. The caller holds mu.
func (q *callQueue) reject(tool string, known bool) string {
	switch {
	case q.closed:
		return lateText
	case !known:
		return fmt.Sprintf("Tool '%s' is not available in execute_code. Use it as a normal tool call instead.", shorten.OneLine(tool, 80))
	case q.made >= q.limit:
		if q.rejected+1 == maxRejected && q.onLimitAbuse != nil {
			q.onLimitAbuse()
		}
		return fmt.Sprintf("Tool call limit reached (%d). No more tool calls allowed in this execution.", q.limit)
	}
	return ""
}

// end records the result of a call.
func (q *callQueue) end(c *openCall, result tools.Result, took time.Duration) {
	status := "completed"
	switch {
	case q.ctx.Err() != nil:
		status = "interrupted"
	case result.IsError:
		status = "failed"
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.note(c.tool, c.args, took, status)
	q.current = slices.DeleteFunc(q.current, func(o *openCall) bool { return o == c })
	for _, shown := range result.Shown {
		if shown.Diff != nil {
			q.changes = append(q.changes, shown)
		}
	}
}

// note adds a call to the record. Its caller holds mu.
func (q *callQueue) note(tool string, args []byte, took time.Duration, status string) {
	if len(args) > maxArgs {
		args = bytes.Clone(args[:maxArgs])
	}
	if len(q.record) < maxRecorded {
		q.record = append(q.record, tools.Inner{Tool: tool, Arguments: args, Duration: seconds(took), Status: status})
	}
}

// records returns the calls for the transcript, and the changes of files for the editor.
func (q *callQueue) records() (calls []tools.Inner, changes []tools.Content) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.record {
		q.record[i].Tool = shorten.OneLine(q.record[i].Tool, 80)
		q.record[i].Arguments = abridged(q.record[i].Arguments)
	}
	return q.record, q.changes
}

// counts returns the number of calls made and the newest running call. If none is running, now is
// nil.
func (q *callQueue) counts() (made int, now *openCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.current); n > 0 {
		now = q.current[n-1]
	}
	return q.made, now
}
