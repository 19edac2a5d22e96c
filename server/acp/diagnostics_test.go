package acp_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	words "github.com/hermes-ls/hermes-ls/protocol"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// Diagnostics of the client's tools reach the model. Hints do not, and nothing does if the
// client has not announced the method.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	for _, announced := range []bool{true, false} {
		m := fakemodel.New()
		can := &protocol.ClientCapabilities{}
		if announced {
			can.Meta = protocol.Meta{"hermes": map[string]any{"diagnostics": true}}
		}
		c := connect(t, setup{model: m, client: can})
		path := filepath.Join(c.ws, "with space.x")
		write(t, path, "fine\n")
		c.on(protocol.MethodDiagnostics, func(params json.RawMessage) (any, *protocol.Error) {
			var p protocol.DiagnosticsRequest
			if err := json.Unmarshal(params, &p); err != nil || !strings.HasSuffix(p.URI, "/with%20space.x") {
				return nil, protocol.Errorf(protocol.CodeInvalidParams, "%s", params)
			}
			r := protocol.DiagnosticsResponse{Diagnostics: []words.Diagnostic{{Severity: 2, Message: "old"}}}
			if strings.Contains(read(t, path), "broken") && p.Wait > 0 {
				r.Diagnostics = append(r.Diagnostics, words.Diagnostic{Severity: 1, Source: "cc", Code: 7, Message: "it is\nbroken", Range: words.Range{Start: words.Position{Line: 1}}},
					words.Diagnostic{Severity: 4, Message: "a hint"})
			}
			return r, nil
		})
		_, answer := c.start(protocol.MethodSessionPrompt, say(c.newSession(), "go"))
		x := m.Next()
		x.Call("1", "write_file", `{"path":"with space.x","content":"fine\nbroken\n"}`)
		x.End()
		x = m.Next()
		result := x.Request.Messages[len(x.Request.Messages)-1].Text()
		if got := strings.Contains(result, `"diagnostics":["with space.x, line 2: error: it is broken (cc 7)"]`); got != announced {
			t.Errorf("announced %v: %s", announced, result)
		}
		x.Text("done")
		x.End()
		c.stop(c.wait(answer))
	}
}
