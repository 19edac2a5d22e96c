package messages_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/messages/standin"
)

// decode decodes a stream of events and returns the merged reply.
func decode(req *model.Request, t *api.Target, stream io.Reader) (*model.Reply, model.Delta, error) {
	reply, last := new(model.Reply), model.Delta{}
	var failed error
	d := messages.API{}.Decoder(req, t, func(delta model.Delta) bool {
		last = delta
		failed = reply.Add(delta)
		return failed == nil
	})
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 16<<20)
	name := ""
	for lines.Scan() {
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if name == "error" {
				return reply, last, messages.API{}.Classify(0, nil, value)
			}
			if err := d.Event(name, value); err != nil {
				return reply, last, err
			}
		}
	}
	if err := errors.Join(lines.Err(), failed); err != nil {
		return reply, last, err
	}
	return reply, last, d.End(false)
}

// server runs a stand-in and returns a target on it.
func server(t *testing.T, s *standin.Server, id string) *api.Target {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return &api.Target{Provider: "anthropic", BaseURL: h.URL, Host: strings.TrimPrefix(h.URL, "http://"), API: api.Messages, Model: id, Key: "k", Encoded: &api.Cached{}}
}

// send sends a request and returns the reply.
func send(t *testing.T, req *model.Request, target *api.Target) (*model.Reply, model.Delta, error) {
	t.Helper()
	encoded, err := messages.API{}.Encode(req, target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), encoded.Method, encoded.URL, encoded.Body.Reader())
	if err != nil {
		t.Fatal(err)
	}
	r.Header = encoded.Header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		body, _ := io.ReadAll(resp.Body) // the part read so far is enough
		return nil, model.Delta{}, messages.API{}.Classify(resp.StatusCode, resp.Header, body)
	}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		body, _ := io.ReadAll(resp.Body)
		return decode(req, target, strings.NewReader("data: "+string(body)+"\n\n"))
	}
	return decode(req, target, resp.Body)
}

var target = &api.Target{Host: "api.anthropic.com", API: api.Messages, Model: "claude-opus-5-5", BaseURL: "https://api.anthropic.com"}

func stream(events ...string) io.Reader {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "event: x\ndata: %s\n\n", e)
	}
	return strings.NewReader(b.String())
}

const (
	begin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-opus-5-5-x","stop_reason":null,"stop_details":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1,"service_tier":"standard"}}}`
	ping  = `{"type": "ping"}`
	end   = `{"type":"message_stop"}`
)

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":15,"output_tokens_details":{"thinking_tokens":7}}}`
}

func state(data string) *model.State { return target.NewState([]byte(data)) }

// TestDecoder decodes the API's current streams and possible future streams.
func TestDecoder(t *testing.T) {
	t.Parallel()
	tools := []model.Tool{{Name: "read", Schema: []byte(`{"type":"object","properties":{"path":{}}}`)}, {Name: "list"}}
	reasoning := func(text, data string) model.Part {
		return model.Part{Type: model.ReasoningType, Text: text, State: state(data)}
	}
	call := func(id, name, args string) model.Part {
		return model.CallPart(model.Call{ID: id, Name: name, Args: args})
	}
	for name, tc := range map[string]struct {
		events []string
		want   []model.Part
		finish model.Finish
	}{
		"text": {[]string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, ping,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo <b> é"}}`,
			`{"type":"content_block_stop","index":0}`, stop("end_turn"), end},
			[]model.Part{model.TextPart("Hello <b> é")}, model.FinishStop},
		"two blocks of text stay two": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}`, `{"type":"content_block_stop","index":1}`, stop("stop_sequence"), end},
			[]model.Part{model.TextPart("a"), model.TextPart("b")}, model.FinishStop},
		"thinking keeps its bytes": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Say \"hi\" <now>\n"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ok"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/="}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"hi"}}`, `{"type":"content_block_stop","index":1}`, stop("end_turn"), end},
			[]model.Part{reasoning("Say \"hi\" <now>\nok", `{"type":"thinking","signature":"EqQB+/=","thinking":"Say \"hi\" <now>\nok"}`), model.TextPart("hi")}, model.FinishStop},
		"thinking without its text, with a field of another version": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"","mode":{"b": 1e2, "a":"<"}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"QB"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zm9v"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"hi"}}`, `{"type":"content_block_stop","index":2}`, stop("end_turn"), end},
			[]model.Part{reasoning("", `{"type":"thinking","mode":{"b": 1e2, "a":"<"},"signature":"EqQB","thinking":""}`), reasoning("", `{"type":"redacted_thinking","data":"Zm9v"}`), model.TextPart("hi")}, model.FinishStop},
		"parallel calls": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":".go\"}"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_3","name":"read","input":{"path":"b"}}}`, `{"type":"content_block_stop","index":2}`,
			stop("tool_use"), end},
			[]model.Part{call("toolu_1", "read", `{"path": "a.go"}`), call("toolu_2", "list", "{}"), call("toolu_3", "read", `{"path":"b"}`)}, model.FinishCalls},
		"thinking between calls, which come at the same time": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"2\"}"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"1\"}"}}`,
			`{"type":"content_block_stop","index":1}`, `{"type":"content_block_stop","index":0}`, stop("tool_use"), end},
			[]model.Part{call("a", "read", `{"path":"1"}`), call("b", "read", `{"path":"2"}`)}, model.FinishCalls},
		"a call of another tool keeps its block": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"Read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":\"1\"}"}}`,
			`{"type":"content_block_stop","index":0}`, stop("tool_use"), end},
			[]model.Part{{Type: model.CallType, Call: model.Call{ID: "a", Name: "Read", Args: `{"file_path":"1"}`}, State: state(`{"type":"tool_use","id":"a","input":{"file_path":"1"},"name":"Read"}`)}}, model.FinishCalls},
		"a call with other parameters keeps its block": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"file\": 1}"}}`,
			`{"type":"content_block_stop","index":0}`, stop("tool_use"), end},
			[]model.Part{{Type: model.CallType, Call: model.Call{ID: "a", Name: "read", Args: `{"file": 1}`}, State: state(`{"type":"tool_use","id":"a","input":{"file": 1},"name":"read"}`)}}, model.FinishCalls},
		"an unfinished call": {[]string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`, stop("max_tokens"), end},
			[]model.Part{call("a", "read", `{"path":`)}, model.FinishLength},
		"blocks and events of another version": {[]string{begin, `{"type":"weather","index":"3"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"a"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"text":"c"}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"smell_delta","text":"lost"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":{"odd":1}}}`,
			`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"of no block"}}`, `{"type":"content_block_stop","index":7}`,
			`{"type":"content_block_start","index":2}`, `{"type":"content_block_start","index":3,"content_block":[]}`,
			`{"type":"content_block_stop","index":1}`, stop("a_new_reason"), end},
			[]model.Part{reasoning("", `{"type":"server_tool_use","id":"srv_1","input":{"query":"x"},"name":"web_search"}`), model.TextPart("a")}, model.FinishStop},
		"pause":           {[]string{begin, stop("pause_turn"), end}, nil, model.FinishPause},
		"refusal":         {[]string{begin, stop("refusal"), end}, nil, model.FinishRefusal},
		"no reason":       {[]string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, stop(""), end}, []model.Part{model.TextPart("a")}, model.FinishStop},
		"no message_stop": {[]string{begin, stop("end_turn")}, nil, model.FinishStop},
		"a reply that is not streamed": {[]string{`{"type":"message","model":"m","role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"i","name":"read","input":{"path":"b"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`},
			[]model.Part{reasoning("t", `{"type":"thinking","signature":"s","thinking":"t"}`), model.TextPart("a"), call("i", "read", `{"path":"b"}`)}, model.FinishCalls},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, _, err := decode(&model.Request{Tools: tools}, target, stream(tc.events...))
			if err != nil || reply.Finish != tc.finish {
				t.Fatalf("finish %q, %v", reply.Finish, err)
			}
			if got := reply.Parts(); len(got)+len(tc.want) > 0 && !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", show(got), show(tc.want))
			}
		})
	}
}

func show(parts []model.Part) (all []string) {
	for _, p := range parts {
		text := fmt.Sprintf("%s %q %+v", p.Type, p.Text, p.Call)
		if p.State != nil {
			text += " " + string(p.State.Data)
		}
		all = append(all, text)
	}
	return all
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events []string
		want   model.Usage
	}{
		"of both events": {[]string{begin, stop("end_turn")}, model.Usage{Input: 130, Output: 15, Reasoning: 7, CachedRead: 100, CachedWrite: 20}},
		"only at the end": {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":2}}`}, model.Usage{Input: 13, Output: 2, CachedRead: 4}},
		"null, huge and negative": {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":null,"cache_read_input_tokens":9223372036854775807,"cache_creation_input_tokens":-5}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-1}}`}, model.Usage{Input: 1 << 40, CachedRead: 1 << 40}},
	} {
		reply, last, err := decode(&model.Request{}, target, stream(tc.events...))
		if err != nil || reply.Usage != tc.want || last.Model == "" {
			t.Errorf("%s: %+v of %q, %v", name, reply.Usage, last.Model, err)
		}
	}
}

// TestBadStreams checks the errors for streams without a reply.
func TestBadStreams(t *testing.T) {
	t.Parallel()
	text := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`
	for name, tc := range map[string]struct {
		events []string
		want   model.ErrorKind
	}{
		"cut":                {[]string{begin, text}, model.ErrCut},
		"empty":              {nil, model.ErrCut},
		"no reply":           {[]string{`{"hello":1}`}, model.ErrGarbage},
		"the window is full": {[]string{begin, text, stop("model_context_window_exceeded"), end}, model.ErrOverflow},
		"overloaded":         {[]string{begin, text, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, model.ErrBusy},
		"endless":            {[]string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + strings.Repeat("x", 5<<20) + `"}}`}, model.ErrEndless},
	} {
		_, _, err := decode(&model.Request{}, target, stream(tc.events...))
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	var failed *model.Error
	if _, _, err := decode(&model.Request{}, target, stream(begin, `{"type":`)); err == nil || errors.As(err, &failed) {
		t.Errorf("broken JSON: %v", err)
	}
}

// TestStopReading checks that nothing is emitted after the caller stops.
func TestStopReading(t *testing.T) {
	t.Parallel()
	n := 0
	d := messages.API{}.Decoder(&model.Request{}, target, func(model.Delta) bool { n++; return false })
	if err := d.Event("", []byte(`{"type":"message","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn"}`)); err != nil {
		t.Fatal(err)
	}
	if !d.Finished() || d.End(false) != nil || n != 1 {
		t.Errorf("%d deltas", n)
	}
}

func TestRefusalIsExplained(t *testing.T) {
	t.Parallel()
	_, last, err := decode(&model.Request{}, target, stream(begin, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"Not this."}},"usage":{"output_tokens":1}}`, end))
	if err != nil || last.Finish != model.FinishRefusal || last.Refusal != "Not this." {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestOddStreams checks streams damaged by proxies.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	event := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	start, end := `{"type":"message_start","message":{"model":"m"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`
	text := func(words string) string {
		return event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+words+`"}}`, `{"type":"content_block_stop","index":0}`)
	}
	call := func(id, args string) string {
		return event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"`+id+`","name":"look","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"`+args+`"}}`)
	}
	for name, c := range map[string]struct {
		stream, text string
		calls        []model.Call
	}{
		"a second message replaces the first": {event(start) + text("first") + call("a", "{}") + event(start) + text("second") + event(end), "second", nil},
		"a second start before any content":   {event(start, start) + text("only") + event(end), "only", nil},
		"a second message after the end":      {event(start) + text("first") + event(end, start) + text("second") + event(end), "second", nil},
		"two calls at one index": {event(start) + call("a", `{\"p\":1}`) + call("b", `{\"p\":2}`) + event(end), "",
			[]model.Call{{ID: "a", Name: "look", Args: `{"p":1}`}, {ID: "b", Name: "look", Args: `{"p":2}`}}},
		"two calls at one index, without ids": {event(start) + call("", `{\"p\":1}`) + call("", `{\"p\":1}`) + event(end), "",
			[]model.Call{{ID: "call_1", Name: "look", Args: `{"p":1}`}, {ID: "call_2", Name: "look", Args: `{"p":1}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, _, err := decode(&model.Request{}, &api.Target{API: api.Messages, Host: "h"}, strings.NewReader(c.stream))
			if err != nil || reply.Text != c.text || !reflect.DeepEqual(reply.Calls, c.calls) {
				t.Errorf("%q %+v, %v", reply.Text, reply.Calls, err)
			}
		})
	}
}
