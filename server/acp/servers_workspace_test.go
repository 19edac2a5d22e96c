package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// TestServerOfTheWorkspace: a configured server's program lies in the workspace. The first prompt
// asks about it, and it never runs before the user has approved it.
func TestServerOfTheWorkspace(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the server is a script of a Unix shell")
	}
	c := connect(t, setup{model: fakemodel.Script(reply("one"), reply("two")), config: "mcp_servers:\n  mine: {command: ./run.sh}\n"})
	if err := os.WriteFile(filepath.Join(c.ws, "run.sh"), []byte("#!/bin/sh\n: >'"+c.ws+"/ran'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	option := "no"
	var asked []protocol.RequestPermissionRequest
	c.on(protocol.MethodRequestPermission, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.RequestPermissionRequest
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		asked = append(asked, p)
		return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: option}}, nil
	})
	ran := func() bool {
		_, err := os.Lstat(filepath.Join(c.ws, "ran"))
		return err == nil
	}
	id := c.newSession()
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "go"))); got != "end_turn" || ran() {
		t.Fatalf("stop %q, ran %v", got, ran())
	}
	if len(asked) != 1 || !strings.HasSuffix(asked[0].ToolCall.Title, "/run.sh") || !strings.Contains(string(encoded(t, asked[0])), "runs run.sh of the workspace") {
		t.Errorf("asked %s", encoded(t, asked))
	}
	c.ends("mcp-server-mine", id, protocol.StatusFailed)
	option = "once"
	id = c.newSession()
	got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "go")))
	for began := time.Now(); !ran() && time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		// On a busy machine the prompt does not wait until the program has started.
	}
	if got != "end_turn" || !ran() || len(asked) != 2 {
		t.Errorf("stop %q, ran %v, asked %d times", got, ran(), len(asked))
	}
	c.ends("mcp-server-mine", id, protocol.StatusCompleted)
}

// ends waits until the last state of a tool call of a session is want.
func (c *client) ends(call, session string, want protocol.ToolCallStatus) {
	c.t.Helper()
	var last protocol.ToolCallStatus
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		for _, u := range c.seen() {
			var news protocol.ToolCall
			if u.SessionID == session && json.Unmarshal(u.Raw, &news) == nil && news.ToolCallID == call {
				last = news.Status
			}
		}
		if last == want {
			return
		}
	}
	c.t.Errorf("%s of %s: %q, want %q", call, session, last, want)
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
