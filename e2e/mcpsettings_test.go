//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// restingServer writes a line into a file when it starts, and when its input ends.
const restingServer = `import sys, json
def note(text):
    open(sys.argv[1], "a").write(text + "\n")
note("started")
print("ready for work", file=sys.stderr, flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "resting", "version": "1"}},
              "tools/list": {"tools": [{"name": "work", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]},
              "tools/call": {"content": [{"type": "text", "text": "worked"}]}}.get(m["method"])
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
note("ended")
`

// A program ends if it is idle, or has run long enough. The next call starts it again. Its log can
// be followed.
func TestServerRests(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"idle_timeout_seconds", "max_lifetime_seconds"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": ""})
			script, file := filepath.Join(b.home, "resting.py"), filepath.Join(b.home, "notes")
			write(t, script, restingServer)
			u := newUserLine(t, b, fmt.Sprintf("{resting: {command: python3, args: [%q, %q], %s: 1}}", script, file, setting))
			work := func() {
				t.Helper()
				if _, requests := u.say("Work.", sayCalls("tool_calls", "mcp__resting__work", `{}`), sayText("Done.")); !strings.Contains(lastOf(requests[1], "tool"), "worked") {
					t.Errorf("the call: %s", lastOf(requests[1], "tool"))
				}
			}
			times := func(text string) int {
				data, _ := os.ReadFile(file) // it may not be there yet
				return strings.Count(string(data), text+"\n")
			}
			work()
			ended := times("ended")
			waitFor(t, "the end of the program", func() bool { return times("ended") > ended && times("ended") == times("started") })
			before := times("started")
			said := &lockedBuffer{}
			follow := exec.CommandContext(t.Context(), b.binary, "mcp", "logs", "resting", "-f")
			follow.Dir, follow.Env, follow.Stdout = b.workspace, b.environ(), said
			if err := follow.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = follow.Process.Kill(); _ = follow.Wait() }()
			lines := func() int { return strings.Count(said.String(), "ready for work") }
			waitFor(t, "the log so far", func() bool { return lines() == before })
			work()
			waitFor(t, "the new line of the log", func() bool { return lines() > before })
			if times("started") <= before {
				t.Errorf("it was started %d times", times("started"))
			}
			u.end()
		})
	}
}

// Tools are left out and named in /mcp if they require tasks. The globs of tools.approve decide
// about calls, and a mention gives the model a resource.
func TestServerSettings(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	s := sdk.NewServer(&sdk.Implementation{Name: "docs", Version: "1"}, nil)
	run := func(name string) func(*sdk.CallToolRequest) string {
		return func(*sdk.CallToolRequest) string { return "ran " + name }
	}
	for _, name := range []string{"list_all", "list_secret", "remove_all"} {
		addTool(s, name, "Works on documents.", run(name))
	}
	s.AddResource(&sdk.Resource{URI: "memo://a", Name: "a"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "memo://a", Text: "TEXT-OF-THE-MEMO"}}}, nil
	})
	everything := filepath.Join(nodeModules(t), "@modelcontextprotocol", "server-everything", "dist", "index.js")
	u := newUserLine(t, b, fmt.Sprintf(`{docs: {url: %q, transport: http, tools: {approve: {"*": allow, "*secret": ask, "remove*": deny}}},
  all: {command: %q, args: [%q, stdio]}, self: {command: %q, args: [mcp, serve], protocol: stateless}}`, serveTools(t, s), newNode(t), everything, b.binary))
	u.say("Hello", sayText("Hello.")) // connects them
	waitFor(t, "all servers to be connected", func() bool {
		said, _ := u.say("/mcp")
		return strings.Contains(said, "connected") && !strings.Contains(said, "connecting")
	})
	_, requests := u.say("See @docs:memo://a first.",
		sayCalls("tool_calls", "mcp__docs__list_all", `{}`, "mcp__docs__list_secret", `{}`, "mcp__docs__remove_all", `{}`), sayText("Done."))
	if !strings.Contains(requests[0], "TEXT-OF-THE-MEMO") {
		t.Errorf("the request lacks the resource: %.3000s", lastOf(requests[0], "user"))
	}
	if strings.Contains(requests[0], "simulate-research-query") {
		t.Error("a tool that requires tasks is offered")
	}
	if !strings.Contains(requests[1], "ran list_all") || !strings.Contains(requests[1], "ran list_secret") || strings.Contains(requests[1], "ran remove_all") {
		t.Errorf("the results: %.3000s", requests[1])
	}
	if asked := u.asked.String(); strings.Count(asked, "\n") != 1 || !strings.Contains(asked, "list_secret") {
		t.Errorf("asked: %s", asked)
	}
	said, _ := u.say("/mcp")
	for _, want := range []string{"simulate-research-query", "**self**", "**docs**"} {
		if !strings.Contains(said, want) {
			t.Errorf("/mcp does not name %s:\n%s", want, said)
		}
	}
	u.end()
}
