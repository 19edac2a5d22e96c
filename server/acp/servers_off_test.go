package acp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// TestServersNotOffered: an MCP server is a program. If its tools are not offered, no request
// starts it.
func TestServersNotOffered(t *testing.T) {
	t.Parallel()
	touch, err := exec.LookPath("touch")
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, setup{model: fakemodel.Script(reply("done")), config: "agent: {tools: {enabled: [safe]}}\n" +
		"mcp_servers:\n  mine: {command: " + touch + ", args: [configured]}\n"})
	var made protocol.NewSessionResponse
	given := protocol.MCPServer{Name: "given", Command: touch, Args: []string{filepath.Join(c.ws, "given")}, Env: []protocol.EnvVariable{{Name: "LANG", Value: "C"}}}
	c.must(protocol.MethodSessionNew, protocol.NewSessionRequest{Cwd: c.ws, MCPServers: []protocol.MCPServer{given}}, &made)
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(made.SessionID, "go"))); got != "end_turn" {
		t.Fatal(got)
	}
	left, err := os.ReadDir(c.ws)
	if err != nil || len(left) != 0 {
		t.Errorf("started all the same: %v, %v", left, err)
	}
}
