package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

func as(provider string) func(*client.Config) {
	return func(c *client.Config) { c.Endpoints[0].Provider = provider }
}

func TestEachRequestExtendsTheOneBefore(t *testing.T) {
	t.Parallel()
	rec := &modeltest.Recorder{}
	m := modeltest.Serve(t, rec.ServeHTTP)
	tools := []model.Tool{{Name: "read_file", Description: "a < b", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "todo"}}
	req := &model.Request{System: "You <are> it.", Tools: tools}
	for _, msg := range []model.Message{
		model.NewMessage(model.User, "look", model.ImagePart(model.Image{MIMEType: "image/png", Data: "aGk="})),
		model.ResponseMessage("hm", "", model.Call{ID: "1", Name: "read_file", Args: `{"path":"a"}`}, model.Call{ID: "2", Name: "todo", Args: `{broken`}, model.Call{ID: "3", Name: "todo"}),
		model.ResultMessage("1", "read_file", ""),
		model.ResultMessage("2", "todo", `{"error":"<&>"}`),
		model.ResultMessage("3", "todo", `{}`),
		model.ResponseMessage("", "done"),
		model.NewMessage(model.User, "more \u2028 \x00 \xff"),
	} {
		req.Messages = append(req.Messages, msg)
		if _, _, err := modeltest.Ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	req.NoCalls = true
	if _, _, err := modeltest.Ask(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	if last := rec.Bodies[len(rec.Bodies)-1]; !bytes.HasSuffix(last, []byte(`],"tool_choice":"none"}`)) {
		t.Errorf("the request without calls: %s", last)
	}
	bodies := rec.Prompts() // without the requests for metadata
	for i, body := range bodies {
		if !json.Valid(body) {
			t.Fatalf("request %d is no JSON: %s", i, body)
		}
		if i > 0 && !bytes.HasPrefix(body, bytes.TrimSuffix(bodies[i-1], []byte("]}"))) {
			t.Errorf("request %d does not extend the one before:\n%s\n%s", i, bodies[i-1], body)
		}
	}
	got := string(rec.Bodies[len(rec.Bodies)-1])
	for _, want := range []string{
		`"messages":[{"role":"system","content":"You <are> it."},`,
		`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`,
		`"arguments":"{\"invalid_json\":\"{broken\"}"}`,
		`{"id":"3","type":"function","function":{"name":"todo","arguments":"{}"}}`,
		`{"role":"tool","content":"","tool_call_id":"1"}`,
		`{"name":"todo","parameters":{"type":"object","properties":{}}}`,
		`"stream_options":{"include_usage":true}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the request lacks %s:\n%s", want, got)
		}
	}
	for _, never := range []string{"temperature", "top_p", "reasoning", "max_"} {
		if strings.Contains(got, never) {
			t.Errorf("the request has %s: %s", never, got)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider, id string
		want, never  string
	}{
		{"openai", "gpt-5", `"max_completion_tokens":7,"reasoning_effort":"low","prompt_cache_key":"sid"`, `"max_tokens"`},
		{"openai", "gpt-6-astra", `"reasoning_effort":"low"`, `"max_tokens"`}, // the library itself would reject this model
		{"openrouter", "x/y", `"usage":{"include":true},"max_completion_tokens":7`, "prompt_cache_key"},
		{"custom", "o3-mini", `"max_completion_tokens":7`, `"max_tokens"`},
		{"ollama", "qwen3", `"max_tokens":7`, "max_completion_tokens"},
		{"custom", "deepseek-chat", `"reasoning_content":"hm"`, "max_completion_tokens"},
		{"openrouter", "qwen/qwen3-max", `"reasoning_content":"hm"`, `"max_tokens"`},
		{"zai", "glm-4.7", `"reasoning_content":"hm"`, "max_completion_tokens"},
		{"custom", "gpt-oss", `"max_tokens":7`, "reasoning_content"},
	}
	for _, tt := range tests {
		t.Run(tt.provider+" "+tt.id, func(t *testing.T) {
			t.Parallel()
			rec := &modeltest.Recorder{}
			m := modeltest.Serve(t, rec.ServeHTTP, as(tt.provider), func(c *client.Config) { c.Endpoints[0].Model = tt.id })
			req := hello()
			req.MaxTokens, req.Effort, req.SessionID = 7, "low", "sid"
			req.Messages = append(req.Messages, model.ResponseMessage("hm", "", model.Call{ID: "1", Name: "todo"}),
				model.ResultMessage("1", "", "{}"))
			if _, _, err := modeltest.Ask(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
			if got := string(rec.Bodies[0]); !strings.Contains(got, tt.want) || strings.Contains(got, tt.never) {
				t.Errorf("want %s, not %s: %s", tt.want, tt.never, got)
			}
		})
	}
}

func TestRefusedParametersAreLeftOutAndRemembered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, message string
		refuse        func(body string) bool
	}{
		{"stream_options", `Unrecognized request argument supplied: stream_options`, func(b string) bool { return strings.Contains(b, "stream_options") }},
		{"max tokens", `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`, func(b string) bool { return strings.Contains(b, `"max_tokens"`) }},
		{"effort", `Unknown field: reasoning_effort`, func(b string) bool { return strings.Contains(b, "reasoning_effort") }},
		{"effort with tools", `Function tools with reasoning_effort are not supported. Set reasoning_effort to 'none'.`, func(b string) bool { return !strings.Contains(b, `"reasoning_effort":"none"`) }},
		{"tool choice", `"none" is not a valid tool_choice`, func(b string) bool { return strings.Contains(b, "tool_choice") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := &modeltest.Recorder{Answer: func(_ int, body []byte, w http.ResponseWriter) {
				if tt.refuse(string(body)) {
					w.WriteHeader(400)
					fmt.Fprintf(w, `{"error":{"message":%q}}`, tt.message)
					return
				}
				io.WriteString(w, modeltest.Fine)
			}}
			m := modeltest.Serve(t, rec.ServeHTTP)
			req := hello()
			req.Effort, req.MaxTokens, req.NoCalls = "low", 7, true
			for range 2 {
				if _, notices, err := modeltest.Ask(t.Context(), m, req); err != nil || notices != nil {
					t.Fatalf("notices %q, error %v", notices, err)
				}
			}
			if len(rec.Bodies) != 3 {
				t.Errorf("%d requests, want a refused one and two that are fine", len(rec.Bodies))
			}
		})
	}
}

func TestARefusedParameterEndsWhenNothingHelps(t *testing.T) {
	t.Parallel()
	rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"stream_options, max_tokens and reasoning_effort 'none' are all wrong"}}`)
	}}
	req := hello()
	req.Effort, req.MaxTokens = "low", 7
	_, _, err := modeltest.Ask(t.Context(), modeltest.Serve(t, rec.ServeHTTP), req)
	modeltest.CheckError(t, err, model.ErrRequest, "all wrong")
	if len(rec.Bodies) > 4 {
		t.Errorf("asked %d times", len(rec.Bodies))
	}
}

// TestWindow checks the sources of the context window: the configuration, a table, or a
// default.
func TestWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ configured, known, want int }{{0, 0, 128000}, {0, 400000, 400000}, {5, 400000, 5}} {
		m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, Model: "m", Window: c.configured, Known: client.Facts{Window: c.known}}}})
		if got := m.Window(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			req := hello()
			for range n / 2 {
				req.Messages = append(req.Messages,
					model.ResponseMessage("", "", model.Call{ID: "call_1", Name: "read_file", Args: `{"path":"a.go"}`}),
					model.ResultMessage("call_1", "", strings.Repeat("12|if a < b {\n", 140)))
			}
			m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, BaseURL: "http://e/v1", Model: "m", Transport: discard{}}}})
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/message")
		})
	}
}

// discard reads each request and answers it with fine.
type discard struct{}

func (discard) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(modeltest.Fine)), Request: r}, nil
}

// TestSilence checks that an empty response adds no assistant message to a request. If the
// endpoint requires alternating roles, adjacent messages are joined.
func TestSilence(t *testing.T) {
	t.Parallel()
	log := []model.Message{
		model.NewMessage(model.User, "one"),
		model.ResponseMessage("hm", ""),
		model.NewMessage(model.User, "two"),
		model.ResponseMessage("", "", model.Call{ID: "1", Name: "todo", Args: `{}`}),
		model.ResultMessage("1", "", `{}`),
		model.ResponseMessage("", ""),
		model.NewMessage(model.User, "three"),
		model.NewMessage(model.User, "four", model.ImagePart(model.Image{MIMEType: "image/png", Data: "aGk="})),
	}
	for says, want := range map[string]string{
		"": "user user assistant tool user user:1",
		"Conversation roles must alternate user/assistant/user/assistant/...":           "user assistant tool",
		"Expected last role User or Tool, got unexpected role 'user' after role 'tool'": "user assistant tool",
	} {
		rec := &modeltest.Recorder{Answer: func(_ int, body []byte, w http.ResponseWriter) {
			if says != "" && (strings.Contains(string(body), `"one"},{"role":"user"`) || strings.Contains(string(body), `"tool_call_id":"1"},{"role":"user"`)) {
				w.WriteHeader(http.StatusBadRequest)
				json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": says}})
				return
			}
			io.WriteString(w, modeltest.Fine)
		}}
		m := modeltest.Serve(t, rec.ServeHTTP)
		for range 2 {
			if _, _, err := modeltest.Ask(t.Context(), m, &model.Request{Messages: log}); err != nil {
				t.Fatal(err)
			}
		}
		bodies := rec.Prompts()
		last := string(bodies[len(bodies)-1])
		if got := modeltest.Shape(t, []byte(last)); got != want {
			t.Errorf("%q: sent %s, want %s", says, got, want)
		}
		if says != "" && !strings.Contains(last, `"one\n\ntwo"`) ||
			says != "" && !strings.Contains(last, `"content":[{"type":"text","text":"{}\n\nthree"},{"type":"text","text":"four"},{"type":"image_url"`) {
			t.Errorf("%q: texts are missing: %s", says, last)
		}
		if n := len(bodies); n != 2 && says == "" || n != 3 && says != "" {
			t.Errorf("%q: %d requests", says, n)
		}
	}
}
