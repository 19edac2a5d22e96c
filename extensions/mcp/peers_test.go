package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

// misbehavior is a stdio server's behavior at a call of its tool. Until then it works.
var misbehavior = map[string]func(id json.RawMessage){
	"silent": func(json.RawMessage) {},
	"deaf":   func(json.RawMessage) { time.Sleep(time.Hour) },
	"stubborn": func(json.RawMessage) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
		time.Sleep(time.Hour)
	},
	"wrong id": func(json.RawMessage) { fmt.Println(`{"jsonrpc":"2.0","id":987654,"result":{"content":[]}}`) },
	"notifies": func(json.RawMessage) {
		endlessly(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 1000) + `"}}` + "\n")
	},
	"reports": func(json.RawMessage) {
		endlessly(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1,"message":"` + strings.Repeat("x", 1000) + `"}}` + "\n")
	},
	"line": func(json.RawMessage) { endlessly(strings.Repeat("x", 1<<16)) },
	"open": func(json.RawMessage) { endlessly("{\n") },
	"asks": func(json.RawMessage) {
		out := bufio.NewWriterSize(os.Stdout, 1<<16)
		for i := 0; ; i++ { // and it reads no answer
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"r%d","method":"%s"}`+"\n", i, [...]string{"ping", "roots/list", "no/such"}[i%3])
		}
	},
}

func endlessly(text string) {
	for {
		if _, err := io.WriteString(os.Stdout, text); err != nil {
			os.Exit(1)
		}
	}
}

// misbehave is a server on stdio with a single read-only tool.
func misbehave(kind string) {
	for dec := json.NewDecoder(os.Stdin); ; {
		var in struct {
			ID     json.RawMessage
			Method string
		}
		if dec.Decode(&in) != nil {
			return
		}
		switch in.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`+"\n", in.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"go","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`+"\n", in.ID)
		case "tools/call":
			fmt.Fprintln(os.Stderr, "begun")
			misbehavior[kind](in.ID)
		}
	}
}

// misbehavingSite serves a server over HTTP. At a call, it does not read its body, does not answer,
// or sends endlessly.
func misbehavingSite(t *testing.T, kind string) string {
	t.Helper()
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1<<20 && kind == "does not read" {
			<-release
			return
		}
		var in struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil || in.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch in.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, in.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"go","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`, in.ID)
		case "tools/call":
			if kind == "sends without end" {
				w.Header().Set("Content-Type", "text/event-stream")
				for {
					if _, err := io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n\n"); err != nil {
						return
					}
				}
			}
			<-release
		}
	}))
	t.Cleanup(web.Close)
	t.Cleanup(func() { close(release) })
	return web.URL
}

// For every misbehavior: the call ends at its limit with a fitting error, a cancel ends it at once,
// and the end of the session ends the server. Meanwhile, calls of other sessions are answered.
func TestMisbehavingServers(t *testing.T) {
	t.Parallel()
	servers := map[string]func(t *testing.T) Server{}
	for kind := range misbehavior {
		servers[kind] = func(*testing.T) Server {
			return Server{Name: "p", Command: os.Args[0], Env: []string{serverWord + "=misbehaves " + kind}}
		}
	}
	for _, kind := range []string{"does not read", "does not answer", "sends without end"} {
		servers["http "+kind] = func(t *testing.T) Server {
			return Server{Name: "p", URL: misbehavingSite(t, kind), Transport: TransportHTTP}
		}
	}
	text := func(size int) []byte {
		args, _ := json.Marshal(map[string]string{"text": strings.Repeat("x", size)}) // it is valid
		return args
	}
	// They are more than a pipe and a socket keep.
	pipe, socket := text(400<<10), text(6<<20)
	run := func(ctx context.Context, b *bed, s Server) <-chan string {
		args := pipe
		if s.URL != "" {
			args = socket
		}
		done := make(chan string, 1)
		go func() {
			r, err := b.set.Call(ctx, b.env, tools.Call{ID: "c", Name: "mcp__p__go", Args: args})
			done <- fmt.Sprint(string(r.JSON), err)
		}()
		return done
	}
	ends := func(t *testing.T, what string, done <-chan string) string {
		t.Helper()
		select {
		case text := <-done:
			return text
		case <-time.After(testTimeout):
			t.Fatalf("%s does not end", what)
		}
		return ""
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("limit", func(t *testing.T) {
				t.Parallel()
				s := server(t)
				s.Timeout = 200 * time.Millisecond // a server that sends endlessly costs a processor until then
				b := newBed(t, s)
				for range 2 { // the second call may find the server stopped, or not
					text := ends(t, "the call", run(t.Context(), b, s))
					if !strings.Contains(text, `"error"`) {
						t.Errorf("the call gave %s", text)
					}
				}
			})
			t.Run("cancel and close", func(t *testing.T) {
				t.Parallel()
				s := server(t)
				s.Timeout = time.Hour
				b := newBed(t, s)
				ctx, cancel := context.WithCancel(t.Context())
				canceled, closed := run(ctx, b, s), run(t.Context(), b, s)
				other := newBed(t, testProgram("p"))
				if got := other.call("mcp__p__look", `{}`); got != `{"content":"seen"}` {
					t.Errorf("another session has %s", got)
				}
				cancel()
				ends(t, "a canceled call", canceled)
				end := make(chan string)
				go func() {
					defer close(end)
					ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
					defer cancel()
					if err := b.Close(ctx); err != nil {
						t.Error(err)
					}
				}()
				ends(t, "the session", end)
				ends(t, "a call of a closed session", closed)
			})
		})
	}
}

// The error names a server that does not read. The next call starts it again.
func TestDeafServerIsNamed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"deaf", "stubborn"} { // a stubborn server still runs when its end is described
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, Server{Name: "p", Command: os.Args[0], Env: []string{serverWord + "=misbehaves " + kind}, Timeout: 20 * time.Second})
			large, _ := json.Marshal(map[string]string{"text": strings.Repeat("x", 400<<10)})
			b.call("mcp__p__go", `{}`)
			if got := b.call("mcp__p__go", string(large)); !strings.Contains(got, "does not read its input") && !strings.Contains(got, "ended during the call") {
				t.Errorf("the call gave %s", got)
			}
			b.noticed("it was stopped: it did not read its input for 21s")
		})
	}
}
