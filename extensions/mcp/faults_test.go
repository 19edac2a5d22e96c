package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// faulty are the answers of a server with many mistakes, by method. %s is the id.
var faulty = map[string]string{
	"initialize": `{"id":"%s","result":{"protocolVersion":"2030-01-01","capabilities":{"tools":true},"serverInfo":{"name":"f","version":1}}}`,
	"tools/list": `{"jsonrpc":"2.0","id":%s.0,"result":{"nextCursor":"again","tools":[{"name":5},"x",` +
		`{"name":"good","title":7,"inputSchema":{"type":"object","properties":{"$q":{"type":"str"}},"required":["$q"]},"annotations":{"readOnlyHint":true,"destructiveHint":"no"}},` +
		`{"name":"bad","inputSchema":"none"}]}}`,
	"tools/call": "{\n \"id\": \"%s\",\n \"error\": null,\n \"result\": {\"content\": [{\"type\":\"text\",\"text\":\"done\"},\n {\"type\":\"video\"}, {\"type\":\"image\",\"data\":7}]}\n}",
}

// lostID is an answer without the id of its request.
const lostID = `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"q is lost"}}`

// bareResult is a response with the bare content as its result.
const bareResult = `{"jsonrpc":"2.0","id":%s,"result":["plain","words"]}`

// beFaulty is a server on stdio with many mistakes. It writes the arguments of calls to its log.
func beFaulty() {
	fmt.Println("Welcome!")
	fmt.Println(`[1,2,3]`)
	fmt.Println(`{"level":"info"}`)
	for dec := json.NewDecoder(os.Stdin); ; {
		var in struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments json.RawMessage }
		}
		if dec.Decode(&in) != nil {
			return
		}
		switch answer, ok := faulty[in.Method]; {
		case in.Method == "notifications/initialized":
			fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`)
		case strings.Contains(string(in.Params.Arguments), "lost"):
			fmt.Println(lostID)
		case strings.Contains(string(in.Params.Arguments), "bare"):
			fmt.Printf(bareResult+"\n", in.ID)
		case ok:
			fmt.Printf(strings.Replace(answer, "done", "got "+strings.ReplaceAll(string(in.Params.Arguments), `"`, `'`), 1)+"\n", in.ID)
		}
	}
}

// TestFaultyServer checks that a server's mistakes affect only the faulty parts.
func TestFaultyServer(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments json.RawMessage }
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil || faulty[in.Method] == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(in.Params.Arguments), "lost") {
			_, _ = io.WriteString(w, lostID)
			return
		}
		if strings.Contains(string(in.Params.Arguments), "bare") {
			fmt.Fprintf(w, bareResult, in.ID)
			return
		}
		_, _ = io.WriteString(w, fmt.Sprintf(strings.Replace(faulty[in.Method], "done", "got "+strings.ReplaceAll(string(in.Params.Arguments), `"`, `'`), 1), in.ID))
	}))
	t.Cleanup(web.Close)
	program := Server{Name: "f", Command: os.Args[0], Env: []string{"" + serverWord + "=faulty"}, Protocol: "legacy"}
	for name, server := range map[string]Server{"stdio": program, "http": {Name: "f", URL: web.URL, Transport: TransportHTTP, Protocol: "legacy"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, server)
			b.answer = tools.DecisionOnce
			if st := b.Status()[0]; st.State != Connected || !slices.Equal(st.Tools, []string{"mcp__f__good", "mcp__f__bad"}) {
				t.Fatalf("%+v", st)
			}
			b.noticed("entry 1 is left out (its name is no text: 5), entry 2 is left out (it is no object), good without title")
			if n := strings.Count(strings.Join(b.told(), "\n"), "entry 1 is left out"); n != 1 { // the cursor does not move, so the page comes twice
				t.Errorf("a mistake is told %d times: %q", n, b.told())
			}
			if got := b.call("mcp__f__good", `{"q":"lost"}`); !strings.Contains(got, "q is lost") {
				t.Errorf("an answer without an id: %s", got)
			}
			if got := b.call("mcp__f__good", `{"q":"bare"}`); !strings.Contains(got, `plain\nwords`) {
				t.Errorf("a result without its object: %s", got)
			}
			got := b.call("mcp__f__good", `{"q":"x"}`)
			for _, want := range []string{`got {'$q':'x'}`, "a part of the type video", "a part of the type image"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s lacks %s", got, want)
				}
			}
		})
	}
}

// TestPagesWithoutEnd checks the connection to a server that repeats the same page under new
// cursors.
func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	greet, page := answers(false), 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &in) == nil && in.Method == "tools/list" {
			page++
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"p%d"}}`, in.ID, page)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		greet(w, r)
	}))
	t.Cleanup(web.Close)
	b := newBed(t, Server{Name: "p", URL: web.URL, Transport: TransportHTTP})
	if st := b.Status()[0]; st.State != Connected || len(st.Tools) != 1 || page > 3 {
		t.Errorf("%d pages, %+v", page, st)
	}
}

// A session that is closed while a connection becomes ready leaves nothing of it: goleak would find its
// goroutines at the end of the tests.
func TestClosedWhileItConnects(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := New(ctx, Config{Dir: t.TempDir(), Notice: func(string) { cancel() }}) // the notice of the mistakes, after the list
	s.Connect([]Server{{Name: "f", Command: os.Args[0], Env: []string{serverWord + "=faulty"}, Protocol: "legacy"}})
	<-ctx.Done()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	one := s.all()[0]
	if st := one.now(); st.phase != closed || st.conn != nil {
		t.Errorf("%+v", st)
	}
}
