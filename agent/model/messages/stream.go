package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// event is an event of a response, with the relevant fields of all types.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Message message         `json:"message"`
	Usage   usage           `json:"usage"`

	// Of a response without streaming: the event is the message itself.
	message
}

type message struct {
	Model       string            `json:"model"`
	Content     []json.RawMessage `json:"content"`
	StopReason  string            `json:"stop_reason"`
	StopDetails stopDetails       `json:"stop_details"`
	Usage       usage             `json:"usage"`
}

type delta struct {
	Type        string      `json:"type"`
	Text        string      `json:"text"`
	Thinking    string      `json:"thinking"`
	Signature   string      `json:"signature"`
	JSON        piecedJSON  `json:"partial_json"`
	StopReason  string      `json:"stop_reason"`
	StopDetails stopDetails `json:"stop_details"`
}

// piecedJSON is a piece of arguments: a string. Some servers send the object itself.
type piecedJSON string

// UnmarshalJSON implements [json.Unmarshaler].
func (p *piecedJSON) UnmarshalJSON(raw []byte) error {
	*p = piecedJSON(api.Arguments(raw))
	return nil
}

// stopDetails explains a refusal.
type stopDetails struct {
	Explanation string `json:"explanation"`
}

// usage holds the token counts of a request. The counts of later events include earlier counts.
type usage struct {
	Input         int `json:"input_tokens"` // without the cached tokens
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

const mostTokens = 1 << 40 // sums of larger counts could overflow

// add takes the counts of a later event.
func (u *usage) add(v *usage) {
	for _, c := range [...]struct{ old, new *int }{
		{&u.Input, &v.Input}, {&u.CacheRead, &v.CacheRead}, {&u.CacheCreation, &v.CacheCreation},
		{&u.Output, &v.Output}, {&u.OutputDetails.Thinking, &v.OutputDetails.Thinking},
	} {
		*c.old = min(max(*c.old, *c.new), mostTokens)
	}
}

func (u *usage) tokens() *model.Usage {
	return &model.Usage{
		Input:       u.Input + u.CacheRead + u.CacheCreation,
		Output:      u.Output,
		Reasoning:   u.OutputDetails.Thinking,
		CachedRead:  u.CacheRead,
		CachedWrite: u.CacheCreation,
	}
}

// block is a part of a response that has begun.
type block struct {
	kind      string
	fields    map[string]json.RawMessage // of its first event
	thinking  strings.Builder
	signature strings.Builder
	json      strings.Builder // arguments
	name      string          // of the called tool
	call      int             // number of the call in the response
}

// decoder converts the events of a response to deltas.
type decoder struct {
	req    *model.Request
	target *api.Target
	yield  func(model.Delta) bool
	broken bool // the caller stopped reading

	blocks  map[int]*block // begun and not ended
	newest  int            // the newest index
	usage   usage
	model   string
	stop    string // stop_reason
	refusal string
	events  bool // an event was received
	known   bool // an event of a response was received
	started bool // the start of a response was received
	calls   int
}

// Decoder returns the decoder of a response. See [api.API].
func (API) Decoder(req *model.Request, t *api.Target, emit func(model.Delta) bool) api.Decoder {
	return &decoder{req: req, target: t, yield: emit, blocks: map[int]*block{}, model: t.Model}
}

func (d *decoder) emit(delta model.Delta) {
	if !d.broken {
		d.broken = !d.yield(delta)
	}
}

// unmarshal decodes JSON. It skips fields of an unexpected type.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

// Event takes the next event. See [api.Decoder].
func (d *decoder) Event(_ string, data []byte) error {
	if index, p, ok := plainPiece(data); ok {
		d.events = true
		return d.piece(index, &p)
	}
	var e event
	if _, err := api.Decode(data, &e); err != nil {
		return fmt.Errorf("%w in %.200q", err, data)
	}
	d.events = true
	switch e.Type {
	case "message_start":
		d.start(&e.Message)
	case "content_block_start":
		d.begin(e.Index, e.Block)
	case "content_block_delta":
		return d.piece(e.Index, &e.Delta)
	case "content_block_stop":
		d.complete(e.Index)
	case "message_delta":
		d.usage.add(&e.Usage)
		d.stopped(e.Delta.StopReason, e.Delta.StopDetails)
	case "message_stop":
		if d.stop == "" && d.known { // some servers name no reason
			d.stop = "end_turn"
		}
	case "message":
		e.message.Usage = e.Usage
		d.whole(&e.message)
	case "error":
		return API{}.Classify(0, nil, data)
	}
	return nil
}

// plainPiece decodes a piece of text, thinking or arguments in the API's exact form. Most
// events are of this form; this decoder is several times cheaper. If the event has another
// form, it returns false.
func plainPiece(data []byte) (index int, p delta, ok bool) {
	data, ok = bytes.CutPrefix(data, []byte(`{"type":"content_block_delta","index":`))
	if !ok || len(data) == 0 || data[0] < '0' || data[0] > '9' {
		return 0, p, false
	}
	for len(data) > 0 && data[0] >= '0' && data[0] <= '9' && index < 1<<20 {
		index = 10*index + int(data[0]-'0')
		data = data[1:]
	}
	for _, form := range pieceForms {
		inside, ok := bytes.CutPrefix(data, form.start)
		if !ok {
			continue
		}
		end := api.Closing(inside)
		rest, ok := bytes.CutPrefix(inside[end:], []byte(`"}`))
		if !ok || string(bytes.TrimLeft(rest, " ")) != "}" {
			return 0, p, false
		}
		text, ok := api.Unquote(inside[:end])
		p.Type = form.kind
		*form.field(&p) = text
		return index, p, ok
	}
	return 0, p, false
}

// pieceForms holds the bytes between the index and the text of frequent pieces.
var pieceForms = [...]struct {
	start []byte
	kind  string
	field func(*delta) *string
}{
	{[]byte(`,"delta":{"type":"text_delta","text":"`), "text_delta", func(p *delta) *string { return &p.Text }},
	{[]byte(`,"delta":{"type":"thinking_delta","thinking":"`), "thinking_delta", func(p *delta) *string { return &p.Thinking }},
	{[]byte(`,"delta":{"type":"input_json_delta","partial_json":"`), "input_json_delta", func(p *delta) *string { return (*string)(&p.JSON) }},
}

// start takes the start of a response.
func (d *decoder) start(m *message) {
	if d.started { // a second response in the stream replaces the first
		d.emit(model.Delta{Restart: true})
		d.blocks, d.newest, d.stop, d.refusal, d.usage = map[int]*block{}, 0, "", "", usage{}
	}
	d.started = true
	d.known = true
	if m.Model != "" {
		d.model = m.Model
	}
	d.usage.add(&m.Usage)
	d.stopped(m.StopReason, m.StopDetails)
}

// whole takes a response without streaming.
func (d *decoder) whole(m *message) {
	d.start(m)
	for i, content := range m.Content {
		d.begin(i, content)
		d.complete(i)
	}
}

func (d *decoder) stopped(reason string, details stopDetails) {
	if reason != "" {
		d.stop = reason
	}
	if details.Explanation != "" {
		d.refusal = details.Explanation
	}
}

// begin takes the first event of a block.
func (d *decoder) begin(index int, raw json.RawMessage) {
	d.known = true
	b := &block{fields: fieldsOf(raw)}
	if b.fields == nil {
		return // an unknown form
	}
	b.kind = textOf(b.fields["type"])
	d.complete(index) // another block with this index, without its end
	d.blocks[index], d.newest = b, index
	switch b.kind {
	case "text":
		d.emit(model.Delta{Begin: model.TextType, Text: textOf(b.fields["text"])})
	case "thinking":
		b.thinking.WriteString(textOf(b.fields["thinking"]))
		b.signature.WriteString(textOf(b.fields["signature"]))
		d.emit(model.Delta{Begin: model.ReasoningType, Reasoning: b.thinking.String()})
	case "tool_use":
		b.name, b.call = textOf(b.fields["name"]), d.calls
		d.calls++
		d.emit(model.Delta{Call: &model.CallDelta{Index: b.call, ID: textOf(b.fields["id"]), Name: b.name}})
	default:
		d.emit(model.Delta{Begin: model.ReasoningType})
	}
}

// fieldsOf returns the fields of a block. Some servers send a text instead of a block.
func fieldsOf(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if _, err := api.Decode(raw, &fields); err != nil {
		return nil
	}
	if text := textOf(raw); fields == nil && text != "" {
		return map[string]json.RawMessage{"type": json.RawMessage(`"text"`), "text": appendQuoted(nil, text)}
	}
	return fields
}

// textOf returns the text of a field.
func textOf(raw json.RawMessage) string {
	var value any
	if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &value) != nil {
		return api.Text(raw)
	}
	return api.TextIn(value)
}

// piece takes a piece of a block. It skips pieces of unknown blocks.
func (d *decoder) piece(index int, p *delta) error {
	b := d.blocks[index]
	if b == nil {
		return nil
	}
	switch {
	case p.Type == "text_delta" && b.kind == "text":
		if p.Text != "" {
			d.emit(model.Delta{Text: p.Text})
		}
	case p.Type == "thinking_delta" && b.kind == "thinking":
		b.thinking.WriteString(p.Thinking)
		if p.Thinking != "" {
			d.emit(model.Delta{Reasoning: p.Thinking})
		}
	case p.Type == "signature_delta" && b.kind == "thinking":
		b.signature.WriteString(p.Signature)
	case p.Type == "input_json_delta":
		b.json.WriteString(string(p.JSON))
		if p.JSON != "" && b.kind == "tool_use" {
			d.emit(model.Delta{Call: &model.CallDelta{Index: b.call, Args: string(p.JSON)}})
		}
	}
	if b.signature.Len() > model.MaxReasoning || b.json.Len() > model.MaxArgs {
		return &model.Error{Kind: model.ErrEndless, Message: "a block of the reply is too long"}
	}
	return nil
}

// complete takes the end of a block. It emits the block's state.
func (d *decoder) complete(index int) {
	b := d.blocks[index]
	if b == nil {
		return
	}
	delete(d.blocks, index)
	switch b.kind {
	case "text", "", "image", "document", "search_result", "tool_result": // the last ones are the user's, and refused in a response
	case "tool_use":
		d.completeCall(b)
	case "thinking":
		if _, had := b.fields["signature"]; had || b.signature.Len() > 0 {
			b.fields["signature"] = appendQuoted(nil, b.signature.String())
		}
		b.fields["thinking"] = appendQuoted(nil, b.thinking.String())
		d.keep(index, b)
	default:
		if b.kind == "redacted_thinking" && textOf(b.fields["data"]) == "" {
			return
		}
		if b.json.Len() > 0 {
			b.fields["input"] = json.RawMessage(input(b.json.String()))
		}
		d.keep(index, b)
	}
}

// completeCall completes the arguments of a call. Some servers send them in the first event
// only. If the call does not fit the request's tools, it keeps its block, because the agent may
// change its name and arguments. A block with unknown fields is kept, too.
func (d *decoder) completeCall(b *block) {
	args := b.json.String()
	end := model.CallDelta{Index: b.call}
	if args == "" {
		args = input(api.Arguments(b.fields["input"]))
		end.Args = args
	}
	last := model.Delta{Call: &end}
	if isObject(args) && (!d.offers(b.name, args) || len(b.fields) > 4) {
		b.fields["input"] = json.RawMessage(args)
		last.State = d.target.NewState(b.encode())
	}
	if end.Args != "" || last.State != nil {
		d.emit(last)
	}
}

// offers reports whether the request contains a tool with the name and all parameters in the
// arguments.
func (d *decoder) offers(name, args string) bool {
	i := slices.IndexFunc(d.req.Tools, func(t model.Tool) bool { return t.Name == name })
	if i < 0 {
		return false
	}
	var given map[string]json.RawMessage
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal([]byte(args), &given) != nil || len(given) > 0 && json.Unmarshal(d.req.Tools[i].Schema, &schema) != nil {
		return false
	}
	for parameter := range given {
		if _, ok := schema.Properties[parameter]; !ok {
			return false
		}
	}
	return true
}

// keep emits a block as the state of its part. If another part has begun since, the block's
// place is lost, and keep drops the block.
func (d *decoder) keep(index int, b *block) {
	if index == d.newest {
		d.emit(model.Delta{State: d.target.NewState(b.encode())})
	}
}

// encode returns a block as JSON: its type, then the other fields by name.
func (b *block) encode() []byte {
	dst := appendQuoted([]byte(`{"type":`), b.kind)
	for _, name := range slices.Sorted(maps.Keys(b.fields)) {
		if name != "type" {
			dst = append(append(appendQuoted(append(dst, ','), name), ':'), b.fields[name]...)
		}
	}
	return append(dst, '}')
}

// Finished reports whether the stop reason is known.
func (d *decoder) Finished() bool { return d.stop != "" }

// End emits the last delta. See [api.Decoder].
func (d *decoder) End(bool) error {
	last := model.Delta{Usage: d.usage.tokens(), Model: d.model}
	switch d.stop {
	case "":
		if d.events && !d.known {
			return &model.Error{Kind: model.ErrGarbage, Message: "the stream held no reply"}
		}
		return &model.Error{Kind: model.ErrCut, Message: "the stream ended without a stop reason"}
	case "tool_use":
		last.Finish = model.FinishCalls
	case "max_tokens":
		last.Finish = model.FinishLength
	case "refusal":
		last.Finish, last.Refusal = model.FinishRefusal, d.refusal
	case "pause_turn":
		last.Finish = model.FinishPause
	case "model_context_window_exceeded":
		return &model.Error{Kind: model.ErrOverflow, Message: "the reply filled the context window"}
	default: // end_turn, stop_sequence
		last.Finish = model.FinishStop
		if d.calls > 0 {
			last.Finish = model.FinishCalls
		}
	}
	d.emit(last)
	return nil
}
