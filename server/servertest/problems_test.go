package servertest_test

import (
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
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// problemServer is a language server. A line "error X" is a problem. It reports after a delay, by mode:
// "each" version, only the "newest", each without its "number", or, before the first problem, "nothing".
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
        send({"id": m["id"], "result": {"capabilities": {}}})
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

// TestProblemsOfEdits checks with slow tools and editors: the model learns each problem of an edit once,
// also if another edit follows at once, and old problems are never new.
func TestProblemsOfEdits(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tt := range map[string]struct {
		own     string        // the mode of a language server of ours
		reports time.Duration // delay of the server or of the editor's tools
		answers time.Duration // delay of each answer of the editor
		unsure  bool          // old problems may be reported as unsure
	}{
		"a server":                             {own: "each", reports: second / 10},
		"a server of 2 s":                      {own: "each", reports: 2 * second},
		"a server of 5 s":                      {own: "each", reports: 5 * second},
		"only the newest version":              {own: "newest", reports: second / 10},
		"only the newest version of 2 s":       {own: "newest", reports: 2 * second},
		"only the newest version of 5 s":       {own: "newest", reports: 5 * second, unsure: true},
		"without versions":                     {own: "number", reports: second / 10},
		"without versions of 2 s":              {own: "number", reports: 2 * second},
		"no report without problems":           {own: "nothing", reports: second / 10},
		"no report without problems of 2 s":    {own: "nothing", reports: 2 * second},
		"tools of the editor":                  {reports: second / 10},
		"tools of the editor of 2 s":           {reports: 2 * second},
		"tools of the editor of 4 s":           {reports: 4 * second},
		"an editor that answers after 2 s":     {answers: 2 * second, unsure: true},
		"an editor that answers after 3 s":     {answers: 3 * second, unsure: true},
		"an editor and its tools, each of 2 s": {reports: 2 * second, answers: 2 * second, unsure: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.reports+tt.answers > second {
				testneed.Long(t)
			}
			t.Parallel()
			var e *servertest.Editor
			m := fakemodel.New()
			tools := map[string]*slowTools{}
			o := servertest.Options{Model: m, Root: t.TempDir(), Plugin: true, Slow: tt.answers, Files: map[string]string{"a.x": "first\nerror old\nlast\n", "b.x": "one\ntwo\n"}}
			if tt.own != "" {
				server := filepath.Join(t.TempDir(), "server.py")
				if err := os.WriteFile(server, []byte(problemServer), 0o600); err != nil {
					t.Fatal(err)
				}
				python, err := exec.LookPath("python3")
				if err != nil {
					t.Fatal(err)
				}
				o.Config = fmt.Sprintf("lsp: {mode: own, on_edit: true, servers: {x: {command: [%q, %q, %q, %s], extensions: [.x]}}}\nsandbox: {mode: off}\n", python, server, fmt.Sprint(tt.reports.Seconds()), tt.own)
			} else {
				for name := range o.Files {
					tools[name] = &slowTools{delay: tt.reports, text: func() string { return e.Text(name) }}
				}
				o.Diagnose = func(u string, wait int) []protocol.Diagnostic { return tools[filepath.Base(u)].diagnose(u, wait) }
			}
			e = servertest.New(t, o)
			e.Open("a.x")
			e.Open("b.x")
			for name, u := range tools {
				for !u.looked() {
					u.diagnose(name, 0)
					time.Sleep(10 * time.Millisecond)
				}
			}
			calls := 0
			ask := func(name, args string) string { // what the model learns after a call
				asked := make(chan struct{})
				go func() { defer close(asked); e.Ask("go on") }()
				x := m.Next()
				before := len(x.Request.Messages) - 1
				calls++
				x.Call(fmt.Sprint(calls), name, args)
				x.End()
				x = m.Next()
				var text strings.Builder
				for _, message := range x.Request.Messages[before:] {
					text.WriteString(message.Text())
				}
				x.Text("done")
				x.End()
				<-asked
				return text.String()
			}
			var told strings.Builder
			tell := func(text string) { told.WriteString(text) }
			edit := func(file, old, new, want string) {
				t.Helper()
				tell(ask("patch", fmt.Sprintf(`{"path":%q,"old_string":%q,"new_string":%q}`, file, old, new)))
				for began := time.Now(); !strings.Contains(told.String(), want); {
					if time.Since(began) > 2*time.Minute {
						t.Fatalf("the model is not told %q:\n%s", want, told.String())
					}
					tell(ask("read_file", `{"path":"b.x","limit":1}`))
					time.Sleep(50 * time.Millisecond)
				}
			}
			edit("a.x", "last", "error new\nlast", "a.x, line 3: error: new")
			edit("b.x", "two", "error other", "b.x, line 2: error: other")
			// The next edit follows at once.
			tell(ask("patch", `{"path":"a.x","old_string":"first","new_string":"first\nerror second"}`))
			edit("a.x", "last", "error third\nlast", "error: third")
			if !strings.Contains(told.String(), "a.x, line 2: error: second") {
				edit("b.x", "one", "1", "a.x, line 2: error: second")
			}
			for line := range strings.Lines(told.String()) {
				if tt.unsure {
					line = strings.ReplaceAll(line, "error: old; it may be older than the edit", "")
				}
				if strings.Contains(line, ": old") {
					t.Errorf("told as new: %s", line)
				}
			}
			for _, problem := range []string{"new", "other", "second", "third"} {
				if n := strings.Count(told.String(), "error: "+problem); n != 1 {
					t.Errorf("%s is told %d times:\n%s", problem, n, told.String())
				}
			}
		})
	}
}
