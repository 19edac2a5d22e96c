//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// llamaReply is the model's output: a text, and a call if it names a tool.
type llamaReply struct {
	text, tool string
	args       map[string]any
}

// llamaRequest is a request for a response, and the server's counts.
type llamaRequest struct {
	status   int
	size     int
	tools    int
	messages []json.RawMessage
	prompt   int // tokens of the request
	cached   int // of them, cached tokens
	anew     int // of them, evaluated tokens
	refusal  string
}

// last is the text of the last message.
func (r llamaRequest) last() string {
	var m struct{ Content any }
	_ = json.Unmarshal(r.messages[len(r.messages)-1], &m) // other content is printed as it is
	return fmt.Sprint(m.Content)
}

// forNotes reports whether the request is for the notes of a compaction.
func (r llamaRequest) forNotes() bool { return strings.Contains(r.last(), "is about to be cut to fit") }

// extends reports whether the request repeats an earlier request, and appends to it.
func (r llamaRequest) extends(earlier llamaRequest) bool {
	n := len(earlier.messages)
	if len(r.messages) <= n || r.tools != earlier.tools {
		return false
	}
	for i, m := range earlier.messages {
		if !bytes.Equal(m, r.messages[i]) {
			return false
		}
	}
	return true
}

// llama is a real server of llama.cpp with a model too small to make sense. A proxy before it
// replaces the model's text by the test's replies. All else is the server's: its windows, counts of
// tokens, refusals and cache.
type llama struct {
	t    *testing.T
	url  string // of the proxy
	real *url.URL
	hide bool // the proxy hides the server's report of its window

	asText bool // the model writes its calls as text

	mu       sync.Mutex
	replies  []llamaReply
	requests []llamaRequest
}

// llamaModel makes the model of the server.
func llamaModel(t *testing.T) string {
	t.Helper()
	python, script := llamaProgram(t)
	model := filepath.Join(t.TempDir(), "model.gguf")
	if out, err := exec.CommandContext(t.Context(), python, script, "cut", model).CombinedOutput(); err != nil {
		t.Fatalf("cutting the model: %v\n%s", err, out)
	}
	return model
}

func llamaProgram(t *testing.T) (python, script string) {
	t.Helper()
	installed(t, "llama.cpp's server", "llama", "installed")
	return installed(t, "llama.cpp's server", "llama", "bin", "python"), filepath.Join(root(t), "e2e", "python", "llama_server.py")
}

// newLlama starts the server for a model: its window is shared by slots. The option own keeps the model's template.
func newLlama(t *testing.T, model string, window, slots int, options ...string) *llama {
	t.Helper()
	python, script := llamaProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // of the start; the server ends with its stdin
	defer cancel()
	cmd := exec.Command(python, append([]string{script, "serve", model, fmt.Sprint(window), fmt.Sprint(slots)}, options...)...)
	var log lockedBuffer
	cmd.Stderr = &log
	in, out := startPiped(t, cmd)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- strings.TrimSpace(line)
	}()
	l := &llama{t: t, asText: slices.Contains(options, "own")}
	select {
	case text := <-said:
		var err error
		if l.real, err = url.Parse(text); err != nil || l.real.Host == "" {
			t.Fatalf("llama.cpp's server did not start: %q\n%s", text, log.String())
		}
	case <-ctx.Done():
		t.Fatalf("llama.cpp's server did not start in time:\n%s", log.String())
	}
	proxy := httptest.NewServer(l)
	t.Cleanup(proxy.Close)
	l.url = proxy.URL
	return l
}

// say sets the replies of the next turn. It returns the number of requests so far.
func (l *llama) say(replies ...llamaReply) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replies = replies
	return len(l.requests)
}

func (l *llama) since(n int) []llamaRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]llamaRequest(nil), l.requests[n:]...)
}

func (l *llama) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/chat/completions":
		if err := l.respond(w, r); err != nil && r.Context().Err() == nil {
			l.t.Errorf("the proxy: %v", err)
		}
	case l.hide:
		http.NotFound(w, r)
	default:
		httputil.NewSingleHostReverseProxy(l.real).ServeHTTP(w, r)
	}
}

// respond sends a request to the server, which evaluates it and makes one token. It replaces the
// token by the next reply.
func (l *llama) respond(w http.ResponseWriter, r *http.Request) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var body map[string]any
	var parts struct{ Messages, Tools []json.RawMessage }
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	delete(body, "max_completion_tokens")
	body["max_tokens"] = 1
	short, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, l.real.String()+r.URL.Path, bytes.NewReader(short))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // the server may be closing an open connection
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	seen := llamaRequest{status: resp.StatusCode, size: len(data), tools: len(parts.Tools), messages: parts.Messages}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.requests = append(l.requests, seen)
	}()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	if resp.StatusCode != http.StatusOK {
		refusal, err := io.ReadAll(resp.Body)
		seen.refusal = string(refusal)
		_, _ = w.Write(refusal) // to a client that may have gone
		return err
	}
	return l.stream(w, resp.Body, &seen)
}

// stream copies the events of the server, with a reply in the place of the model's text.
func (l *llama) stream(w io.Writer, events io.Reader, seen *llamaRequest) error {
	lines, replied := bufio.NewScanner(events), false
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var chunk struct {
			Choices []any
			Timings *struct {
				Cached int `json:"cache_n"`
				Anew   int `json:"prompt_n"`
			}
			Usage struct {
				Prompt int `json:"prompt_tokens"`
			}
		}
		data, event := strings.CutPrefix(lines.Text(), "data: ")
		if event && data != "[DONE]" {
			if err := json.Unmarshal([]byte(data), &chunk); err != nil {
				return fmt.Errorf("%w in %q", err, data)
			}
		}
		if chunk.Timings != nil {
			seen.prompt, seen.cached, seen.anew = chunk.Usage.Prompt, chunk.Timings.Cached, chunk.Timings.Anew
		}
		if len(chunk.Choices) == 0 {
			fmt.Fprintln(w, lines.Text())
		} else if !replied {
			replied = true
			l.reply(w, seen.forNotes())
		}
	}
	return lines.Err()
}

func (l *llama) reply(w io.Writer, notes bool) {
	next := llamaReply{text: "Done."}
	l.mu.Lock()
	if notes {
		next.text = "### State\nThe steps so far are done and checked.\n### Next\nsh test.sh"
	} else if len(l.replies) > 0 {
		next, l.replies = l.replies[0], l.replies[1:]
	}
	id := fmt.Sprintf("call%05d", len(l.requests))
	l.mu.Unlock()
	delta, finish := map[string]any{"role": "assistant", "content": next.text}, "stop"
	if l.asText && next.tool != "" {
		args, _ := json.Marshal(next.args) // as below
		delta["content"] = fmt.Sprintf("%s\n<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", next.text, next.tool, args)
	} else if next.tool != "" {
		args, _ := json.Marshal(next.args) // strings and numbers
		finish = "tool_calls"
		delta["tool_calls"] = []any{map[string]any{"index": 0, "id": id, "type": "function", "function": map[string]any{"name": next.tool, "arguments": string(args)}}}
	}
	for _, choice := range []map[string]any{{"index": 0, "delta": delta, "finish_reason": nil}, {"index": 0, "delta": struct{}{}, "finish_reason": finish}} {
		data, _ := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{choice}}) // as above
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// llamaBed is a session with the model of the server.
type llamaBed struct {
	bed
	t       *testing.T
	server  *llama
	line    *line
	session string
}

func newLlamaBed(t *testing.T, server *llama, settings string) *llamaBed {
	t.Helper()
	b := newBed(t, map[string]string{
		"go.mod": "module example.com/counter\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() {}\n", "counter.txt": "count = 0\n",
		"test.sh":   "read name is n <counter.txt\necho \"passed at $n\"\n",
		"notes.txt": strings.Repeat("A line of notes that has nothing to do with the counter.\n", 400),
	})
	write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: custom, default: m, base_url: %q, api_key: x%s}\n", server.url+"/v1", settings))
	x := &llamaBed{bed: b, t: t, server: server, line: b.line(t)}
	x.session = x.line.newSession(b.workspace)
	return x
}

// prompt sends a prompt, and returns the agent's answer, or its error.
func (x *llamaBed) prompt(text string) (said, failure string) {
	x.t.Helper()
	var all strings.Builder
	id := x.line.send("session/prompt", promptOf(x.session, text))
	for {
		f, ok := x.line.next()
		switch {
		case !ok:
			x.t.Fatalf("%s: the server has gone", text)
		case f.Method == "session/request_permission":
			x.line.answer(f, map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "once"}})
		case f.Params.Update.SessionUpdate == "agent_message_chunk", f.Params.Update.SessionUpdate == "agent_thought_chunk": // notices are thoughts
			all.WriteString(f.text())
		case f.Method != "":
		case string(f.ID) == id && f.Error != nil:
			return all.String(), f.Error.Message
		case string(f.ID) == id:
			return all.String(), ""
		}
	}
}

// work lets the model read, edit and test the counter in a turn, which raises it to n. It returns
// the requests.
func (x *llamaBed) work(n int) []llamaRequest {
	x.t.Helper()
	was, is := fmt.Sprintf("count = %d", n-1), fmt.Sprintf("count = %d", n)
	replies := []llamaReply{{text: "I look.", tool: "read_file", args: map[string]any{"path": "counter.txt"}}}
	if n%3 == 1 { // this fills the window
		replies = append(replies, llamaReply{tool: "read_file", args: map[string]any{"path": "notes.txt"}})
	}
	at := x.server.say(append(replies,
		llamaReply{tool: "patch", args: map[string]any{"path": "counter.txt", "old_string": was, "new_string": is}},
		llamaReply{tool: "terminal", args: map[string]any{"command": "sh test.sh"}},
		llamaReply{text: fmt.Sprintf("The counter is at %d, and its test passes.", n)},
	)...)
	said, failure := x.prompt(fmt.Sprintf("Raise the counter to %d and test it.", n))
	requests := x.server.since(at)
	if failure != "" {
		x.t.Fatalf("turn %d: %s\n%s", n, failure, said)
	}
	if last := requests[len(requests)-1]; !strings.Contains(last.last(), fmt.Sprintf("passed at %d", n)) {
		x.t.Fatalf("turn %d: the last request has no result of the test: %s\n%s", n, last.last(), said)
	}
	if text, err := os.ReadFile(filepath.Join(x.workspace, "counter.txt")); err != nil || string(text) != is+"\n" {
		x.t.Fatalf("turn %d: the file has %q, %v\n%s", n, text, err, said)
	}
	return requests
}
