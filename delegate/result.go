package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Values of status and exit_reason.
const (
	completed     = "completed"
	failed        = "failed"
	interrupted   = "interrupted"
	timedOut      = "timeout"
	maxIterations = "max_iterations"
	exitError     = "error"
	limitReached  = "limit"
)

// outcome is the result of a child for the parent's model.
type outcome struct {
	Index        int             `json:"task_index"`
	Status       string          `json:"status"`
	Summary      string          `json:"summary"`
	Output       json.RawMessage `json:"output,omitempty"`        // matches the task's schema
	OutputErrors string          `json:"output_errors,omitempty"` // why the summary does not match
	Calls        int             `json:"api_calls"`
	Duration     float64         `json:"duration_seconds"`
	Model        string          `json:"model"`
	Exit         string          `json:"exit_reason"`
	Tokens       tokens          `json:"tokens"`
	Trace        []traced        `json:"tool_trace"`
	Session      string          `json:"session_id"`
	Changes      *worktree.Merge `json:"changes,omitempty"` // of a worktree
	Error        string          `json:"error,omitempty"`

	reported bool // the summary is the subagent's own report
}

// cut returns the ids of the interrupted calls.
func (o *outcome) cut() (ids []string) {
	for _, t := range o.Trace {
		if t.Status == interrupted {
			ids = append(ids, t.id)
		}
	}
	return ids
}

type tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// conclude makes the outcome of a child whose work has ended. The caller holds the lock.
func (c *child) conclude(stop agent.StopReason, err error) *outcome {
	o := c.record.outcome()
	o.Index, o.Session, o.Model = c.Index, c.ID, c.Model
	o.Duration = seconds(time.Since(c.began))
	o.Status, o.Exit, o.Error = ending(context.Cause(c.ctx), stop, err)
	if o.Status == completed && c.record.limit != "" {
		o.Status, o.Exit, o.Error = interrupted, limitReached, c.record.limit
	}
	o.Error = tools.BriefError(o.Error)
	o.Summary = c.record.report()
	o.reported = o.Status == completed && o.Summary != ""
	if o.reported {
		return o
	}
	o.Summary = c.record.partial()
	if o.Exit == completed {
		o.Status, o.Exit, o.Error = failed, exitError, c.unanswered(stop)
	}
	return o
}

// askForReport is the next step for the parent of a child without an answer.
const askForReport = " Ask it for its report with action message, or do the task in another way."

// unanswered returns the error of a child without an answer. The caller holds the lock.
func (c *child) unanswered(stop agent.StopReason) string {
	why := "The subagent gave no answer"
	if stop == agent.MaxTokens {
		why = "The subagent reached the model's length limit before its answer"
	}
	did := "it made 1 tool call"
	if n := len(c.record.trace); n != 1 {
		did = fmt.Sprintf("it made %d tool calls", n)
	}
	if files := c.changed(); len(files) > 0 {
		did += " and changed " + shorten.OneLine(strings.Join(files, ", "), 300)
	}
	return fmt.Sprintf("%s; %s, see summary."+askForReport, why, did)
}

// changed returns the files changed by the child's tools, with the parent's names. For a
// worktree it returns nil: see [outcome.Changes].
func (c *child) changed() []string {
	if c.Isolation != "" || c.owner.Bounds.Files == nil {
		return nil
	}
	files := slices.Clone(c.record.files)
	for i, path := range files {
		if rel, err := filepath.Rel(c.owner.Bounds.Files.Folders()[0], path); err == nil && filepath.IsLocal(rel) {
			files[i] = filepath.ToSlash(rel)
		}
	}
	return files
}

// outcome makes the part of an outcome known to the record.
func (r *record) outcome() *outcome {
	o := &outcome{
		Calls: r.requests, Trace: r.trace, Output: r.output,
		Tokens: tokens{r.usage.Input, r.usage.Output},
	}
	if o.Trace == nil {
		o.Trace = []traced{}
	}
	if r.misfit != nil {
		o.OutputErrors = r.misfit.Error()
	}
	return o
}

// ending returns status, exit reason and error of work. cause is the cause of its context.
func ending(cause error, stop agent.StopReason, err error) (status, exit, why string) {
	switch {
	case errors.Is(cause, errInactive):
		return timedOut, timedOut, cause.Error()
	case cause != nil:
		why := cause.Error()
		if errors.Is(cause, context.Canceled) {
			why = "interrupted by the user"
		}
		return interrupted, interrupted, why
	case err != nil:
		return failed, exitError, err.Error()
	}
	switch stop {
	case agent.MaxTurnRequests:
		return completed, maxIterations, ""
	case agent.Refusal:
		return failed, exitError, "the model refused the task"
	case agent.MaxTokens:
		return completed, completed, "the report reached the model's length limit and is not complete"
	}
	return completed, completed, ""
}

// summaryLimit limits the characters of a report.
const summaryLimit = 20_000

// room returns the maximum number of characters of each of n reports. Together they take at
// most a quarter of the parent's free context window. A token is about four characters.
func room(env *tools.Env, n int) int {
	if env.Reader.Room <= 0 || n == 0 {
		return summaryLimit
	}
	return min(summaryLimit, max(500, env.Reader.Room/n))
}

// shortened returns o with a report of at most limit characters.
func (o *outcome) shortened(limit int) *outcome {
	length := utf8.RuneCountInString(o.Summary)
	if length <= limit {
		return o
	}
	short := *o
	note := fmt.Sprintf("\n\n[cut: the report has %d characters; the whole is in session %s]", length, o.Session)
	short.Summary = string([]rune(o.Summary)[:max(0, limit-utf8.RuneCountInString(note))]) + note
	return &short
}

// results returns the result of a call, and stores that the parent got it.
func results(env *tools.Env, batch []*child) tools.Result {
	r := describe(env, batch)
	for _, c := range batch {
		c.markDelivered()
	}
	return r
}

// describe makes a result from the outcomes of a batch, in the order of the tasks.
func describe(env *tools.Env, batch []*child) tools.Result {
	list := make([]*outcome, len(batch))
	began, limit := time.Now(), room(env, len(batch))
	var shown []tools.Content
	for i, c := range batch {
		if c.began.Before(began) {
			began = c.began
		}
		list[i] = c.outcome.shortened(limit)
		shown = append(shown, tools.Content{Text: shownText(c.Goal, c.outcome)})
	}
	return tools.OK(map[string]any{
		"results": list, "total_duration_seconds": seconds(time.Since(began)),
	}).With(shown...)
}

// shownText describes an outcome for the user.
func shownText(goal string, o *outcome) string {
	mark := "✗"
	if o.Status == completed {
		mark = "✓"
	}
	text := fmt.Sprintf("%s %s", mark, headline(goal, 120))
	if o.Error != "" {
		text += " (" + shorten.OneLine(o.Error, 200) + ")"
	}
	return tools.WithoutControls(text + "\n\n" + o.shortened(2000).Summary)
}
