package client_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
)

// TestRequestIsNotCopied measures the memory of a request after 1,000 messages: it allocates a
// small part of their size, because it reuses their stored encoding. It does not run in
// parallel with other tests, because it measures the whole process.
func TestRequestIsNotCopied(t *testing.T) {
	const size = 10 << 10
	history := hello()
	for i := range 500 {
		id := fmt.Sprintf("call_%d", i)
		history.Messages = append(history.Messages,
			model.ResponseMessage("", strings.Repeat("x", size), model.Call{ID: id, Name: "read_file", Args: `{"path":"a.go"}`}),
			model.ResultMessage(id, "read_file", `{"content":"`+strings.Repeat("<x>", size/3)+`"}`))
	}
	for name, s := range streams {
		m := client.New(client.Config{Endpoints: []client.Endpoint{{API: s.api, BaseURL: "http://127.0.0.1", Model: "m", Window: 1, Transport: canned(s.reasoning + "\n\n" + s.text)}}})
		allocated := func() uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, err := range m.Stream(t.Context(), history) {
				if err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		first, next := allocated(), allocated()
		if total := uint64(1000 * size); next > total/10 || first < total {
			t.Errorf("%s: the first request allocates %d bytes and the next one %d, of messages of %d", name, first, next, total)
		}
	}
}
