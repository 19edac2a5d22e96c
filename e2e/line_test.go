//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// line is a client that speaks the Agent Client Protocol to its own server, without a layer that
// could hide a frame.
type line struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// frame is a message of the server.
type frame struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Update    struct {
			SessionUpdate, ToolCallID, Status string
			Content, RawOutput                json.RawMessage
		}
	}
	RawParams json.RawMessage `json:"-"`
	Result    json.RawMessage
	Error     *struct{ Message string }
}

// text returns the text of a message chunk.
func (f frame) text() string {
	var c struct{ Text string }
	_ = json.Unmarshal(f.Params.Update.Content, &c)
	return c.Text
}

func (b bed) line(t *testing.T) *line {
	t.Helper()
	return b.lineIn(t, exec.Command(b.binary, "acp"))
}

// lineIn starts a server by another command.
func (b bed) lineIn(t *testing.T, cmd *exec.Cmd) *line {
	t.Helper()
	return b.lineWith(t, cmd, "{}")
}

// startPiped starts a program and returns its stdin and stdout.
func startPiped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// lineWith starts a server for a client with these capabilities.
func (b bed) lineWith(t *testing.T, cmd *exec.Cmd, can string) *line {
	t.Helper()
	cmd.Dir, cmd.Env, cmd.Stderr = b.workspace, b.environ(), os.Stderr
	in, out := startPiped(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if it has ended
	l := &line{t: t, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	l.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(can)}, nil, nil)
	return l
}

func (l *line) send(method string, params any) string {
	l.t.Helper()
	l.id++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": l.id, "method": method, "params": params})
	if err == nil {
		_, err = l.in.Write(append(data, '\n'))
	}
	if err != nil {
		l.t.Fatalf("%s: %v", method, err)
	}
	return fmt.Sprint(l.id)
}

// notify sends a notification.
func (l *line) notify(method string, params any) {
	l.t.Helper()
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err == nil {
		_, err = l.in.Write(append(data, '\n'))
	}
	if err != nil {
		l.t.Fatalf("%s: %v", method, err)
	}
}

// answer answers a request of the server.
func (l *line) answer(request frame, result any) {
	l.t.Helper()
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
	if err == nil {
		_, err = l.in.Write(append(data, '\n'))
	}
	if err != nil {
		l.t.Fatalf("answering %s: %v", request.Method, err)
	}
}

// next is the next frame; false after the last.
func (l *line) next() (f frame, ok bool) {
	data, err := l.out.ReadBytes('\n')
	if err != nil {
		return f, false // an incomplete line does not count
	}
	if err := json.Unmarshal(data, &f); err != nil {
		l.t.Fatalf("the server says %q: %v", data, err)
	}
	var raw struct{ Params json.RawMessage }
	_ = json.Unmarshal(data, &raw) // it was decoded above
	f.RawParams = raw.Params
	return f, true
}

// call waits for the response; see gets the frames before it.
func (l *line) call(method string, params, result any, see func(frame)) {
	l.t.Helper()
	id := l.send(method, params)
	for {
		f, ok := l.next()
		switch {
		case !ok:
			l.t.Fatalf("%s: the server has gone", method)
		case f.Method != "":
			if see != nil {
				see(f)
			}
		case string(f.ID) == id && f.Error != nil:
			l.t.Fatalf("%s: %s", method, f.Error.Message)
		case string(f.ID) == id:
			if result != nil {
				if err := json.Unmarshal(f.Result, result); err != nil {
					l.t.Fatalf("%s: %v", method, err)
				}
			}
			return
		}
	}
}

func (l *line) newSession(cwd string) string {
	l.t.Helper()
	var made struct{ SessionID string }
	l.call("session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}, &made, nil)
	return made.SessionID
}

func promptOf(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// ran makes a session run a command, and returns the result of the call.
func (l *line) ran(session, command string) (result string) {
	l.t.Helper()
	call, err := json.Marshal([]any{map[string]any{"call": map[string]any{"name": "terminal", "args": map[string]any{"command": command}}}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.call("session/prompt", promptOf(session, "Run it\n```hermes-script\n"+string(call)+"\n"+`[{"text":"Done."}]`+"\n```"), nil, func(f frame) {
		if f.Params.Update.SessionUpdate == "tool_call_update" && len(f.Params.Update.RawOutput) > 0 {
			result = string(f.Params.Update.RawOutput)
		}
	})
	return result
}

// end closes the server's input and waits for it.
func (l *line) end() {
	l.t.Helper()
	_ = l.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- l.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			l.t.Errorf("the server ended with %v", err)
		}
	case <-time.After(time.Minute):
		l.t.Error("the server does not end")
	}
}
