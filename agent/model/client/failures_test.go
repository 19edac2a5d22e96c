package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// streams holds a short response of each API: reasoning, and then the text "ok".
var streams = map[string]struct {
	api       api.API
	path      string // of the request
	reasoning string // the start of the stream
	text      string // the rest
}{
	api.Chat: {openai.API{}, "/v1/chat/completions",
		`data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`, modeltest.Fine},
	api.Messages: {messages.API{}, "/v1/messages",
		`event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ok"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`},
	api.Responses: {responses.API{}, "/v1/responses",
		`event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"hm"}`,
		`event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"ok"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok"}]}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"m","output":[],"usage":{"input_tokens":3,"output_tokens":5}}}

`},
	api.Gemini: {gemini.API{}, "/v1beta/models/m:streamGenerateContent",
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true}]}}],"modelVersion":"m"}`,
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"ok","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5},"modelVersion":"m"}

`},
}

// fails answers the first requests with a failure and all others with a response.
func fails(times int, fail http.HandlerFunc, name string) (http.HandlerFunc, *int) {
	n := new(int)
	return func(w http.ResponseWriter, r *http.Request) {
		if *n++; *n <= times {
			fail(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, streams[name].reasoning+"\n\n"+streams[name].text)
	}, n
}

func over(name string) func(*client.Config) {
	return func(c *client.Config) {
		e := &c.Endpoints[0]
		e.API, e.BaseURL, e.Keys = streams[name].api, "http://one.test", []string{"sk-secret-one"}
	}
}

// TestFailuresOfEachAPI checks the table of failures for each API: the retries, the waits, and
// the user's message.
func TestFailuresOfEachAPI(t *testing.T) {
	t.Parallel()
	reply := func(code int, body string, header ...string) func(string) http.HandlerFunc {
		return func(string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				for i := 0; i+1 < len(header); i += 2 {
					w.Header().Set(header[i], header[i+1])
				}
				w.WriteHeader(code)
				io.WriteString(w, body)
			}
		}
	}
	begun := func(after func(w http.ResponseWriter, r *http.Request)) func(string) http.HandlerFunc {
		return func(name string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, streams[name].reasoning+"\n\n")
				w.(http.Flusher).Flush()
				after(w, r)
			}
		}
	}
	google := `{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`
	tests := map[string]struct {
		fail     func(api string) http.HandlerFunc
		requests int // after a single failure; 1: no retry
		wait     time.Duration
		kind     model.ErrorKind // of the error if it is not tried again
	}{
		"500":                     {reply(500, `{}`), 2, time.Second, ""},
		"502":                     {reply(502, ``), 2, time.Second, ""},
		"503":                     {reply(503, ``), 2, time.Second, ""},
		"529":                     {reply(529, ``), 2, time.Second, ""},
		"429":                     {reply(429, ``), 2, time.Second, ""},
		"retry-after-ms":          {reply(429, ``, "Retry-After-Ms", "3000", "Retry-After", "9"), 2, 3 * time.Second, ""},
		"retry-after":             {reply(503, ``, "Retry-After", "9"), 2, 9 * time.Second, ""},
		"retryDelay":              {reply(429, google), 2, 7 * time.Second, ""},
		"a wait over 60 s":        {reply(429, ``, "Retry-After", "61"), 1, 0, model.ErrBusy},
		"x-should-retry":          {reply(500, ``, "X-Should-Retry", "false"), 1, 0, model.ErrServer},
		"an error event":          {reply(200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", "Content-Type", "text/event-stream"), 2, time.Second, ""},
		"cut after reasoning":     {begun(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), 2, time.Second, ""},
		"stalled after reasoning": {begun(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), 2, 91 * time.Second, ""},
		"API_KEY_INVALID":         {reply(400, `{"error":{"code":400,"message":"bad","details":[{"reason":"API_KEY_INVALID"}]}}`), 1, 0, model.ErrAuth},
		"insufficient_quota":      {reply(429, `{"error":{"code":"insufficient_quota","message":"no"}}`), 1, 0, model.ErrCredit},
		"spend limit":             {reply(429, `{"error":{"type":"rate_limit_error","message":"enforced_spend_limit_reached"}}`), 1, 0, model.ErrCredit},
		"a request that is wrong": {reply(400, `{"error":{"message":"bad value"}}`), 1, 0, model.ErrRequest},
		"context overflow":        {reply(400, `{"error":{"message":"prompt is too long: 9 > 8"}}`), 1, 0, model.ErrOverflow},
		"an unknown model":        {reply(404, `{"error":{"message":"model m does not exist"}}`), 1, 0, model.ErrModel},
	}
	for name := range streams {
		for what, tc := range tests {
			if name == api.Gemini && (what == "insufficient_quota" || what == "spend limit") {
				continue // these are other APIs' words; Gemini's quotas are limits per time
			}
			virtual(t, name+"/"+what, func(t *testing.T) {
				handler, requests := fails(1, tc.fail(name), name)
				var path string
				m := inMemory(func(w http.ResponseWriter, r *http.Request) { path = r.URL.Path; handler(w, r) }, over(name))
				began := time.Now()
				r, _, err := modeltest.Ask(t.Context(), m, hello())
				if *requests != tc.requests || path != streams[name].path {
					t.Errorf("%d requests to %s, want %d", *requests, path, tc.requests)
				}
				if tc.kind != "" {
					modeltest.CheckError(t, err, tc.kind, "")
					return
				}
				if err != nil || r.Text != "ok" || strings.Contains(r.Reasoning, "hmhm") {
					t.Errorf("text %q, reasoning %q, error %v", r.Text, r.Reasoning, err)
				}
				if r.Answered != "custom/m" {
					t.Errorf("answered by %q", r.Answered)
				}
				waited := time.Since(began)
				if slack := tc.wait / 4; waited < tc.wait-max(slack, time.Second/4) || waited > tc.wait+max(slack, time.Second/4) {
					t.Errorf("waited %v, want %v", waited, tc.wait)
				}
			})
		}
	}
}

// TestCutOffAfterText cuts a response after some text. It is not repeated. The test also checks
// the error text.
func TestCutOffAfterText(t *testing.T) {
	t.Parallel()
	virtual(t, "stalled", func(t *testing.T) {
		m := inMemory(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße\"}}]}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		_, _, err := modeltest.Ask(t.Context(), m, hello())
		if want := "m: the reply was cut off after 5 characters (the stream stalled for 90 s). The text is kept; send the prompt again to go on."; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}

// TestFallbackLastsForTheTurn checks a failing endpoint with a fallback. It is tried three
// times. The fallback then answers for the rest of the turn. The next turn starts with the
// first endpoint again.
func TestFallbackLastsForTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up := false
		one := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) {
			if !up {
				status(529, w)
				return
			}
			io.WriteString(w, modeltest.Fine)
		}}
		two := &modeltest.Recorder{}
		m := client.New(client.Config{Endpoints: []client.Endpoint{
			{API: openai.API{}, Provider: "one", BaseURL: "http://one.test/v1", Model: "a", Transport: memhttp.Transport(one)},
			{API: openai.API{}, Provider: "two", BaseURL: "http://two.test/v1", Model: "b", Transport: memhttp.Transport(two)},
		}})
		ask := func(turn, want string, requests int) (told []string) {
			t.Helper()
			req := ofSession("s")
			req.Turn = turn
			before, by := len(one.Bodies), ""
			for d, err := range m.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Fallback != "" {
					told = append(told, d.Fallback)
				}
				by += d.Answered
			}
			if by != want || len(one.Bodies)-before != requests {
				t.Errorf("%s answered, after %d requests to the first one", by, len(one.Bodies)-before)
			}
			return told
		}
		told := ask("1", "two/b", 3)
		if len(told) != 1 || told[0] != "two/b answers for the rest of this turn, because one/a failed: busy (529)." {
			t.Errorf("%q", told)
		}
		if told := ask("1", "two/b", 0); told != nil {
			t.Errorf("again: %q", told)
		}
		up = true
		ask("2", "one/a", 1)
	})
}

// TestRefusedKeyOfTwoModels checks the error for two models at a host that refused their key.
// It names both, in each turn.
func TestRefusedKeyOfTwoModels(t *testing.T) {
	t.Parallel()
	rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) { status(401, w) }}
	m := inMemory(rec.ServeHTTP, pool("a"), func(c *client.Config) {
		second := c.Endpoints[0]
		second.Model = "second"
		c.Endpoints = append(c.Endpoints, second)
	})
	for range 2 {
		_, _, err := modeltest.Ask(t.Context(), m, hello())
		var failed *model.Error
		if !errors.As(err, &failed) || len(failed.Others) != 1 || failed.Others[0].Model != "second" || failed.Model == "second" {
			t.Errorf("%v", err)
		}
	}
}

// TestAllModelsFailed checks the error after all models failed: it names each model with its
// reason.
func TestAllModelsFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := func(code int) http.RoundTripper {
			return memhttp.Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { status(code, w) }))
		}
		m := client.New(client.Config{Endpoints: []client.Endpoint{
			{API: openai.API{}, Provider: "one", BaseURL: "http://one.test/v1", Model: "a", Keys: []string{"k"}, Transport: answer(401)},
			{API: openai.API{}, Provider: "two", BaseURL: "http://two.test/v1", Model: "b", Transport: answer(402)},
		}})
		_, _, err := modeltest.Ask(t.Context(), m, hello())
		e := modeltest.CheckError(t, err, model.ErrAuth, "401")
		for _, want := range []string{"one/a: http://one.test/v1 refused the key for a (401): status 401", "two/b: http://two.test/v1 says that the account is out of credit (402)"} {
			if !strings.Contains(e.Error(), want) {
				t.Errorf("%q lacks %q", e.Error(), want)
			}
		}
	})
}

// TestStateIsDroppedOnce refuses the state in a request. The client repeats the request once
// without state and reports it to the caller. It does not count as a retry.
func TestStateIsDroppedOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ state, refusal string }{
		api.Messages:  {`{"type":"thinking","thinking":"hm","signature":"c2VjcmV0"}`, "messages.1.content.0: Invalid `signature` in `thinking` block"},
		api.Responses: {`{"id":"rs_9","type":"reasoning","summary":[],"encrypted_content":"c2VjcmV0"}`, "invalid_encrypted_content"},
	} {
		virtual(t, name, func(t *testing.T) {
			var bodies [][]byte
			m := inMemory(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, body)
				if bytes.Contains(body, []byte("c2VjcmV0")) {
					w.WriteHeader(400)
					fmt.Fprintf(w, `{"error":{"message":%q}}`, tc.refusal)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, streams[name].reasoning+"\n\n"+streams[name].text)
			}, over(name))
			req := hello()
			req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: []model.Part{
				{Type: model.ReasoningType, Text: "hm", State: &model.State{API: name, Host: "one.test", Data: []byte(tc.state)}}, model.TextPart("done"),
			}}, model.NewMessage(model.User, "more"))
			var dropped []model.Origin
			for d, err := range m.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Notice != "" {
					t.Errorf("a notice: %s", d.Notice)
				}
				if d.Dropped != nil {
					dropped = append(dropped, *d.Dropped)
				}
			}
			if len(bodies) != 2 || len(dropped) != 1 || dropped[0] != (model.Origin{API: name, Host: "one.test"}) {
				t.Errorf("%d requests, dropped %v", len(bodies), dropped)
			}
		})
	}
}

// TestStateRefusedEachTime refuses the state of each request. After three refusals in a row the
// client sends none. An accepted state in between starts the count again.
func TestStateRefusedEachTime(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]int{"rrrrrr": 3, "rraraarrrr": 6} { // r: refused, a: accepted
		virtual(t, plan, func(t *testing.T) {
			accepts, refusals := false, 0
			m := inMemory(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte("dW5zaWduZWQ")) && !accepts {
					refusals++
					w.WriteHeader(400)
					io.WriteString(w, `{"error":{"message":"messages.1.content.0.thinking.signature: Field required"}}`)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, streams[api.Messages].text)
			}, over(api.Messages))
			for i := range plan {
				accepts = plan[i] == 'a'
				req := hello()
				req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: []model.Part{
					{Type: model.ReasoningType, Text: "hm", State: &model.State{API: api.Messages, Host: "one.test", Data: []byte(`{"type":"thinking","thinking":"dW5zaWduZWQ"}`)}}, model.TextPart("done"),
				}}, model.NewMessage(model.User, "more"))
				if _, _, err := modeltest.Ask(t.Context(), m, req); err != nil {
					t.Fatal(err)
				}
			}
			if refusals != want {
				t.Errorf("%d refusals, want %d", refusals, want)
			}
		})
	}
}

// TestPause pauses a response. The client continues it with the parts received so far, as a
// single response with the sum of the usage.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		event := func(text, stop string, calls bool) string {
			call := ""
			if calls {
				call = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c-" + text + "\",\"name\":\"todo\",\"input\":{}}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
			}
			return "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + text + "\"}}\n\n" +
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" + call +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" + stop + "\"},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		}
		rec := &modeltest.Recorder{}
		rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
			io.WriteString(w, []string{event("one ", "pause_turn", false), event("two ", "pause_turn", false), event("three", "tool_use", true)}[n-1])
		}
		m := inMemory(rec.ServeHTTP, over(api.Messages))
		r, _, err := modeltest.Ask(t.Context(), m, hello())
		if err != nil || r.Text != "one two three" || r.Finish != model.FinishCalls || len(r.Calls) != 1 {
			t.Fatalf("%q, %s, %v, %v", r.Text, r.Finish, r.Calls, err)
		}
		if r.Usage.Input != 9 || r.Usage.Output != 15 {
			t.Errorf("usage %+v", r.Usage)
		}
		if last := string(rec.Bodies[2]); !strings.Contains(last, "one ") || !strings.Contains(last, "two\"") {
			t.Errorf("the last request: %s", last)
		}
	})
}

// BenchmarkAPIs measures the CPU of a delta of text in each API.
func BenchmarkAPIs(b *testing.B) {
	const n = 5000
	for name, s := range streams {
		delta := map[string]string{
			api.Chat:      `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`,
			api.Messages:  "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" word"}}`,
			api.Responses: "event: response.reasoning_summary_text.delta\n" + `data: {"type":"response.reasoning_summary_text.delta","sequence_number":7,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":" word","obfuscation":"x"}`,
			api.Gemini:    `data: {"candidates":[{"content":{"role":"model","parts":[{"text":" word","thought":true}]},"index":0}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"m","responseId":"x"}`,
		}[name]
		body := s.reasoning + "\n\n" + strings.Repeat(delta+"\n\n", n) + s.text
		b.Run(name, func(b *testing.B) {
			m := client.New(client.Config{Endpoints: []client.Endpoint{{API: s.api, BaseURL: "http://127.0.0.1", Model: "m", Transport: canned(body)}}})
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), hello()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
		})
	}
}

// BenchmarkRequests measures a request with 1,000 messages in each API.
func BenchmarkRequests(b *testing.B) {
	req := hello()
	for i := range 500 {
		id := fmt.Sprintf("call_%d", i)
		req.Messages = append(req.Messages,
			model.ResponseMessage("", "", model.Call{ID: id, Name: "read_file", Args: `{"path":"a.go"}`}),
			model.ResultMessage(id, "read_file", `{"content":"`+strings.Repeat("12|if a < b {", 140)+`"}`))
	}
	for name, s := range streams {
		b.Run(name, func(b *testing.B) {
			m := client.New(client.Config{Endpoints: []client.Endpoint{{API: s.api, BaseURL: "http://127.0.0.1", Model: "m", Window: 1, Transport: canned(s.reasoning + "\n\n" + s.text)}}})
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// canned reads each request and answers it with a stream.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet { // a request for the window
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}, nil
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(c))), Request: r}, nil
}
