package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Whatever a server does with the request for its stream of messages, its tools can be called. If the stream comes late, its
// messages count.
func TestLateStream(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		stream func(w http.ResponseWriter, r *http.Request, called <-chan bool)
		grows  bool
	}{
		{"none", func(w http.ResponseWriter, _ *http.Request, _ <-chan bool) {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}, false},
		{"never answered", func(_ http.ResponseWriter, r *http.Request, _ <-chan bool) { <-r.Context().Done() }, false},
		{"refused late", func(w http.ResponseWriter, _ *http.Request, called <-chan bool) {
			<-called
			w.WriteHeader(http.StatusGatewayTimeout)
		}, false},
		{"cut late", func(http.ResponseWriter, *http.Request, <-chan bool) {
			time.Sleep(2 * listenPause)
			panic(http.ErrAbortHandler)
		}, false},
		{"begins with its first message", func(w http.ResponseWriter, r *http.Request, called <-chan bool) {
			<-called
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			called, grown := make(chan bool), atomic.Bool{}
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					test.stream(w, r, called)
					return
				}
				var in struct {
					ID     json.RawMessage
					Method string
				}
				if json.NewDecoder(r.Body).Decode(&in) != nil || in.ID == nil {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				result := `{}`
				switch in.Method {
				case "initialize":
					result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`
				case "tools/list":
					result = `{"tools":[{"name":"go","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
					if grown.Load() {
						result = strings.Replace(result, `[`, `[{"name":"more","inputSchema":{"type":"object"}},`, 1)
					}
				case "tools/call":
					result = `{"content":[{"type":"text","text":"done"}]}`
				}
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
			}))
			t.Cleanup(web.Close)
			b := newBed(t, Server{Name: "p", URL: web.URL, Transport: TransportHTTP})
			if st := b.Status()[0]; st.State != Connected {
				t.Fatalf("%+v", st)
			}
			if got := b.call("mcp__p__go", `{}`); !strings.Contains(got, "done") {
				t.Error(got)
			}
			grown.Store(true)
			close(called)
			for end := time.Now().Add(time.Minute); test.grows && len(b.Status()[0].Tools) != 2; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the message was lost: %+v", b.Status())
				}
			}
		})
	}
}
