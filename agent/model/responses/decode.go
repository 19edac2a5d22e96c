package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// decoder converts the events of a stream to deltas.
type decoder struct {
	limit  int // of the response in tokens; 0: not known
	target *api.Target
	send   func(model.Delta) bool
	broken bool            // the caller stopped reading
	items  map[int]*item   // by output index
	newest int             // the output index of the newest part; negative: none
	calls  int             // number of received calls
	ended  map[string]bool // ids of the ended items

	refused bool // a part of the response is a refusal
	refusal []byte
	last    *model.Delta // nil until the last event was received
}

// Decoder returns the decoder of a response.
func (API) Decoder(req *model.Request, t *api.Target, emit func(model.Delta) bool) api.Decoder {
	limit := 0
	if req != nil && t.Limit(req) > 0 && t.Quirks&noLimit == 0 {
		limit = max(t.Limit(req), leastOutput)
	}
	return &decoder{limit: limit, target: t, send: emit, items: map[int]*item{}, ended: map[string]bool{}, newest: -1}
}

func (d *decoder) emit(delta model.Delta) {
	if !d.broken {
		d.broken = !d.send(delta)
	}
}

// item records the received pieces of an output item.
type item struct {
	id    string
	call  int // number of the call in the response
	begun bool
	text  bool // text, reasoning or arguments were received in pieces
	done  bool
}

// outputItem holds the relevant members of output items.
type outputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string; some servers send the object
	Input     json.RawMessage `json:"input"`     // of a custom_tool_call: a text
	Content   []content       `json:"content"`
	Summary   []content       `json:"summary"`
}

type content struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// event holds the relevant members of events.
type event struct {
	Type        string          `json:"type"`
	OutputIndex int             `json:"output_index"`
	PartIndex   int             `json:"summary_index"`
	Delta       json.RawMessage `json:"delta"`     // a string; some servers send parts, or the arguments as an object
	Arguments   json.RawMessage `json:"arguments"` // of response.function_call_arguments.done
	Item        json.RawMessage `json:"item"`
	Response    response        `json:"response"`
}

type response struct {
	Model      string            `json:"model"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type usage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	InputOf struct {
		Cached int `json:"cached_tokens"`
		Write  int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputOf struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// mostTokens is the highest accepted count. Sums of larger numbers could overflow.
const mostTokens = 1 << 40

func tokens(n int) int { return min(max(n, 0), mostTokens) }

func (u *usage) tokens() *model.Usage {
	if u == nil {
		return nil
	}
	return &model.Usage{
		Input: tokens(u.Input), Output: tokens(u.Output), Reasoning: tokens(u.OutputOf.Reasoning),
		CachedRead: tokens(u.InputOf.Cached), CachedWrite: tokens(u.InputOf.Write),
	}
}

// Event decodes an event. It skips events of unknown types, and everything after the last event
// of the response. If the response failed, it returns a [*model.Error].
func (d *decoder) Event(name string, data []byte) error {
	if d.last != nil {
		return nil
	}
	if d.piece(name, data) {
		return nil
	}
	var e event
	_, err := api.Decode(data, &e)
	if e.Type == "" {
		e.Type = name
	}
	if err != nil && known[e.Type] {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	switch e.Type {
	case "response.output_item.added":
		d.added(e.OutputIndex, e.Item)
	case "response.output_item.done":
		return d.done(e.OutputIndex, e.Item, false)
	case "response.reasoning_summary_part.added":
		if e.PartIndex > 0 {
			d.emit(model.Delta{Reasoning: "\n\n"})
		}
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta",
		"response.reasoning_text.delta", argumentsDelta:
		d.delta(e.Type, e.OutputIndex, textOf(e.Type, e.Delta))
	case "response.function_call_arguments.done":
		if it := d.item(e.OutputIndex); !it.text && !it.done && len(e.Arguments) > 0 {
			d.delta(argumentsDelta, e.OutputIndex, api.Arguments(e.Arguments))
		}
	case "response.completed", "response.incomplete":
		return d.end(e.Type, &e.Response)
	case "response.failed", "error":
		return API{}.Classify(0, nil, data)
	}
	return nil
}

// argumentsDelta is the event with a piece of the arguments of a call.
const argumentsDelta = "response.function_call_arguments.delta"

// textOf returns the text of a delta. An object of arguments stays JSON.
func textOf(event string, raw json.RawMessage) string {
	var value any
	if event == argumentsDelta {
		return api.Arguments(raw)
	}
	if len(raw) > 0 && raw[0] == '"' || json.Unmarshal(raw, &value) != nil {
		return api.Text(raw)
	}
	return api.TextIn(value)
}

// known holds the events whose loss would change the response.
var known = map[string]bool{
	"response.output_item.added": true, "response.output_item.done": true, "response.output_text.delta": true,
	"response.refusal.delta": true, argumentsDelta: true, "response.function_call_arguments.done": true,
	"response.completed": true, "response.incomplete": true, "response.failed": true,
}

// item returns the state of an output item.
func (d *decoder) item(index int) *item {
	it := d.items[index]
	if it == nil {
		it = new(item)
		d.items[index] = it
	}
	return it
}

// key returns the identity of an item, or "".
func (o *outputItem) key() string { return cmp.Or(o.ID, o.CallID) }

// itemOf returns the state of an output item. If the index belongs to an item with another
// id, the new item replaces it.
func (d *decoder) itemOf(index int, id string) *item {
	it := d.item(index)
	if it.id != "" && id != "" && it.id != id {
		it = new(item)
		d.items[index] = it
	}
	if it.id == "" {
		it.id = id
	}
	return it
}

// piece decodes an event with nothing but a piece of text, without a JSON decoder, which is
// several times cheaper. If the event has another form, piece returns false.
func (d *decoder) piece(name string, data []byte) bool {
	switch name {
	case "response.output_text.delta", "response.reasoning_summary_text.delta", argumentsDelta:
	default:
		return false
	}
	after, ok := api.After(data, `"delta"`)
	if !ok {
		return false
	}
	text, _, ok := api.Quoted(after)
	if !ok {
		return false
	}
	index, ok := numberOf(data, `"output_index"`)
	if !ok {
		return false
	}
	d.delta(name, index, text)
	return true
}

// delta emits a piece of text, reasoning or arguments. It skips arguments of an unknown call:
// they are repeated at its end.
func (d *decoder) delta(name string, index int, text string) {
	it := d.item(index)
	if name == argumentsDelta && !it.begun {
		return
	}
	it.text = true
	if text == "" {
		return
	}
	switch name {
	case "response.output_text.delta":
		d.emit(model.Delta{Text: text})
	case "response.refusal.delta":
		d.refused = true
		d.refusal = append(d.refusal, text...)
	case argumentsDelta:
		d.emit(model.Delta{Call: &model.CallDelta{Index: it.call, Args: text}})
	default:
		d.emit(model.Delta{Reasoning: text})
	}
}

// added starts the part of an output item.
func (d *decoder) added(index int, raw []byte) {
	var o outputItem
	if _, err := api.Decode(raw, &o); err != nil {
		return
	}
	if it := d.itemOf(index, o.key()); !it.begun {
		d.begin(index, it, &o)
	}
}

func (d *decoder) begin(index int, it *item, o *outputItem) {
	switch o.Type {
	case "message":
		d.emit(model.Delta{Begin: model.TextType})
	case "reasoning":
		d.emit(model.Delta{Begin: model.ReasoningType})
	case "function_call", "custom_tool_call":
		it.call = d.calls
		d.calls++
		d.emit(model.Delta{Call: &model.CallDelta{Index: it.call, ID: o.CallID, Name: o.Name}})
	default: // the whole item is its state
		return
	}
	it.begun, d.newest = true, index
}

// done completes the part of an output item and adds its state. If the item was not streamed,
// its text is emitted as a whole. last reports whether the item is in the last event of the
// response, which repeats all items in their order.
func (d *decoder) done(index int, raw []byte, last bool) error {
	var o outputItem
	fit, err := api.Decode(raw, &o)
	if err != nil {
		return fmt.Errorf("an output item: %w", err)
	}
	if raw[0] != '{' {
		raw = fit
	}
	switch {
	case raw[0] != '{' || o.Type == "" && len(o.Content) == 0:
		return nil // nothing that could be sent back
	case o.Type == "":
		o.Type = "message"
	}
	it := d.item(index)
	if it.done && !last {
		it = d.itemOf(index, o.key())
	}
	if it.done || d.ended[o.key()] {
		return nil
	}
	if o.key() != "" {
		d.ended[o.key()] = true
	}
	data, err := stateOf(o.Type, raw)
	if err != nil {
		return fmt.Errorf("an output item: %w", err)
	}
	if !it.begun {
		d.begin(index, it, &o)
	}
	it.done = true
	delta := model.Delta{}
	if data != nil {
		delta.State = d.target.NewState(data)
	}
	switch o.Type {
	case "message":
		if !it.text {
			delta.Text = d.messageText(o.Content)
		}
		if d.newest != index {
			delta.State = nil // the newest part is another item
		}
	case "reasoning":
		if d.newest != index {
			delta.Begin = model.ReasoningType
		}
		if !it.text {
			delta.Reasoning = joined(o.Summary)
			if delta.Reasoning == "" {
				delta.Reasoning = joined(o.Content)
			}
		}
	case "function_call":
		delta.Call = &model.CallDelta{Index: it.call}
		if !it.text {
			delta.Call.Args = api.Arguments(o.Arguments)
		}
	case "custom_tool_call": // no custom tool was offered, so it is sent back as a call of a function
		delta.State = nil
		delta.Call = &model.CallDelta{Index: it.call, Args: api.Arguments(o.Input)}
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call", "mcp_approval_request":
		return nil // not offered; without an answer, the API refuses the next request
	default:
		delta.Begin, d.newest = model.ReasoningType, index
	}
	if delta.State != nil || delta.Text != "" || delta.Reasoning != "" || delta.Call != nil {
		d.emit(delta)
	}
	return nil
}

// messageText returns the text of a message and keeps a refusal.
func (d *decoder) messageText(parts []content) string {
	text := ""
	for _, c := range parts {
		text += c.Text
		d.refusal = append(d.refusal, c.Refusal...)
		d.refused = d.refused || c.Type == "refusal"
	}
	return text
}

func joined(parts []content) string {
	text := ""
	for i, c := range parts {
		if i > 0 {
			text += "\n\n"
		}
		text += c.Text
	}
	return text
}

// end takes the last event. It first emits the missing output items.
func (d *decoder) end(kind string, r *response) error {
	for i, raw := range r.Output {
		if err := d.done(i, raw, true); err != nil {
			return err
		}
	}
	d.last = &model.Delta{Finish: model.FinishStop, Usage: r.Usage.tokens(), Model: r.Model}
	switch {
	case d.refused, r.Incomplete.Reason == "content_filter":
		d.last.Finish, d.last.Refusal = model.FinishRefusal, string(d.refusal)
	case kind == "response.incomplete" && r.Incomplete.Reason == "max_output_tokens",
		d.limit > 0 && r.Usage != nil && r.Usage.Output >= d.limit: // llama.cpp calls a cut response complete
		d.last.Finish = model.FinishLength
	case d.calls > 0:
		d.last.Finish = model.FinishCalls
	}
	if d.last.Model == "" {
		d.last.Model = d.target.Model
	}
	return nil
}

// Finished reports whether the last event was received.
func (d *decoder) Finished() bool { return d.last != nil }

// End emits the last delta. Without a last event, it returns an error.
func (d *decoder) End(bool) error {
	if d.last == nil {
		return &model.Error{Kind: model.ErrCut, Message: "the stream ended without response.completed"}
	}
	d.emit(*d.last)
	return nil
}

// numberOf returns the number of a member. If there is none, it returns false.
func numberOf(data []byte, name string) (int, bool) {
	rest, ok := api.After(data, name)
	if !ok {
		return 0, false
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(string(rest[:end]))
	return n, err == nil
}
