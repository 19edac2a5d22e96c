package servertest_test

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// A plugin returns the editor's diagnostics of an edit over LSP, under the editor's name of
// the document.
func TestDiagnosticsOfAPlugin(t *testing.T) {
	t.Parallel()
	var e *servertest.Editor
	m := fakemodel.New()
	e = servertest.New(t, servertest.Options{Model: m, Plugin: true, Files: map[string]string{"a.x": "fine\n"}, Diagnose: func(u string, _ int) []protocol.Diagnostic {
		if u != string(e.URI("a.x")) {
			return []protocol.Diagnostic{{Message: "of another file"}}
		}
		if strings.Contains(e.Text("a.x"), "broken") {
			return []protocol.Diagnostic{{Severity: 1, Message: "it is broken"}}
		}
		return nil
	}})
	e.Open("a.x")
	asked := make(chan protocol.TurnResult, 1)
	go func() { asked <- e.Ask("break it") }()
	x := m.Next()
	x.Call("1", "patch", `{"path":"a.x","old_string":"fine","new_string":"broken"}`)
	x.End()
	x = m.Next()
	if text := x.Request.Messages[len(x.Request.Messages)-1].Text(); !strings.Contains(text, `"diagnostics":["a.x, line 1: error: it is broken"]`) {
		t.Error(text)
	}
	x.Text("done")
	x.End()
	<-asked
}
