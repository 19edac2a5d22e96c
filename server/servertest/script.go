package servertest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/diff"
)

var update = flag.Bool("update", false, "rewrite the expected part of the scripts")

// RunScripts runs the scripts that match a pattern, each as a subtest. Scripts with the prefix acp_
// speak the Agent Client Protocol, the others LSP. check is called with every frame of either
// direction; nil: no more checks.
func RunScripts(t *testing.T, pattern string, check func(t testing.TB, toServer bool, frame []byte)) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts match %s (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScript(t, path, check)
		})
	}
}

// RunScript runs a script. setup is called inside the bubble of virtual time before the server
// starts, and may change its options; done is called when the server has ended.
func RunScript(t *testing.T, path string, setup func(*Options) (done func())) {
	playFile(t, path, nil, setup)
}

func runScript(t *testing.T, path string, check func(testing.TB, bool, []byte)) {
	playFile(t, path, check, func(*Options) func() { return func() {} })
}

func playFile(t *testing.T, path string, check func(testing.TB, bool, []byte), setup func(*Options) func()) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "trace" }) {
		PlayTrace(t, archive, check)
		return
	}
	s := &script{t: t, lines: strings.HasPrefix(filepath.Base(path), "acp_"), check: check}
	s.o.Files = map[string]string{}
	s.o.Unbegun = true
	expected := ""
	for _, f := range archive.Files {
		text := string(f.Data)
		switch name, inFiles := strings.CutPrefix(f.Name, "files/"); {
		case inFiles:
			s.o.Files[name] = text
		case f.Name == "config":
			s.o.Config = text
		case f.Name == "client":
			s.steps = stepsOf(text)
		case f.Name == "model":
			s.replies = s.repliesOf(text)
		case f.Name == "server":
			expected = text
		default:
			t.Fatalf("%s: unknown section %q; there are files/…, config, client, model, server, or a trace", path, f.Name)
		}
	}
	s.o.fill(t)
	synctest.Test(t, func(t *testing.T) {
		defer setup(&s.o)()
		s.play(t)
	})
	if *update {
		s.rewrite(path, archive)
		return
	}
	if got := s.transcript.String(); got != expected {
		t.Errorf("the server's frames differ; -update accepts them:\n%s", diff.Unified("server", []byte(expected), []byte(got)))
	}
}

func (s *script) rewrite(path string, archive *txtar.Archive) {
	got := txtar.File{Name: "server", Data: []byte(s.transcript.String())}
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "server" })
	if i < 0 {
		archive.Files = append(archive.Files, got)
	} else {
		archive.Files[i] = got
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// script is a conversation being played.
type script struct {
	t       testing.TB
	lines   bool
	o       Options
	steps   []string
	replies *replies

	check      func(testing.TB, bool, []byte) // nil: none
	onRequest  func(Frame)                    // takes the server's requests; nil: request
	editor     *Editor
	written    int // frames already in the transcript
	waited     int // frames already passed by a wait
	names      names
	transcript strings.Builder
	answers    map[string]json.RawMessage
	answersMu  sync.Mutex  // of requests, by method
	later      chan string // receives the choice for a waiting question; nil: none waits
}

func stepsOf(text string) []string {
	var steps []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			steps = append(steps, line)
		}
	}
	return steps
}

// play runs in virtual time: after each step, everything possible without passing time has
// happened.
func (s *script) play(t *testing.T) {
	s.t = t
	s.o.Model = fakemodel.Func(s.replies.next)
	s.begin()
	defer func() { s.editor.run.end(t) }()
	for i, step := range s.steps {
		s.step(step)
		synctest.Wait()
		s.writeStep(i+1, step)
	}
}

// begin starts a server. A second server uses the store and the workspace of the first.
func (s *script) begin() {
	s.written, s.waited = 0, 0
	e := &Editor{t: s.t, o: s.o, Root: s.o.Root, docs: map[uri.URI]*buffer{}, silent: map[string]int{}, units: units{utf16: true}}
	e.run = start(s.t, s.o, s.lines)
	e.conn = e.run.conn
	e.conn.request, e.conn.note = s.request, e.note
	if s.onRequest != nil {
		e.conn.request = s.onRequest
	}
	s.editor = e
	e.conn.start()
}

// request answers as the script says, else as an editor does.
func (s *script) request(f Frame) {
	s.answersMu.Lock()
	answer, ok := s.answers[f.Method]
	var written struct {
		Content *string `json:"content"`
	}
	if ok && f.Method == "fs/write_text_file" && json.Unmarshal(f.Params, &written) == nil {
		s.answers["fs/read_text_file"], _ = json.Marshal(written) // a client that has taken a text keeps it
	}
	s.answersMu.Unlock()
	if !ok {
		s.editor.request(f)
		return
	}
	if string(answer) == "null" {
		answer = nil
	}
	if err := s.editor.conn.reply(f.ID, answer, nil); err != nil {
		s.t.Logf("answering %s: %v", f.Method, err)
	}
}

// step executes a line of the client section.
func (s *script) step(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = s.names.fill(strings.TrimSpace(rest), s.o)
	e := s.editor
	switch verb {
	case "initialize":
		s.initialize(rest)
	case "wait":
		s.wait(rest)
	case "answer":
		method, body, _ := strings.Cut(rest, " ")
		s.answersMu.Lock()
		defer s.answersMu.Unlock()
		if s.answers == nil {
			s.answers = map[string]json.RawMessage{}
		}
		s.answers[method] = json.RawMessage(body)
	case "choose":
		s.choose(strings.Trim(rest, `"`))
	case "silence":
		e.Silence(rest)
	case "open":
		e.Open(rest)
	case "type":
		args := s.quoted(rest, 3)
		e.Edit(args[0], args[1], args[2])
	case "save":
		e.Save(rest)
	case "saves":
		why := s.quoted(rest, 1)[0]
		e.mu.Lock()
		e.edits.saves = &why
		e.mu.Unlock()
	case "close":
		e.Close(rest)
	case "write":
		args := s.quoted(rest, 2)
		if err := os.WriteFile(e.URI(args[0]).FsPath(), []byte(args[1]), 0o644); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
	case "text":
		fmt.Fprintf(&s.transcript, "%s reads:\n%s\n", s.names.hide(rest, s.o), indent(s.names.hide(e.Text(rest), s.o)))
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		time.Sleep(d)
	case "raw":
		e.Raw(s.quoted(rest, 1)[0])
	case "restart":
		e.run.end(s.t)
		s.begin()
	default:
		s.send(s.names.fill(line, s.o))
	}
}

// choose sets how questions are answered. If the word is "later", they wait for the next choice.
func (s *script) choose(word string) {
	if word != "later" {
		if s.later != nil {
			s.later <- word
			s.later = nil
		}
		s.editor.Choose(func(Question) string { return word })
		return
	}
	later := make(chan string, 1)
	s.later = later
	s.editor.Choose(func(Question) string { return <-later })
}

// initialize sends initialize and initialized of an ordinary editor. They are not in the transcript.
func (s *script) initialize(kind string) {
	s.o.Plugin, s.o.UTF16 = kind == "plugin", kind == "utf-16"
	s.editor.o = s.o
	s.editor.initialize()
	synctest.Wait()
	s.written = len(s.editor.conn.seen())
}

// send sends a frame, which leaves out "jsonrpc" for brevity.
func (s *script) send(line string) {
	if !strings.HasPrefix(line, "{") {
		s.t.Fatalf("%q is no step", line)
	}
	if !strings.Contains(line, `"jsonrpc"`) {
		line = `{"jsonrpc":"2.0",` + line[1:]
	}
	if strings.Contains(line, `"method":"initialize"`) && strings.Contains(line, `"utf-8"`) {
		s.editor.units.utf16 = false
	}
	if s.check != nil {
		s.check(s.t, true, []byte(line))
	}
	if err := s.editor.conn.send([]byte(line)); err != nil {
		s.t.Errorf("sending %s: %v", line, err)
	}
}

// wait lets time pass until a message has come: a request or notification by its method, after the
// message of the previous wait, or an answer by #ID, at any position. Two prompts that end together
// may be answered in either order.
func (s *script) wait(what string) {
	for range 6000 {
		for i, f := range s.editor.conn.seen() {
			answer := f.Method == "" && what == "#"+string(f.ID)
			if answer || f.Method == what && i >= s.waited {
				s.waited = max(s.waited, i+1)
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
	}
	s.t.Errorf("%s did not come", what)
}

// quoted reads arguments, of which each may be a Go string.
func (s *script) quoted(rest string, n int) []string {
	var args []string
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] != '"' {
			var word string
			word, rest, _ = strings.Cut(rest, " ")
			args = append(args, word)
			continue
		}
		prefix, err := strconv.QuotedPrefix(rest)
		if err != nil {
			s.t.Fatalf("%s: %v", rest, err)
		}
		word, _ := strconv.Unquote(prefix)
		args, rest = append(args, word), rest[len(prefix):]
	}
	if len(args) != n {
		s.t.Fatalf("%d arguments in %q, want %d", len(args), rest, n)
	}
	return args
}

// repliesOf reads the model section. A line is a reply, a list of items such as {"text":"…"},
// {"thought":"…"}, {"call":{"name":"…","args":{…}}}, {"sleep":"1s"}, {"hold":true} until it is
// canceled, {"fail":"…"}, {"error":{…}} with a model.Error. It may be preceded, in quotes, by the
// first prompt of its session, or the prompt's first line: a subagent's goal.
func (s *script) repliesOf(text string) *replies {
	r := &replies{of: map[string][]func(*fakemodel.Exchange){}}
	for _, line := range stepsOf(text) {
		goal := ""
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			line = strings.TrimPrefix(line, quoted)
			goal, _ = strconv.Unquote(quoted) // is a quoted string
		}
		var items []item
		if err := json.Unmarshal([]byte(line), &items); err != nil {
			s.t.Fatalf("model: %s: %v", line, err)
		}
		r.of[goal] = append(r.of[goal], func(x *fakemodel.Exchange) {
			for i, it := range items {
				it.play(x, fmt.Sprintf("call_%d_%d", len(x.Request.Messages), i+1))
			}
		})
	}
	return r
}

// replies are the model's responses, by session.
type replies struct {
	mu sync.Mutex
	of map[string][]func(*fakemodel.Exchange)
}

func (r *replies) next(x *fakemodel.Exchange) {
	goal := x.Request.Messages[0].Text()
	r.mu.Lock()
	if r.of[goal] == nil {
		goal, _, _ = strings.Cut(goal, "\n")
	}
	if r.of[goal] == nil {
		goal = ""
	}
	left := r.of[goal]
	if len(left) == 0 {
		r.mu.Unlock()
		x.Fail(fmt.Errorf("no reply is left in the script for %q", x.Request.Messages[0].Text()))
		return
	}
	r.of[goal] = left[1:]
	if len(left) == 1 {
		r.of[goal] = []func(*fakemodel.Exchange){} // used up, not unknown
	}
	r.mu.Unlock()
	left[0](x)
}

type item struct {
	Text    string
	Thought string
	Call    *struct {
		ID, Name string
		Args     json.RawMessage
		Raw      string // the arguments if they are no JSON
	}
	Sleep string
	Hold  bool
	Fail  string
	Error *model.Error
}

func (it item) play(x *fakemodel.Exchange, id string) {
	switch {
	case it.Text != "":
		x.Text(it.Text)
	case it.Thought != "":
		x.Thought(it.Thought)
	case it.Call != nil:
		if it.Call.ID != "" {
			id = it.Call.ID
		}
		x.Call(id, it.Call.Name, string(it.Call.Args)+it.Call.Raw)
	case it.Sleep != "":
		if d, err := time.ParseDuration(it.Sleep); err == nil {
			time.Sleep(d)
		}
	case it.Hold:
		<-x.Context().Done()
	case it.Error != nil:
		x.Fail(it.Error)
	case it.Fail != "":
		x.Fail(fmt.Errorf("%s", it.Fail))
	}
}
