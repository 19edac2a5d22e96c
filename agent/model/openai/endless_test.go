package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

// TestEndless checks an endless response. It is an error of its own kind, and the request is
// sent only once.
func TestEndless(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("words ", 1000)
	for name, tc := range map[string]struct {
		event string
		most  int // bytes of text, thoughts and arguments
		// requests is 2 if no delta was yielded: then the fallback is tried.
		requests int
	}{
		"text":         {`{"content":"` + words + `"}`, model.MaxText, 1},
		"reasoning":    {`{"reasoning_content":"` + words + `"}`, model.MaxReasoning, 1},
		"arguments":    {`{"tool_calls":[{"index":0,"function":{"name":"todo","arguments":"` + words + `"}}]}`, model.MaxArgs, 1},
		"calls":        {`{"tool_calls":[{"function":{"name":"todo","arguments":"{}"}},{"function":{"name":"read_file","arguments":"{}"}}]}`, 10 * model.MaxCalls, 1},
		"text as call": {`{"content":"<tool_call>{\"name\": \"todo\", \"arguments\": \"` + words + `"}`, model.MaxText, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			m := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				w.Header().Set("Content-Type", "text/event-stream")
				for r.Context().Err() == nil {
					if _, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", tc.event); err != nil {
						return
					}
				}
			}, func(c *client.Config) { c.Endpoints = append(c.Endpoints, c.Endpoints[0]) })
			r := new(model.Reply)
			var failed *model.Error
			for d, err := range m.Stream(t.Context(), hello()) {
				if err == nil {
					err = r.Add(d)
				}
				if err != nil {
					if !errors.As(err, &failed) {
						t.Fatal(err)
					}
					break
				}
			}
			got := len(r.Text) + len(r.Reasoning)
			for _, c := range r.Calls {
				got += len(c.Args)
			}
			if failed == nil || failed.Kind != model.ErrEndless || got > tc.most || requests != tc.requests {
				t.Errorf("%d bytes in %d requests, then %v", got, requests, failed)
			}
		})
	}
}
