package servertest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// endpoint is an HTTP endpoint of Chat Completions. It stores the requests of the main session.
type endpoint struct {
	mu       sync.Mutex
	bodies   [][]byte
	replies  []string      // of the next requests of the main session; if there are none: "OK."
	verdicts []string      // of the judge of a goal
	holding  chan struct{} // gets a value when a response waits until its request is canceled
	subagent chan struct{} // the request of a subagent takes a value before it is answered
}

// held ends a response that waits until its request is canceled.
const held = "HELD"

func chunk(delta string, finish string) string {
	if finish != "" {
		finish = fmt.Sprintf(`,"finish_reason":%q`, finish)
	}
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":%s%s}]}`, delta, finish) + "\n\n"
}

const ended = "data: [DONE]\n\n"

func textReply(text string) string {
	quoted, _ := json.Marshal(text) // a string can be encoded
	return chunk(`{"content":`+string(quoted)+`}`, "stop") + ended
}

// callReply returns a response with calls: name and arguments in turn.
func callReply(nameArgs ...string) string { return callsThen("tool_calls", nameArgs...) }

func callsThen(finish string, nameArgs ...string) string {
	var b strings.Builder
	for i := 0; i < len(nameArgs); i += 2 {
		args, _ := json.Marshal(nameArgs[i+1]) // a string can be encoded
		b.WriteString(chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"","type":"function","function":{"name":%q,"arguments":%s}}]}`, i/2, nameArgs[i], args), ""))
	}
	return b.String() + chunk("{}", finish) + ended
}

func (p *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	if bytes.Contains(body, []byte(`"content":"You are a subagent`)) {
		<-p.subagent
		fmt.Fprint(w, textReply("Seven stars."))
		return
	}
	reply := p.reply(body)
	w.Header().Set("Content-Type", "text/event-stream")
	text, waits := strings.CutSuffix(reply, held)
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
	if waits {
		p.holding <- struct{}{}
		<-r.Context().Done()
	}
}

func (p *endpoint) reply(body []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !bytes.Contains(body, []byte(`"name":"present_plan"`)) && bytes.Contains(body, []byte("# Last answer")):
		verdict := p.verdicts[0]
		p.verdicts = p.verdicts[1:]
		return textReply(verdict)
	case bytes.Contains(body[bytes.LastIndex(body, []byte(`{"role":"user"`)):], []byte("about to be cut")):
		return textReply("### State\nAll is well.")
	}
	p.bodies = append(p.bodies, body)
	if len(p.replies) == 0 {
		return textReply("OK.")
	}
	reply := p.replies[0]
	p.replies = p.replies[1:]
	return reply
}

func (p *endpoint) script(replies ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies = append(p.replies, replies...)
}

func (p *endpoint) sent() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bodies[:len(p.bodies):len(p.bodies)]
}

// fromTools returns a request without its parameters, which come first.
func fromTools(body []byte) []byte { return body[bytes.Index(body, []byte(`"tools":`)):] }

// conversation is a session whose requests are checked after each turn.
type conversation struct {
	t        *testing.T
	e        *servertest.Editor
	endpoint *endpoint
	home, id string
	checked  int  // checked requests
	turns    int  // turns so far
	anew     bool // a compaction has ended the prefix
}

// check checks that each new request extends the previous request, and that the last contains want.
func (c *conversation) check(name, want string) {
	c.t.Helper()
	bodies := c.endpoint.sent()
	if len(bodies) == c.checked {
		c.t.Fatalf("%s: no request", name)
	}
	for ; c.checked < len(bodies); c.checked++ {
		now := fromTools(bodies[c.checked])
		if c.checked == 0 || c.anew {
			c.anew = false
			continue
		}
		before := bytes.TrimSuffix(fromTools(bodies[c.checked-1]), []byte("]}"))
		if bytes.HasPrefix(now, before) {
			continue
		}
		at := 0
		for at < min(len(now), len(before)) && now[at] == before[at] {
			at++
		}
		c.t.Fatalf("%s: request %d does not extend the one before. From byte %d:\n%s\n\nbefore:\n%s", name, c.checked+1, at, clip(now[at:]), clip(before[at:]))
	}
	last := bodies[len(bodies)-1]
	if !bytes.Contains(last, []byte(want)) {
		c.t.Errorf("%s: the last request lacks %q:\n%s", name, want, clip(last[max(0, len(last)-3000):]))
	}
}

func clip(b []byte) []byte { return b[:min(len(b), 3000)] }

// send sends a prompt and returns a function for awaiting the end of its turn.
func (c *conversation) send(blocks ...any) (wait func()) {
	c.t.Helper()
	c.turns++
	for i, b := range blocks {
		if text, ok := b.(string); ok {
			blocks[i] = map[string]any{"type": "text", "text": text}
		}
	}
	_, answered := c.e.Go("session/prompt", map[string]any{"sessionId": c.id, "prompt": blocks})
	return func() {
		c.t.Helper()
		if _, err := answered(); err != nil {
			c.t.Fatalf("%v: %v", blocks, err)
		}
	}
}

// say runs a turn with the given responses and checks its requests.
func (c *conversation) say(prompt, want string, replies ...string) {
	c.t.Helper()
	c.endpoint.script(replies...)
	c.send(prompt)()
	c.check(prompt, want)
}

func (c *conversation) set(option, value string) {
	c.t.Helper()
	if _, err := c.e.Call("session/set_config_option", map[string]any{"sessionId": c.id, "configId": option, "value": value}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.e.Root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// begin starts a server, as the first or after a restart, and opens the session.
func (c *conversation) begin(root string) {
	c.t.Helper()
	c.e = servertest.New(c.t, servertest.Options{Home: c.home, Root: root, Plugin: true})
	c.e.Choose(func(servertest.Question) string { return "no" })
	method, params := "session/new", map[string]any{"cwd": c.e.Root, "mcpServers": []any{}}
	if c.id != "" {
		method, params["sessionId"] = "session/load", c.id
	}
	raw, err := c.e.Call(method, params)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.id == "" {
		var opened protocol.SessionResult
		if err := json.Unmarshal(raw, &opened); err != nil {
			c.t.Fatal(err)
		}
		c.id = opened.SessionID
	}
}

// restart ends the server and loads the session in the next server.
func (c *conversation) restart() {
	c.t.Helper()
	c.e.End()
	c.begin(c.e.Root)
}

// cancel cancels a turn when its response waits.
func (c *conversation) cancel(prompt string, replies ...string) {
	c.t.Helper()
	c.endpoint.script(replies...)
	wait := c.send(prompt)
	<-c.endpoint.holding
	c.e.Notify("session/cancel", map[string]any{"sessionId": c.id})
	wait()
	c.check(prompt, "")
}

// until waits for a condition.
func (c *conversation) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s did not happen", what)
		}
	}
}

// has returns a function that reports whether the editor has received a message with a text.
func (c *conversation) has(method, text string) func() bool {
	return func() bool {
		return slices.ContainsFunc(c.e.Frames(), func(f servertest.Frame) bool {
			return f.Method == method && bytes.Contains(f.Params, []byte(text))
		})
	}
}

func aPicture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPrefixOfFiftyTurns plays a session of 50 turns over HTTP. Between turns, it switches and
// edits everything the model reads. Each request repeats the bytes of the previous request, from
// its tools on, except after a compaction.
func TestPrefixOfFiftyTurns(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	p := &endpoint{holding: make(chan struct{}), subagent: make(chan struct{}, 1)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	c := &conversation{t: t, endpoint: p, home: t.TempDir()}
	config := fmt.Sprintf("model: {default: gpt-5, provider: custom, base_url: '%s/v1', api_key: x, context_window: 200000, fallback: [gpt-5-mini]}\n", server.URL)
	configure := func(more string) {
		if err := os.WriteFile(filepath.Join(c.home, "config.yaml"), []byte(config+more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("")
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.e = &servertest.Editor{Root: root}
	c.write("AGENTS.md", "Run make lint.\n")
	c.write("go.mod", "module x\n")
	c.write("main.go", "package main\n\nfunc main() {}\n")
	c.write("lib/AGENTS.md", "No globals in lib.\n")
	c.write("lib/lib.go", "package lib\n")
	c.write("deep/in/AGENTS.md", "Deep rules.\n")
	c.write("deep/in/a.txt", "a\n")
	c.write("script/AGENTS.md", "Rules of script.\n")
	c.write("pixel.png", aPicture(t))
	c.begin(root)

	// The environment
	c.say("1 first", "approval mode ask")
	c.e.Open("main.go")
	c.say("2 a file is open", "active: main.go")
	c.e.Edit("main.go", "{}", "{ run() }")
	c.say("3 it is not saved", "main.go (unsaved)")
	c.e.Notify(acp.MethodEditor, acp.EditorState{
		Active:   &acp.EditorPlace{URI: string(c.e.URI("lib/lib.go")), Position: &protocol.Position{}, Selection: &protocol.Range{End: protocol.Position{Line: 1}}},
		Open:     []acp.EditorFile{{URI: string(c.e.URI("lib/lib.go")), Unsaved: true}},
		Problems: []acp.EditorProblems{{URI: string(c.e.URI("lib/lib.go")), Errors: 2}},
	})
	c.say("4 of the plugin", "lib/lib.go 2 errors")
	c.say("5 nothing has changed", "5 nothing")

	// Instructions
	c.write("AGENTS.md", "Run make lint. Then run make test.\n")
	c.say("6 instructions have changed", "Run make lint")
	c.say("7 read below", "No globals in lib.", callReply("read_file", `{"path":"lib/lib.go"}`))
	c.write("lib/AGENTS.md", "Globals are fine.\n")
	c.say("8 edit below unread ones", "Deep rules.", callReply("write_file", `{"path":"deep/in/a.txt","content":"b\n"}`), callReply("write_file", `{"path":"deep/in/a.txt","content":"b\n"}`))
	c.say("9 a script", "Rules of script.", callReply("execute_code", `{"code":"from hermes_tools import read_file\nprint(read_file('script/AGENTS.md')['total_lines'])"}`))

	// References and attachments
	c.say("10 see @file:main.go:1-2 and @folder:lib", "main.go, lines 1-2")
	c.say("11 see @diff, @problems, @symbol:main and @file:none.go", "none.go")
	c.send("12 attached", map[string]any{"type": "resource", "resource": map[string]any{"uri": c.e.URI("lib/lib.go"), "text": "package lib\n"}},
		map[string]any{"type": "resource_link", "uri": c.e.URI("main.go"), "name": "main.go"})()
	c.check("attached", "lib/lib.go")
	c.send("13 a picture", map[string]any{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString([]byte(aPicture(t)))})()
	c.check("a picture", "image_url")
	c.say("14 a picture of a tool", "pixel.png", callReply("read_file", `{"path":"pixel.png"}`, "search_files", `{"pattern":"package"}`))

	// Modes
	c.e.Choose(func(servertest.Question) string { return "Keep planning" })
	c.set("mode", "plan")
	c.say("15 a plan in text", "Plan mode is on.", textReply("1. Look."))
	c.say("16 a call that plan mode rejects", "lan mode", callReply("write_file", `{"path":"x.txt","content":"x"}`, "terminal", `{"command":"touch x"}`))
	c.e.Choose(func(servertest.Question) string { return "Start without asking" })
	c.say("17 a plan that is approved", "has approved the plan", callReply("present_plan", `{"plan":"1. Look."}`), textReply("Done."))
	c.set("mode", "ask")
	c.say("18 back in mode ask", "approval mode ask")
	c.e.Choose(func(servertest.Question) string { return "no" })
	c.say("19 the user denies", "The user denied this", callReply("terminal", `{"command":"rm -rf lib"}`))
	c.e.Choose(func(servertest.Question) string { return "once" })
	c.say("20 the user allows", "exit_code", callReply("terminal", `{"command":"rm -rf deep"}`))

	// Options of the session
	c.set("thought_level", "high")
	c.say("21 more effort", `"reasoning_effort":"high"`)
	c.set("model", "gpt-5-mini")
	c.say("22 another model", `"model":"gpt-5-mini"`)
	c.set("thought_level", "default")
	c.set("model", "gpt-5")
	c.say("23 as before", `"model":"gpt-5"`)
	configure("agent: {personality: terse, personalities: {terse: Be brief.}, tools: {disabled: [web]}}\n")
	c.say("24 the configuration has changed", "24 the")

	// Failing calls, and failing responses
	c.say("25 a patch that does not match", "old_string", callReply("patch", `{"path":"lib/lib.go","old_string":"nowhere","new_string":"x"}`))
	c.say("26 a patch without new_string", "new_string", callReply("patch", `{"path":"lib/lib.go","old_string":"package lib"}`))
	c.say("27 a call that is cut", "output limit", callsThen("length", "write_file", `{"path":"lib/b.go","content":"pack`))
	c.say("28 arguments that are not JSON", "error", callReply("read_file", `path=main.go, [`, "nonsense", `{}`))
	c.say("29 aliases", "main.go", callReply("Read", `{"file_path":"main.go"}`, "bash", `{"cmd":"echo hi"}`))
	c.say("30 an empty response", "Your last reply was empty", textReply(""))
	failing := callReply("read_file", `{"path":"none"}`)
	c.endpoint.script(failing, failing, failing, failing, failing)
	c.send("31 the loop guard")()
	c.check("the loop guard", "the same")
	c.say("32 after the loop guard", "hermes-ls ended the turn here")

	// Canceled turns
	c.cancel("33 cancel a text", chunk(`{"content":"I beg"}`, "")+held)
	c.cancel("34 cancel before a text", held)
	c.cancel("35 cancel in a call", chunk(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"read_file","arguments":"{\"pa"}}]}`, "")+held)
	c.endpoint.script(callReply("terminal", `{"command":"touch began && sleep 600"}`))
	wait := c.send("36 cancel a command")
	c.until("the command", func() bool { _, err := os.Stat(filepath.Join(c.e.Root, "began")); return err == nil })
	c.e.Notify("session/cancel", map[string]any{"sessionId": c.id})
	wait()
	c.check("cancel a command", "36 cancel")
	c.endpoint.script(chunk(`{"content":"Half"}`, "") + held)
	wait = c.send("37 a prompt interrupts this one")
	<-p.holding
	c.until("the text", c.has("session/update", `"Half"`))
	c.say("38 the one that interrupts", "Half")
	wait()

	// Ongoing work
	c.say("39 a change", "Checks of this project", callReply("patch", `{"path":"lib/lib.go","old_string":"package lib","new_string":"package lib // changed"}`,
		"todo", `{"todos":[{"id":"1","content":"look","status":"pending"}]}`))
	c.say("40 the plan", "completed", callReply("todo", `{"todos":[{"id":"1","status":"completed","content":"look"}]}`, "checkpoint", `{"action":"list"}`))
	c.say("41 a background command", "session_id", callReply("terminal", `{"command":"echo made > made.txt","background":true}`))
	c.until("the background command", func() bool { _, err := os.Stat(filepath.Join(c.e.Root, "made.txt")); return err == nil })
	c.say("42 what it did", "42 what", callReply("process", `{"action":"list"}`))
	c.say("43 a background subagent", "Count the stars", callReply("delegate_task", `{"goal":"Count the stars","background":true,"toolsets":["file"]}`))
	p.subagent <- struct{}{}
	c.until("the end of the subagent", c.has(acp.MethodSubagentsReady, `"start":true`))
	if _, err := c.e.Call("session/prompt", map[string]any{"sessionId": c.id, "prompt": []any{}, "_meta": map[string]any{"hermes": map[string]any{"continue": true}}}); err != nil {
		t.Fatal(err)
	}
	c.check("the turn with its result", "Seven stars.")
	c.say("44 after its result", "Seven stars.")
	p.subagent <- struct{}{}
	c.say("45 a subagent", "Seven stars.", callReply("delegate_task", `{"goal":"Count them again","toolsets":["file"]}`))
	p.verdicts = []string{`{"verdict":"continue","reason":"One is missing."}`, `{"verdict":"reached","reason":"All is there."}`}
	c.say("/goal count all stars", "One is missing.")
	c.turns++ // the continuation

	// Restarts and a compaction
	c.restart()
	c.say("48 after a restart", "48 after")
	c.endpoint.script(callReply("terminal", `{"command":"touch running && sleep 600"}`))
	c.send("49 ends with the server")
	c.until("the command", func() bool { _, err := os.Stat(filepath.Join(c.e.Root, "running")); return err == nil })
	c.restart()
	c.say("50 the call has a result", "the editor was closed, or the server was stopped. It may have had effects: check them before you run it again")
	c.send("/compact")()
	c.anew = true
	c.say("52 after the compaction", "All is well.")
	if !bytes.Contains(p.sent()[c.checked-1], []byte("Be brief.")) {
		t.Error("the system prompt is not the new one after a compaction")
	}
	for n := range 5 {
		c.write("AGENTS.md", fmt.Sprintf("Rule %d.\n", n))
		c.e.Open("lib/lib.go")
		c.set("mode", []string{"plan", "auto", "ask"}[n%3])
		c.say(fmt.Sprintf("%d more", 53+n), "more", callReply("read_file", `{"path":"lib/lib.go"}`))
	}
	if c.turns < 50 {
		t.Errorf("only %d turns", c.turns)
	}
	t.Logf("%d turns, %d requests", c.turns, len(p.sent()))
}
