package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// TestList requests the list of models from a server for each API. The servers accept only the
// address and the key header of the API.
func TestList(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, tc := range map[string]struct {
		api      api.API
		provider string
		path     string            // added to the server's address as the base URL
		header   string            // required "Name: value"
		pages    map[string]string // by request URI
		want     []client.Listed
	}{
		"chat": {openai.API{}, "custom", "/v1", "Authorization: Bearer k", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"b"},{"id":"a","max_model_len":32768},{"id":""},{"id":"x\n# y"},{"id":"x` + "`" + `y"},{"id":"\u202ex"}]}`,
		}, []client.Listed{{ID: "a", Window: 32768}, {ID: "b"}}},
		"chat without the version": {openai.API{}, "custom", "", "Authorization: Bearer k", map[string]string{"/v1/models": `{"data":[{"id":"a"}]}`}, []client.Listed{{ID: "a"}}},
		"openrouter": {openai.API{}, "openrouter", "/api/v1", "Authorization: Bearer k", map[string]string{
			"/api/v1/models": `{"data":[{"id":"x/a","context_length":200000,"pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003"},"architecture":{"input_modalities":["text","image"]}},
				{"id":"x/b","architecture":{"input_modalities":["text"]}},{"id":"x/c","pricing":{"prompt":"NaN","completion":"-1","input_cache_read":"Inf"}}]}`,
		}, []client.Listed{{ID: "x/a", Window: 200000, Images: &yes, Price: &client.Price{Input: 3, Output: 15, CacheRead: 0.3}}, {ID: "x/b", Images: &no}, {ID: "x/c"}}},
		"responses": {responses.API{}, "openai", "/v1", "Authorization: Bearer k", map[string]string{"/v1/models": `{"data":[{"id":"gpt-5","object":"model"}]}`}, []client.Listed{{ID: "gpt-5"}}},
		"azure":     {responses.API{}, "azure", "/openai/v1", "Api-Key: k", map[string]string{"/openai/v1/models": `{"data":[{"id":"gpt-5"}]}`}, []client.Listed{{ID: "gpt-5"}}},
		"messages": {messages.API{}, "anthropic", "", "X-Api-Key: k", map[string]string{
			"/v1/models?limit=1000":                   `{"data":[{"type":"model","id":"claude-b"}],"has_more":true,"last_id":"claude-b"}`,
			"/v1/models?after_id=claude-b&limit=1000": `{"data":[{"type":"model","id":"claude-a"}],"has_more":false,"last_id":"claude-a"}`,
		}, []client.Listed{{ID: "claude-a"}, {ID: "claude-b"}}},
		"messages with the version": {messages.API{}, "kimi", "/coding/v1", "Anthropic-Version: 2023-06-01", map[string]string{"/coding/v1/models?limit=1000": `{"data":[{"id":"k"}]}`}, []client.Listed{{ID: "k"}}},
		"gemini": {gemini.API{}, "gemini", "/v1beta", "X-Goog-Api-Key: k", map[string]string{
			"/v1beta/models?pageSize=1000":              `{"models":[{"name":"models/gemini-b","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"]}],"nextPageToken":"t2"}`,
			"/v1beta/models?pageSize=1000&pageToken=t2": `{"models":[{"name":"models/embedding","supportedGenerationMethods":["embedContent"]},{"name":"models/gemini-a"}]}`,
		}, []client.Listed{{ID: "gemini-a"}, {ID: "gemini-b", Window: 1048576, MaxOutput: 65536}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				key, value, _ := strings.Cut(tc.header, ": ")
				page, ok := tc.pages[r.RequestURI]
				if !ok || r.Header.Get(key) != value || r.Method != http.MethodGet || r.Header.Get("X-Team") != "t" {
					t.Errorf("%s %s %v", r.Method, r.RequestURI, r.Header)
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				fmt.Fprint(w, page)
			}))
			defer srv.Close()
			got, err := client.List(t.Context(), client.Endpoint{API: tc.api, Provider: tc.provider, BaseURL: srv.URL + tc.path, Keys: []string{"k"}, Headers: map[string]string{"X-Team": "t"}})
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

// TestListFails checks the errors of a list: they give the reason, without the key.
func TestListFails(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789abcdef"
	for name, tc := range map[string]struct {
		api    api.API
		status int
		body   string
		kind   model.ErrorKind
	}{
		"refused key":        {openai.API{}, 401, `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`, model.ErrAuth},
		"refused key gemini": {gemini.API{}, 400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, model.ErrAuth},
		"no JSON":            {messages.API{}, 200, `<html>`, model.ErrGarbage},
		"elsewhere":          {openai.API{}, 302, ``, model.ErrDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere.invalid/")
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			}))
			defer srv.Close()
			_, err := client.List(t.Context(), client.Endpoint{API: tc.api, Provider: "p", BaseURL: srv.URL, Keys: []string{key}})
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != tc.kind || strings.Contains(err.Error(), key) {
				t.Errorf("%v, want kind %v", err, tc.kind)
			}
		})
	}
}

// TestListIsBounded requests a list without an end, with a page that repeats itself, and with long ids.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(int) string{
		"without an end": func(n int) string { return fmt.Sprint("t", n) },
		"repeated":       func(int) string { return "t" },
	} {
		requests := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			var all []string
			for i := range 900 {
				all = append(all, fmt.Sprintf(`{"name":"models/m%d-%d"},{"name":"models/%s"}`, requests, i, strings.Repeat("l", 201)))
			}
			fmt.Fprintf(w, `{"models":[%s],"nextPageToken":%q}`, strings.Join(all, ","), next(requests))
		}))
		listed, err := client.List(t.Context(), client.Endpoint{API: gemini.API{}, Provider: "gemini", BaseURL: srv.URL, Keys: []string{"k"}})
		srv.Close()
		want := map[string][2]int{"without an end": {3, 2000}, "repeated": {2, 1800}}[name]
		if err != nil || requests != want[0] || len(listed) != want[1] {
			t.Errorf("%s: %d requests, %d models, %v; want %v", name, requests, len(listed), err, want)
		}
	}
}
