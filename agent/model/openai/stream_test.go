package openai_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var someTools = modeltest.Tools("read_file", "search_files", "write_file", "todo")

func hello() *model.Request { return modeltest.Hello(someTools...) }

// file returns a handler with a fixed response: a file of testdata.
func file(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	kind := map[string]string{".sse": "text/event-stream", ".json": "application/json", ".html": "text/html; charset=utf-8", ".txt": "text/plain"}[filepath.Ext(name)]
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Write(body)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) model.Call { return model.Call{ID: id, Name: name, Args: args} }
	type want struct {
		text, reasoning string
		calls           []model.Call
		finish          model.Finish
		usage           model.Usage
		model           string
		err             model.ErrorKind // "" for none
		message         string          // part of the error
	}
	tests := map[string]want{
		"openai_text_calls.sse": {text: "I will look.", finish: model.FinishCalls, model: "gpt-5-2025-08-07",
			calls: []model.Call{call("call_abc", "read_file", `{"path":"main.go"}`), call("call_def", "search_files", `{"pattern":"x"}`)},
			usage: model.Usage{Input: 120, Output: 40, Reasoning: 16, CachedRead: 64}},
		"interleaved.sse": {finish: model.FinishCalls, model: "gpt-5-2025-08-07",
			calls: []model.Call{call("a", "read_file", `{"path":"a"}`), call("b", "read_file", `{"path":"b"}`)}},
		"openrouter_reasoning.sse": {text: "42", reasoning: "Let me think.", finish: model.FinishStop, model: "deepseek/deepseek-r1",
			usage: model.Usage{Input: 10, Output: 20, Reasoning: 12, CachedRead: 4, CachedWrite: 3, Cost: 0.00123}},
		"empty_errors.sse": {text: "yes, we can", finish: model.FinishStop, model: "m"},
		"moved_index.sse": {finish: model.FinishCalls, model: "m",
			calls: []model.Call{call("a", "read_file", `{"path":"a"}`), call("b", "read_file", `{"path":"b"}`)}},
		"deepseek.sse": {text: "Yes", reasoning: "Hm", finish: model.FinishStop, model: "deepseek-reasoner",
			usage: model.Usage{Input: 9, Output: 5, Reasoning: 2, CachedRead: 8}},
		"ollama_calls.sse": {finish: model.FinishCalls, model: "qwen3:8b",
			calls: []model.Call{call("call_1", "read_file", `{"path":"a"}`), call("call_2", "read_file", `{"path":"b"}`)}},
		"arguments_object.sse": {finish: model.FinishCalls, model: "qwen3:8b", calls: []model.Call{call("call_1", "read_file", `{"path":"a"}`)}},
		"vllm_tool_call_text.sse": {finish: model.FinishCalls, model: "qwen3:8b",
			calls: []model.Call{call("call_1", "read_file", `{"path": "a.go"}`)}},
		"mistral_parts.sse":         {text: "Yes.!", reasoning: "Hm.", finish: model.FinishStop, model: "qwen3:8b"},
		"function_call.sse":         {finish: model.FinishCalls, model: "gpt-5-2025-08-07", calls: []model.Call{call("call_1", "todo", "{}")}},
		"whole.json":                {text: "Hello", finish: model.FinishCalls, model: "m", calls: []model.Call{call("x", "todo", "{}")}, usage: model.Usage{Input: 3, Output: 4}},
		"no_done.sse":               {text: "Hello", finish: model.FinishStop, model: "qwen3:8b"},
		"no_finish_reason.sse":      {text: "Hello", finish: model.FinishStop, model: "qwen3:8b"},
		"null_finish_with_call.sse": {finish: model.FinishCalls, model: "qwen3:8b", calls: []model.Call{call("x", "todo", "{}")}},
		"odd_framing.sse":           {text: "Hello", finish: model.FinishStop, model: "m"},
		"length.sse":                {finish: model.FinishLength, model: "qwen3:8b", calls: []model.Call{call("x", "write_file", `{"path":"a","content":"abc`)}},
		"refusal.sse":               {text: "I can't help.", finish: model.FinishRefusal, model: "gpt-5-2025-08-07"},
		"content_filter.sse":        {text: "Once", finish: model.FinishRefusal, model: "gpt-5-2025-08-07"},
		"groq_usage.sse":            {text: "Hi", finish: model.FinishStop, model: "m", usage: model.Usage{Input: 7, Output: 2}},
		"moonshot_usage.sse":        {text: "Hi", finish: model.FinishStop, model: "m", usage: model.Usage{Input: 7, Output: 2, CachedRead: 5}},

		"event_error.sse":       {text: "Hel", err: model.ErrBusy, message: "Overloaded"},
		"openrouter_error.sse":  {text: "Hel", err: model.ErrServer, message: "Provider disconnected (Acme: upstream gone)"},
		"cut.sse":               {text: "Hello", err: model.ErrCut, message: "without a finish"},
		"cut_within_event.sse":  {text: "Hel", err: model.ErrCut, message: "unexpected EOF"},
		"llamacpp_overflow.sse": {err: model.ErrOverflow, message: "available context size"},
		"garbage.sse":           {err: model.ErrGarbage, message: "hello"},
		"not_a_stream.txt":      {err: model.ErrGarbage, message: "at lunch"},
		"error_200.json":        {err: model.ErrModel, message: "try pulling it"},
		"page.html":             {err: model.ErrGarbage, message: "Welcome to nginx!"},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _, err := modeltest.Ask(t.Context(), modeltest.Serve(t, file(t, name)), hello())
			got := want
			got.text, got.reasoning, got.calls = r.Text, r.Reasoning, r.Calls
			if want.err != "" {
				modeltest.CheckError(t, err, want.err, want.message)
			} else if err != nil {
				t.Fatalf("failed: %v", err)
			} else {
				got.finish, got.usage, got.model = r.Finish, r.Usage, r.Model
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		status  int
		body    string
		kind    model.ErrorKind
		message string
	}{
		{"401", 401, `{"error":{"message":"Incorrect API key provided: sk-secret-one. You can find your key at …","type":"invalid_request_error","code":"invalid_api_key"}}`, model.ErrAuth, "Incorrect API key provided: [key]"},
		{"401, masked", 401, `{"error":{"message":"Incorrect API key provided: sk-sec*****t-one."}}`, model.ErrAuth, "[key]"},
		{"403", 403, `{"error":"no access"}`, model.ErrAuth, "no access"},
		{"403, moderated", 403, `{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["x"]}}}`, model.ErrPolicy, "flagged"},
		{"402", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, model.ErrCredit, "Insufficient Balance"},
		{"429, quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.ErrCredit, "quota"},
		{"400", 400, `{"error":{"message":"Invalid value","param":"messages[3].role"}}`, model.ErrRequest, "Invalid value (messages[3].role)"},
		{"400, key (Google)", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.ErrAuth, "API key not valid"},
		{"404", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}`, model.ErrModel, "pulling"},
		{"404, page", 404, `<html><title>Not here</title></html>`, model.ErrRequest, "Not here"},
		{"overflow, OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","code":"context_length_exceeded"}}`, model.ErrOverflow, "128000"},
		{"overflow, Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, model.ErrOverflow, "210000"},
		{"overflow, Google", 400, `[{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}]`, model.ErrOverflow, "1048576"},
		{"overflow, xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}`, model.ErrOverflow, "131072"},
		{"overflow, vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`, model.ErrOverflow, "4096"},
		{"overflow, OpenRouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 1 > 0\"}}","provider_name":"Anthropic"}}}`, model.ErrOverflow, "Anthropic: prompt is too long"},
		{"413", 413, `too big`, model.ErrOverflow, "too big"},
		{"redirect elsewhere", 302, ``, model.ErrRequest, "http://elsewhere.invalid"},
		{"empty", 418, ``, model.ErrRequest, "teapot"},
		{"FastAPI", 422, `{"detail":[{"loc":["body","model"],"msg":"field required"}]}`, model.ErrRequest, "field required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			m := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Location", "http://elsewhere.invalid/v1/chat/completions?key=sk-secret-one")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			_, _, err := modeltest.Ask(t.Context(), m, hello())
			e := modeltest.CheckError(t, err, tt.kind, tt.message)
			if e.Status != tt.status && tt.status != 302 {
				t.Errorf("status = %d", e.Status)
			}
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}
