//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wireClient is a client of the Agent Client Protocol, or a language client without a plugin. It keeps
// the frames of the server.
type wireClient struct {
	t       *testing.T
	mode    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	session string

	mu      sync.Mutex
	frames  strings.Builder
	answers map[string]json.RawMessage
	id      int
	choice  string // the answer to the next question
	asked   *sync.Cond
	ended   chan struct{} // closed after the last frame
}

func newWire(t *testing.T, b bed, mode string) *wireClient {
	t.Helper()
	return newWireWith(t, b, mode, map[string]any{"workDoneProgress": true})
}

// newWireWith starts a server for a language client with these capabilities of its window.
func newWireWith(t *testing.T, b bed, mode string, window map[string]any) *wireClient {
	t.Helper()
	cmd := exec.Command(b.binary, mode)
	cmd.Dir, cmd.Env, cmd.Stderr = b.workspace, b.environ(), os.Stderr
	in, out := startPiped(t, cmd)
	w := &wireClient{t: t, mode: mode, cmd: cmd, in: in, answers: map[string]json.RawMessage{}, ended: make(chan struct{})}
	w.asked = sync.NewCond(&w.mu)
	t.Cleanup(func() { w.in.Close(); _ = w.cmd.Wait() })
	go w.read(bufio.NewReader(out))
	folder := "file://" + b.workspace
	if mode == "acp" {
		w.call("initialize", map[string]any{"protocolVersion": 1})
		w.session = w.made("session/new", map[string]any{"cwd": b.workspace, "mcpServers": []any{}})
		return w
	}
	w.call("initialize", map[string]any{"processId": nil, "rootUri": folder, "workspaceFolders": []any{map[string]any{"uri": folder, "name": "ws"}},
		"capabilities": map[string]any{"window": window}})
	w.sendFrame(map[string]any{"method": "initialized", "params": map[string]any{}})
	text, err := os.ReadFile(filepath.Join(b.workspace, "pricing.py"))
	if err != nil {
		t.Fatal(err)
	}
	w.sendFrame(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{"textDocument": map[string]any{"uri": folder + "/pricing.py", "languageId": "python", "version": 1, "text": string(text)}}})
	w.session = w.made("workspace/executeCommand", map[string]any{"command": "hermes.session.new"})
	return w
}

func (w *wireClient) made(method string, params any) string {
	w.t.Helper()
	var made struct{ SessionID string }
	if err := json.Unmarshal(w.call(method, params), &made); err != nil || made.SessionID == "" {
		w.t.Fatalf("%s: %v", method, err)
	}
	return made.SessionID
}

func (w *wireClient) read(out *bufio.Reader) {
	defer close(w.ended)
	for {
		var data []byte
		if w.mode == "acp" {
			line, err := out.ReadBytes('\n')
			if err != nil {
				return
			}
			data = line
		} else {
			header, err := textproto.NewReader(out).ReadMIMEHeader()
			if err != nil {
				return
			}
			n, _ := strconv.Atoi(header.Get("Content-Length"))
			data = make([]byte, n)
			if _, err := io.ReadFull(out, data); err != nil {
				return
			}
		}
		var f struct {
			ID, Result, Error, Params json.RawMessage
			Method                    string
		}
		if json.Unmarshal(data, &f) != nil {
			continue
		}
		w.mu.Lock()
		w.frames.Write(data)
		if f.Method == "" {
			w.answers[string(f.ID)] = append(f.Result, f.Error...)
		}
		w.mu.Unlock()
		if f.Method != "" && f.ID != nil {
			go func() { w.sendFrame(map[string]any{"id": f.ID, "result": w.answer(f.Method, f.Params)}) }()
		}
	}
}

func (w *wireClient) sendFrame(message map[string]any) {
	message["jsonrpc"] = "2.0"
	data, _ := json.Marshal(message)
	if w.mode == "acp" {
		data = append(data, '\n')
	} else {
		data = append([]byte(fmt.Sprintf("Content-Length: %d\r\n\r\n", len(data))), data...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.in.Write(data) // an error shows as a missing answer
}

func (w *wireClient) request(method string, params any) string {
	w.mu.Lock()
	w.id++
	id := w.id
	w.frames.Reset()
	w.mu.Unlock()
	w.sendFrame(map[string]any{"id": id, "method": method, "params": params})
	return fmt.Sprint(id)
}

func (w *wireClient) call(method string, params any) (answer json.RawMessage) {
	w.t.Helper()
	id := w.request(method, params)
	waitFor(w.t, "the answer to "+method, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		answer = w.answers[id]
		return answer != nil
	})
	return answer
}

func (w *wireClient) send(prompt string) {
	if w.mode == "acp" {
		w.request("session/prompt", promptOf(w.session, prompt))
		return
	}
	w.request("workspace/executeCommand", map[string]any{"command": "hermes.prompt", "arguments": []any{map[string]any{"prompt": prompt, "sessionId": w.session, "wait": true}}})
}

func (w *wireClient) wait(shown ...string) {
	w.t.Helper()
	done := false
	defer func() {
		if !done {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Logf("the frames: %s", w.frames.String())
		}
	}()
	for _, want := range append(shown, "") {
		quoted, _ := json.Marshal(want)
		waitFor(w.t, fmt.Sprintf("the client to get %q", want), func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return strings.Contains(w.frames.String(), string(bytes.Trim(quoted, `"`))) && w.answers[fmt.Sprint(w.id)] != nil
		})
	}
	done = true
}

func (w *wireClient) stop() {
	id := w.id
	if w.mode == "acp" {
		w.sendFrame(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": w.session}})
	} else {
		w.sendFrame(map[string]any{"id": 1000, "method": "workspace/executeCommand", "params": map[string]any{"command": "hermes.cancel", "arguments": []any{map[string]any{"sessionId": w.session}}}})
	}
	waitFor(w.t, "the end of the turn", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.answers[fmt.Sprint(id)] != nil
	})
}

// choose sets the answer for read.
func (w *wireClient) choose(label string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.choice = label
	w.asked.Broadcast()
}

// answer returns the answer to a question of the server, as soon as choose was called. To other
// requests it returns nil.
func (w *wireClient) answer(method string, params json.RawMessage) any {
	var q struct {
		Options []struct{ OptionID, Name string }
		Actions []struct{ Title string }
	}
	if err := json.Unmarshal(params, &q); err != nil || len(q.Options)+len(q.Actions) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.choice == "" {
		w.asked.Wait()
	}
	choice := w.choice
	w.choice = ""
	for _, o := range q.Options {
		if o.Name == choice {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.OptionID}}
		}
	}
	for _, a := range q.Actions {
		if a.Title == choice {
			return map[string]any{"title": a.Title}
		}
	}
	return nil
}

// TestServerEnds ends a server in an orderly way during a call. The next server says in the result
// of the call why it has none.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode string
		end  func(*wireClient)
	}{
		"ACP, end of input": {"acp", func(w *wireClient) { w.in.Close() }},
		"ACP, SIGTERM":      {"acp", func(w *wireClient) { _ = w.cmd.Process.Signal(syscall.SIGTERM) }},
		"ACP, SIGINT":       {"acp", func(w *wireClient) { _ = w.cmd.Process.Signal(os.Interrupt) }},
		"LSP, end of input": {"serve", func(w *wireClient) { w.in.Close() }},
		"LSP, SIGTERM":      {"serve", func(w *wireClient) { _ = w.cmd.Process.Signal(syscall.SIGTERM) }},
		"LSP, exit": {"serve", func(w *wireClient) {
			w.call("shutdown", nil)
			w.sendFrame(map[string]any{"method": "exit"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"pricing.py": "a = 1\n"})
			e := &readsEndpoint{}
			server := httptest.NewServer(e)
			t.Cleanup(server.Close)
			write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: custom, default: gpt-5, base_url: %q, api_key: x}\n", server.URL+"/v1"))
			w := newWire(t, b, c.mode)
			e.script(sayCalls("tool_calls", "terminal", `{"command":"touch began; sleep 600"}`))
			w.send("Wait")
			waitFor(t, "the command", func() bool { _, err := os.Stat(filepath.Join(b.workspace, "began")); return err == nil })
			c.end(w)
			<-w.ended
			session := w.session
			w = newWire(t, b, "acp")
			w.session = session
			w.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}})
			before := e.script(sayText("Done."))
			w.send("Go on")
			w.wait("Done.")
			results := strings.Join(resultsOf(e.since(before)[0]), "")
			if request := e.since(before)[0]; !strings.Contains(request, "the editor was closed, or the server was stopped. It may have had effects: check them before you run it again") {
				t.Errorf("the result: %s\n%s", results, request[strings.LastIndex(request, `"role":"tool"`):])
			}
		})
	}
}

// waitFor waits until done returns true. It fails the test after the limit of a screen.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(screenLimit); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
