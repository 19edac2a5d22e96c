package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// manyTools returns a server with n tools. Its tool note_7 reads and counts its calls.
func manyTools(t *testing.T, n int, calls *atomic.Int32) (*sdk.Server, string) {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, &sdk.ServerOptions{Instructions: "Keeps notes."})
	for i := range n {
		addNote(s, fmt.Sprintf("note_%d", i), calls)
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	return s, web.URL
}

func addNote(s *sdk.Server, name string, calls *atomic.Int32) {
	type in struct {
		Text string `json:"text" jsonschema:"the text of the note, which is kept for as long as the server runs and is never sent anywhere else"`
	}
	sdk.AddTool(s, &sdk.Tool{
		Name: name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		Description: "Keeps the note " + name + ". " + strings.Repeat("It can be read again. ", 20),
	}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		calls.Add(1)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "kept " + in.Text}}}, nil, nil
	})
}

func openWith(t *testing.T, config string, m model.Model) (*server.Session, *chooser) {
	t.Helper()
	return openIn(t, t.TempDir(), config, m)
}

// openIn opens a session in a workspace folder.
func openIn(t *testing.T, folder, config string, m model.Model) (*server.Session, *chooser) {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	service := app.New(server.Options{Home: home, Environ: []string{"TEST=1"}, Model: m})
	t.Cleanup(func() { _ = service.Close() })
	host := &chooser{}
	x, err := service.NewSession(t.Context(), server.Place{Cwd: folder}, host)
	if err != nil {
		t.Fatal(err)
	}
	return x, host
}

func mcpBytes(all []model.Tool) (n int) {
	for _, t := range all {
		if strings.HasPrefix(t.Name, "mcp__") || strings.HasPrefix(t.Name, "tool_") {
			n += len(t.Name) + len(t.Description) + len(t.Schema)
		}
	}
	return n
}

// titles collects the titles of started calls.
type titles struct{ list []string }

func (s *titles) Event(e agent.Event) {
	if c, ok := e.(agent.CallStarted); ok {
		s.list = append(s.list, c.Call.Name+" "+c.Title)
	}
}

// With 500 tools, a request stays within the budget. The model finds tools and calls them with
// tool_call or by their own names, also tools added during the session.
func TestManyTools(t *testing.T) {
	t.Parallel()
	var kept atomic.Int32
	big, bigURL := manyTools(t, 500, &kept)
	_, smallURL := manyTools(t, 2, &kept)
	step := 0
	var first []model.Tool
	subagent := false
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		r := x.Request
		last := r.Messages[len(r.Messages)-1]
		if strings.Contains(r.System, "You are a subagent") {
			switch {
			case last.Role != model.ToolRole:
				if has(r.Tools, "mcp__big__note_7") || !has(r.Tools, "tool_search") {
					t.Errorf("the subagent has %d tools", len(r.Tools))
				}
				x.Call("s", "tool_search", `{"query":"note_1"}`)
			default:
				if strings.Contains(last.Text(), "mcp__small") || !strings.Contains(last.Text(), "mcp__big__note_1") {
					t.Errorf("the subagent found %.300s", last.Text())
				}
				subagent = true
				x.Text("Done.")
			}
			return
		}
		if step++; step == 1 {
			first = r.Tools
		} else if len(first) != len(r.Tools) {
			t.Errorf("the tools have changed: %d, %d", len(first), len(r.Tools))
		}
		switch step {
		case 1:
			if n := mcpBytes(r.Tools); n > 6000+4000+1500 {
				t.Errorf("the tools of servers take %d bytes", n)
			}
			if has(r.Tools, "mcp__big__note_7") || !has(r.Tools, "mcp__small__note_1") {
				t.Error("the larger server is not deferred")
			}
			x.Call("a", "tool_search", `{"query":"keep note 7","limit":2}`)
		case 2:
			var out struct {
				Tools []struct {
					Name       string
					Parameters map[string]any
				}
				More  []string
				Total int
			}
			if err := json.Unmarshal([]byte(last.Text()), &out); err != nil || len(out.Tools) != 2 || out.Tools[0].Name != "mcp__big__note_7" ||
				out.Tools[0].Parameters["type"] != "object" || len(out.More) == 0 || out.Total != 500 || len(last.Text()) > 8000 {
				t.Errorf("found %v: %d bytes, %d tools, %.300s", err, len(last.Text()), out.Total, last.Text())
			}
			x.Call("b", "tool_call", `{"name":"mcp__big__note_7","arguments":{"text":"one"}}`)
			x.Call("c", "mcp__big__note_8", `{"text":"two"}`)
			x.Call("d", "tool_call", `{"name":"mcp__big__note_9","arguments":{"words":"x"}}`)
			x.Call("e", "tool_call", `{"name":"mcp__big__notes_7","arguments":{}}`)
		case 3:
			var results []string
			for _, m := range r.Messages {
				if m.Role == model.ToolRole {
					results = append(results, m.Text())
				}
			}
			all := strings.Join(results, "\n")
			for _, want := range []string{"kept one", "kept two", `\"words\"`, "Unknown tool: mcp__big__notes_7. tool_search finds tools by words. Did you mean mcp__big__note_7?"} {
				if !strings.Contains(all, want) {
					t.Errorf("no %q in %s", want, results[1:])
				}
			}
			addNote(big, "letter", &kept)
			x.Call("f", "tool_search", `{"query":"zebra"}`)
		case 4:
			if !strings.Contains(allText(r.Messages), `{"tools":[],"servers":[{"name":"big","tools":50`) {
				t.Errorf("nothing found: %s", last.Text())
			}
			x.Call("g", "delegate_task", `{"goal":"Find","toolsets":["mcp-big"]}`)
		case 5:
			x.Text("Ready.")
		case 6:
			if n := strings.Count(allText(r.Messages), "New tools, which tool_search finds: mcp__big__letter"); n != 1 {
				t.Errorf("the new tool is told %d times", n)
			}
			x.Call("h", "mcp__big__letter", `{"text":"three"}`)
		default:
			if !strings.Contains(allText(r.Messages), "kept three") {
				t.Errorf("the new tool: %s", last.Text())
			}
			x.Text("Done.")
		}
	})
	x, _ := openWith(t, fmt.Sprintf("mcp_servers: {big: {url: %q}, small: {url: %q}}\n", bigURL, smallURL), m)
	servers, err := server.Find[*mcp.Instance](x)
	if err != nil {
		t.Fatal(err)
	}
	// The first prompt waits for them, but not as long as a busy machine may need.
	connected := func(s mcp.Status) bool { return len(s.Tools) > 0 }
	for end := time.Now().Add(time.Minute); slices.IndexFunc(servers.Status(), func(s mcp.Status) bool { return !connected(s) }) >= 0 || len(servers.Status()) != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the servers do not connect: %+v", servers.Status())
		}
	}
	shown := &titles{}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Go"}, shown); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(shown.list, `mcp__big__note_7 big: note_7 {"text":"one"}`) {
		t.Errorf("the titles are %q", shown.list)
	}
	if !subagent {
		t.Error("no subagent searched")
	}
	there := func(s mcp.Status) bool { return slices.Contains(s.Tools, "mcp__big__letter") }
	for end := time.Now().Add(time.Minute); !slices.ContainsFunc(servers.Status(), there); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the new tool does not come")
		}
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Again"}, nil); err != nil {
		t.Fatal(err)
	}
	if kept.Load() != 3 {
		t.Errorf("%d calls", kept.Load())
	}
}

func has(all []model.Tool, name string) bool {
	return slices.ContainsFunc(all, func(t model.Tool) bool { return t.Name == name })
}

func allText(all []model.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// If the model calls a deferred tool right after a session is loaded, the call waits for its
// server. A server without an answer delays no prompt for longer than its limit.
func TestToolOfAServerThatConnectsLater(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s, _ := manyTools(t, 40, &calls)
	open := make(chan struct{})
	var waits atomic.Bool
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if waits.Load() {
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	home, cwd := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), fmt.Appendf(nil, "mcp_servers: {many: {url: %q, protocol: legacy, connect_timeout: 10}}\n", web.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	step := 0
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		last := x.Request.Messages[len(x.Request.Messages)-1].Text()
		switch step++; step {
		case 1, 4:
			x.Text("Hi.")
		case 2:
			x.Call("a", "mcp__many__note_3", `{"text":"by name"}`)
			x.Call("b", "tool_call", `{"name":"mcp__many__note_4","arguments":{"text":"by tool_call"}}`)
			x.Call("c", "mcp__other__x", `{}`)
			close(open)
		case 3:
			for _, want := range []string{"kept by name", "kept by tool_call", "Unknown tool: mcp__other__x"} {
				if !strings.Contains(allText(x.Request.Messages), want) {
					t.Errorf("no %q in %s", want, last)
				}
			}
			x.Text("Done.")
		}
	})
	service := app.New(server.Options{Home: home, Environ: []string{"TEST=1"}, Model: m})
	x, err := service.NewSession(t.Context(), server.Place{Cwd: cwd}, &chooser{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Hi"}, nil); err != nil {
		t.Fatal(err)
	}
	id := x.ID()
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	waits.Store(true)
	service = app.New(server.Options{Home: home, Environ: []string{"TEST=1"}, Model: m})
	t.Cleanup(func() { _ = service.Close() })
	if x, err = service.LoadSession(t.Context(), id, server.Place{Cwd: cwd}, &chooser{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Again"}, nil); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 2 || step != 3 {
		t.Errorf("%d calls, %d requests", calls.Load(), step)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the context end with the connection
		<-r.Context().Done()
	}))
	t.Cleanup(func() { _ = service.Close(); silent.Close() }) // the service waits for the server
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), fmt.Appendf(nil, "mcp_servers: {silent: {url: %q, connect_timeout: 3600}}\n", silent.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if x, err = service.NewSession(t.Context(), server.Place{Cwd: cwd}, &chooser{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Hi"}, nil); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 5*time.Minute { // connecting itself may take an hour
		t.Errorf("the first prompt took %v", d)
	}
}
