package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// replies are, by API, the events of a response with a thought, a text and a call, and the same
// response as a single body.
var replies = map[string]struct {
	api    api.API
	events []string
	whole  string
}{
	"chat": {openai.API{}, []string{
		`{"id":"c","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Hm."},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":1}}}`,
	}, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"Hm.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`},
	"responses": {responses.API{}, []string{
		`{"type":"response.created","response":{"id":"r","model":"m","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"Hm."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}]}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hello"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"path\":\"a\"}"}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"a\"}"}}`,
		`{"type":"response.completed","response":{"id":"r","model":"m","output":[],"usage":{"input_tokens":3,"output_tokens":4}}}`,
	}, `{"type":"response.completed","response":{"id":"r","model":"m","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}]},` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},` +
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"a\"}"}],"usage":{"input_tokens":3,"output_tokens":4}}}`},
	"messages": {messages.API{}, []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"read_file","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a\"}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}`,
		`{"type":"message_stop"}`,
	}, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm.","signature":""},{"type":"text","text":"Hello"},{"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"a"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`},
	"gemini": {gemini.API{}, []string{
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Hm.","thought":true}]}}],"modelVersion":"m","usageMetadata":{"promptTokenCount":3}}`,
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Hello"}]}}],"modelVersion":"m"}`,
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"name":"read_file","args":{"path":"a"}}}]}}],"modelVersion":"m"}`,
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}],"modelVersion":"m","usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}`,
	}, `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"Hello"},{"functionCall":{"name":"read_file","args":{"path":"a"}}}]},"finishReason":"STOP"}],"modelVersion":"m"}`},
}

// TestOddTypes changes the type of each value in a response, keeping its meaning. Text and
// calls must not be lost.
func TestOddTypes(t *testing.T) {
	t.Parallel()
	for name, r := range replies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, event := range r.events {
				for change, odd := range variants(event) {
					events := slices.Clone(r.events)
					events[n] = odd
					checkReply(t, r.api, stream(events, "\n"), fmt.Sprintf("event %d, %s: %s", n, change, odd))
				}
			}
			for change, odd := range variants(r.whole) {
				checkReply(t, r.api, stream([]string{odd}, "\n"), fmt.Sprintf("in one event, %s: %s", change, odd))
			}
		})
	}
}

// TestLineEndings checks each line ending of event streams.
func TestLineEndings(t *testing.T) {
	t.Parallel()
	for name, r := range replies {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			t.Run(fmt.Sprintf("%s, %q", name, end), func(t *testing.T) {
				t.Parallel()
				checkReply(t, r.api, stream(r.events, end), "")
			})
		}
	}
}

// TestOtherIndex checks the only candidate of a response: its index does not matter.
func TestOtherIndex(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chat", "gemini"} {
		events := slices.Clone(replies[name].events)
		for i := range events {
			for _, list := range []string{`"choices":[`, `"candidates":[`} {
				events[i] = strings.Replace(events[i], list+`{"index":0`, list+`{"index":1`, 1)
			}
		}
		checkReply(t, replies[name].api, stream(events, "\n"), name)
	}
}

func stream(events []string, end string) string {
	var b strings.Builder
	for _, e := range events {
		var kind struct{ Type json.RawMessage }
		_ = json.Unmarshal([]byte(e), &kind)
		if name := api.Text(kind.Type); name != "" && !strings.ContainsAny(name, "[{") {
			b.WriteString("event: " + name + end)
		}
		b.WriteString("data: " + e + end + end)
	}
	return b.String() + "data: [DONE]" + end + end
}

func checkReply(t *testing.T, a api.API, body, what string) {
	t.Helper()
	m := client.New(client.Config{Transport: canned(body), Endpoints: []client.Endpoint{{API: a, BaseURL: "http://odd.test", Model: "m", Keys: []string{"k"}}}})
	defer m.Close()
	r := new(model.Reply)
	for d, err := range m.Stream(t.Context(), modeltest.Hello(model.Tool{Name: "read_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})) {
		var known *model.Error
		if errors.As(err, &known) {
			t.Errorf("%s\nfailed: %v", what, err)
			return
		}
		if d.Notice != "" { // before a retry
			t.Errorf("%s\ntries again: %s", what, d.Notice)
			return
		}
		r.Add(d)
	}
	if r.Text != "Hello" || r.Reasoning != "Hm." || len(r.Calls) != 1 || r.Calls[0].Name != "read_file" || strings.ReplaceAll(r.Calls[0].Args, " ", "") != `{"path":"a"}` {
		t.Errorf("%s\ngot %q, thought %q, calls %+v", what, r.Text, r.Reasoning, r.Calls)
	}
}

// variants returns changed forms of a JSON text: a single value gets another type with the same
// meaning. The key names the change.
func variants(text string) map[string]string {
	all := map[string]string{}
	var visit func(value any, path string, set func(any))
	write := func(root any) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(root)
		return strings.TrimSpace(b.String())
	}
	var root any
	if json.Unmarshal([]byte(text), &root) != nil {
		panic(text)
	}
	visit = func(value any, path string, set func(any)) {
		inArguments := strings.HasSuffix(path, ".arguments") || strings.HasSuffix(path, ".partial_json") || strings.HasSuffix(path, ".args") || strings.HasSuffix(path, ".input") ||
			path == ".delta" && strings.Contains(text, "arguments.delta")
		try := func(kind string, other any) {
			set(other)
			all[path+" "+kind] = write(root)
			set(value)
		}
		switch v := value.(type) {
		case string:
			try("as a list", []any{v})
			if inArguments {
				return // an object would be the arguments
			}
			try("as a part", map[string]any{"type": "text", "text": v})
			try("as a list of parts", []any{map[string]any{"type": "text", "text": v}})
		case float64:
			try("as text", fmt.Sprint(v))
			try("as a fraction", json.RawMessage(fmt.Sprintf("%.1f", v)))
			try("as a list", []any{v})
			if v == 0 {
				try("as null", nil)
			}
		case nil:
			for kind, other := range map[string]any{"as a list": []any{}, "as an object": map[string]any{}, "as false": false} {
				try(kind, other)
			}
		case bool:
			try("as text", fmt.Sprint(v))
			try("as a number", 1)
		case []any:
			if len(v) == 1 {
				try("as its only element", v[0])
				try("as an object of numbers", map[string]any{"0": v[0]})
			}
			if len(v) == 0 {
				try("as null", nil)
				try("as an object", map[string]any{})
				try("as empty text", "")
			}
			for i, one := range v {
				visit(one, fmt.Sprintf("%s[%d]", path, i), func(other any) { v[i] = other })
			}
		case map[string]any:
			try("as a list", []any{v})
			if len(v) > 0 {
				try("as text", write(v))
			}
			if inArguments {
				return // read by the tools
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				visit(v[key], path+"."+key, func(other any) { v[key] = other })
			}
		}
	}
	visit(root, "", func(other any) { root = other })
	delete(all, " as text") // an event with nothing but a text is no response
	return all
}
