package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// filesystem lets the client lend files: text in memory by path.
func (c *client) lendFiles(texts map[string]string) (get func(path string) string) {
	var mu sync.Mutex
	c.on(protocol.MethodReadTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.ReadTextFileRequest
		_ = json.Unmarshal(params, &p)
		mu.Lock()
		defer mu.Unlock()
		text, ok := texts[p.Path]
		if !ok {
			return nil, protocol.Errorf(protocol.CodeUnknownResource, "no such file")
		}
		return protocol.ReadTextFileResponse{Content: text}, nil
	})
	c.on(protocol.MethodWriteTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.WriteTextFileRequest
		_ = json.Unmarshal(params, &p)
		mu.Lock()
		defer mu.Unlock()
		texts[p.Path] = p.Content
		return protocol.WriteTextFileResponse{}, nil
	})
	return func(path string) string {
		mu.Lock()
		defer mu.Unlock()
		return texts[path]
	}
}

var lendsFiles = &protocol.ClientCapabilities{FS: protocol.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}

// writesOnly is a client that writes files and does not show them.
var writesOnly = &protocol.ClientCapabilities{FS: protocol.FileSystemCapabilities{WriteTextFile: true}}

func TestClientFiles(t *testing.T) {
	t.Parallel()
	m := fakemodel.New()
	c := connect(t, setup{model: m, client: lendsFiles})
	open, closed := filepath.Join(c.ws, "open.txt"), filepath.Join(c.ws, "closed.txt")
	write(t, open, "saved\n")
	write(t, closed, "on disk\n")
	texts := map[string]string{open: "unsaved\n"}
	get := c.lendFiles(texts)
	id := c.newSession()
	_, answer := c.start(protocol.MethodSessionPrompt, say(id, "go"))

	x := m.Next()
	x.Call("r1", "read_file", `{"path":"open.txt"}`)
	x.Call("r2", "read_file", `{"path":"closed.txt"}`)
	x.End()
	x = m.Next()
	results := x.Request.Messages[len(x.Request.Messages)-2:]
	if !strings.Contains(results[0].Text(), "unsaved") || !strings.Contains(results[1].Text(), "on disk") {
		t.Errorf("read %q and %q", results[0].Text(), results[1].Text())
	}
	x.Call("p1", "patch", `{"path":"open.txt","old_string":"unsaved","new_string":"patched"}`)
	x.Call("w1", "write_file", `{"path":"closed.txt","content":"new\n"}`)
	x.End()
	x = m.Next()
	if get(open) != "patched\n" || read(t, open) != "saved\n" {
		t.Errorf("the editor has %q, the disk %q", get(open), read(t, open))
	}
	if read(t, closed) != "new\n" {
		t.Errorf("closed.txt is %q", read(t, closed))
	}
	x.Text("done")
	x.End()
	if got := c.stop(c.wait(answer)); got != "end_turn" {
		t.Error(got)
	}
}

// TestClientFilesMoveOn: the user types between the agent's reading and writing.
func TestClientFilesMoveOn(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		tool("read_file", `{"path":"a.txt"}`),
		tool("write_file", `{"path":"a.txt","content":"the agent's\n"}`),
		reply("told"),
	)
	c := connect(t, setup{model: m, client: lendsFiles})
	path := filepath.Join(c.ws, "a.txt")
	write(t, path, "")
	reads := 0
	c.on(protocol.MethodReadTextFile, func(json.RawMessage) (any, *protocol.Error) {
		reads++ // on each read, the user has typed more
		return protocol.ReadTextFileResponse{Content: strings.Repeat("typed ", reads)}, nil
	})
	written := false
	c.on(protocol.MethodWriteTextFile, func(json.RawMessage) (any, *protocol.Error) {
		written = true
		return protocol.WriteTextFileResponse{}, nil
	})
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	if written {
		t.Error("what the user typed was overwritten")
	}
	last := m.Requests()[2].Messages
	if got := last[len(last)-1].Text(); !strings.Contains(got, "changed") || !strings.Contains(got, "error") {
		t.Errorf("the model was told %q", got)
	}
}

func TestClientThatCannotWriteIsNotRead(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(tool("read_file", `{"path":"a.txt"}`), reply("ok")),
		client: &protocol.ClientCapabilities{FS: protocol.FileSystemCapabilities{ReadTextFile: true}}})
	write(t, filepath.Join(c.ws, "a.txt"), "x")
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	if len(c.asked) > 0 {
		t.Errorf("asked %v", c.asked)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	select1 := func(id string) func(json.RawMessage) (any, *protocol.Error) {
		return func(json.RawMessage) (any, *protocol.Error) {
			return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: id}}, nil
		}
	}
	odd := func(answer string) func(json.RawMessage) (any, *protocol.Error) {
		return func(json.RawMessage) (any, *protocol.Error) { return json.RawMessage(answer), nil }
	}
	for _, x := range []struct {
		name   string
		answer func(json.RawMessage) (any, *protocol.Error)
		runs   bool
	}{
		{"once", select1("once"), true},
		{"session", select1("session"), true},
		{"always", select1("always"), true},
		{"no", select1("no"), false},
		{"never offered", select1("yes please"), false},
		{"cancelled", func(json.RawMessage) (any, *protocol.Error) {
			return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "cancelled"}}, nil
		}, false},
		{"error", nil, false},
		{"null", func(json.RawMessage) (any, *protocol.Error) { return nil, nil }, false},
		{"other letters around", odd(`{"OUTCOME":{"outcome":"selected","optionId":"once"}}`), false},
		{"other letters within", odd(`{"outcome":{"outcome":"selected","OPTIONID":"once"}}`), false},
		{"other letters beside", odd(`{"outcome":{"outcome":"cancelled","Outcome":"selected","optionId":"once"}}`), false},
		{"twice around", odd(`{"outcome":{"outcome":"cancelled"},"outcome":{"outcome":"selected","optionId":"once"}}`), false},
		{"twice within", odd(`{"outcome":{"outcome":"selected","optionId":"no","optionId":"once"}}`), false},
		{"a list", odd(`{"outcome":[{"outcome":"selected","optionId":"once"}]}`), false},
		{"a list around", odd(`[{"outcome":{"outcome":"selected","optionId":"once"}}]`), false},
		{"a text", odd(`{"outcome":"selected","optionId":"once"}`), false},
		{"without a frame", odd(`{"outcome":"once"}`), false},
		{"JSON in a text", odd(`"{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"once\"}}"`), false},
		{"true", odd(`true`), false},
		{"a number", odd(`{"outcome":{"outcome":"selected","optionId":1}}`), false},
		{"a list of options", odd(`{"outcome":{"outcome":"selected","optionId":["once"]}}`), false},
		{"no outcome", odd(`{"outcome":{"optionId":"once"}}`), false},
		{"an empty outcome", odd(`{"outcome":{"outcome":"","optionId":"once"}}`), false},
		{"another outcome", odd(`{"outcome":{"outcome":"accepted","optionId":"once"}}`), false},
		{"Selected", odd(`{"outcome":{"outcome":"Selected","optionId":"once"}}`), false},
		{"Once", odd(`{"outcome":{"outcome":"selected","optionId":"Once"}}`), false},
		{"once and a space", odd(`{"outcome":{"outcome":"selected","optionId":"once "}}`), false},
		{"a kind", odd(`{"outcome":{"outcome":"selected","optionId":"allow_once"}}`), false},
		{"cancelled with an option", odd(`{"outcome":{"outcome":"cancelled","optionId":"once"}}`), false},
		{"snake case", odd(`{"outcome":{"outcome":"selected","option_id":"once"}}`), false},
		{"null outcome", odd(`{"outcome":null}`), false},
		{"rubbish", func(json.RawMessage) (any, *protocol.Error) { return []int{1}, nil }, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.Script(tool("terminal", `{"command":"rm -rf build"}`), reply("ok"))
			c := connect(t, setup{model: m})
			c.strict = false
			kept := filepath.Join(c.ws, "build", "kept")
			write(t, kept, "x")
			var asked protocol.RequestPermissionRequest
			c.on(protocol.MethodRequestPermission, func(params json.RawMessage) (any, *protocol.Error) {
				_ = json.Unmarshal(params, &asked)
				if x.answer == nil {
					return nil, protocol.Errorf(protocol.CodeMethodNotFound, "no")
				}
				return x.answer(params)
			})
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "clean"), nil)
			if runs := read(t, kept) == ""; runs != x.runs {
				t.Errorf("it ran: %v", runs)
			}
			checkQuestion(t, asked)
			if x.name == "always" && !strings.Contains(read(t, filepath.Join(c.home, "config.yaml")), "rm -rf build") {
				t.Error("always is not kept in the configuration")
			}
			last := calls(c.seen())
			if status := last[len(last)-1].Status; (status == protocol.StatusCompleted) != x.runs {
				t.Errorf("the call ended %s", status)
			}
		})
	}
}

func checkQuestion(t *testing.T, q protocol.RequestPermissionRequest) {
	t.Helper()
	var ids, kinds, names []string
	for _, o := range q.Options {
		ids, kinds, names = append(ids, o.OptionID), append(kinds, o.Kind), append(names, o.Name)
	}
	if want := []string{"Allow once", "Allow for this session: rm -rf build", "Always allow: rm -rf build", "Deny"}; !slices.Equal(names, want) {
		t.Errorf("the options are called %q", names)
	}
	if !slices.Equal(ids, []string{"once", "session", "always", "no"}) || !slices.Equal(kinds, []string{"allow_once", "allow_always", "allow_always", "reject_once"}) {
		t.Errorf("options %v %v", ids, kinds)
	}
	if !strings.Contains(q.ToolCall.Title, "rm -rf build") || q.ToolCall.ToolCallID != "call-terminal" || len(q.ToolCall.Content) == 0 {
		t.Errorf("asked about %+v", q.ToolCall)
	}
}

// TestPermissionIsNotAwaitedForEver: a cancel takes the question back.
func TestPermissionIsNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(tool("terminal", `{"command":"rm -rf build"}`))})
	there, never := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never) })
	c.on(protocol.MethodRequestPermission, func(json.RawMessage) (any, *protocol.Error) {
		close(there)
		<-never
		return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "cancelled"}}, nil
	})
	write(t, filepath.Join(c.ws, "build", "kept"), "x")
	id := c.newSession()
	_, answer := c.start(protocol.MethodSessionPrompt, say(id, "clean"))
	<-there
	c.notify(protocol.MethodSessionCancel, protocol.CancelNotification{SessionID: id})
	if got := c.stop(c.wait(answer)); got != "cancelled" {
		t.Error(got)
	}
	if read(t, filepath.Join(c.ws, "build", "kept")) != "x" {
		t.Error("it ran without a yes")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.asked, protocol.MethodCancelRequest) {
		t.Errorf("the client was not told that the question is off: %v", c.asked)
	}
}

func TestAutoModeDoesNotAsk(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(tool("terminal", `{"command":"rm -rf build"}`), reply("ok"))})
	write(t, filepath.Join(c.ws, "build", "kept"), "x")
	id := c.newSession()
	c.must(protocol.MethodSessionSetMode, protocol.SetSessionModeRequest{SessionID: id, ModeID: "auto"}, nil)
	c.must(protocol.MethodSessionPrompt, say(id, "clean"), nil)
	if len(c.asked) > 0 || read(t, filepath.Join(c.ws, "build", "kept")) != "" {
		t.Errorf("asked %v", c.asked)
	}
}

// TestClientTerminal: the editor really starts the command, so the test covers the whole
// path of a command through our own binary and back.
func TestClientTerminal(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		tool("terminal", `{"command":"export SEEN=yes; echo hello; mkdir -p sub && cd sub; exit 3"}`),
		tool("terminal", `{"command":"echo $SEEN; pwd"}`),
		reply("ok"),
	)
	c := connect(t, setup{model: m, client: &protocol.ClientCapabilities{Terminal: true}})
	c.lendTerminals()
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)

	first, second := m.Requests()[1].Messages, m.Requests()[2].Messages
	if got := first[len(first)-1].Text(); !strings.Contains(got, "hello") || !strings.Contains(got, `"exit_code":3`) {
		t.Errorf("the first command gave %s", got)
	}
	if got := second[len(second)-1].Text(); !strings.Contains(got, "yes") || !strings.Contains(got, "/sub") {
		t.Errorf("folder and exports are not carried over: %s", got)
	}
	shown := false
	for _, call := range calls(c.seen()) {
		for _, content := range call.Content {
			shown = shown || content.Type == "terminal" && strings.HasPrefix(content.TerminalID, "term-")
		}
	}
	if !shown {
		t.Error("the terminal is not shown in its call")
	}
	want := []string{protocol.MethodTerminalCreate, protocol.MethodTerminalWait, protocol.MethodTerminalOutput, protocol.MethodTerminalRelease}
	if got := c.asked; !slices.Equal(got, append(want, want...)) {
		t.Errorf("asked %v", got)
	}
}

// lendTerminals starts commands as an editor does.
func (c *client) lendTerminals() {
	type terminal struct {
		cmd *exec.Cmd
		out *bytes.Buffer
	}
	var mu sync.Mutex
	open := map[string]terminal{}
	of := func(params json.RawMessage) terminal {
		var p protocol.TerminalRequest
		_ = json.Unmarshal(params, &p)
		mu.Lock()
		defer mu.Unlock()
		return open[p.TerminalID]
	}
	c.on(protocol.MethodTerminalCreate, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.CreateTerminalRequest
		_ = json.Unmarshal(params, &p)
		cmd, out := exec.CommandContext(c.t.Context(), p.Command, p.Args...), &bytes.Buffer{}
		cmd.Dir, cmd.Stdout, cmd.Stderr = p.Cwd, out, out
		for _, v := range p.Env {
			cmd.Env = append(cmd.Environ(), v.Name+"="+v.Value)
		}
		if err := cmd.Start(); err != nil {
			return nil, protocol.Errorf(protocol.CodeInternal, "%v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		id := fmt.Sprintf("term-%d", len(open))
		open[id] = terminal{cmd, out}
		return protocol.CreateTerminalResponse{TerminalID: id}, nil
	})
	c.on(protocol.MethodTerminalWait, func(params json.RawMessage) (any, *protocol.Error) {
		cmd := of(params).cmd
		_ = cmd.Wait()
		code := cmd.ProcessState.ExitCode()
		return protocol.WaitForTerminalExitResponse{ExitCode: &code}, nil
	})
	c.on(protocol.MethodTerminalOutput, func(params json.RawMessage) (any, *protocol.Error) {
		return protocol.TerminalOutputResponse{Output: of(params).out.String()}, nil
	})
	c.on(protocol.MethodTerminalRelease, func(json.RawMessage) (any, *protocol.Error) { return struct{}{}, nil })
}

// TestProjectInstructionsAreLookedForOnTheDisk: the client is asked only for files that exist, in
// the workspace folder and in a directory that a tool reaches.
func TestProjectInstructionsAreLookedForOnTheDisk(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(tool("read_file", `{"path":"sub/a.txt"}`), reply("ok"))
	c := connect(t, setup{model: m, client: lendsFiles})
	write(t, filepath.Join(c.ws, "AGENTS.md"), "on disk\n")
	write(t, filepath.Join(c.ws, "sub", "a.txt"), "a\n")
	write(t, filepath.Join(c.ws, "sub", "CLAUDE.md"), "on disk\n")
	var mu sync.Mutex
	var asked []string
	c.on(protocol.MethodReadTextFile, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.ReadTextFileRequest
		_ = json.Unmarshal(params, &p)
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, filepath.Base(p.Path))
		return protocol.ReadTextFileResponse{Content: "unsaved " + filepath.Base(p.Path)}, nil
	})
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"AGENTS.md", "a.txt", "CLAUDE.md"}; !slices.Equal(asked, want) {
		t.Errorf("the client was asked for %q, want %q", asked, want)
	}
	if got := m.Requests()[1].Messages; !strings.Contains(got[len(got)-1].Text(), "unsaved CLAUDE.md") {
		t.Errorf("the model was told %s", got[len(got)-1].Text())
	}
}
