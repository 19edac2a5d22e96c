package acptest_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/protocol/acp/acptest"
)

// TestJudges shows that invalid frames fail.
func TestJudges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir   acptest.Direction
		frame string
		ok    bool
	}{
		{acptest.FromClient, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, true},
		{acptest.FromClient, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":[]}}`, false},
		{acptest.FromClient, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":null}}`, false},
		{acptest.FromClient, `{"id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, false},
		{acptest.FromClient, `{"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, false},
		{acptest.FromClient, `{"jsonrpc":"2.0","id":1,"method":"session/nwe","params":{}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}`, true},
		{acptest.FromAgent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":null}}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[],"extra":1}}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","extra":1,"update":{"sessionUpdate":"plan","entries":[]}}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","method":"_hermes/x","params":{}}`, true},
		{acptest.FromAgent, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`, true},
		{acptest.FromAgent, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}`, false},
		{acptest.FromAgent, `{"jsonrpc":"2.0","id":1}`, false},
		{acptest.FromAgent, `[]`, false},
	} {
		if err := acptest.Check(c.dir, []byte(c.frame)); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.dir, c.frame, err)
		}
	}
}

func TestLogJudgesResponses(t *testing.T) {
	t.Parallel()
	var l acptest.Log
	if err := l.Check(acptest.FromClient, []byte(`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`)); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(acptest.FromAgent, []byte(`{"jsonrpc":"2.0","id":1,"result":{"sessions":[]}}`)); err != nil {
		t.Error(err)
	}
	if err := l.Check(acptest.FromAgent, []byte(`{"jsonrpc":"2.0","id":1,"result":{"sessions":null}}`)); err == nil {
		t.Error("null sessions pass")
	}
}
