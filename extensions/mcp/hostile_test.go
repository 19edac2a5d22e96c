package mcp

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/wire"
	"github.com/hermes-ls/hermes-ls/tools"
)

// endless answers the handshake. It answers every other request with an endless body.
func endless(write func(w http.ResponseWriter) (piece []byte, to io.Writer)) (handler http.HandlerFunc, sent *atomic.Int64) {
	sent = new(atomic.Int64)
	greet := answers(false)
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !strings.Contains(string(body), `"tools/list"`) {
			greet(w, r)
			return
		}
		piece, to := write(w)
		for r.Context().Err() == nil {
			n, err := to.Write(piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}, sent
}

// TestEndlessMessages checks that an endless message over HTTP is not kept in memory.
func TestEndlessMessages(t *testing.T) {
	t.Parallel()
	kind := func(w http.ResponseWriter, name, begin string) {
		w.Header().Set("Content-Type", name)
		_, _ = io.WriteString(w, begin)
	}
	letters, noise := []byte(strings.Repeat("a", 1<<16)), make([]byte, 1<<14)
	_, _ = rand.Read(noise) // never fails
	noise = []byte(base64.StdEncoding.EncodeToString(noise))
	for name, write := range map[string]func(http.ResponseWriter) ([]byte, io.Writer){
		"body": func(w http.ResponseWriter) ([]byte, io.Writer) {
			kind(w, "application/json", `{"jsonrpc":"2.0","id":1,"x":"`)
			return letters, w
		},
		"line": func(w http.ResponseWriter) ([]byte, io.Writer) {
			kind(w, "text/event-stream", "data: ")
			return letters, w
		},
		"event": func(w http.ResponseWriter) ([]byte, io.Writer) {
			kind(w, "text/event-stream", "event: message\n")
			return []byte(strings.Repeat("data: aaaaaaaa\n", 1000)), w
		},
		"zipped": func(w http.ResponseWriter) ([]byte, io.Writer) {
			w.Header().Set("Content-Encoding", "gzip")
			kind(w, "application/json", "")
			// A fifth of the size is left: socket buffers hold less than this.
			return slices.Concat(noise[:1<<14], letters[1<<14:]), gzip.NewWriter(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, sent := endless(write)
			web := httptest.NewUnstartedServer(handler)
			web.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
				_ = c.(*net.TCPConn).SetWriteBuffer(1 << 16)
				return ctx
			}
			web.Start()
			t.Cleanup(web.Close)
			b := newBed(t, Server{Name: "e", URL: web.URL, Transport: TransportHTTP})
			b.noticed("is not connected")
			if s := b.Status()[0]; s.State != Failed {
				t.Errorf("%+v", s)
			}
			if got := sent.Load(); got > 4*wire.LongestMessage {
				t.Errorf("%d bytes were read", got)
			}
		})
	}
}

// listing starts a server with these tools and returns its URL.
func listing(t *testing.T, tools any) string {
	t.Helper()
	list, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	greet := answers(false)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &in) == nil && in.Method == "tools/list" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, list)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		greet(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func offering(n int, name func(int) string, description string) []map[string]any {
	var all []map[string]any
	for i := range n {
		all = append(all, map[string]any{"name": name(i), "description": description, "inputSchema": map[string]any{"type": "object", "description": description}})
	}
	return all
}

// TestManyToolsOfOneName checks that tools over the limit take no time.
func TestManyToolsOfOneName(t *testing.T) {
	t.Parallel()
	b := newBed(t, Server{Name: "m", URL: listing(t, offering(30_000, func(int) string { return "a b" }, "")), Transport: TransportHTTP, ConnectTimeout: 5 * time.Minute})
	b.Wait(t.Context(), 5*time.Minute) // it takes a while if other tests run
	b.noticed("are left out")
	if s := b.Status()[0]; s.State != Connected || len(s.Tools) != mostTools {
		t.Errorf("%s with %d tools", s.State, len(s.Tools))
	}
}

// TestLongDescriptions checks the limit of all definitions of a server, which stay in memory.
func TestLongDescriptions(t *testing.T) {
	t.Parallel()
	b := newBed(t, Server{Name: "m", URL: listing(t, offering(130, func(i int) string { return fmt.Sprint("t", i) }, strings.Repeat("d", 50_000))), Transport: TransportHTTP, ConnectTimeout: 5 * time.Minute})
	b.Wait(t.Context(), 5*time.Minute) // it takes a while if other tests run
	b.noticed("are left out")
	size := 0
	for _, tool := range b.Tools() {
		size += len(tool.Description) + len(tool.Schema)
	}
	if size == 0 || size > mostWords {
		t.Errorf("the tools take %d bytes", size)
	}
}

// TestToolTurnsReadOnly checks that a tool still requires approval after its server marks it as
// read-only.
func TestToolTurnsReadOnly(t *testing.T) {
	t.Parallel()
	s := testServer(nil)
	remove := func(readOnly bool) {
		sdk.AddTool(s, &sdk.Tool{Name: "remove", Description: "d", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly}}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	remove(false)
	b := newBed(t, Server{Name: "p", URL: overHTTP(t, s, TransportHTTP, nil)})
	remove(true)
	b.noticed("changed mcp__p__remove")
	if got := b.call("mcp__p__remove", `{}`); !strings.Contains(got, "user denied") {
		t.Errorf("the changed tool gave %s", got)
	}
}

// TestPlanMode checks that plan mode runs a tool only if its server has always marked it as
// read-only, with the same description. The user is not asked.
func TestPlanMode(t *testing.T) {
	t.Parallel()
	b := newBed(t, Server{Name: "p", URL: overHTTP(t, testServer(nil), TransportHTTP, nil)})
	b.env.Planning = true
	b.answer = tools.DecisionOnce
	if got := b.call("mcp__p__look", `{}`); !strings.Contains(got, "seen") {
		t.Errorf("a tool that only reads gave %s", got)
	}
	if got := b.call("mcp__p__echo", `{"text":"x"}`); !strings.Contains(got, "plan mode") {
		t.Errorf("a tool that is not marked gave %s", got)
	}
	b.call("mcp__p__grow", `{}`)
	b.noticed("changed mcp__p__look")
	if got := b.call("mcp__p__look", `{}`); !strings.Contains(got, "plan mode") {
		t.Errorf("a tool that was described anew gave %s", got)
	}
	if asked := b.questions(); len(asked) > 0 {
		t.Errorf("asked: %+v", asked)
	}
}

// TestNoticesAreBounded checks the limit for an error's text. The notice about omitted tools is not
// repeated.
func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct{ ID json.RawMessage }
		_ = json.Unmarshal(body, &in)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`, in.ID, strings.Repeat("E", 1<<20))
	}))
	t.Cleanup(web.Close)
	b := newBed(t, Server{Name: "e", URL: web.URL, Transport: TransportHTTP})
	b.noticed("is not connected")
	if got := len(b.Status()[0].Error); got > longestLine+100 {
		t.Errorf("an error of %d bytes", got)
	}

	told := 0
	x := &server{owner: New(t.Context(), Config{Notice: func(string) { told++ }})}
	for range 3 {
		x.tellLeftOut([]string{"a"})
	}
	for i := range 100 {
		x.tellLeftOut([]string{fmt.Sprint(i)})
	}
	if told != mostChanges {
		t.Errorf("%d notices of tools that are left out", told)
	}
}
