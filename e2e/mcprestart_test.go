//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fragileServer ends at each call of its tool, and counts its starts in a file.
const fragileServer = `import sys, json
open(sys.argv[1], "a").write("started\n")
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "tools/call":
        sys.exit(9)
    if "id" not in m:
        continue
    result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "fragile", "version": "1"}},
              "tools/list": {"tools": [{"name": "fall", "inputSchema": {"type": "object"}}]}}.get(m["method"])
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
`

// If a server ends, the next call starts it again, five times. Then it stays down until the user
// restarts it. If a call can have changed something, it is not repeated. The tools stay in the
// request.
func TestServerStaysDown(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	script, starts := filepath.Join(b.home, "fragile.py"), filepath.Join(b.home, "starts")
	write(t, script, fragileServer)
	u := newUserLine(t, b, fmt.Sprintf("{fragile: {command: python3, args: [%q, %q]}}", script, starts))
	fall := func(n int) (offered bool, result string) {
		t.Helper()
		_, requests := u.say(fmt.Sprintf("Call %d.", n), sayCalls("tool_calls", "mcp__fragile__fall", fmt.Sprintf(`{"n":%d}`, n)), sayText("Done."))
		return strings.Contains(requests[0], `"name":"mcp__fragile__fall"`), lastOf(requests[1], "tool")
	}
	for i := range 6 {
		want := "the MCP server fragile ended during the call; what it had begun may be done or not"
		if i == 5 {
			want = "has ended 5 times in ten minutes and stays down. /mcp restart fragile starts it"
		}
		if offered, got := fall(i); !offered || !strings.Contains(got, want) {
			t.Errorf("call %d (offered: %v): %s", i, offered, got)
		}
	}
	started, err := os.ReadFile(starts)
	if n := strings.Count(string(started), "started"); err != nil || n != 5 {
		t.Errorf("it was started %d times", n)
	}
	if said, _ := u.say("/mcp"); !strings.Contains(said, "stays down. /mcp restart fragile starts it") {
		t.Errorf("/mcp says %s", said)
	}
	if code, out := b.mcp(t, "restart", "fragile"); code != 0 {
		t.Errorf("mcp restart: exit %d\n%s", code, out)
	}
	if _, got := fall(6); !strings.Contains(got, "ended during the call") {
		t.Errorf("after the restart in the shell: %s", got)
	}
	if said, _ := u.say("/mcp restart fragile"); !strings.Contains(said, "**fragile**") || strings.Contains(said, "stays down") {
		t.Errorf("/mcp restart says %s", said)
	}
	if _, got := fall(7); !strings.Contains(got, "ended during the call") {
		t.Errorf("after the restart: %s", got)
	}
	u.end()
}

// rootsServer requests the roots when it is initialized and when they change, and writes them to a file.
const rootsServer = `import sys, json
def send(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") in ("notifications/initialized", "notifications/roots/list_changed"):
        send({"id": "roots", "method": "roots/list"})
    elif m.get("id") == "roots" and "result" in m:
        open(sys.argv[1], "a").write(json.dumps(m["result"]) + "\n")
    elif m.get("method") == "initialize":
        send({"id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "roots", "version": "1"}}})
    elif "id" in m and "method" in m:
        send({"id": m["id"], "error": {"code": -32601, "message": "no"}})
`

// Servers get the workspace folders, and their changes.
func TestRootsChange(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"pricing.py": "a = 1\n", "more/b.txt": ""})
	script, file := filepath.Join(b.home, "roots.py"), filepath.Join(b.home, "roots")
	write(t, script, rootsServer)
	write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: embedded}\nmcp_servers: {roots: {command: python3, args: [%q, %q]}}\n", script, file))
	w := newWireWith(t, b, "serve", map[string]any{})
	w.send("Go.\n```hermes-script\n" + `[{"text":"Done."}]` + "\n```")
	w.wait("Done.")
	last := func() string {
		data, _ := os.ReadFile(file) // it may not be there yet
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		return lines[len(lines)-1]
	}
	one, two := fmt.Sprintf("%q", "file://"+b.workspace), fmt.Sprintf("%q", "file://"+b.workspace+"/more")
	waitFor(t, "the workspace folder", func() bool { return strings.Contains(last(), one) && !strings.Contains(last(), two) })
	change := func(added, removed []any) {
		w.sendFrame(map[string]any{"method": "workspace/didChangeWorkspaceFolders", "params": map[string]any{"event": map[string]any{"added": added, "removed": removed}}})
	}
	folder := []any{map[string]any{"uri": "file://" + b.workspace + "/more", "name": "more"}}
	change(folder, []any{})
	waitFor(t, "the second folder", func() bool { return strings.Contains(last(), one) && strings.Contains(last(), two) })
	change([]any{}, folder)
	waitFor(t, "the end of the second folder", func() bool { return strings.Contains(last(), one) && !strings.Contains(last(), two) })
}
