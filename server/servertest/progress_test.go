package servertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// slowServer is an MCP server with an endless call that reports progress. It also reports after its
// call was canceled.
const slowServer = `#!/usr/bin/env python3
import json, sys
def say(**m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    p = m.get("params") or {}
    if m.get("method") == "initialize":
        say(id=m["id"], result={"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}})
    elif m.get("method") == "tools/list":
        say(id=m["id"], result={"tools": [{"name": "go", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]})
    elif m.get("method") == "tools/call":
        token = p["_meta"]["progressToken"]
        say(method="notifications/progress", params={"progressToken": token, "progress": 2, "total": 5, "message": "halfway there"})
        open(sys.argv[0] + ".called", "w").close()
    elif m.get("method") == "notifications/cancelled":
        say(method="notifications/progress", params={"progressToken": token, "progress": 3, "total": 5, "message": "still at it"})
    elif "id" in m:
        say(id=m["id"], result={})
`

// TestProgressEnds cancels a turn while a call of an MCP server reports progress, by the button of
// the progress and by the command. Each begun progress ends, and nothing is reported afterwards.
// The end of each test checks this.
func TestProgressEnds(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"window/workDoneProgress/cancel", "hermes.cancel", "the end of the connection"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "slow")
			if err := os.WriteFile(program, []byte(slowServer), 0o755); err != nil {
				t.Fatal(err)
			}
			m := fakemodel.Script(calls("mcp__slow__go", map[string]any{}), says("On."))
			e := servertest.New(t, servertest.Options{Model: m, Config: fmt.Sprintf("mcp_servers: {slow: {command: %q}}\n", program)})
			_, wait := e.Go("workspace/executeCommand", prompt("wait", true))
			going := func() bool {
				_, err := os.Stat(program + ".called")
				return err == nil && slices.ContainsFunc(e.Progress(), func(p servertest.Progress) bool { return strings.Contains(p.Message, "slow: go") })
			}
			for began := time.Now(); !going(); time.Sleep(20 * time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("the call does not go on: %+v", e.Progress())
				}
			}
			turn := e.Progress()[0]
			switch by {
			case "hermes.cancel":
				if err := e.Command(by, map[string]any{}, nil); err != nil {
					t.Error(err)
				}
			case "window/workDoneProgress/cancel":
				e.Notify(by, map[string]any{"token": turn.Token})
			default:
				return
			}
			raw, err := wait()
			if err != nil || !strings.Contains(string(raw), `"stopReason":"cancelled"`) {
				t.Errorf("the turn ended with %s, %v", raw, err)
			}
		})
	}
}
