package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
	anthropic "github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/messages/standin"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/openai/chattest"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// strict is a server as strict about requests as the real API. It answers with the queued
// streams, unchanged, and then with a short text.
type strict struct {
	api   api.API
	check func() http.Handler
	text  func(text string) string // the stream of a complete response
	form  func(calls []oddCall, text string) string

	// refuse returns the message of a refusal for a body, or "". Nil refuses nothing.
	refuse func(body []byte) string

	mu       sync.Mutex
	queue    []string
	refusals []string
	server   *httptest.Server
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r) // a request for metadata
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	checked := httptest.NewRecorder()
	s.check().ServeHTTP(checked, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if checked.Code != http.StatusOK {
		s.refusals = append(s.refusals, fmt.Sprintf("%s\n%s", checked.Body, body[max(0, len(body)-1000):]))
		w.WriteHeader(checked.Code)
		_, _ = w.Write(checked.Body.Bytes())
		return
	}
	if s.refuse != nil {
		if message := s.refuse(body); message != "" {
			s.refusals = append(s.refusals, message)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","code":400,"status":"INVALID_ARGUMENT","message":%s}}`, quoted(message))
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	stream := s.text("done")
	if len(s.queue) > 0 {
		stream, s.queue = s.queue[0], s.queue[1:]
	}
	_, _ = io.WriteString(w, stream)
}

func (s *strict) model() *client.Model {
	return client.New(client.Config{Endpoints: []client.Endpoint{{API: s.api, Provider: "custom", BaseURL: s.server.URL, Model: "gemini-3-pro", Keys: []string{"k"}}}})
}

// oddCall is a call of a hostile response. Its fields are raw JSON strings.
type oddCall struct {
	index          int
	id, name, args string
	split          bool // the arguments come in a second piece with nothing but another index
}

// strictServers returns a strict server for each API, and for Mistral's chat API.
func strictServers(t *testing.T) map[string]*strict {
	all := map[string]*strict{
		"chat": {api: openai.API{}, check: func() http.Handler { return &chattest.Server{Next: func(http.ResponseWriter, []byte) {}} }, text: chatText, form: chatStream},
		"mistral": {api: openai.API{}, check: func() http.Handler {
			return &chattest.Server{Mistral: true, Next: func(http.ResponseWriter, []byte) {}}
		}, text: chatText, form: chatStream},
		"responses": {api: responses.API{}, check: func() http.Handler {
			return responsestest.New(responsestest.Reply{Items: []responsestest.Item{responsestest.Text("ok")}})
		}, text: responsesText, form: responsesStream},
		"messages": {api: anthropic.API{}, check: func() http.Handler {
			return &standin.Server{Next: standin.Script(standin.Reply{Blocks: []standin.Block{standin.Text("ok")}})}
		}, text: messagesText, form: messagesStream},
		"gemini": {api: gemini.API{}, check: func() http.Handler {
			return geminitest.New(geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("ok")}})
		}, text: geminiText, form: geminiStream},
	}
	for _, s := range all {
		s.server = httptest.NewServer(s)
		t.Cleanup(s.server.Close)
	}
	return all
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func chatText(text string) string { return chatStream(nil, quoted(text)) }

func chatStream(calls []oddCall, text string) string {
	var b strings.Builder
	event := func(delta string) { fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta) }
	event(`{"role":"assistant","content":` + text + `}`)
	for _, c := range calls {
		args := c.args
		if c.split {
			args = `""`
		}
		event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"function":{"name":%s,"arguments":%s}}]}`, c.index, c.id, c.name, args))
		if c.split {
			event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, c.index+1, c.args))
		}
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return b.String()
}

func responsesText(text string) string { return responsesStream(nil, quoted(text)) }

func responsesStream(calls []oddCall, text string) string {
	var b strings.Builder
	event := func(kind, rest string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, rest) }
	if text != `""` {
		event("response.output_item.added", `"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}`)
		event("response.output_text.delta", `"output_index":0,"delta":`+text)
		event("response.output_item.done", `"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":`+text+`}]}`)
	}
	for n, c := range calls {
		item := fmt.Sprintf(`"output_index":%d,"item":{"type":"function_call","id":%s,"call_id":%s,"name":%s,"arguments":`, c.index+1, strings.Replace(c.id, `"`, `"fc_`, 1), c.id, c.name)
		if n%2 == 0 {
			event("response.output_item.added", item+`""}`)
			event("response.function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, c.index+1, c.args))
		}
		event("response.output_item.done", item+c.args+`}`)
	}
	event("response.completed", `"response":{"model":"m","output":[]}`)
	return b.String()
}

func messagesText(text string) string { return messagesStream(nil, quoted(text)) }

func messagesStream(calls []oddCall, text string) string {
	var b strings.Builder
	event := func(kind, rest string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
	event("message_start", `,"message":{"model":"m","content":[],"usage":{"input_tokens":1}}`)
	event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+text+`}`)
	event("content_block_stop", `,"index":0`)
	for _, c := range calls {
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, c.index+1, c.id, c.name))
		event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, c.index+1, c.args))
		if !c.split {
			event("content_block_stop", fmt.Sprintf(`,"index":%d`, c.index+1))
		}
	}
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
	}
	event("message_delta", `,"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":1}`)
	event("message_stop", "")
	return b.String()
}

func geminiText(text string) string { return geminiStream(nil, quoted(text)) }

func geminiStream(calls []oddCall, text string) string {
	var parts []string
	if text != `""` {
		parts = append(parts, `{"text":`+text+`}`)
	}
	for _, c := range calls {
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
	return "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[" + strings.Join(parts, ",") + "]},\"finishReason\":\"STOP\"}],\"modelVersion\":\"m\"}\n\n"
}

// JSON strings of hostile servers. Each breaks a rule of some API.
var (
	oddIDs   = []string{`""`, `"a"`, `"a"`, `"call_1"`, `"call_1"`, `"functions.look:0"`, `"a.b"`, `"a:b"`, `"id with spaces"`, `"é☃"`, `"\u0000"`, `"\ud800x"`, `"` + strings.Repeat("i", 41) + `"`, `"` + strings.Repeat("j", 300) + `"`, `"-"`, `"x/y\\z"`}
	oddNames = []string{`""`, `" "`, `"look"`, `"look"`, `" write "`, `"9lives"`, `"-x"`, `"a b"`, `"mcp.server.tool"`, `"look\u0000"`, `"\udc00"`, `"` + strings.Repeat("n", 65) + `"`, `"` + strings.Repeat("☃", 70) + `"`, `"functions.look"`, `"look<|channel|>"`, `"{\"a\":1}"`, `"___"`}
	oddArgs  = []string{`""`, `"{}"`, `"{\"path\":\"a\"}"`, `"{\"path\":\"a"`, `"[1]"`, `"null"`, `"\"text\""`, `"5"`, `"not JSON"`, `"{\"path\":\"\\ud800\"}"`, `"{\"path\":\"\\u0000\"}"`, `"{\"path\":\"\u0000\"}"`, `"{\"path\":\"a\",\"path\":\"b\"}"`,
		`"{\"n\":1e999}"`, `"{\"n\":` + strings.Repeat("9", 400) + `}"`, `"{\"\\ud800\":1}"`, quoted(`{"d":` + strings.Repeat("[", 150) + strings.Repeat("]", 150) + `}`), `"  {\"path\":\"a\"}  "`, `"{\"path\":\"a\"}{\"path\":\"a\"}"`, `"{'path': True}"`, `"\ud83d"`}
	oddTexts = []string{`""`, `""`, `" "`, `"\n\n"`, `"words"`, `"words  "`, `"\u0000"`, `"a\ud800b"`, `"\ufeff"`, `"☃"`}
)

// TestHostileReplies sends odd calls and texts to a session. No strict server may refuse its
// history: neither the same server nor, after loading, a server of another API.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	servers := strictServers(t)
	st := openStore(t)
	call := rapid.Custom(func(t *rapid.T) oddCall {
		return oddCall{rapid.IntRange(0, 2).Draw(t, "index"), rapid.SampledFrom(oddIDs).Draw(t, "id"), rapid.SampledFrom(oddNames).Draw(t, "name"),
			rapid.SampledFrom(oddArgs).Draw(t, "args"), rapid.Bool().Draw(t, "split")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		from := servers[rapid.SampledFrom([]string{"chat", "responses", "messages", "gemini"}).Draw(rt, "API")]
		var streams []string
		for range rapid.IntRange(1, 5).Draw(rt, "responses") {
			streams = append(streams, from.form(rapid.SliceOfN(call, 0, 4).Draw(rt, "calls"), rapid.SampledFrom(oddTexts).Draw(rt, "text")))
		}
		playHostile(rt, t, st, servers, from, streams)
	})
}

func playHostile(rt *rapid.T, t *testing.T, st *store.Store, servers map[string]*strict, from *strict, streams []string) {
	from.mu.Lock()
	from.queue = streams
	from.mu.Unlock()
	config := agent.Config{Model: from.model(), Store: st, Tools: scriptTools(t, nil), MaxIterations: 6}
	s := begin(t, config)
	for range 2 {
		if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
			rt.Fatalf("%v", refusalsOf(servers, err))
		}
	}
	config.Head.ID = s.ID()
	for name, to := range servers {
		config.Model = to.model()
		loaded := load(t, config)
		if _, err := loaded.Turn(t.Context(), agent.Input{Text: "and now?"}, &recorder{}); err != nil {
			rt.Fatalf("%s: %v", name, refusalsOf(servers, err))
		}
	}
	for name, s := range servers {
		if name == "mistral" {
			continue // the client learns its rules from refusals
		}
		s.mu.Lock()
		if len(s.refusals) > 0 {
			rt.Errorf("%s refused: %s", name, s.refusals[0])
			s.refusals = nil
		}
		s.mu.Unlock()
	}
}

func refusalsOf(servers map[string]*strict, err error) error {
	all := []error{err}
	for name, s := range servers {
		s.mu.Lock()
		if len(s.refusals) > 0 {
			all = append(all, fmt.Errorf("%s: %s", name, s.refusals[0]))
		}
		s.refusals, s.queue = nil, nil
		s.mu.Unlock()
	}
	return errors.Join(all...)
}
