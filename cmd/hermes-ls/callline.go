package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

const (
	callLine   = 200 // bytes of a call's title, and of its error
	filesShown = 3   // files of an edit that are named
	shortCall  = 100 * time.Millisecond
	silentCall = 3 * time.Second // a call that runs longer is shown before its result
)

// runningCalls holds the calls without a result, by the id of a subagent's session and of the call.
type runningCalls map[[2]string]*runningCall

type runningCall struct {
	title string
	timer *time.Timer // shows the call while it runs
}

// started notes a call. If it runs for [silentCall], its title is shown before its result.
// h.mu must be held.
func (h *terminalHost) started(child string, e agent.CallStarted) {
	call := &runningCall{title: cmp.Or(e.Title, e.Call.Name)}
	call.timer = time.AfterFunc(silentCall, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.calls[[2]string{child, e.Call.ID}] == call && !h.asking {
			h.progressLine(child, oneLine(call.title)+" · running")
		}
	})
	h.calls[[2]string{child, e.Call.ID}] = call
}

// finished shows a call with its result on a line. h.mu must be held.
func (h *terminalHost) finished(child string, e agent.CallEnded) {
	title, key := e.Call.Name, [2]string{child, e.Call.ID}
	if call := h.calls[key]; call != nil {
		call.timer.Stop()
		delete(h.calls, key)
		title = call.title
	}
	h.progressLine(child, lineOfCall(title, h.cwd, e))
}

// stopCalls ends the timers of calls without a result. h.mu must be held.
func (h *terminalHost) stopCalls() {
	for key, call := range h.calls {
		call.timer.Stop()
		delete(h.calls, key)
	}
}

// progressLine writes a line of the session, or of a subagent.
func (h *terminalHost) progressLine(child, text string) {
	h.endLine()
	mark := "· "
	if child != "" {
		mark = "  · "
	}
	fmt.Fprintln(h.progress, mark+text)
}

// callResult has the members of results that the line of a call shows.
type callResult struct {
	Error      string `json:"error"`
	ExitCode   *int   `json:"exit_code"`
	TimedOut   bool   `json:"timed_out"`
	Status     string `json:"status"`
	TotalLines *int   `json:"total_lines"`
	TotalCount *int   `json:"total_count"`
}

// lineOfCall returns a call with its result, such as "$ go test ./... · exit 1 · 2.1 s" or
// "edited a.go +3 −1". Paths below cwd are relative.
func lineOfCall(title, cwd string, e agent.CallEnded) string {
	var r callResult
	if json.Unmarshal(e.Result.JSON, &r) != nil {
		r = callResult{} // a member has another type: the result says less
	}
	parts := []string{oneLine(title)}
	edits := editsOf(cwd, e)
	switch {
	case e.Interrupted:
		parts = append(parts, "canceled")
	case e.Result.IsError:
		parts = append(parts, strings.TrimSuffix("failed: "+oneLine(r.Error), ": "))
	case r.TimedOut:
		parts = append(parts, "timed out")
	case r.ExitCode != nil:
		parts = append(parts, fmt.Sprintf("exit %d", *r.ExitCode))
	case edits != "":
		return edits
	case r.TotalLines != nil:
		parts = append(parts, amount.Plural(*r.TotalLines, "line"))
	case r.TotalCount != nil:
		parts = append(parts, fmt.Sprintf("%s found", amount.Comma(*r.TotalCount)))
	case r.Status != "" && len(r.Status) < 20:
		parts = append(parts, oneLine(r.Status))
	default:
		parts = append(parts, "done")
	}
	if edits != "" {
		parts = append(parts, edits)
	}
	if e.Duration >= shortCall {
		parts = append(parts, lasted(e.Duration))
	}
	return strings.Join(parts, " · ")
}

// editsOf returns the edited files of a result with the numbers of their lines, such as
// "edited a.go +3 −1, b.go +1 −0". If nothing was edited, it returns "".
func editsOf(cwd string, e agent.CallEnded) string {
	var files []string
	verb := "created "
	for _, c := range e.Result.Shown {
		if c.Diff == nil {
			continue
		}
		old := ""
		if c.Diff.Old != nil {
			old, verb = *c.Diff.Old, "edited "
		}
		added, removed := changedLines(old, c.Diff.New)
		files = append(files, fmt.Sprintf("%s +%d −%d", oneLine(within(cwd, c.Diff.Path)), added, removed))
	}
	if len(files) == 0 {
		return ""
	}
	if more := len(files) - filesShown; more > 0 {
		files = append(files[:filesShown], fmt.Sprintf("%d more", more))
	}
	return verb + strings.Join(files, ", ")
}

func changedLines(old, next string) (added, removed int) {
	for _, c := range diff.Compare(strings.SplitAfter(old, "\n"), strings.SplitAfter(next, "\n")) {
		added, removed = added+c.NewTo-c.NewFrom, removed+c.OldTo-c.OldFrom
	}
	return added, removed
}

// within returns a path below cwd relative to it, and another path unchanged.
func within(cwd, path string) string {
	rel, err := filepath.Rel(cwd, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// lasted returns a duration such as "2.1 s" or "3 min 5 s".
func lasted(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func oneLine(text string) string { return shorten.OneLine(text, callLine) }
