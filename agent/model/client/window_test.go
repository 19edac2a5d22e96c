package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// served is a model server. It answers by method and path; with a "+" before the path, only
// after a request for a response.
type served struct {
	mu      sync.Mutex
	answers map[string]string
	refuse  func(body map[string]any) (status int, message string) // nil: no request is refused
	bodies  []map[string]any
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := r.Method + " " + r.URL.Path
	if strings.HasSuffix(what, "completions") || strings.HasSuffix(what, "responses") || strings.HasSuffix(what, "messages") || what == "POST /api/generate" {
		for path, answer := range s.answers {
			if later, ok := strings.CutPrefix(path, "+"); ok {
				s.answers[later] = answer
			}
		}
	}
	if answer, ok := s.answers[what]; ok {
		fmt.Fprint(w, answer)
		return
	}
	if !strings.HasSuffix(what, "completions") && !strings.HasSuffix(what, "messages") && !strings.HasSuffix(what, "responses") {
		http.NotFound(w, r)
		return
	}
	data, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(data, &body) // a request without JSON has no fields
	s.bodies = append(s.bodies, body)
	if s.refuse != nil {
		if status, message := s.refuse(body); status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, message)
			return
		}
	}
	if !strings.HasSuffix(what, "completions") {
		http.Error(w, `{"error":{"message":"this test has answers of chat only"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, shortReply)
}

func ask(t *testing.T, m *Model, text string) error {
	t.Helper()
	for _, err := range m.Stream(t.Context(), &model.Request{SessionID: "s", Messages: []model.Message{model.NewMessage(model.User, text)}}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestServedWindow checks the window against the loaded model's, before and after the first
// request, for each API and server.
func TestServedWindow(t *testing.T) {
	t.Parallel()
	llama := `{"data":[{"id":"file.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":131072,"n_ctx":7168}}]}`
	for name, tc := range map[string]struct {
		provider      string
		apis          []api.API // default: chat
		window        int       // of the user
		answers       map[string]string
		before, after int
	}{
		"llama.cpp": {"custom", []api.API{openai.API{}, responses.API{}, messages.API{}}, 0,
			map[string]string{"GET /v1/models": llama, "GET /props": `{"total_slots":2,"default_generation_settings":{"n_ctx":8192}}`}, 8192, 8192},
		"llama.cpp without /props": {"custom", nil, 0, map[string]string{"GET /v1/models": llama}, 7168, 7168},
		"llama.cpp without a list": {"custom", nil, 0, map[string]string{"GET /props": `{"default_generation_settings":{"n_ctx":4096}}`}, 4096, 4096},
		"only what it was trained for": {"custom", nil, 0,
			map[string]string{"GET /v1/models": `{"data":[{"id":"f","owned_by":"llamacpp","meta":{"n_ctx_train":1310720}}]}`}, 128000, 128000},
		"vLLM":         {"custom", []api.API{openai.API{}, responses.API{}}, 0, map[string]string{"GET /v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":16384}]}`}, 16384, 16384},
		"a user's own": {"mine", nil, 6000, map[string]string{"GET /v1/models": `{"data":[{"id":"m","max_model_len":16384}]}`}, 6000, 6000},
		"too large":    {"mine", nil, 60000, map[string]string{"GET /v1/models": `{"data":[{"id":"m","max_model_len":16384}]}`}, 16384, 16384},
		"Ollama": {"ollama", nil, 0, map[string]string{"POST /api/show": `{"model_info":{"q.context_length":262144}}`, "GET /api/ps": `{"models":[]}`,
			"+GET /api/ps": `{"models":[{"name":"m:latest","context_length":32768}]}`}, 4096, 32768},
		"Ollama that loads": {"ollama", nil, 0, map[string]string{"POST /api/show": `{}`, "POST /api/generate": `{"done":true}`, "GET /api/ps": `{"models":[]}`,
			"+GET /api/ps": `{"models":[{"name":"m:latest","context_length":32768}]}`}, 32768, 32768},
		"Ollama, num_ctx": {"custom", nil, 0, map[string]string{"GET /v1/models": `{"data":[{"id":"m","owned_by":"library"}]}`,
			"POST /api/show": `{"parameters":"stop \"x\"\nnum_ctx                        8192\n","model_info":{"q.context_length":262144}}`, "GET /api/ps": `{"models":[]}`}, 8192, 8192},
		"Ollama as custom": {"custom", nil, 0, map[string]string{"GET /api/ps": `{"models":[{"model":"m:latest","context_length":4096}]}`, "POST /api/show": `{}`}, 4096, 4096},
		"LM Studio": {"custom", nil, 0, map[string]string{"GET /v1/models": `{"data":[{"id":"m","owned_by":"organization_owner"}]}`,
			"GET /api/v0/models": `{"data":[{"id":"other"},{"id":"m","state":"loaded","max_context_length":131072,"loaded_context_length":12000}]}`}, 12000, 12000},
		"no list": {"custom", nil, 0, nil, 128000, 128000},
	} {
		if tc.apis == nil {
			tc.apis = []api.API{openai.API{}}
		}
		for _, a := range tc.apis {
			t.Run(name+" "+a.Name(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					answers := map[string]string{}
					for path, answer := range tc.answers {
						answers[path] = answer
					}
					transport := memhttp.Transport(&served{answers: answers})
					m := New(Config{Endpoints: []Endpoint{{API: a, Provider: tc.provider, Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m", Window: tc.window}}})
					defer m.Close()
					m.Prepare(t.Context())
					if got := m.Window(); got != tc.before {
						t.Errorf("window %d before the first request, want %d", got, tc.before)
					}
					_ = ask(t, m, "hi") // only chat gets an answer
					if got := m.Window(); got != tc.after {
						t.Errorf("window %d after it, want %d", got, tc.after)
					}
				})
			})
		}
	}
}

// TestServerThatLoads checks a server that is still loading its model. It is asked again.
func TestServerThatLoads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ready := false
		transport := memhttp.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !ready:
				http.Error(w, `{"error":{"message":"Loading model","code":503}}`, http.StatusServiceUnavailable)
			case r.URL.Path == "/props":
				fmt.Fprint(w, `{"default_generation_settings":{"n_ctx":8192}}`)
			default:
				http.NotFound(w, r)
			}
		}))
		m := New(Config{Endpoints: []Endpoint{{API: openai.API{}, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m"}}})
		defer m.Close()
		m.Prepare(t.Context())
		ready = true
		m.Prepare(t.Context())
		if got := m.Window(); got != 8192 {
			t.Errorf("window %d", got)
		}
	})
}

// TestWindowChanges restarts a server with another window. The client follows. Until then, a
// refusal bounds the window.
func TestWindowChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &served{answers: map[string]string{"GET /props": `{"default_generation_settings":{"n_ctx":8192}}`}}
		transport := memhttp.Transport(s)
		m := New(Config{Endpoints: []Endpoint{{API: openai.API{}, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m"}}})
		defer m.Close()
		m.Prepare(t.Context())
		s.refuse = func(map[string]any) (int, string) {
			return 400, `{"error":{"message":"request (9000 tokens) exceeds the available context size (6000 tokens)"}}`
		}
		var failed *model.Error
		if err := ask(t, m, strings.Repeat("long ", 2000)); !errors.As(err, &failed) || failed.Kind != model.ErrOverflow || failed.Window != 6000 || m.Window() != 6000 {
			t.Errorf("%+v, window %d", failed, m.Window())
		}
		s.refuse, s.answers["GET /props"] = nil, `{"default_generation_settings":{"n_ctx":32768}}`
		if err := ask(t, m, "hi"); err != nil || m.Window() != 32768 {
			t.Errorf("window %d: %v", m.Window(), err)
		}
	})
}

// TestImplausibleWindow checks a number in a refusal after a much longer request was accepted.
// It is not the window, unless it comes again. Until then, the size of the request is the
// window.
func TestImplausibleWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &served{}
		transport := memhttp.Transport(s)
		m := New(Config{Endpoints: []Endpoint{{API: openai.API{}, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m"}}})
		defer m.Close()
		if err := ask(t, m, strings.Repeat("long ", 20_000)); err != nil {
			t.Fatal(err)
		}
		s.refuse = func(map[string]any) (int, string) {
			return 400, `{"error":{"message":"The prompt exceeds the limit, see error 5021"}}`
		}
		for _, want := range []int{37_500, 5021} {
			var failed *model.Error
			if err := ask(t, m, strings.Repeat("long ", 30_000)); !errors.As(err, &failed) || failed.Kind != model.ErrOverflow || m.Window() != want {
				t.Errorf("%v, window %d, want %d", err, m.Window(), want)
			}
		}
	})
}

// TestUnknownOverflow checks refusals of unknown wording: the size of the request explains them, and
// bounds the window if nothing else is known.
func TestUnknownOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for message, want := range map[string]int{
			`{"error":{"message":"You have sent 26000 tokens."}}`:                              25_000,
			`{"error":{"message":"26,000 tokens is above 8,192, which is allowed as length"}}`: 8192,
			`{"error":{"message":"Bad Request"}}`:                                              128_000,
			`{"error":{"message":"messages[2] has no content"}}`:                               128_000,
		} {
			s := &served{refuse: func(map[string]any) (int, string) { return 400, message }}
			transport := memhttp.Transport(s)
			m := New(Config{Endpoints: []Endpoint{{API: openai.API{}, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m"}}})
			err := ask(t, m, strings.Repeat("long ", 20_000))
			var failed *model.Error
			if !errors.As(err, &failed) || (failed.Kind == model.ErrOverflow) != (want < 128_000) || m.Window() != want {
				t.Errorf("%s: %v, window %d, want %d", message, err, m.Window(), want)
			}
			m.Close()
		}
	})
}

// TestOutputLimitIsLowered refuses the limit of the response as too large. The limit named by
// the endpoint then applies to this model. A wrong name of the parameter is forgotten.
func TestOutputLimitIsLowered(t *testing.T) {
	t.Parallel()
	over := func(field string, most float64, message string) func(map[string]any) (int, string) {
		return func(body map[string]any) (int, string) {
			if sent, _ := body[field].(float64); sent > most {
				return 400, fmt.Sprintf(`{"error":{"message":%q}}`, fmt.Sprintf(message, int(sent), int(most)))
			}
			return 0, ""
		}
	}
	for name, tc := range map[string]struct {
		api    api.API
		refuse func(map[string]any) (int, string)
		field  string
		first  int // limit in the accepted request
		second int // limit in the next request
	}{
		"chat":      {openai.API{}, over("max_tokens", 8192, "max_tokens is too large: %d. This model supports at most %d completion tokens."), "max_tokens", 8192, 8192},
		"DeepSeek":  {openai.API{}, over("max_tokens", 4096, "Invalid max_tokens value (%d), the valid range of max_tokens is [1, %d]"), "max_tokens", 4096, 4096},
		"responses": {responses.API{}, over("max_output_tokens", 16384, "Invalid 'max_output_tokens': integer above maximum value. Got %d, expected a value <= %d."), "max_output_tokens", 16384, 16384},
		"messages":  {messages.API{}, over("max_tokens", 5000, "max_tokens: %d > %d, which is the maximum allowed number of output tokens for m"), "max_tokens", 5000, 5000},
		"the window": {openai.API{}, func(body map[string]any) (int, string) {
			if sent, _ := body["max_tokens"].(float64); sent+100 > 8192 {
				return 400, fmt.Sprintf(`{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested %d tokens (100 in the messages, %d in the completion)."}}`, int(sent)+100, int(sent))
			}
			return 0, ""
		}, "max_tokens", 8092, 8092},
		"credit": {openai.API{}, func(body map[string]any) (int, string) {
			if sent, _ := body["max_tokens"].(float64); sent > 1056 {
				return 402, fmt.Sprintf(`{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to %d tokens, but can only afford 1056."}}`, int(sent))
			}
			return 0, ""
		}, "max_tokens", 1056, 1056},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &served{refuse: tc.refuse}
				transport := memhttp.Transport(s)
				m := New(Config{Endpoints: []Endpoint{{API: tc.api, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m", MaxTokens: 32000}}})
				defer m.Close()
				for i, want := range []int{tc.first, tc.second} {
					_ = ask(t, m, "hi") // only chat gets an answer
					if got := s.bodies[len(s.bodies)-1][tc.field]; got != float64(want) {
						t.Errorf("request %d: %v of %d, want %d", i, got, len(s.bodies), want)
					}
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &served{refuse: func(map[string]any) (int, string) {
			return 400, `{"error":{"message":"max_tokens and max_completion_tokens are not allowed"}}`
		}}
		transport := memhttp.Transport(s)
		m := New(Config{Endpoints: []Endpoint{{API: openai.API{}, Provider: "custom", Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m", MaxTokens: 32000}}})
		defer m.Close()
		for range 2 {
			if err := ask(t, m, "hi"); err == nil {
				t.Error("the request was accepted")
			}
		}
		var names []bool
		for _, b := range s.bodies {
			names = append(names, b["max_tokens"] != nil)
		}
		if fmt.Sprint(names) != "[true false true false]" {
			t.Errorf("max_tokens in the requests: %v", names)
		}
	})
}
