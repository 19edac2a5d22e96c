package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// oddReply is a response of a hostile server. All fields are raw JSON of the server's API.
type oddReply struct {
	calls   []oddCall
	text    string
	thought string // before the text; empty: none
	finish  string // the reason of the end; empty: the usual one
	noise   string // another event; empty: none
}

// oddCall is a call of a hostile response. Its id, name and args are raw JSON.
type oddCall struct {
	index          int
	id, name, args string
	pieces         string // one of oddPieces; empty: one piece
}

// oddPieces are the ways to send a call in pieces. An API without pieces ignores them.
var oddPieces = []string{
	"",
	"elsewhere",   // the arguments come at another index, without id and name
	"named later", // the first piece has no name
	"repeated",    // each piece has the id and the name, or empty ones
	"interleaved", // the arguments of all calls come after the starts of all calls
}

// oddParts are the odd parts of an API's responses, from public reports. An element of thoughts
// is a part with a thought, an element of noise an event.
type oddParts struct{ thoughts, finishes, noise []string }

// oddFrames are forms of an event stream that servers and proxies send.
var oddFrames = []func(stream string) string{
	func(stream string) string { return stream },
	func(stream string) string { return strings.ReplaceAll(stream, "\n", "\r\n") },
	func(stream string) string { return strings.ReplaceAll(stream, "\n", "\r") },
	func(stream string) string { return "\ufeff" + strings.ReplaceAll(stream, "data: ", "data:") },
	func(stream string) string {
		return ": OPENROUTER PROCESSING\n\n" + strings.ReplaceAll(stream, "\n\n", "\n\n: keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n")
	},
	func(stream string) string {
		return "retry: 3000\n" + strings.ReplaceAll(stream, "data: ", "id: 1\ndata: ") + "\n\n\n"
	},
	func(stream string) string { return strings.TrimSuffix(stream, "\n\n") },
	func(stream string) string { return strings.ReplaceAll(stream, "\n\n", "\n") }, // no empty lines
	func(stream string) string { // an event after the end
		events := strings.SplitAfter(stream, "\n\n")
		return stream + events[0]
	},
}

// Raw JSON of hostile servers. Each breaks a rule of some API.
var (
	oddIDs   = []string{`""`, `null`, `7`, `"a"`, `"a"`, `"call_1"`, `"call_1"`, `"functions.look:0"`, `"a.b"`, `"a:b"`, `"id with spaces"`, `"é☃"`, `"\u0000"`, `"\ud800x"`, `"` + strings.Repeat("i", 41) + `"`, `"` + strings.Repeat("j", 300) + `"`, `"-"`, `"x/y\\z"`}
	oddNames = []string{`""`, `null`, `" "`, `"look"`, `"look"`, `" write "`, `"9lives"`, `"-x"`, `"a b"`, `"mcp.server.tool"`, `"look\u0000"`, `"\udc00"`, `"` + strings.Repeat("n", 65) + `"`, `"` + strings.Repeat("☃", 70) + `"`, `"functions.look"`, `"functions.look:0"`, `"look<|channel|>"`, `"{\"a\":1}"`, `"___"`, `["look"]`}
	oddArgs  = []string{`""`, `"{}"`, `"{\"path\":\"a\"}"`, `"{\"path\":\"a"`, `"[1]"`, `"null"`, `"\"text\""`, `"5"`, `"not JSON"`, `"{\"path\":\"\\ud800\"}"`, `"{\"path\":\"\\u0000\"}"`, `"{\"path\":\"\u0000\"}"`, `"{\"path\":\"a\",\"path\":\"b\"}"`,
		`"{\"n\":1e999}"`, `"{\"n\":` + strings.Repeat("9", 400) + `}"`, `"{\"\\ud800\":1}"`, quoted(`{"d":` + strings.Repeat("[", 150) + strings.Repeat("]", 150) + `}`), `"  {\"path\":\"a\"}  "`, `"{\"path\":\"a\"}{\"path\":\"a\"}"`, `"{'path': True}"`, `"\ud83d"`,
		`{"path":"a"}`, `{"path":"\ud800","path":"\u0000"}`, `{}`, `[]`, `[{"path":"a"}]`, `null`, `5`, `true`, quoted(quoted(`{"path":"a"}`)), quoted(quoted(quoted(`{"path":"a"}`))), quoted("```json\n{\"path\":\"a\"}\n```")}
	oddTexts = []string{`""`, `null`, `" "`, `"\n\n"`, `"words"`, `"words  "`, `"\u0000"`, `"a\ud800b"`, `"\ufeff"`, `"☃"`, `["words"]`, `[{"type":"text","text":"words"}]`, `[]`, `{"text":"words"}`, `"<think>words"`, `"words</think>"`, `"<tool_call>{\"name\":\"look\",\"arguments\":{}}</tool_call>"`}
)

var oddChat = oddParts{
	thoughts: []string{
		`{"reasoning_content":"thought"}`, `{"content":null,"reasoning_content":"thought"}`, `{"content":"","reasoning":"\ud800\u0000"}`, `{"reasoning":""}`, `{"thinking":{"content":"thought"}}`,
		`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"thought"}]}]}`, `{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","id":null},{"type":"reasoning.text","text":"\u0000","signature":""}]}`,
		`{"reasoning_details":[null]}`, `{"reasoning_details":{}}`, `{"reasoning_details":[{"type":"reasoning.summary","summary":null,"index":"0"}]}`,
	},
	finishes: []string{`"stop"`, `"tool_calls"`, `"function_call"`, `"length"`, `"content_filter"`, `"eos"`, `"STOP"`, `"end_turn"`, `null`, `""`, `"error"`, `5`},
	noise: []string{`{"choices":[]}`, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `{"choices":null,"usage":null,"error":null}`, `{"id":"x","object":"chat.completion.chunk"}`, `{"choices":[{"index":0,"delta":null}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":null,"function_call":null}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0}]}}]}`, `{"choices":[{"index":1,"delta":{"content":"other"}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":"0","id":"s","type":"function","function":{"name":"look","arguments":"{}"}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":null,"id":null,"type":null,"function":null}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":{"index":0,"id":"o","function":{"name":"look","arguments":"{}"}}}}]}`, `{"choices":[{"index":0,"delta":{"function_call":{"name":"look","arguments":"{}"}}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":4,"id":"q","type":"custom","custom":{"name":"look","input":"a"}}]}}]}`},
}

// chatStream writes a response of the Chat Completions API.
func chatStream(r oddReply) string {
	var b strings.Builder
	event := func(data string) { fmt.Fprintf(&b, "data: %s\n\n", data) }
	delta := func(delta string) { event(`{"choices":[{"index":0,"delta":` + delta + `}]}`) }
	if r.thought != "" {
		delta(r.thought)
	}
	delta(`{"role":"assistant","content":` + r.text + `}`)
	var later []string
	for _, c := range r.calls {
		start := func(id, name, args string) string {
			return fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`, c.index, id, name, args)
		}
		rest := func(index int) string {
			return fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, c.args)
		}
		switch c.pieces {
		case "elsewhere":
			delta(start(c.id, c.name, `""`))
			delta(rest(c.index + 1))
		case "named later":
			delta(start(c.id, "null", `""`))
			delta(start("null", c.name, c.args))
		case "repeated":
			delta(start(c.id, c.name, `""`))
			delta(start(c.id, c.name, c.args))
			delta(start(`""`, `""`, `""`))
		case "interleaved":
			delta(start(c.id, c.name, `""`))
			later = append(later, rest(c.index))
		default:
			delta(start(c.id, c.name, c.args))
		}
	}
	for _, piece := range later {
		delta(piece)
	}
	if r.noise != "" {
		event(r.noise)
	}
	event(`{"choices":[{"index":0,"delta":{},"finish_reason":` + usual(r.finish, `"stop"`) + `}]}`)
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}

func usual(odd, usual string) string {
	if odd == "" {
		return usual
	}
	return odd
}

// An element of finishes is the type of the last event and the fields of its response.
var oddResponses = oddParts{
	thoughts: []string{
		`{"type":"reasoning","id":"rs_1","summary":[]}`, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"thought"}],"encrypted_content":null}`, `{"type":"reasoning","id":"","summary":null,"encrypted_content":""}`,
		`{"type":"reasoning","id":"rs_2","content":[{"type":"reasoning_text","text":"thought\ud800"}],"status":"completed"}`, `{"type":"reasoning","id":null,"summary":"thought"}`, `{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"bogus"}`,
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`, `{"type":"custom_tool_call","call_id":"c","name":"look","input":"a"}`, `{"type":"message","id":"","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`,
		`{"type":"message","id":"msg_1","role":"assistant","content":[]}`, `{"type":"function_call","id":"","call_id":"","name":"","arguments":""}`, `null`, `"thought"`,
	},
	finishes: []string{
		`response.completed {"model":"m","output":null,"usage":null}`, `response.completed {"status":"completed","error":null,"incomplete_details":null,"output":[{"type":"function_call","id":"fc_9","call_id":"late","name":"look","arguments":"{}"}]}`,
		`response.completed {"output":[{"type":"message","id":"msg_9","role":"assistant","content":[{"type":"output_text","text":"late"}]}],"usage":{"input_tokens":"9","output_tokens":-1}}`,
		`response.incomplete {"incomplete_details":{"reason":"max_output_tokens"}}`, `response.incomplete {"incomplete_details":{"reason":"content_filter"}}`, `response.incomplete {}`, `response.done {}`,
		`response.failed {"error":{"code":"server_error","message":"failed"}}`, `response.completed null`,
	},
	noise: []string{
		`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.in_progress"}`, `{"type":"response.output_text.done","output_index":0,"text":"words"}`, `{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{}"}`,
		`{"type":"response.function_call_arguments.delta","output_index":7,"delta":"{"}`, `{"type":"response.refusal.delta","output_index":0,"delta":"no"}`, `{"type":"response.output_item.added","output_index":5,"item":{"type":"function_call","call_id":"open","name":"look"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":null}`, `{"type":"response.output_text.delta","output_index":9,"delta":{"text":"words"}}`, `{"type":"response.output_item.done","output_index":6,"item":{"type":"reasoning","id":"rs_6","summary":[],"encrypted_content":"last"}}`,
	},
}

// responsesStream writes a response of the Responses API.
func responsesStream(r oddReply) string {
	var b strings.Builder
	event := func(kind, rest string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest) }
	if r.thought != "" {
		event("response.output_item.done", `"output_index":9,"item":`+r.thought)
	}
	if r.text != `""` {
		event("response.output_item.added", `"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}`)
		event("response.output_text.delta", `"output_index":0,"delta":`+r.text)
		event("response.output_item.done", `"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":`+r.text+`}]}`)
	}
	var later []func()
	for n, c := range r.calls {
		item := func(name, args string) string {
			return fmt.Sprintf(`"output_index":%d,"item":{"type":"function_call","id":%s,"call_id":%s,"name":%s,"arguments":%s}`, c.index+1, strings.Replace(c.id, `"`, `"fc_`, 1), c.id, name, args)
		}
		piece := func() {
			event("response.function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, c.index+1, c.args))
		}
		end := func() { event("response.output_item.done", item(c.name, c.args)) }
		switch c.pieces {
		case "named later":
			event("response.output_item.added", item("null", `""`))
			piece()
			end()
		case "interleaved":
			event("response.output_item.added", item(c.name, `""`))
			later = append(later, piece, end)
		default:
			if n%2 == 0 {
				event("response.output_item.added", item(c.name, `""`))
				piece()
			}
			end()
		}
	}
	for _, rest := range later {
		rest()
	}
	if r.noise != "" {
		fmt.Fprintf(&b, "data: %s\n\n", r.noise)
	}
	kind, response, _ := strings.Cut(usual(r.finish, `response.completed {"model":"m","output":[]}`), " ")
	event(kind, `"response":`+response)
	return b.String()
}

var oddMessages = oddParts{
	thoughts: []string{
		`{"type":"thinking","thinking":"thought"}`, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking","thinking":"thought\ud800\u0000","signature":"bogus"}`, `{"type":"thinking","signature":null}`, `{"type":"redacted_thinking","data":"bogus"}`, `{"type":"redacted_thinking"}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_9","content":[]}`, `{"type":"text","text":""}`, `{"type":"text","text":null,"citations":null}`, `{"type":"text","text":[{"type":"text","text":"inside"}]}`,
		`{"type":"tool_use"}`, `{"type":"tool_use","id":"toolu_1","name":"look","input":"{\"path\":\"a\"}"}`, `{"type":"tool_use","id":"toolu_2","name":"look","input":null,"caller":{"type":"direct"}}`, `null`, `"thought"`, `{}`, `{"type":"image"}`,
	},
	finishes: []string{`"end_turn"`, `"tool_use"`, `"max_tokens"`, `"stop_sequence"`, `"refusal"`, `"pause_turn"`, `"model_context_window_exceeded"`, `"stop"`, `null`, `""`},
	noise: []string{
		`{"type":"ping"}`, `{"type":"message_start","message":{"model":"m","content":null,"usage":null}}`, `{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"lost"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"words"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"bogus"}}`, `{"type":"content_block_stop","index":0}`, `{"type":"content_block_stop"}`, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"last"}}`,
	},
}

// messagesStream writes a response of the Messages API.
func messagesStream(r oddReply) string {
	var b strings.Builder
	event := func(kind, rest string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
	event("message_start", `,"message":{"model":"m","content":[],"usage":{"input_tokens":1}}`)
	if r.thought != "" {
		event("content_block_start", `,"index":0,"content_block":`+r.thought)
		event("content_block_stop", `,"index":0`)
	}
	event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+r.text+`}`)
	event("content_block_stop", `,"index":0`)
	var later []func()
	for _, c := range r.calls {
		rest := func() {
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, c.index+1, c.args))
			if c.pieces != "elsewhere" {
				event("content_block_stop", fmt.Sprintf(`,"index":%d`, c.index+1))
			}
		}
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, c.index+1, c.id, c.name))
		if c.pieces == "interleaved" {
			later = append(later, rest)
		} else {
			rest()
		}
	}
	for _, rest := range later {
		rest()
	}
	if r.noise != "" {
		fmt.Fprintf(&b, "data: %s\n\n", r.noise)
	}
	stop := `"end_turn"`
	if len(r.calls) > 0 {
		stop = `"tool_use"`
	}
	event("message_delta", `,"delta":{"stop_reason":`+usual(r.finish, stop)+`},"usage":{"output_tokens":1}`)
	event("message_stop", "")
	return b.String()
}

var oddGemini = oddParts{
	thoughts: []string{
		`{"text":"thought","thought":true}`, `{"text":"","thought":true,"thoughtSignature":"bogus"}`, `{"text":"","thoughtSignature":"bogus"}`, `{"thoughtSignature":"bogus"}`, `{"text":null}`, `{}`, `null`, `{"text":"a\ud800\u0000","thoughtSignature":""}`, `{"functionCall":null}`, `{"functionCall":{}}`,
		`{"functionCall":{"name":"look"}}`, `{"functionCall":{"name":"default_api:look","args":null},"thoughtSignature":"bogus"}`, `{"functionCall":{"name":"default_api.look","args":{"path":"a"}}}`, `{"functionCall":[{"name":"look","args":{}},{"name":"look","args":{}}],"text":"both"}`, `{"executableCode":{"language":"PYTHON","code":"print()"}}`, `{"inlineData":{"mimeType":"image/png","data":""}}`, `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}`, `{"executableCode":{"language":"PYTHON","code":"\ud800"}}`,
	},
	finishes: []string{`"STOP"`, `"MAX_TOKENS"`, `"SAFETY"`, `"RECITATION"`, `"MALFORMED_FUNCTION_CALL"`, `"UNEXPECTED_TOOL_CALL"`, `"OTHER"`, `"FINISH_REASON_UNSPECIFIED"`, `null`, `"stop"`},
	noise: []string{
		`{"usageMetadata":{"promptTokenCount":10}}`, `{"candidates":[]}`, `{"candidates":[{"finishReason":"STOP"}]}`, `{"candidates":[{"content":null}]}`, `{"candidates":[{"content":{"role":"model"}}]}`, `{"candidates":[{"content":{"parts":null}}],"promptFeedback":null}`,
		`{"candidates":[{"index":1,"content":{"parts":[{"text":"other"}]}}]}`, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{}}}]}}]}`, `{"candidates":[{"content":{"parts":{"text":"no list"}}}]}`, `{"promptFeedback":{"blockReason":"OTHER"}}`,
	},
}

// geminiStream writes a response of Gemini's API.
func geminiStream(r oddReply) string {
	var parts []string
	if r.thought != "" {
		parts = append(parts, r.thought)
	}
	if r.text != `""` {
		parts = append(parts, `{"text":`+r.text+`}`)
	}
	for _, c := range r.calls {
		args := c.args // a text: arguments of another type
		var inside string
		if json.Unmarshal([]byte(c.args), &inside) == nil && json.Valid([]byte(inside)) {
			args = inside
		}
		id := ""
		if c.id != `""` {
			id = `"id":` + c.id + `,`
		}
		parts = append(parts, `{"functionCall":{`+id+`"name":`+c.name+`,"args":`+args+`}}`)
	}
	noise := ""
	if r.noise != "" {
		noise = "data: " + r.noise + "\n\n"
	}
	return noise + "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[" + strings.Join(parts, ",") + "]},\"finishReason\":" + usual(r.finish, `"STOP"`) + "}],\"modelVersion\":\"m\"}\n\n"
}
