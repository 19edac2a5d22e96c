package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// chunk is an event of a response, with the common fields and some vendors' fields. The
// library's own type lacks reasoning, cost and the counts of cached tokens.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Groq    *groq           `json:"x_groq"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        answer  `json:"delta"`
	Message      *answer `json:"message"` // of a response without streaming
	FinishReason string  `json:"finish_reason"`
	Usage        *usage  `json:"usage"` // Moonshot
}

type answer struct {
	Content          answerText `json:"content"`
	Reasoning        string     `json:"reasoning"`         // OpenRouter, vLLM
	ReasoningContent string     `json:"reasoning_content"` // DeepSeek and most others
	Refusal          string     `json:"refusal"`
	ToolCalls        []callPart `json:"tool_calls"`
	FunctionCall     *named     `json:"function_call"`

	ReasoningDetails []map[string]any `json:"reasoning_details"` // OpenRouter

	// Less common servers' fields, of varying types.
	Thinking        json.RawMessage `json:"thinking"`
	ThinkingContent json.RawMessage `json:"thinking_content"`
	Thought         json.RawMessage `json:"thought"`
	Thoughts        json.RawMessage `json:"thoughts"`
	ReasoningText   json.RawMessage `json:"reasoning_text"`
}

type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function named  `json:"function"`
	Custom   named  `json:"custom"` // of a custom tool

	named // without its object
}

type named struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object
	Input     json.RawMessage `json:"input"`     // of a custom tool: a text
}

// isEmpty reports whether a piece has neither name nor arguments.
func (n *named) isEmpty() bool { return n.Name == "" && len(n.Arguments) == 0 && len(n.Input) == 0 }

type groq struct {
	Usage *usage `json:"usage"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	InputTokens      int `json:"input_tokens"`
	OutputTokens     int `json:"output_tokens"`
	PromptDetails    struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit      int     `json:"prompt_cache_hit_tokens"` // DeepSeek
	CacheRead     int     `json:"cache_read_input_tokens"` // Anthropic
	CacheCreation int     `json:"cache_creation_input_tokens"`
	Cached        int     `json:"cached_tokens"` // Moonshot
	Cost          float64 `json:"cost"`          // OpenRouter, in dollars
}

func (u *usage) tokens() *model.Usage {
	return &model.Usage{
		Input:       tokens(u.PromptTokens, u.InputTokens),
		Output:      tokens(u.CompletionTokens, u.OutputTokens),
		Reasoning:   tokens(u.CompletionDetails.Reasoning),
		CachedRead:  tokens(u.PromptDetails.Cached, u.CacheHit, u.CacheRead, u.Cached),
		CachedWrite: tokens(u.PromptDetails.CacheWrite, u.CacheCreation),
		Cost:        dollars(u.Cost),
	}
}

// mostTokens is the highest accepted count. Sums of larger numbers could overflow.
const mostTokens = 1 << 40

// tokens returns the largest of several counts, between 0 and mostTokens. Endpoints use
// different names for the same count.
func tokens(counts ...int) int { return min(max(slices.Max(counts), 0), mostTokens) }

// mostDollars is the highest accepted cost of a response.
const mostDollars = 1e6

// dollars returns the cost of a response, or 0 if it is none: a negative one would lower what the
// user has spent, and so lift the limits of spending.
func dollars(cost float64) float64 {
	if cost < 0 || cost > mostDollars {
		return 0
	}
	return cost
}

// decoder converts chunks to deltas.
type decoder struct {
	target   *api.Target
	emit     func(model.Delta) bool
	template template
	details  details

	known   bool // a chunk with a choice was received
	index   int  // of the choice to read
	calls   bool
	refused bool // the text is a refusal
	finish  model.Finish
	usage   *model.Usage
	model   string
}

// Event decodes an event and emits its delta. If the event is an error or not valid, it returns
// an error.
func (d *decoder) Event(_ string, raw []byte) error {
	if delta, ok := d.template.match(raw); ok {
		d.template.misses = 0
		d.emit(delta)
		return nil
	}
	var c chunk
	if _, err := api.Decode(raw, &c); err != nil {
		return err
	}
	if api.IsError(c.Error) {
		return api.Classify(0, nil, raw)
	}
	if c.Model != "" {
		d.model = c.Model
	}
	if c.Usage != nil {
		d.usage = c.Usage.tokens()
	} else if c.Groq != nil && c.Groq.Usage != nil {
		d.usage = c.Groq.Usage.tokens()
	}
	if delta, ok := c.plain(); ok && d.known && c.Choices[0].Index == d.index {
		d.template.learn(raw, delta)
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if !d.known {
			d.index = ch.Index // only one response is requested, so its number does not matter
		}
		if ch.Index == d.index {
			if err := d.choice(ch); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain returns the text or reasoning of a chunk with nothing else.
func (c *chunk) plain() (model.Delta, bool) {
	if len(c.Choices) != 1 || c.Usage != nil || c.Groq != nil {
		return model.Delta{}, false
	}
	ch := &c.Choices[0]
	a := &ch.Delta
	ok := a.Content.thought == "" && ch.Message == nil && ch.FinishReason == "" && ch.Usage == nil &&
		a.Refusal == "" && a.ReasoningDetails == nil && !a.others() && a.Reasoning == "" && len(a.ToolCalls) == 0 && a.FunctionCall == nil && (a.Content.text == "") != (a.ReasoningContent == "")
	return model.Delta{Text: a.Content.text, Reasoning: a.ReasoningContent}, ok
}

func (d *decoder) choice(ch *choice) error {
	d.known = true
	a := &ch.Delta
	if ch.Message != nil {
		a = ch.Message
	}
	thought := a.thought()
	if a.Content.text != "" || thought != "" || a.Refusal != "" {
		d.emit(model.Delta{Text: a.Content.text + a.Refusal, Reasoning: thought})
	}
	d.details.add(a.ReasoningDetails)
	for _, c := range a.ToolCalls {
		index := -1
		if c.Index != nil {
			index = *c.Index
		}
		for _, other := range []named{c.named, c.Custom} {
			if c.Function.isEmpty() {
				c.Function = other
			}
		}
		d.call(index, c.ID, c.Function)
	}
	if a.FunctionCall != nil {
		d.call(0, "", *a.FunctionCall)
	}
	if ch.Usage != nil {
		d.usage = ch.Usage.tokens()
	}
	if ch.FinishReason == "error" {
		return &model.Error{Kind: model.ErrServer, Message: "the reply ended with an error"}
	}
	if ch.FinishReason != "" {
		d.finish = finish(ch.FinishReason)
	}
	d.refused = d.refused || a.Refusal != ""
	return nil
}

// others reports whether an answer sets a less common field.
func (a *answer) others() bool {
	return len(a.Thinking)+len(a.ThinkingContent)+len(a.Thought)+len(a.Thoughts)+len(a.ReasoningText) > 0
}

// thought returns the reasoning of an answer. Some servers repeat it in several fields.
func (a *answer) thought() string {
	for _, text := range []string{a.ReasoningContent, a.Reasoning, a.Content.thought} {
		if text != "" {
			return text
		}
	}
	if a.others() {
		for _, raw := range []json.RawMessage{a.ReasoningText, a.Thinking, a.ThinkingContent, a.Thought, a.Thoughts} {
			if text := thoughtIn(raw); text != "" {
				return text
			}
		}
	}
	var b strings.Builder
	for _, d := range a.ReasoningDetails {
		for _, key := range []string{"text", "summary"} {
			text, _ := d[key].(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

// thoughtIn returns the text of a field with reasoning: a string, an object, or a list of them.
func thoughtIn(raw json.RawMessage) string {
	var text string
	var list []json.RawMessage
	var object struct{ Content, Text, Thinking, Summary json.RawMessage }
	switch {
	case len(raw) == 0 || json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			text += thoughtIn(one)
		}
	case json.Unmarshal(raw, &object) == nil:
		for _, one := range []json.RawMessage{object.Content, object.Text, object.Thinking, object.Summary} {
			if text = thoughtIn(one); text != "" {
				return text
			}
		}
	}
	return text
}

func (d *decoder) call(index int, id string, f named) {
	d.calls = true
	d.target.Quirks |= nativeCalls
	d.emit(model.Delta{Call: &model.CallDelta{Index: index, ID: id, Name: f.Name, Args: api.Arguments(f.Arguments) + api.Arguments(f.Input)}})
}

// Finished implements [api.Decoder].
func (d *decoder) Finished() bool { return d.finish != "" }

// End emits the last delta. Without a finish reason and [DONE], it returns [model.ErrCut]. With
// nothing but [DONE], it returns [model.ErrGarbage].
func (d *decoder) End(done bool) error {
	switch {
	case d.finish == "" && !done:
		return &model.Error{Kind: model.ErrCut, Message: "the stream ended without a finish reason"}
	case d.finish == "" && !d.known:
		return &model.Error{Kind: model.ErrGarbage, Message: "the stream held no reply"}
	}
	switch {
	case d.refused:
		d.finish = model.FinishRefusal
	case d.finish == "":
		d.finish = model.FinishStop
	}
	if d.calls && d.finish == model.FinishStop {
		d.finish = model.FinishCalls
	}
	if d.model == "" {
		d.model = d.target.Model
	}
	if state := d.details.state(d.target); state != nil {
		d.emit(model.Delta{State: state})
	}
	d.emit(model.Delta{Finish: d.finish, Usage: d.usage, Model: d.model})
	return nil
}

// finish converts a vendor's finish reason.
func finish(reason string) model.Finish {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "max_output_tokens", "model_length":
		return model.FinishLength
	case "content_filter", "safety", "recitation", "refusal", "blocklist", "prohibited_content":
		return model.FinishRefusal
	default: // stop, tool_calls, function_call, eos, end_turn, tool_use, …
		return model.FinishStop
	}
}

// answerText is the text of an answer: a string, a part, or a list of parts. Parts may be
// thoughts.
type answerText struct{ text, thought string }

// textParts collects the texts of parts.
type textParts struct{ text, thought strings.Builder }

// UnmarshalJSON implements [json.Unmarshaler]. It accepts values without text.
func (c *answerText) UnmarshalJSON(raw []byte) error {
	*c = answerText{}
	if raw[0] == '"' {
		return json.Unmarshal(raw, &c.text)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	var parts textParts
	parts.add(value, false)
	c.text, c.thought = parts.text.String(), parts.thought.String()
	return nil
}

// add adds a part. thought reports whether it belongs to a thought.
func (c *textParts) add(value any, thought bool) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			c.add(one, thought)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		thought = thought || strings.Contains(kind, "think") || strings.Contains(kind, "reason")
		for _, name := range []string{"thinking", "reasoning", "summary"} {
			c.add(v[name], true)
		}
		for _, name := range []string{"text", "content", "value", "parts"} {
			c.add(v[name], thought)
		}
	case string:
		if thought {
			c.thought.WriteString(v)
		} else {
			c.text.WriteString(v)
		}
	case float64:
		c.text.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
	}
}
