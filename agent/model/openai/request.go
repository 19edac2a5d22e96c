package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// This package encodes requests itself, not with the library, because the prompt cache
// needs stable bytes. The same messages always have the same bytes, and messages are last.
// So a request repeats the previous one and appends to it. The library would also drop the
// content of an empty tool result, and escape every < and > of code.

type request struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Usage               *usageOption   `json:"usage,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	Tools               []tool         `json:"tools,omitempty"`
	Messages            []message      `json:"messages"`
	ToolChoice          string         `json:"tool_choice,omitempty"` // after the messages, so that they stay in the prefix of the next request
}

type streamOptions struct {
	IncludeUsage bool  `json:"include_usage"`
	Obfuscation  *bool `json:"include_obfuscation,omitempty"` // the random padding that OpenAI adds to each event
}

type usageOption struct {
	Include bool `json:"include"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type message struct {
	Role             string `json:"role"`
	Content          any    `json:"content"` // string, []part, or null beside calls
	ReasoningContent string `json:"reasoning_content,omitempty"`
	ToolCalls        []call `json:"tool_calls,omitempty"`
	ToolCallID       string `json:"tool_call_id,omitempty"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`

	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type call struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledWithin `json:"function"`
}

type calledWithin struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// quirks are parameters that an endpoint has rejected.
type quirks struct {
	noUsage    bool // stream_options
	padded     bool // stream_options.include_obfuscation
	noEffort   bool // reasoning_effort
	effortNone bool // tools only with reasoning_effort "none"
	noCacheKey bool // prompt_cache_key
	otherLimit bool // swaps max_tokens and max_completion_tokens
	alternate  bool // joins a user message to another one or a tool result directly before it
	noChoice   bool // tool_choice
	noMarks    bool // cache_control
}

// without returns quirks with which a rejected request may be accepted. If there are none,
// it returns false.
func (q quirks) without(e *model.Error, req *model.Request) (quirks, bool) {
	before := q
	if wantsAlternation(e) {
		q.alternate = true
		return q, q != before
	}
	if e.Status != 400 && e.Status != 422 {
		return q, false
	}
	said := func(name string) bool { return strings.Contains(e.Message, name) }
	switch {
	case said("include_obfuscation"):
		q.padded = true
	case said("stream_options") || said("include_usage"):
		q.noUsage = true
	case said("cache_control"):
		q.noMarks = true
	case said("prompt_cache_key"):
		q.noCacheKey = true
	case req.NoCalls && said("tool_choice"):
		q.noChoice = true
	case req.MaxTokens > 0 && (said("max_tokens") || said("max_completion_tokens")):
		q.otherLimit = true
	case said("reasoning_effort") && said("none") && len(req.Tools) > 0 && !q.noEffort:
		q.effortNone = true
	case said("reasoning_effort"):
		q.noEffort, q.effortNone = req.Effort != "" || q.effortNone, false
	}
	return q, q != before
}

// wantsAlternation reports whether an endpoint accepts a user message only after an
// assistant message. The template of a local model often requires this.
func wantsAlternation(e *model.Error) bool {
	text := strings.ToLower(e.Message)
	return (e.Status == 400 || e.Status == 422 || e.Status == 500) &&
		(strings.Contains(text, "roles must alternate") || strings.Contains(text, "after role") || strings.Contains(text, "must alternate between"))
}

// encode returns the bytes of a request.
func (e *endpoint) encode(req *model.Request, q quirks, forms *pictureForms) ([]byte, error) {
	r := request{Model: e.Model, Stream: true, Tools: encodeTools(req.Tools)}
	if !q.noUsage {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
		if e.Provider == "openai" && !q.padded {
			r.StreamOptions.Obfuscation = new(bool)
		}
	}
	if e.Provider == "openrouter" {
		r.Usage = &usageOption{Include: true} // so that the response has the cost
	}
	if e.Provider == "openai" && !q.noCacheKey {
		r.PromptCacheKey = req.SessionID
	}
	if e.newLimit() != q.otherLimit {
		r.MaxCompletionTokens = req.MaxTokens
	} else {
		r.MaxTokens = req.MaxTokens
	}
	if q.effortNone {
		r.ReasoningEffort = "none"
	} else if !q.noEffort {
		r.ReasoningEffort = req.Effort
	}
	if req.NoCalls && !q.noChoice && len(req.Tools) > 0 {
		r.ToolChoice = "none"
	}
	r.Messages = e.encodeMessages(req, forms)
	if q.alternate {
		r.Messages = alternating(r.Messages)
	}
	if e.marksCache() && !q.noMarks {
		asParts(r.Messages)
		mark(r.Messages)
	}

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encoding the request to %s: %w", e.url, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// newLimit reports whether the endpoint has max_completion_tokens instead of max_tokens.
func (e *endpoint) newLimit() bool {
	if e.Provider == "openai" || e.Provider == "openrouter" {
		return true
	}
	id := e.Model[strings.LastIndexByte(e.Model, '/')+1:]
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

// wantsThoughts reports whether the model requires the reasoning of its tool calls in the
// next request. Without it, such a model rejects the request.
func (e *endpoint) wantsThoughts() bool {
	id := strings.ToLower(e.Model)
	return strings.Contains(id, "deepseek") || strings.Contains(id, "kimi") ||
		strings.Contains(e.url, "deepseek.com") || strings.Contains(e.url, "moonshot.")
}

func encodeTools(offered []model.Tool) []tool {
	tools := make([]tool, len(offered))
	for i, t := range offered {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		tools[i] = tool{"function", function{t.Name, t.Description, schema}}
	}
	return tools
}

// alternating joins each user message to the message before it, if that is a user message or
// a tool result. A result is one JSON object, so the text after it cannot come from the tool.
func alternating(messages []message) []message {
	out := make([]message, 0, len(messages))
	for _, m := range messages {
		if n := len(out); n > 0 && m.Role == string(model.User) && (out[n-1].Role == m.Role || out[n-1].Role == string(model.ToolRole)) {
			out[n-1].Content = joined(out[n-1].Content, m.Content)
			continue
		}
		out = append(out, m)
	}
	return out
}

// joined returns the content of two messages as that of one.
func joined(a, b any) any {
	first, isText := a.(string)
	second, areTexts := b.(string)
	if isText && areTexts {
		return first + "\n\n" + second
	}
	return slices.Concat(asContent(a), asContent(b))
}

// asContent returns the content of a message as parts.
func asContent(content any) []part {
	if text, ok := content.(string); ok {
		return []part{{Type: "text", Text: text}}
	}
	return content.([]part)
}

// encodeMessages encodes the messages of a request. It omits assistant messages that have
// neither text nor tool calls.
func (e *endpoint) encodeMessages(req *model.Request, forms *pictureForms) []message {
	thoughts := e.wantsThoughts()
	shown := imageParts{api.Images{Forms: forms.forms}}
	messages := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		messages = append(messages, message{Role: "system", Content: req.System})
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		text, calls := m.Text(), m.Calls()
		out := message{Role: string(m.Role), Content: text}
		switch m.Role {
		case model.ToolRole:
			out.ToolCallID = m.CallID()
		case model.Assistant:
			out.ToolCalls = encodeCalls(calls)
			if len(calls) > 0 && text == "" {
				out.Content = nil
			}
			if thoughts && len(calls) > 0 {
				out.ReasoningContent = m.Reasoning()
			}
		default:
			if m.Has(model.ImageType) {
				out.Content = content(text, shown.of(m, i))
			}
		}
		if m.Role != model.Assistant || text != "" || len(calls) > 0 {
			messages = append(messages, out)
		}
		if i+1 == len(req.Messages) || req.Messages[i+1].Role != model.ToolRole {
			messages = append(messages, shown.ofResults(req.Messages, i)...)
		}
	}
	return messages
}

func encodeCalls(calls []model.Call) []call {
	var out []call
	for _, c := range calls {
		out = append(out, call{c.ID, "function", calledWithin{c.Name, sentArgs(c.Args)}})
	}
	return out
}

// sentArgs returns the arguments of a tool call for the next request. Many servers reject
// a request whose arguments are not JSON, so sentArgs wraps such arguments in an object.
func sentArgs(args string) string {
	if json.Valid([]byte(args)) {
		return args
	}
	if strings.TrimSpace(args) == "" {
		return "{}"
	}
	text, err := json.Marshal(map[string]string{"invalid_json": args})
	if err != nil { // a string can always be encoded
		panic(err)
	}
	return string(text)
}
