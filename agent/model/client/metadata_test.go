package client

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

const shortReply = `data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":400}}}

data: [DONE]

`

// TestMetadata checks the metadata of each vendor's endpoint. It is requested only for large
// requests. Until then, a prompt makes a single request.
func TestMetadata(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider string
		answers  map[string]string // by method and path
		window   int
		sees     sight
		cost     float64
	}{
		{"custom", map[string]string{"GET /v1/models": `{"data":[{"id":"other","max_model_len":1},{"id":"m:7b","max_model_len":40960}]}`}, 40960, 0, 0},
		{"custom", map[string]string{"GET /v1/models": `{"data":[{"id":"file.gguf","meta":{"n_ctx_train":32768}}]}`}, 32768, 0, 0},
		{"custom", map[string]string{"GET /v1/models": `<html>`}, 128000, 0, 0},
		{"custom", nil, 128000, 0, 0},
		{"openrouter", map[string]string{"GET /v1/models": `{"data":[{"id":"m:7b","context_length":64000,"pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.000001"},"architecture":{"input_modalities":["text","image"]}}]}`},
			64000, seeing, (600*2 + 400*1 + 100*10) / 1e6},
		{"ollama", map[string]string{"POST /api/show": `{"capabilities":["completion","vision"],"model_info":{"qwen.context_length":262144,"qwen.x":"y"}}`, "GET /api/ps": `{"models":[{"name":"m:7b","context_length":8192}]}`}, 8192, seeing, 0},
		{"ollama", map[string]string{"POST /api/show": `{"model_info":{"qwen.context_length":262144}}`}, 4096, 0, 0},
		{"openrouter", map[string]string{"GET /v1/models": `{"data":[{"id":"m:7b","context_length":64000,"architecture":{"input_modalities":["text"]}}]}`}, 64000, blind, 0},
		{"custom", map[string]string{"GET /v1/models": `{"data":[{"id":"m:7b","context_length":64000,"architecture":{"modality":"text+image->text"}}]}`}, 64000, seeing, 0},
		{"custom", map[string]string{"GET /v1/models": `{"data":[{"id":"m:7b","context_length":64000,"architecture":{"modality":"text->text+image"}}]}`}, 64000, blind, 0},
		{"custom", map[string]string{"GET /v1/models": `{"data":[{"id":"m:7b","context_length":64000,"input_modalities":["text"]}]}`}, 64000, blind, 0},
		{"ollama", map[string]string{"POST /api/show": `{"capabilities":["completion"]}`}, 4096, blind, 0},
		{"lmstudio", map[string]string{"GET /api/v0/models/m:7b": `{"type":"llm","max_context_length":32768}`}, 4096, blind, 0},
		{"lmstudio", map[string]string{"GET /api/v0/models/m:7b": `{"type":"vlm","max_context_length":32768,"loaded_context_length":4096}`}, 4096, seeing, 0},
	}
	for i, tc := range tests {
		t.Run(fmt.Sprint(i, " ", tc.provider), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var asked []string
				transport := memhttp.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					what := r.Method + " " + r.URL.Path
					mu.Lock()
					asked = append(asked, what)
					mu.Unlock()
					if r.Header.Get("Authorization") != "Bearer k1" {
						t.Errorf("%s without the key", what)
					}
					if answer, ok := tc.answers[what]; ok {
						fmt.Fprint(w, answer)
					} else if strings.HasSuffix(what, "/chat/completions") {
						w.Header().Set("Content-Type", "text/event-stream")
						fmt.Fprint(w, shortReply)
					} else {
						http.NotFound(w, r)
					}
				}))
				m := New(Config{Endpoints: []Endpoint{{API: openai.API{}, Provider: tc.provider, Transport: transport, BaseURL: "http://127.0.0.1/v1", Model: "m:7b", Keys: []string{"k1"}}}})
				defer m.Close()
				say := func(text string) (usage model.Usage) {
					for d, err := range m.Stream(t.Context(), &model.Request{Messages: []model.Message{model.NewMessage(model.User, text)}}) {
						if err != nil {
							t.Fatal(err)
						}
						if d.Usage != nil {
							usage = *d.Usage
						}
					}
					return usage
				}
				say("hi")
				if !slices.Equal(asked, []string{"POST /v1/chat/completions"}) {
					t.Errorf("a small prompt asked %q", asked)
				}
				say(strings.Repeat("long ", 10_000))
				if got := m.Window(); got != tc.window {
					t.Errorf("window %d, want %d", got, tc.window)
				}
				if got := m.sight(t.Context(), m.endpoints[0]); got != tc.sees || m.Sees(t.Context()) != (got != blind) {
					t.Errorf("sees %v", got)
				}
				if got := say("again").Cost; max(got-tc.cost, tc.cost-got) > 1e-12 {
					t.Errorf("cost %v, want %v", got, tc.cost)
				}
				if n := len(asked); n > 8 {
					t.Errorf("asked %q", asked)
				}
			})
		})
	}
}

// TestMetadataOfPages checks the metadata of APIs with paged lists.
func TestMetadataOfPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		api    api.API
		pages  []string
		window int
		sees   sight
	}{
		"messages": {messages.API{}, []string{
			`{"data":[{"id":"a","max_input_tokens":5}],"has_more":true,"last_id":"a"}`,
			`{"data":[{"id":"m","max_input_tokens":1000000,"max_tokens":64000,"capabilities":{"image_input":{"supported":true}}}]}`,
		}, 1_000_000, seeing},
		"gemini": {gemini.API{}, []string{`{"models":[{"name":"models/m","inputTokenLimit":32000,"outputTokenLimit":8000}]}`}, 32_000, 0},
		"none":   {messages.API{}, []string{`{"data":[{"id":"a","capabilities":["x"]}]}`}, 128_000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked int
				transport := memhttp.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key") != "k1" || asked == len(tc.pages) {
						t.Errorf("request %d: %s %v", asked+1, r.URL, r.Header)
						return
					}
					fmt.Fprint(w, tc.pages[asked])
					asked++
				}))
				m := New(Config{Endpoints: []Endpoint{{API: tc.api, Transport: transport, BaseURL: "http://127.0.0.1", Model: "m", Keys: []string{"k1"}}}})
				defer m.Close()
				for range 2 {
					if got := m.sight(t.Context(), m.endpoints[0]); got != tc.sees || m.Window() != tc.window {
						t.Errorf("sees %v, window %d", got, m.Window())
					}
				}
			})
		})
	}
}
