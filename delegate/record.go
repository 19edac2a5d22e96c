package delegate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// record is the work of a child so far, from its events or from its history.
type record struct {
	requests int
	usage    model.Usage
	trace    []traced
	files    []string          // changed by its tools, absolute, each once
	titles   map[string]string // of running calls
	texts    []string          // texts of earlier responses, the newest last
	speaking strings.Builder   // text of the last response, perhaps incomplete
	doing    string            // its activity now
	last     time.Time         // of the last event
	open     []model.Call      // of a history: calls without a result
	limit    string            // the reason, if a limit of the user's has stopped the turn

	output json.RawMessage // the answer, if it matches the schema
	misfit error           // why it does not match
}

// traced is a call of a child.
type traced struct {
	Tool     string  `json:"tool"`
	Status   string  `json:"status"` // completed, failed or interrupted
	Duration float64 `json:"duration_seconds"`
	id       string
	title    string
	result   string // its start and its end
}

// add adds an event. It returns the used tokens.
func (r *record) add(e agent.Event) (spent int) {
	r.last = time.Now()
	switch e := e.(type) {
	case agent.UserMessage:
		r.reply()
		r.limit = ""
	case agent.Notice:
		if e.Limit {
			r.limit = e.Text
		}
	case agent.Text:
		r.speaking.WriteString(e.Text)
		r.doing = "writing"
	case agent.Thought:
		r.doing = "thinking"
	case agent.CallStarted:
		r.reply()
		if r.titles == nil {
			r.titles = map[string]string{}
		}
		r.titles[e.Call.ID] = e.Title
		r.doing = e.Title
	case agent.CallEnded:
		status := statusOf(e.Result.IsError)
		if e.Interrupted {
			status = interrupted
		}
		r.called(traced{Tool: e.Call.Name, Status: status, Duration: seconds(e.Duration), id: e.Call.ID, result: string(e.Result.JSON)}, e.Result.Shown)
		r.doing = "thinking"
	case agent.UsageChanged:
		spent = e.Total.Input + e.Total.Output - r.usage.Input - r.usage.Output
		r.requests, r.usage = e.Requests, e.Total
	}
	return spent
}

// reply ends a response other than the last.
func (r *record) reply() {
	if text := r.report(); text != "" {
		r.texts = append(r.texts, text)
	}
	r.speaking.Reset()
}

func statusOf(isError bool) string {
	if isError {
		return failed
	}
	return completed
}

// called adds a completed call, and its changed files.
func (r *record) called(t traced, shown []tools.Content) {
	t.title, t.result = r.titles[t.id], excerpt(t.result, resultKept)
	r.trace = append(r.trace, t)
	delete(r.titles, t.id)
	for _, c := range shown {
		if c.Diff != nil && !slices.Contains(r.files, c.Diff.Path) {
			r.files = append(r.files, c.Diff.Path)
		}
	}
}

// report returns the answer: the text after the last call and prompt. If there is none, it
// returns "".
func (r *record) report() string {
	return strings.TrimSpace(tools.WithoutControls(r.speaking.String()))
}

// Limits of the text about a child without a report, in bytes.
const (
	resultKept   = 4000   // of each result
	resultLeast  = 200    // of each result, for any number of results
	resultsLimit = 12_000 // of all results
	saidTold     = 6000
	callsLimit   = 40 // calls
)

// partial describes the work of a child without a report: its texts, and its last calls with
// their results.
func (r *record) partial() string {
	var b strings.Builder
	b.WriteString("It did not come to a report.")
	said := r.texts
	if text := r.report(); text != "" {
		said = append(slices.Clip(said), text)
	}
	if len(said) > 0 {
		b.WriteString(" What it said on the way:\n\n" + excerpt(tools.WithoutControls(strings.Join(said, "\n\n")), saidTold))
	}
	if len(r.trace) == 0 {
		b.WriteString("\n\nIt made no calls.")
		return strings.TrimSpace(b.String())
	}
	b.WriteString("\n\nWhat it did, with the results:\n")
	kept := r.trace
	if earlier := len(kept) - callsLimit; earlier > 0 {
		fmt.Fprintf(&b, "- %d earlier calls\n", earlier)
		kept = kept[earlier:]
	}
	each := max(resultLeast, resultsLimit/len(kept))
	for _, t := range kept {
		b.WriteString("- " + t.String() + "\n")
		if t.result != "" {
			b.WriteString("  " + excerpt(t.result, each) + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// String describes the call in a line.
func (t traced) String() string {
	name := t.title
	if name == "" {
		name = t.Tool
	}
	if t.Status != completed {
		name += " (" + t.Status + ")"
	}
	return shorten.OneLine(name, 120)
}

// excerpt returns text. If it is longer than limit bytes, it returns the start and the end.
func excerpt(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	return strings.ToValidUTF8(head, "") + " […] " + strings.ToValidUTF8(tail, "")
}

// answer validates the report with a schema.
func (c *child) answer(schema *jsonschema.Resolved) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := unfenced(c.record.report())
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("it is not one JSON value: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	c.record.output = json.RawMessage(text)
	return nil
}

// unfenced removes a Markdown fence around a value.
func unfenced(text string) string {
	rest, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	_, rest, _ = strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
}

func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
