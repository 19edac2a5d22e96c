package servertest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// problemServer is a language server. A line "error X" is a problem. It reports after a delay, by mode:
// "each" version, only the "newest", each without its "number", or, before the first problem, "nothing".
// Its renames and fixes change the first five characters of a line.
const problemServer = `
import json, sys, threading
delay, mode = float(sys.argv[1]), sys.argv[2]
lock = threading.Lock()
newest, told = {}, set()

def send(m):
    data = json.dumps({"jsonrpc": "2.0", **m}).encode()
    with lock:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        sys.stdout.buffer.flush()

def changed(p, line, text):
    return {"changes": {p["textDocument"]["uri"]: [{"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 5}}, "newText": text}]}}

def report(uri, version, text):
    if mode == "newest" and newest[uri] != version:
        return
    found = [{"range": {"start": {"line": i, "character": 0}, "end": {"line": i, "character": 1}}, "severity": 1, "message": line[6:]}
             for i, line in enumerate(text.split("\n")) if line.startswith("error ")]
    if mode == "nothing" and not found and uri not in told:
        return
    told.add(uri)
    params = {"uri": uri, "diagnostics": found}
    if mode != "number":
        params["version"] = version
    send({"method": "textDocument/publishDiagnostics", "params": params})

while True:
    size = 0
    for line in iter(sys.stdin.buffer.readline, b"\r\n"):
        if not line:
            sys.exit(0)
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    m = json.loads(sys.stdin.buffer.read(size))
    p = m.get("params")
    if m["method"] == "initialize":
        send({"id": m["id"], "result": {"capabilities": {"renameProvider": True, "codeActionProvider": True}}})
    elif m["method"] == "textDocument/rename":
        send({"id": m["id"], "result": changed(p, p["position"]["line"], p["newName"])})
    elif m["method"] == "textDocument/codeAction":
        send({"id": m["id"], "result": [{"title": "Break", "kind": "quickfix", "edit": changed(p, p["range"]["start"]["line"], "error")}]})
    elif m["method"] in ("textDocument/didOpen", "textDocument/didChange"):
        d = p["textDocument"]
        newest[d["uri"]] = d["version"]
        threading.Timer(delay, report, (d["uri"], d["version"], p["contentChanges"][0]["text"] if "contentChanges" in p else d["text"])).start()
    elif "id" in m:
        send({"id": m["id"], "result": None})
`

// slowTools are tools of an editor. They report the lines "error X" of a text after a delay.
type slowTools struct {
	delay time.Duration
	text  func() string
	mu    sync.Mutex
	seen  string
	known []protocol.Diagnostic
	done  bool
}

// looked reports whether the tools have checked their first text.
func (s *slowTools) looked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

func (s *slowTools) diagnose(string, int) []protocol.Diagnostic {
	text := s.text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != s.seen {
		s.seen = text
		time.AfterFunc(s.delay, func() {
			var found []protocol.Diagnostic
			for i, line := range strings.Split(text, "\n") {
				if message, ok := strings.CutPrefix(line, "error "); ok {
					d := protocol.Diagnostic{Severity: 1, Message: message}
					d.Range.Start.Line = uint32(i)
					found = append(found, d)
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.seen == text {
				s.known, s.done = found, true
			}
		})
	}
	return s.known
}

// problemCase is a case of [TestProblemsOfEdits].
type problemCase struct {
	own     string        // the mode of a language server of ours
	reports time.Duration // delay of the server or of the editor's tools
	answers time.Duration // delay of each answer of the editor
	late    bool          // results of edits do not wait for the server
	agent   bool          // the host speaks the Agent Client Protocol only
	unsure  bool          // old problems may be reported as unsure: a report without a version may belong to the text before
}

// TestProblemsOfEdits checks with slow tools and editors: the model learns each problem of an edit once,
// also if another edit follows at once, or if a language server computed the edit. Old problems are never
// new. The cases run at the same time, because nearly all of their time is waiting.
func TestProblemsOfEdits(t *testing.T) {
	t.Parallel()
	const second = time.Second
	var running sync.WaitGroup
	defer running.Wait()
	for name, tt := range map[string]problemCase{
		"a server":                             {own: "each", reports: second / 10},
		"a server of 2 s":                      {own: "each", reports: 2 * second},
		"a late server":                        {own: "each", reports: 3 * second, late: true},
		"only the newest version":              {own: "newest", reports: second / 10},
		"only the newest version of 2 s":       {own: "newest", reports: 2 * second},
		"only the newest version, late":        {own: "newest", reports: 3 * second, late: true, unsure: true},
		"without versions":                     {own: "number", reports: second / 10, unsure: true},
		"without versions of 2 s":              {own: "number", reports: 2 * second, unsure: true},
		"no report without problems":           {own: "nothing", reports: second / 10},
		"no report without problems of 2 s":    {own: "nothing", reports: 2 * second},
		"Agent Client Protocol":                {own: "each", reports: second / 10, agent: true},
		"Agent Client Protocol, late":          {own: "each", reports: 3 * second, late: true, agent: true},
		"Agent Client Protocol, answers late":  {own: "each", reports: second / 10, answers: second / 2, agent: true},
		"tools of the editor":                  {reports: second / 10},
		"tools of the editor of 2 s":           {reports: 2 * second},
		"tools of the editor of 4 s":           {reports: 4 * second},
		"an editor that answers after 2 s":     {answers: 2 * second, unsure: true},
		"an editor that answers after 3 s":     {answers: 3 * second, unsure: true},
		"an editor and its tools, each of 2 s": {reports: 2 * second, answers: 2 * second, unsure: true},
	} {
		running.Go(func() {
			t.Run(name, func(t *testing.T) {
				if tt.reports+tt.answers > second/2 {
					testneed.Long(t)
				}
				b := startProblems(t, tt)
				b.play()
				b.check()
			})
		})
	}
}

// problemBed is a session whose model learns of problems.
type problemBed struct {
	*servertest.Editor
	t       *testing.T
	of      problemCase
	model   *fakemodel.Model
	session string // over the Agent Client Protocol
	calls   int
	seen    int             // how many messages told has
	told    strings.Builder // what the model has learned
}

func startProblems(t *testing.T, tt problemCase) *problemBed {
	t.Helper()
	b := &problemBed{t: t, of: tt, model: fakemodel.New()}
	server := filepath.Join(t.TempDir(), "server.py")
	if err := os.WriteFile(server, []byte(problemServer), 0o600); err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	mode, delay, wait := tt.own, tt.reports, 5
	if mode == "" {
		mode, delay = "each", 0 // it is asked for edits only
	}
	if tt.late {
		wait = 1
	}
	tools := map[string]*slowTools{}
	o := servertest.Options{
		Model: b.model, Root: t.TempDir(), Agent: tt.agent, Plugin: !tt.agent, Slow: tt.answers,
		Files:  map[string]string{"a.x": "first\nerror old\nlast\n", "b.x": "one\ntwo\nspare fifth\n", "c.x": "error old\nspare fourth\n"},
		Config: fmt.Sprintf("lsp: {mode: own, on_edit: true, wait_timeout: %d, servers: {x: {command: [%q, %q, %q, %s], extensions: [.x]}}}\nsandbox: {mode: off}\n", wait, python, server, fmt.Sprint(delay.Seconds()), mode),
	}
	if tt.own == "" {
		for name := range o.Files {
			tools[name] = &slowTools{delay: tt.reports, text: func() string { return b.Text(name) }}
		}
		o.Diagnose = func(u string, wait int) []protocol.Diagnostic { return tools[filepath.Base(u)].diagnose(u, wait) }
	}
	b.Editor = servertest.New(t, o)
	b.Open("a.x")
	b.Open("b.x")
	b.Open("c.x")
	if tt.agent {
		raw, err := b.Call(acp.MethodSessionNew, acp.NewSessionRequest{Cwd: b.Root, MCPServers: []acp.MCPServer{}})
		var made acp.NewSessionResponse
		if err == nil {
			err = json.Unmarshal(raw, &made)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.session = made.SessionID
	}
	for name, u := range tools {
		for !u.looked() {
			u.diagnose(name, 0)
			time.Sleep(10 * time.Millisecond)
		}
	}
	return b
}

// ask plays a turn with a call, and returns what the model learns in it: its result, and the notices
// before, with, and after the prompt.
func (b *problemBed) ask(name, args string) string {
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if !b.of.agent {
			b.Ask("go on")
		} else if _, err := b.Call(acp.MethodSessionPrompt, acp.PromptRequest{SessionID: b.session, Prompt: []acp.ContentBlock{acp.Text("go on")}}); err != nil {
			b.t.Error(err)
		}
	}()
	x := b.model.Next()
	from := min(b.seen, len(x.Request.Messages)-1) // less after a compaction
	b.calls++
	x.Call(fmt.Sprint(b.calls), name, args)
	x.End()
	x = b.model.Next()
	var text strings.Builder
	for _, message := range x.Request.Messages[min(from, len(x.Request.Messages)-1):] {
		text.WriteString(message.Text())
	}
	b.seen = len(x.Request.Messages)
	x.Text("done")
	x.End()
	select {
	case <-asked:
	case x = <-b.model.Arrived():
		b.t.Fatalf("the turn goes on after its answer; the last message is %q", x.Request.Messages[len(x.Request.Messages)-1].Text())
	}
	b.told.WriteString(text.String())
	return text.String()
}

// wait asks until the model is told a text.
func (b *problemBed) wait(want string) {
	b.t.Helper()
	for began := time.Now(); !strings.Contains(b.told.String(), want); {
		if time.Since(began) > 2*time.Minute {
			text := b.told.String()
			b.t.Fatalf("the model is not told %q:\n%s", want, text[max(0, len(text)-4000):])
		}
		b.ask("read_file", `{"path":"b.x","limit":1}`)
		time.Sleep(50 * time.Millisecond)
	}
}

// patch makes an edit with a file tool.
func (b *problemBed) patch(file, old, new string) {
	b.ask("patch", fmt.Sprintf(`{"path":%q,"old_string":%q,"new_string":%q}`, file, old, new))
}

// lsp makes an edit with the tool lsp in the line with a text. If the server has not answered in time, lsp
// calls again.
func (b *problemBed) lsp(file, text, args string) {
	b.t.Helper()
	before, _, _ := strings.Cut(b.Text(file), text)
	args = fmt.Sprintf(`{"path":%q,"line":%d,%s}`, file, 1+strings.Count(before, "\n"), args)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		answer := b.ask("lsp", args)
		if strings.Contains(answer, `"changed":[`) {
			return
		}
		if time.Since(began) > 2*time.Minute {
			b.t.Fatalf("%s is not made:\n%s", args, answer)
		}
	}
}

func (b *problemBed) play() {
	b.patch("a.x", "last", "error new\nlast")
	b.wait("a.x, line 3: error: new")
	b.patch("b.x", "two", "error other")
	b.wait("b.x, line 2: error: other")
	// The next edit follows at once.
	b.patch("a.x", "first", "first\nerror second")
	b.patch("a.x", "last", "error third\nlast")
	b.wait("error: third")
	if !strings.Contains(b.told.String(), "a.x, line 2: error: second") {
		b.patch("b.x", "one", "1")
		b.wait("a.x, line 2: error: second")
	}
	// No file tool has edited c.x.
	b.lsp("c.x", "spare fourth", `"action":"rename","symbol":"spare","new_name":"error"`)
	b.lsp("b.x", "spare fifth", `"action":"fix","title":"Break"`)
	b.wait("c.x, line 2: error: fourth")
	b.wait("b.x, line 3: error: fifth")
}

func (b *problemBed) check() {
	b.t.Helper()
	for line := range strings.Lines(b.told.String()) {
		if b.of.unsure {
			line = strings.ReplaceAll(line, "error: old; it may be older than the edit", "")
		}
		if strings.Contains(line, ": old") {
			b.t.Errorf("told as new: %s", line)
		}
	}
	for _, problem := range []string{"new", "other", "second", "third", "fourth", "fifth"} {
		if n := strings.Count(b.told.String(), "error: "+problem); n != 1 {
			b.t.Errorf("%s is told %d times:\n%s", problem, n, b.told.String())
		}
	}
}
