package wire

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLargeMessages passes large messages on, and reads the tools in them.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	list := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{},"description":"` + strings.Repeat("x", mb) + `"},{"name":"b","inputSchema":{},"execution":{"taskSupport":"required"}}]}}`
	other := `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"` + strings.Repeat("y", mb) + `"}]}}`
	comment := ": " + strings.Repeat("c", LongestMessage/2) + "\n"
	for _, c := range []struct {
		name, kind, body string
		needs            bool
	}{
		{"a body", "application/json", list, true},
		{"an event", "text/event-stream", "data: " + list + "\n\n", true},
		{"an event after a result", "text/event-stream", "data: " + other + "\n\ndata: " + list + "\n\n", true},
		{"long comments", "text/event-stream", comment + comment + comment + "data: " + list + "\n\n", true},
		{"a result", "application/json", other, false},
	} {
		tasks := &Dropped{}
		resp := &http.Response{Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body))}
		tasks.Watch(resp)
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < int64(len(c.body))-8 || n > int64(len(c.body)+8) {
			t.Errorf("%s: %d bytes, %v", c.name, n, err)
		}
		if got := tasks.NeedsTask("b"); got != c.needs {
			t.Errorf("%s: needs a task: %v", c.name, got)
		}
	}
}
