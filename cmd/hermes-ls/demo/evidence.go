package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// turn holds the messages of the server during a prompt.
type turn struct {
	stopReason string
	text       string
	pieces     int // number of pieces of text
	edits      int // number of edits for the editor
	plans      int
	calls      []*toolCall
	bars       []*bar // of subagents
	cost       usage  // of only this turn
}

// count returns the number of tool calls of the model. Subagents are shown as calls, but
// do not count.
func (t turn) count() (n int) {
	for _, c := range t.calls {
		if c.tool != "" {
			n++
		}
	}
	return n
}

// toolCall is a tool call from the messages of the server.
type toolCall struct {
	id, tool, title, status string
	output                  json.RawMessage
	inner                   []innerCall // calls of a script
}

// usage is the usage of the session.
type usage struct{ Requests, Input, Output int }

// evidence is the data for check.
type evidence struct {
	asked, shared, fixed turn
	counted              turn
	children             int // number of subagents of the session
	usage                usage
	after                string // the open document at the end
	testsFail            bool
	saved                int // tokens saved by a script, compared with single calls
	lines                int // of all Python files, counted without the agent
}

// check returns an error with each feature that was not shown.
func check(e evidence) error {
	var missing []error
	need := func(ok bool, what string) {
		if !ok {
			missing = append(missing, errors.New("did not happen: "+what))
		}
	}
	runs := e.fixed.testRuns()
	need(e.asked.stopReason == "end_turn" && len(e.asked.text) > 80, "a question answered")
	need(e.asked.pieces > 5, "an answer that streams")
	need(e.asked.completed("read_file") > 0, "a file read for the answer")
	need(len(e.shared.bars) == 2 && e.shared.bars[0].ended && e.shared.bars[1].ended, "two subagents with their bars")
	need(e.shared.parallel(), "subagents at work at the same time, both with a report")
	need(e.children == 2, "two sessions of subagents, linked to their parent")
	need(e.shared.stopReason == "end_turn" && strings.Contains(e.shared.text, "subagents have ended"), "an answer from the subagents' reports")
	need(e.fixed.plans > 1, "a plan that moves")
	need(e.fixed.completed("patch") > 0 && e.fixed.edits > 0, "an edit applied to the open document")
	need(strings.HasPrefix(e.after, unsaved), "the user's unsaved line kept")
	need(len(runs) > 1 && runs[0] != 0, "a test run that fails")
	need(len(runs) > 1 && runs[len(runs)-1] == 0, "a test run that passes")
	need(e.fixed.stopReason == "end_turn", "the job's end")
	need(e.counted.completed("execute_code") == 1 && e.counted.count() == 1, "a script")
	need(len(e.counted.inner()) >= 12, "a dozen calls in it")
	need(strings.Contains(e.counted.text, fmt.Sprintf("%d lines in", e.lines)), fmt.Sprintf("a right count, %d lines", e.lines))
	need(e.saved > 0, "tokens saved by the script")
	need(!e.testsFail, "tests that pass when run apart from the agent")
	need(e.usage.Requests > 3 && e.usage.Input > 0 && e.usage.Output > 0, "tokens counted")
	return errors.Join(missing...)
}

// parallel reports whether two subagents ran at the same time. Then the sum of their times
// is more than the time of the call.
func (t turn) parallel() bool {
	for _, c := range t.calls {
		var out struct {
			Results []struct {
				Status, Summary string
				Seconds         float64 `json:"duration_seconds"`
			}
			Total float64 `json:"total_duration_seconds"`
		}
		if c.tool != "delegate_task" || json.Unmarshal(c.output, &out) != nil || len(out.Results) != 2 {
			continue
		}
		a, b := out.Results[0], out.Results[1]
		return a.Status == "completed" && b.Status == "completed" && len(a.Summary) > 40 && len(b.Summary) > 40 && a.Seconds+b.Seconds > out.Total
	}
	return false
}

func (t turn) completed(tool string) int {
	n := 0
	for _, c := range t.calls {
		if c.tool == tool && c.status == "completed" {
			n++
		}
	}
	return n
}

// testRuns returns the exit codes of the commands that ran the tests, in order.
func (t turn) testRuns() []int {
	var codes []int
	for _, c := range t.calls {
		if c.tool == "terminal" && strings.Contains(c.title, "unittest") {
			if code, ok := c.exitCode(); ok {
				codes = append(codes, code)
			}
		}
	}
	return codes
}

func (c *toolCall) exitCode() (int, bool) {
	var out struct {
		ExitCode *int `json:"exit_code"`
	}
	if json.Unmarshal(c.output, &out) != nil || out.ExitCode == nil {
		return 0, false
	}
	return *out.ExitCode, true
}

// summary returns a short line about a finished call from its result.
func (c *toolCall) summary() string {
	var out struct {
		Error        string `json:"error"`
		TotalLines   int    `json:"total_lines"`
		ExitCode     *int   `json:"exit_code"`
		Output       string `json:"output"`
		Replacements int    `json:"replacements"`
		TotalCount   int    `json:"total_count"`
		Status       string `json:"status"`
		ToolCalls    int    `json:"tool_calls_made"`
	}
	if err := json.Unmarshal(c.output, &out); err != nil {
		return ""
	}
	switch {
	case out.Error != "":
		return out.Error
	case out.Status != "":
		return fmt.Sprintf("%s after %d calls: %s", out.Status, out.ToolCalls, strings.TrimSpace(lastLine(out.Output)))
	case out.ExitCode != nil:
		return fmt.Sprintf("exit %d: %s", *out.ExitCode, lastLine(out.Output))
	case out.TotalLines > 0:
		return fmt.Sprintf("%d lines", out.TotalLines)
	case out.Replacements > 0:
		return fmt.Sprintf("%d place changed", out.Replacements)
	case out.TotalCount > 0:
		return fmt.Sprintf("%d found", out.TotalCount)
	}
	return ""
}
