package responsestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Item is an output item of a [Reply].
type Item struct {
	kind    string
	text    string // text, summary or arguments
	refusal string
	name    string
	phase   string
	raw     string
}

// Reasoning returns a reasoning item. The paragraphs of its summary are parts.
func Reasoning(summary string) Item { return Item{kind: "reasoning", text: summary} }

// Text returns a message.
func Text(text string) Item { return Item{kind: "message", text: text} }

// Phase returns a message with a phase.
func Phase(phase, text string) Item { return Item{kind: "message", text: text, phase: phase} }

// Refusal returns a message with a refusal.
func Refusal(text string) Item { return Item{kind: "message", refusal: text} }

// Call returns a function call.
func Call(name, args string) Item { return Item{kind: "function_call", name: name, text: args} }

// Unknown returns an item of another type. raw is a JSON object.
func Unknown(raw string) Item { return Item{kind: "unknown", raw: raw} }

// object is a JSON object in the order of its members.
type object []any

func (o object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i := 0; i < len(o); i += 2 {
		value, err := json.Marshal(o[i+1])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], o[i], value)
	}
	return []byte(b.String() + "}"), nil
}

// stream writes the events of a response.
type stream struct {
	w        http.ResponseWriter
	server   *Server
	key      string
	padded   bool
	sequence int
	output   []any
	after    string // the reasoning item before the next item
	tokens   int
	thoughts int
}

// play writes a reply as a stream.
func (s *Server) play(w http.ResponseWriter, req *request, key string, r Request, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p := &stream{w: w, server: s, key: key, padded: req.Options == nil || req.Options.Obfuscation == nil || *req.Options.Obfuscation}
	s.number++
	id := fmt.Sprintf("resp_%04d", s.number)
	p.event("response.created", "response", p.response(id, req, "in_progress", nil))
	p.event("response.in_progress", "response", p.response(id, req, "in_progress", nil))
	p.event("response.later.version", "note", "clients skip unknown events")
	for _, item := range reply.Items {
		p.item(req, item)
	}
	usage := object{
		"input_tokens", len(r.Body) / 4, "input_tokens_details", object{"cached_tokens", r.Cached, "cache_write_tokens", 0},
		"output_tokens", p.tokens, "output_tokens_details", object{"reasoning_tokens", p.thoughts}, "total_tokens", len(r.Body)/4 + p.tokens,
	}
	switch {
	case reply.Cut:
	case reply.Event != nil:
		p.event("error", "code", reply.Event.Code, "message", reply.Event.Message, "param", nil)
	case reply.Failed != nil:
		p.event("response.failed", "response", p.response(id, req, "failed", nil, "error", object{"code", reply.Failed.Code, "message", reply.Failed.Message}))
	case reply.Incomplete != "":
		p.event("response.incomplete", "response", p.response(id, req, "incomplete", usage, "incomplete_details", object{"reason", reply.Incomplete}))
	default:
		p.event("response.completed", "response", p.response(id, req, "completed", usage))
	}
}

// response returns the response object of an event. more replaces members of the same
// name.
func (p *stream) response(id string, req *request, status string, usage any, more ...any) object {
	output := p.output
	if output == nil {
		output = []any{}
	}
	o := object{
		"id", id, "object", "response", "created_at", 1780000000, "status", status, "error", nil, "incomplete_details", nil,
		"instructions", nil, "metadata", map[string]any{}, "model", req.Model + "-2026-08-07", "output", output, "parallel_tool_calls", true,
		"temperature", 1, "tool_choice", "auto", "tools", []any{}, "top_p", 1, "store", false, "usage", usage,
	}
	for i := 0; i < len(more); i += 2 {
		for n := 0; n < len(o); n += 2 {
			if o[n] == more[i] {
				o[n+1] = more[i+1]
			}
		}
	}
	return o
}

// event writes an event with its type and number.
func (p *stream) event(kind string, more ...any) {
	data, err := json.Marshal(append(object{"type", kind, "sequence_number", p.sequence}, more...))
	if err != nil { // only values of this package
		panic(err)
	}
	p.sequence++
	fmt.Fprintf(p.w, "event: %s\ndata: %s\n\n", kind, data)
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

// delta writes text in pieces.
func (p *stream) delta(kind, id string, text string, more ...any) {
	for len(text) > 0 {
		n := min(len(text), 7)
		for n < len(text) && text[n]&0xC0 == 0x80 { // not within a character
			n++
		}
		event := append([]any{"item_id", id, "output_index", len(p.output)}, more...)
		event = append(event, "delta", text[:n])
		if p.padded {
			event = append(event, "obfuscation", strings.Repeat("x", 16-n%16))
		}
		p.event(kind, event...)
		text = text[n:]
		p.tokens++
	}
}

// item writes the events of an output item.
func (p *stream) item(req *request, item Item) {
	p.server.number++
	id := fmt.Sprintf("%s_%08x", map[string]string{"message": "msg", "function_call": "fc", "reasoning": "rs", "unknown": "xx"}[item.kind], p.server.number)
	index := len(p.output)
	before := p.tokens
	var done any
	switch item.kind {
	case "reasoning":
		done = p.reasoning(req, id, item)
		p.thoughts += p.tokens - before + 1
		p.tokens++
	case "message":
		done = p.message(id, item)
	case "function_call":
		o := func(args, status string) object {
			return object{"id", id, "type", item.kind, "status", status, "arguments", args, "call_id", fmt.Sprintf("call_%08x", p.server.number), "name", item.name}
		}
		p.event("response.output_item.added", "output_index", index, "item", o("", "in_progress"))
		p.delta("response.function_call_arguments.delta", id, item.text)
		p.event("response.function_call_arguments.done", "item_id", id, "output_index", index, "arguments", item.text)
		done = o(item.text, "completed")
	default:
		done = json.RawMessage(item.raw)
		p.event("response.output_item.added", "output_index", index, "item", done)
	}
	p.event("response.output_item.done", "output_index", index, "item", done)
	p.output = append(p.output, done)
	p.remember(id, item, done)
}

// reasoning writes a reasoning item and returns it.
func (p *stream) reasoning(req *request, id string, item Item) object {
	index := len(p.output)
	p.event("response.output_item.added", "output_index", index, "item", object{"id", id, "type", "reasoning", "summary", []any{}})
	summary := []any{}
	for n, text := range strings.Split(item.text, "\n\n") {
		if req.Reasoning == nil || req.Reasoning.Summary == nil || text == "" {
			break
		}
		part := object{"type", "summary_text", "text", text}
		at := []any{"item_id", id, "output_index", index, "summary_index", n}
		p.event("response.reasoning_summary_part.added", append(at[:6:6], "part", object{"type", "summary_text", "text", ""})...)
		p.delta("response.reasoning_summary_text.delta", id, text, "summary_index", n)
		p.event("response.reasoning_summary_text.done", append(at[:6:6], "text", text)...)
		p.event("response.reasoning_summary_part.done", append(at[:6:6], "part", part)...)
		summary = append(summary, part)
	}
	o := object{"id", id, "type", "reasoning"}
	if len(req.Include) > 0 {
		o = append(o, "encrypted_content", fmt.Sprintf("gAAAA%x==", item.text+id))
	}
	return append(o, "summary", summary)
}

// message writes a message and returns it.
func (p *stream) message(id string, item Item) object {
	index := len(p.output)
	o := func(status string, content []any) object {
		all := object{"id", id, "type", "message", "status", status, "content", content, "role", "assistant"}
		if item.phase != "" {
			all = append(all, "phase", item.phase)
		}
		return all
	}
	at := []any{"item_id", id, "output_index", index, "content_index", 0}
	p.event("response.output_item.added", "output_index", index, "item", o("in_progress", []any{}))
	if item.refusal != "" {
		part := object{"type", "refusal", "refusal", item.refusal}
		p.event("response.content_part.added", append(at[:6:6], "part", object{"type", "refusal", "refusal", ""})...)
		p.delta("response.refusal.delta", id, item.refusal, "content_index", 0)
		p.event("response.refusal.done", append(at[:6:6], "refusal", item.refusal)...)
		p.event("response.content_part.done", append(at[:6:6], "part", part)...)
		return o("completed", []any{part})
	}
	part := object{"type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", item.text}
	p.event("response.content_part.added", append(at[:6:6], "part", object{"type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", ""})...)
	p.delta("response.output_text.delta", id, item.text, "content_index", 0, "logprobs", []any{})
	p.event("response.output_text.done", append(at[:6:6], "logprobs", []any{}, "text", item.text)...)
	p.event("response.content_part.done", append(at[:6:6], "part", part)...)
	return o("completed", []any{part})
}

// remember keeps an item, to compare it with the item of a later request.
func (p *stream) remember(id string, item Item, done any) {
	raw, err := json.Marshal(done)
	if err != nil { // only values of this package
		panic(err)
	}
	p.server.sent[id] = sentItem{raw: raw, key: p.key, after: p.after}
	if p.after = ""; item.kind == "reasoning" {
		p.after = id
	}
}
