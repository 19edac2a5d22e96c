package mcpserve_test

//lint:file-ignore SA1019 Roots are on their way out of the protocol, but the hosts of today have them.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/mcpserve"
)

func TestMain(m *testing.M) {
	modes.Enter() // commands run under this binary
	os.Exit(m.Run())
}

// host is an MCP host with a root.
type host struct {
	*sdk.ClientSession
	t    *testing.T
	root string

	mu    sync.Mutex
	asked []string
}

// newHost connects a host to a server. answer returns the answer of its user; nil: it cannot ask.
// If roots is nil, it has one folder.
func newHost(t *testing.T, roots []*sdk.Root, answer func() string) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir()}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("model: {provider: embedded}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	service := app.New(server.Options{Home: home, Environ: []string{"PATH=" + os.Getenv("PATH")}, Log: log})
	t.Cleanup(func() { _ = service.Close() })
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- mcpserve.Serve(context.Background(), serverIn, serverOut, mcpserve.Options{Service: service, Version: "1", Log: log})
		serverOut.Close()
	}()
	options := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}}
	if answer != nil {
		options.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
		options.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			h.mu.Lock()
			h.asked = append(h.asked, r.Params.Message)
			h.mu.Unlock()
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer()}}, nil
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, options)
	if roots == nil {
		roots = []*sdk.Root{{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(h.root)}).String()}}
	}
	client.AddRoots(roots...)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: clientIn, Writer: clientOut}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.ClientSession = session
	t.Cleanup(func() {
		_ = session.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return h
}

type output struct {
	Session, Text string
	StopReason    string `json:"stop_reason"`
	Notices       []string
	Sessions      []struct{ Session string }
	Reports       []struct{ Status, Summary, Error string }
}

// call calls a tool. If the tool fails, it returns the error.
func (h *host) call(tool string, args map[string]any) (out output, failure string) {
	h.t.Helper()
	r, err := h.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return out, err.Error()
	}
	if r.IsError {
		return out, r.Content[0].(*sdk.TextContent).Text
	}
	data, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, err.Error()
	}
	return out, ""
}

// script is a prompt for the embedded model: it runs command and answers "Done.".
func script(command string) string {
	return fmt.Sprintf("Do it.\n```hermes-script\n[{\"call\":{\"name\":\"terminal\",\"args\":{\"command\":%q}}}]\n[{\"text\":\"Done.\"}]\n```", command)
}

const sweep = "mkdir -p a && rm -rf a"

// A session runs a single prompt: others are rejected while it runs, and the running prompt is not
// interrupted.
func TestPromptsOfOneSession(t *testing.T) {
	t.Parallel()
	var others sync.WaitGroup
	h := newHost(t, nil, func() string { others.Wait(); return "Allow once" })
	first, failure := h.call("prompt", map[string]any{"prompt": "Hello"})
	if failure != "" {
		t.Fatal(failure)
	}
	const calls = 6
	others.Add(calls - 1)
	var all sync.WaitGroup
	var mu sync.Mutex
	var done []output
	for range calls {
		all.Go(func() {
			out, failure := h.call("prompt", map[string]any{"prompt": script(sweep), "session": first.Session})
			if failure == "" {
				mu.Lock()
				done = append(done, out)
				mu.Unlock()
				return
			}
			if !strings.Contains(failure, "runs another prompt") {
				t.Error(failure)
			}
			others.Done()
		})
	}
	all.Wait()
	if len(done) != 1 || done[0].Text != "Done." || done[0].StopReason != "end_turn" {
		t.Errorf("the prompts that ran: %+v", done)
	}
}

// An approval for a session applies in later calls of the same session, and in no other session.
func TestAllowedForSession(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil, func() string { return "Allow for this session" })
	first, failure := h.call("prompt", map[string]any{"prompt": script(sweep)})
	if failure != "" || len(h.asked) != 1 {
		t.Fatalf("%s; asked %q", failure, h.asked)
	}
	if out, failure := h.call("prompt", map[string]any{"prompt": script(sweep), "session": first.Session}); failure != "" || out.Text != "Done." || len(h.asked) != 1 {
		t.Errorf("continued: %+v, %s; asked %q", out, failure, h.asked)
	}
	if _, failure := h.call("prompt", map[string]any{"prompt": script(sweep)}); failure != "" || len(h.asked) != 2 {
		t.Errorf("another session: %s; asked %q", failure, h.asked)
	}
}

// An approval of a command that runs a file depends on the file's content. If the file changes, a
// later call requires approval again.
func TestAllowedForContent(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil, func() string { return "Allow for this session" })
	const run = `sh -c "$(cat x.sh)"`
	session := ""
	for i, step := range []struct {
		content string
		asked   int
	}{{"echo a", 1}, {"echo a", 1}, {"echo b", 2}, {"echo b", 2}} {
		if err := os.WriteFile(filepath.Join(h.root, "x.sh"), []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		args := map[string]any{"prompt": script(run)}
		if session != "" {
			args["session"] = session
		}
		out, failure := h.call("prompt", args)
		if failure != "" || out.Text != "Done." || len(h.asked) != step.asked {
			t.Errorf("step %d: %+v, %s; asked %q", i, out, failure, h.asked)
		}
		session = out.Session
	}
}

// The report of a failed subagent gives the reason.
func TestFailedReport(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil, nil)
	out, failure := h.call("delegate", map[string]any{"tasks": []any{
		map[string]any{"goal": "Do it.\n```hermes-script\n[{\"status\":401}]\n```"},
		map[string]any{"goal": "Do it.\n```hermes-script\n[{\"text\":\"Well.\"}]\n```"},
		map[string]any{"goal": "Hello", "toolsets": []string{"nope"}},
	}})
	if failure != "" || len(out.Reports) != 3 {
		t.Fatalf("%+v, %s", out, failure)
	}
	if r := out.Reports[0]; r.Status != "failed" || !strings.Contains(r.Error, "refused the key") {
		t.Errorf("a rejected key: %+v", r)
	}
	if r := out.Reports[1]; r.Status != "completed" || r.Summary != "Well." || r.Error != "" {
		t.Errorf("a task that is done: %+v", r)
	}
	if r := out.Reports[2]; r.Status != "failed" || !strings.Contains(r.Error, `unknown toolset "nope"`) {
		t.Errorf("an unknown toolset: %+v", r)
	}
}

// If the host's folders are not known, no call works in the directory in which the program was started.
func TestRoots(t *testing.T) {
	t.Parallel()
	h := newHost(t, []*sdk.Root{{URI: "https://example.com/folder"}}, nil)
	for _, tool := range []string{"prompt", "sessions", "delegate"} {
		args := map[string]any{"prompt": map[string]any{"prompt": "Hello"}, "delegate": map[string]any{"tasks": []any{map[string]any{"goal": "Hello"}}}}[tool]
		object, _ := args.(map[string]any)
		if out, failure := h.call(tool, object); !strings.Contains(failure, "https://example.com/folder") {
			t.Errorf("%s: %+v, %s", tool, out, failure)
		}
	}
}

// A search names each session once.
func TestSearch(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil, nil)
	first, _ := h.call("prompt", map[string]any{"prompt": "Paint the walrus, walrus, walrus."})
	second, _ := h.call("prompt", map[string]any{"prompt": "Draw a picture of the large and old walrus that lies on the ice far in the north."})
	for range 2 {
		if _, failure := h.call("prompt", map[string]any{"prompt": "The walrus, walrus, walrus.", "session": first.Session}); failure != "" {
			t.Fatal(failure)
		}
	}
	out, failure := h.call("sessions", map[string]any{"query": "walrus", "limit": 2})
	found := map[string]bool{}
	for _, s := range out.Sessions {
		found[s.Session] = true
	}
	if len(out.Sessions) != 2 || !found[first.Session] || !found[second.Session] {
		t.Errorf("found %+v, %s; want %s and %s", out.Sessions, failure, first.Session, second.Session)
	}
	if _, failure := h.call("prompt", map[string]any{"prompt": "Hello", "session": "none"}); failure != `there is no session "none"; the tool sessions lists them` {
		t.Errorf("an unknown session: %s", failure)
	}
}

// Some model APIs reject lists of types, and hosts pass the schemas on.
func TestSchemasHaveOneType(t *testing.T) {
	t.Parallel()
	list, err := newHost(t, nil, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			data, err := json.Marshal(schema)
			if err != nil || strings.Contains(string(data), `"type":[`) {
				t.Errorf("%s: %s, %v", tool.Name, data, err)
			}
		}
	}
}
