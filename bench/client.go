package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// client speaks ACP to a running server.
type client struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	id      int
	session string
	text    int // bytes of text of the model so far
}

// message is any frame from the server. Params stay raw until they are used.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Update struct {
			Kind   string `json:"sessionUpdate"`
			Status string `json:"status"`
			// Content is a list in updates of calls.
			Content json.RawMessage `json:"content"`
		} `json:"update"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// home makes a HERMES_HOME that points at the scripted model.
func home(dir string, m *scriptedModel) (string, error) {
	path := filepath.Join(dir, "home")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	text := fmt.Sprintf("model: {default: scripted, provider: custom, base_url: %q, context_window: 1000000}\napprovals: {mode: \"off\"}\n", m.url)
	return path, os.WriteFile(filepath.Join(path, "config.yaml"), []byte(text), 0o600)
}

func start(bin, home, cwd string, args ...string) (*client, error) {
	return startIn(nil, bin, home, cwd, args...)
}

// startIn starts a program whose environment is ours, and env.
func startIn(env []string, bin, home, cwd string, args ...string) (*client, error) {
	cmd := exec.Command(bin, args...)
	cmd.Dir = cwd
	cmd.Env = append(append(os.Environ(), "HERMES_HOME="+home), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", bin, err)
	}
	return &client{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<16)}, nil
}

// open starts an ACP server with a session in cwd.
func open(bin, home, cwd string, env ...string) (*client, error) {
	c, err := startIn(env, bin, home, cwd, "acp")
	if err != nil {
		return nil, err
	}
	if _, err := c.call("initialize", map[string]any{"protocolVersion": 1}, nil); err != nil {
		return nil, err
	}
	result, err := c.call("session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}, nil)
	if err != nil {
		return nil, err
	}
	var session struct{ SessionID string }
	if err := json.Unmarshal(result, &session); err != nil {
		return nil, fmt.Errorf("reading the new session: %w", err)
	}
	c.session = session.SessionID
	return c, nil
}

func (c *client) send(method string, params any, id int) error {
	frame := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id > 0 {
		frame["id"] = id
	}
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(data, '\n'))
	return err
}

// call sends a request and reads until its answer; each notification goes to see.
func (c *client) call(method string, params any, see func(message)) (json.RawMessage, error) {
	c.id++
	if err := c.send(method, params, c.id); err != nil {
		return nil, fmt.Errorf("sending %s: %w", method, err)
	}
	return c.await(c.id, see)
}

func (c *client) await(id int, see func(message)) (json.RawMessage, error) {
	want := fmt.Sprint(id)
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("reading from the server: %w", err)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("the server wrote no JSON: %q", line)
		}
		if m.Method == "" && string(m.ID) == want {
			if m.Error != nil {
				return nil, fmt.Errorf("the server answered: %s", m.Error.Message)
			}
			return m.Result, nil
		}
		if m.Params.Update.Kind == "agent_message_chunk" {
			var content struct{ Text string }
			if err := json.Unmarshal(m.Params.Update.Content, &content); err != nil {
				return nil, fmt.Errorf("reading the text of the model: %w", err)
			}
			c.text += len(content.Text)
		}
		if see != nil {
			see(m)
		}
	}
}

func (c *client) prompt(text string, see func(message)) error {
	_, err := c.call("session/prompt", c.promptParams(text), see)
	return err
}

// promptFor sends a prompt. If less text than length bytes comes, it returns an error.
func (c *client) promptFor(length int) error {
	before := c.text
	if err := c.prompt("go", nil); err != nil {
		return err
	}
	if got := c.text - before; got < length {
		return fmt.Errorf("the server passed on %d of %d bytes of a reply", got, length)
	}
	return nil
}

func (c *client) promptParams(text string) map[string]any {
	return map[string]any{"sessionId": c.session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// close ends stdin and returns how long the server took to be gone.
func (c *client) close() (time.Duration, error) {
	began := time.Now()
	_ = c.in.Close()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case <-done:
		return time.Since(began), nil
	case <-time.After(5 * time.Second):
		_ = c.cmd.Process.Kill()
		<-done
		return 0, fmt.Errorf("the server did not end within 5 s of the end of its input")
	}
}
