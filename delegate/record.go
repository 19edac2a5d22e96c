package delegate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// record is what a child has done so far, from its events or from its log.
type record struct {
	requests int
	usage    model.Usage
	trace    []traced
	titles   map[string]string // of calls that run
	said     []string          // whole replies, the newest last
	speaking strings.Builder   // the reply that comes in now
	doing    string            // what it does at the moment
	last     time.Time         // of the last sign of life
	open     []model.Call      // of a log: without a result so far

	output json.RawMessage // the answer, if it was to fit a schema and does
	misfit error           // why it does not
}

// traced is one call of a child.
type traced struct {
	Tool     string  `json:"tool"`
	Status   string  `json:"status"` // completed, failed or interrupted
	Duration float64 `json:"duration_seconds"`
	title    string
}

// add takes an event, and says how many tokens it has cost.
func (r *record) add(e agent.Event) (spent int) {
	r.last = time.Now()
	switch e := e.(type) {
	case agent.UserMessage:
		r.reply()
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
		r.called(e.Call, e.Result.IsError, e.Duration)
		r.doing = "thinking"
	case agent.UsageChanged:
		spent = e.Total.Input + e.Total.Output - r.usage.Input - r.usage.Output
		r.requests, r.usage = e.Requests, e.Total
	}
	return spent
}

// reply ends the reply that came in.
func (r *record) reply() {
	if text := strings.TrimSpace(r.speaking.String()); text != "" {
		r.said = append(r.said, text)
	}
	r.speaking.Reset()
}

func (r *record) called(c tools.Call, failed bool, took time.Duration) {
	status := "completed"
	if failed {
		status = "failed"
	}
	r.trace = append(r.trace, traced{c.Name, status, seconds(took), r.titles[c.ID]})
	delete(r.titles, c.ID)
}

// report is the last thing said.
func (r *record) report() string {
	r.reply()
	if len(r.said) == 0 {
		return ""
	}
	return r.said[len(r.said)-1]
}

// partial is what there is of a child that did not come to its report: what it said
// on the way, and what it did.
func (r *record) partial() string {
	r.reply()
	var b strings.Builder
	b.WriteString("It did not come to a report.")
	if len(r.said) > 0 {
		b.WriteString(" What it said on the way:\n\n" + strings.Join(r.said, "\n\n"))
	}
	const shown = 30
	if len(r.trace) > 0 {
		b.WriteString("\n\nWhat it did:\n")
		for i, t := range r.trace {
			if rest := len(r.trace) - i; i == shown && rest > 1 {
				fmt.Fprintf(&b, "- and %d more calls\n", rest)
				break
			}
			name := t.title
			if name == "" {
				name = t.Tool
			}
			if t.Status != "completed" {
				name += " (" + t.Status + ")"
			}
			b.WriteString("- " + oneLine(name, 120) + "\n")
		}
	} else {
		b.WriteString("\n\nIt made no calls.")
	}
	return strings.TrimSpace(b.String())
}

// answer holds the report against a schema.
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

// unfenced takes a Markdown fence away from around a value.
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
