package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/modes"

	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/acp/acptest"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func TestMain(m *testing.M) {
	modes.Enter()
	goleak.VerifyTestMain(m)
}

// testTimeout is the timeout of a test. It is never reached if the test passes.
const testTimeout = time.Minute

// client is an editor on the other end of a real connection. It validates every
// frame of both directions against the official schema.
type client struct {
	t     testing.TB
	home  string
	ws    string
	in    *io.PipeWriter
	ended chan error // the error of Serve
	gone  chan struct{}
	log   acptest.Log

	mu      sync.Mutex
	ids     int
	waiting map[string]chan response
	updates []update
	news    chan struct{} // closed and replaced with each update
	asked   []string      // methods called by the agent, in order
	answers map[string]func(params json.RawMessage) (any, *protocol.Error)
	strict  bool // frames of ours are validated too
}

type response struct {
	Result json.RawMessage
	Error  *protocol.Error
}

type update struct {
	SessionID string
	Kind      string
	Raw       json.RawMessage
}

type setup struct {
	static bool // changes of the configuration are not watched; for virtual time
	model  model.Model
	config string // config.yaml
	client *protocol.ClientCapabilities
	env    []string
	home   string
	ws     string
}

// connect starts an agent and initializes it.
func connect(t testing.TB, s setup) *client {
	t.Helper()
	c := dial(t, s)
	if s.client == nil {
		s.client = &protocol.ClientCapabilities{}
	}
	c.must(protocol.MethodInitialize, protocol.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: *s.client}, nil)
	return c
}

func dial(t testing.TB, s setup) *client {
	t.Helper()
	c := &client{
		t: t, home: s.home, ws: s.ws, strict: true,
		waiting: map[string]chan response{}, news: make(chan struct{}),
		ended: make(chan error, 1), gone: make(chan struct{}),
		answers: map[string]func(json.RawMessage) (any, *protocol.Error){},
	}
	if c.home == "" {
		c.home = t.TempDir()
	}
	if c.ws == "" {
		c.ws = t.TempDir()
	}
	if s.config != "" {
		write(t, filepath.Join(c.home, "config.yaml"), s.config)
	}
	if s.env == nil {
		s.env = []string{}
	}
	svc := app.New(server.Options{Home: c.home, Version: "0.0-test", Environ: s.env, Model: s.model, Static: s.static, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	c.in = toAgent
	go func() {
		c.ended <- acp.Serve(context.Background(), in, out, acp.ServeOptions{Service: svc, Log: svc.Log})
	}()
	go c.read(fromAgent)
	t.Cleanup(c.close)
	return c
}

// close ends the connection and waits until nothing of it is left.
func (c *client) close() {
	_ = c.in.Close()
	select {
	case <-c.gone:
	case <-time.After(testTimeout):
		c.t.Error("the agent does not end")
	}
}

func (c *client) read(r *io.PipeReader) {
	defer close(c.gone)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		c.log.Validate(c.t, acptest.FromAgent, bytes.TrimSpace(line))
		var f struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			response
		}
		if err := json.Unmarshal(line, &f); err != nil {
			c.t.Errorf("not JSON: %s", line)
			continue
		}
		switch {
		case f.Method == protocol.MethodSessionUpdate:
			c.noteUpdate(f.Params)
		case f.Method != "" && f.ID != nil:
			go c.answer(f.ID, f.Method, f.Params)
		case f.Method != "":
			c.mu.Lock()
			c.asked = append(c.asked, f.Method)
			c.mu.Unlock()
		default:
			c.mu.Lock()
			wait := c.waiting[string(f.ID)]
			c.mu.Unlock()
			if wait == nil {
				wait = c.waitFor("null")
			}
			wait <- f.response
		}
	}
}

func (c *client) noteUpdate(params json.RawMessage) {
	var n struct {
		SessionID string
		Update    json.RawMessage
	}
	var kind struct{ SessionUpdate string }
	if json.Unmarshal(params, &n) != nil || json.Unmarshal(n.Update, &kind) != nil {
		c.t.Errorf("odd update %s", params)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, update{n.SessionID, kind.SessionUpdate, n.Update})
	close(c.news)
	c.news = make(chan struct{})
}

// answer plays the editor. It returns the answer set by the test, or else "no such method".
func (c *client) answer(id json.RawMessage, method string, params json.RawMessage) {
	c.mu.Lock()
	c.asked = append(c.asked, method)
	f := c.answers[method]
	c.mu.Unlock()
	var result any
	e := protocol.Errorf(protocol.CodeMethodNotFound, "%s is not there", method)
	if f != nil {
		result, e = f(params)
	}
	if e != nil {
		c.frame(map[string]any{"jsonrpc": "2.0", "id": id, "error": e})
		return
	}
	c.frame(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (c *client) on(method string, f func(params json.RawMessage) (any, *protocol.Error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[method] = f
}

func (c *client) frame(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		c.t.Error(err)
	}
	if c.strict {
		c.log.Validate(c.t, acptest.FromClient, line)
	}
	c.line(string(line))
}

func (c *client) line(s string) { _, _ = io.WriteString(c.in, s+"\n") }

func (c *client) waitFor(id string) chan response {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[id] == nil {
		c.waiting[id] = make(chan response, 10)
	}
	return c.waiting[id]
}

// start sends a request; the channel brings the answer.
func (c *client) start(method string, params any) (id int, answer chan response) {
	c.mu.Lock()
	c.ids++
	id = c.ids
	c.mu.Unlock()
	answer = c.waitFor(strconv.Itoa(id))
	c.frame(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id, answer
}

func (c *client) call(method string, params any) response {
	c.t.Helper()
	_, answer := c.start(method, params)
	return c.wait(answer)
}

func (c *client) wait(answer chan response) response {
	c.t.Helper()
	select {
	case r := <-answer:
		return r
	case <-time.After(testTimeout):
		c.t.Fatal("no answer")
		return response{}
	}
}

// must calls and decodes the result.
func (c *client) must(method string, params, result any) {
	c.t.Helper()
	r := c.call(method, params)
	if r.Error != nil {
		c.t.Fatalf("%s: %d %s", method, r.Error.Code, r.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *client) notify(method string, params any) {
	c.frame(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (c *client) newSession() string {
	c.t.Helper()
	var r protocol.NewSessionResponse
	c.must(protocol.MethodSessionNew, protocol.NewSessionRequest{Cwd: c.ws}, &r)
	return r.SessionID
}

func say(session, text string) protocol.PromptRequest {
	return protocol.PromptRequest{SessionID: session, Prompt: []protocol.ContentBlock{protocol.Text(text)}}
}

// seen are the updates so far.
func (c *client) seen() []update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]update(nil), c.updates...)
}

// until waits for an update accepted by fits.
func (c *client) until(what string, fits func(update) bool) update {
	c.t.Helper()
	limit := time.After(testTimeout)
	for {
		c.mu.Lock()
		news := c.news
		for _, u := range c.updates {
			if fits(u) {
				c.mu.Unlock()
				return u
			}
		}
		c.mu.Unlock()
		select {
		case <-news:
		case <-limit:
			c.t.Fatalf("no update %s came", what)
		}
	}
}

func kind(k string) func(update) bool { return func(u update) bool { return u.Kind == k } }

// kinds are the kinds of updates in order, neighbours of a kind once.
func kinds(updates []update) (all []string) {
	for _, u := range updates {
		if len(all) == 0 || all[len(all)-1] != u.Kind {
			all = append(all, u.Kind)
		}
	}
	return all
}

// text joins the chunks of a kind.
func text(updates []update, kind string) string {
	var all string
	for _, u := range updates {
		var chunk protocol.ContentChunk
		if u.Kind == kind && json.Unmarshal(u.Raw, &chunk) == nil {
			all += chunk.Content.Text
		}
	}
	return all
}

// calls are the news of tool calls.
func calls(updates []update) (all []protocol.ToolCall) {
	for _, u := range updates {
		if u.Kind == protocol.UpdateToolCall || u.Kind == protocol.UpdateToolCallNews {
			var call protocol.ToolCall
			if json.Unmarshal(u.Raw, &call) == nil {
				all = append(all, call)
			}
		}
	}
	return all
}

func (c *client) stop(r response) string {
	c.t.Helper()
	if r.Error != nil {
		return fmt.Sprintf("error %d: %s", r.Error.Code, r.Error.Message)
	}
	var p protocol.PromptResponse
	if err := json.Unmarshal(r.Result, &p); err != nil {
		c.t.Fatal(err)
	}
	return string(p.StopReason)
}

// reply is a scripted answer of the model.
func reply(text string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Text(text); x.End() }
}

func tool(name, args string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Call("call-"+name, name, args); x.End() }
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
