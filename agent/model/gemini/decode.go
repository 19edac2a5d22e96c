package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// chunk is an event of a response.
type chunk struct {
	Candidates []candidate     `json:"candidates"`
	Feedback   *feedback       `json:"promptFeedback"`
	Usage      *usage          `json:"usageMetadata"`
	Model      string          `json:"modelVersion"`
	Error      json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	FinishReason  string         `json:"finishReason"`
	FinishMessage string         `json:"finishMessage"`
	Continuation  string         `json:"continuationToken"`
	Ratings       []safetyRating `json:"safetyRatings"`
}

type feedback struct {
	Reason  string         `json:"blockReason"`
	Message string         `json:"blockReasonMessage"`
	Ratings []safetyRating `json:"safetyRatings"`
}

type safetyRating struct {
	Category string `json:"category"`
	Blocked  bool   `json:"blocked"`
}

// part holds the relevant members of a part.
type part struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Calls     calls   `json:"functionCall"`
}

// calls is a call, or a list of calls from some gateways.
type calls []call

type call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func (c *calls) UnmarshalJSON(data []byte) error {
	*c = nil
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	for _, item := range list {
		var one *call
		if _, err := api.Decode(item, &one); err != nil {
			return fmt.Errorf("a call: %w", err)
		}
		if one != nil {
			*c = append(*c, *one)
		}
	}
	return nil
}

type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Tools      int `json:"toolUsePromptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
}

// mostTokens is the highest accepted count. Sums of larger numbers could overflow.
const mostTokens = 1 << 40

func tokens(n int) int { return min(max(n, 0), mostTokens) }

func (u *usage) tokens() *model.Usage {
	return &model.Usage{
		Input: tokens(u.Prompt) + tokens(u.Tools), Output: tokens(u.Candidates) + tokens(u.Thoughts),
		Reasoning: tokens(u.Thoughts), CachedRead: tokens(u.Cached),
	}
}

// decoder converts the events of a stream to deltas.
type decoder struct {
	target *api.Target
	send   func(model.Delta) bool
	broken bool // the caller stopped reading
	known  bool // a candidate was received
	index  int  // of the candidate to read
	calls  int
	reason string // of the end
	why    string // the explanation of the end
	block  bool   // the prompt was blocked
	token  string // continues a paused response
	last   model.Delta
	counts []byte // the newest event, if its usage is not decoded yet
}

// Decoder returns the decoder of a response.
func (API) Decoder(_ *model.Request, t *api.Target, emit func(model.Delta) bool) api.Decoder {
	return &decoder{target: t, send: emit, last: model.Delta{Model: t.Model}}
}

func (d *decoder) emit(delta model.Delta) {
	if !d.broken {
		d.broken = !d.send(delta)
	}
}

// Event decodes an event. Parts may follow an event with the finish reason.
func (d *decoder) Event(_ string, data []byte) error {
	if d.piece(data) {
		return nil
	}
	c, data, err := d.chunk(data)
	if err != nil {
		return err
	}
	if api.IsError(c.Error) {
		return API{}.Classify(0, nil, data)
	}
	if f := c.Feedback; f != nil && f.Reason != "" && f.Reason != "BLOCK_REASON_UNSPECIFIED" {
		d.block, d.reason, d.why = true, f.Reason, explain(f.Message, f.Reason, f.Ratings)
	}
	for i := range c.Candidates {
		a := &c.Candidates[i]
		if !d.known {
			d.known, d.index = true, a.Index // only one response is requested, so its number does not matter
		}
		if a.Index == d.index {
			if err := d.candidate(a, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunk decodes an event with a JSON decoder and keeps its usage. It also returns the decoded
// text.
func (d *decoder) chunk(data []byte) (*chunk, []byte, error) {
	var c chunk
	data, err := api.Decode(data, &c)
	if err != nil {
		return nil, nil, fmt.Errorf("an event: %w", err)
	}
	if c.Usage != nil {
		d.last.Usage = c.Usage.tokens()
	}
	if c.Model != "" {
		d.last.Model = c.Model
	}
	d.counts = d.counts[:0]
	return &c, data, nil
}

// piece decodes an event with nothing but a piece of text or of a thought, without a JSON
// decoder. The usage is decoded at the end. If the event is of another form, piece returns
// false.
func (d *decoder) piece(data []byte) bool {
	at := bytes.Index(data, []byte(`"text"`))
	if at < 0 {
		return false
	}
	after, ok := api.After(data[at:], `"text"`)
	if !ok {
		return false
	}
	text, after, ok := api.Quoted(after)
	if !ok {
		return false
	}
	before := bytes.TrimRight(data[:at], space)
	thought := false
	if rest, ok := bytes.CutPrefix(api.TrimSpace(after), []byte(`,`)); ok {
		rest, ok = api.After(rest, `"thought"`)
		if after, thought = bytes.CutPrefix(rest, []byte("true")); !ok || !thought {
			return false
		}
	}
	if !endsWith(before, `[`, `{`) || !startsWith(after, `}`, `]`) || slices.ContainsFunc(others, func(name []byte) bool {
		return bytes.Contains(after, name) || bytes.Contains(before, name)
	}) {
		return false
	}
	if index, ok := api.After(data, `"index"`); ok && (!startsWith(index, `0`) || d.index != 0) {
		return false // another candidate
	}
	d.counts = append(d.counts[:0], data...)
	switch {
	case text == "":
	case thought:
		d.emit(model.Delta{Reasoning: text})
	default:
		d.emit(model.Delta{Text: text})
	}
	return true
}

const space = " \t\r\n"

// others are the names of members missing in an event with nothing but a piece.
var others = [][]byte{
	[]byte(`"text"`), []byte(`"thought"`), []byte(`"thoughtSignature"`), []byte(`"finishReason"`), []byte(`"error"`), []byte(`"promptFeedback"`), []byte(`"continuationToken"`),
}

// startsWith reports whether data starts with all tokens, with white space before each.
func startsWith(data []byte, tokens ...string) bool {
	for _, token := range tokens {
		rest, ok := bytes.CutPrefix(api.TrimSpace(data), []byte(token))
		if !ok {
			return false
		}
		data = rest
	}
	return true
}

// endsWith reports whether data ends with all tokens, with white space after each.
func endsWith(data []byte, tokens ...string) bool {
	for _, token := range slices.Backward(tokens) {
		rest, ok := bytes.CutSuffix(bytes.TrimRight(data, space), []byte(token))
		if !ok {
			return false
		}
		data = rest
	}
	return true
}

func (d *decoder) candidate(a *candidate, data []byte) error {
	for i := range a.Content.Parts {
		if err := d.part(&a.Content.Parts[i], i, data); err != nil {
			return err
		}
	}
	if a.Continuation != "" {
		d.token = a.Continuation
	}
	if a.FinishReason != "" && a.FinishReason != "FINISH_REASON_UNSPECIFIED" {
		d.reason, d.why = a.FinishReason, explain(a.FinishMessage, a.FinishReason, a.Ratings)
	}
	return nil
}

// explain returns the explanation of a block: the API's message, or the reason with the
// categories.
func explain(message, reason string, ratings []safetyRating) string {
	if message != "" {
		return message
	}
	var categories []string
	for _, r := range ratings {
		if r.Blocked {
			categories = append(categories, r.Category)
		}
	}
	if len(categories) > 0 {
		return reason + ": " + strings.Join(categories, ", ")
	}
	return reason
}

// rawPart returns the bytes of a part of an event. If there is none, it returns nil.
func rawPart(data []byte, candidate, index int) json.RawMessage {
	var c struct {
		Candidates []struct {
			Index   int `json:"index"`
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	_ = json.Unmarshal(data, &c) // fields of another type do not matter
	for _, a := range c.Candidates {
		if a.Index == candidate && index < len(a.Content.Parts) {
			return a.Content.Parts[index]
		}
	}
	return nil
}

// part emits a part. A part with a signature is never merged with another part. index is the
// index of the part in the event. A part with a text and several calls is split.
func (d *decoder) part(p *part, index int, data []byte) error {
	if n := len(p.Calls); n > 1 || n == 1 && p.Text != nil {
		if p.Text != nil {
			if err := d.part(&part{Text: p.Text, Thought: p.Thought}, index, data); err != nil {
				return err
			}
		}
		for i := range p.Calls {
			one := part{Calls: p.Calls[i : i+1]}
			if i == 0 {
				one.Signature = p.Signature
			}
			if err := d.part(&one, index, data); err != nil {
				return err
			}
		}
		return nil
	}
	delta := model.Delta{}
	s := state{Signature: p.Signature}
	switch {
	case len(p.Calls) == 1:
		one := p.Calls[0]
		s.ID = one.ID
		delta.Call = &model.CallDelta{Index: d.calls, ID: one.ID, Name: one.Name, Args: args(one.Args)}
		d.calls++
	case p.Text != nil && p.Thought:
		delta.Reasoning = *p.Text
		if p.Signature != "" {
			delta.Begin = model.ReasoningType
		}
	case p.Text != nil:
		delta.Text = *p.Text
		if p.Signature != "" {
			delta.Begin = model.TextType
		}
	default:
		raw := rawPart(data, d.index, index)
		if isUnknown(raw) {
			delta.Begin = model.ReasoningType
			s = state{Part: raw}
		} else if p.Signature != "" { // of a part whose text is missing
			delta.Begin = model.TextType
		}
	}
	if s.ID != "" || s.Signature != "" || s.Part != nil {
		data, err := api.Marshal(s)
		if err != nil {
			return fmt.Errorf("a part: %w", err)
		}
		delta.State = d.target.NewState(data)
	}
	if delta != (model.Delta{}) {
		d.emit(delta)
	}
	return nil
}

// isUnknown reports whether a part has data of an unknown type. The API refuses a part without
// data, and an empty picture.
func isUnknown(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	var picture struct{ Data string }
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	if data := members["inlineData"]; data != nil && (json.Unmarshal(data, &picture) != nil || picture.Data == "") {
		return false
	}
	for name, value := range members {
		if !slices.Contains([]string{"text", "thought", "thoughtSignature", "functionCall"}, name) && string(value) != "null" {
			return true
		}
	}
	return false
}

// args returns the arguments of a call. Without arguments, it returns an empty object.
func args(raw json.RawMessage) string {
	text := api.Arguments(raw)
	if text == "" {
		return "{}"
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil { // a text other than JSON
		return text
	}
	return b.String()
}

// Finished reports whether the finish reason is known.
func (d *decoder) Finished() bool { return d.reason != "" }

// End emits the last delta. If the response is incomplete, or the model failed, it returns a
// [*model.Error].
func (d *decoder) End(bool) error {
	if len(d.counts) > 0 {
		if _, _, err := d.chunk(d.counts); err != nil {
			return err
		}
	}
	switch reason := d.reason; {
	case reason == "":
		return &model.Error{Kind: model.ErrCut, Message: "the stream ended without a finish reason"}
	case d.block || refusals[reason]:
		d.last.Finish, d.last.Refusal = model.FinishRefusal, d.why
	case failures[reason] != "":
		return &model.Error{Kind: failures[reason], Message: d.why}
	case reason == "MAX_TOKENS":
		d.last.Finish = model.FinishLength
	case reason == "CONTINUATION":
		d.last.Finish = model.FinishPause
		if err := d.pause(); err != nil {
			return err
		}
	case d.calls > 0:
		d.last.Finish = model.FinishCalls
	default:
		d.last.Finish = model.FinishStop
	}
	d.emit(d.last)
	return nil
}

// pause adds a part with the state for continuing the response.
func (d *decoder) pause() error {
	if d.token == "" {
		return nil
	}
	data, err := api.Marshal(state{Continuation: d.token})
	if err != nil {
		return fmt.Errorf("a token: %w", err)
	}
	d.emit(model.Delta{Begin: model.ReasoningType, State: d.target.NewState(data)})
	return nil
}

// refusals are the finish reasons of a response ended by a filter.
var refusals = map[string]bool{
	"SAFETY": true, "RECITATION": true, "BLOCKLIST": true, "PROHIBITED_CONTENT": true, "SPII": true, "MODEL_ARMOR": true, "ESCALATION": true,
	"IMAGE_SAFETY": true, "IMAGE_PROHIBITED_CONTENT": true, "IMAGE_RECITATION": true,
}

// failures are the finish reasons of an unusable response.
var failures = map[string]model.ErrorKind{
	"MALFORMED_FUNCTION_CALL": model.ErrServer, "UNEXPECTED_TOOL_CALL": model.ErrServer, "TOO_MANY_TOOL_CALLS": model.ErrServer,
	"MALFORMED_RESPONSE": model.ErrServer, "OTHER": model.ErrServer, "LANGUAGE": model.ErrServer,
	"MISSING_THOUGHT_SIGNATURE": model.ErrState, "PUP_LIMITED_DISABLED": model.ErrPolicy,
}
