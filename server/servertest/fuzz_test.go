package servertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// For any parameters of a message, nothing panics, a request is answered, and the next request too.
func FuzzMessages(f *testing.F) {
	for _, seed := range [][2]string{
		{"textDocument/didOpen", `{"textDocument":{"uri":"file:///a","languageId":"x","version":1,"text":"abc\n"}}`},
		{"textDocument/didChange", `{"textDocument":{"uri":"file:///open","version":2},"contentChanges":[{"range":{"start":{"line":9,"character":9},"end":{"line":0,"character":0}},"text":"x"}]}`},
		{"textDocument/didChange", `{"textDocument":{"uri":"untitled:x","version":2},"contentChanges":[{"text":"x"}]}`},
		{"textDocument/didClose", `{"textDocument":{"uri":"file:///open"}}`},
		{"textDocument/codeAction", `{"textDocument":{"uri":"file:///open"},"range":{"start":{"line":4294967295,"character":1},"end":{"line":0,"character":0}},"context":{"diagnostics":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"message":{"kind":"markdown","value":"x"}}]}}`},
		{"textDocument/codeLens", `{"textDocument":{"uri":""}}`},
		{"workspace/executeCommand", `{"command":"hermes.chat.send","arguments":[{"textDocument":{"uri":"file:///open"}}]}`},
		{"workspace/executeCommand", `{"command":"hermes.explain","arguments":[{"textDocument":{"uri":"%zz"},"range":{"start":{"line":4294967295}}}]}`},
		{"workspace/executeCommand", `{"command":"hermes.session.list","arguments":[null],"workDoneToken":1.5}`},
		{"workspace/didChangeWorkspaceFolders", `{"event":{"added":[{"uri":"http://x"}],"removed":null}}`},
		{"window/workDoneProgress/cancel", `{"token":null}`},
		{"$/cancelRequest", `{"id":{}}`},
		{"session/new", `{"cwd":7}`},
		{"session/prompt", `{"sessionId":"","prompt":null}`},
		{"session/cancel", `[]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, method, params string) {
		if !json.Valid([]byte(params)) || method == "" || method == "exit" || method == "shutdown" || strings.HasPrefix(method, "window/show") {
			return
		}
		e := servertest.New(t, servertest.Options{Model: fakemodel.Script()})
		e.OpenText("/open", "one\ntwo\n")
		e.Notify(method, json.RawMessage(params))
		_, err := e.Call(method, json.RawMessage(params))
		if err != nil && strings.Contains(err.Error(), "failed inside") {
			t.Error(err)
		}
		if _, err := e.Call("no/such", nil); rpcCode(err) != -32601 {
			t.Errorf("the next request was answered with %v", err)
		}
	})
}

// Whatever object the parameters of initialize are, it is answered, and the server works.
func FuzzInitialize(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"capabilities":[],"trace":null,"workspaceFolders":[{"uri":7},null]}`,
		`{"processId":-1,"rootUri":"file://host/share","rootPath":"x","clientInfo":{"name":"emacs"},"capabilities":{"textDocument":{"hover":[]}}}`,
		`{"workspaceFolders":[{"uri":"file:///tmp\u0000"}],"initializationOptions":[7],"capabilities":{"general":{"positionEncodings":[7,"utf-32"]}}}`,
		`{"capabilities":{"experimental":{"agentClientProtocol":{"clientCapabilities":{"elicitation":{"form":false},"_meta":[1]}}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, params string) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(params), &object) != nil || object == nil {
			return
		}
		delete(object, "processId") // the server ends when this process has ended
		e := servertest.New(t, servertest.Options{Model: fakemodel.Script(), Unbegun: true})
		if answer, err := e.Call("initialize", object); err != nil || !strings.Contains(string(answer), `"name":"hermes-ls"`) {
			t.Errorf("initialize: %s, %v", answer, err)
		}
		e.Notify("initialized", struct{}{})
		if _, err := e.Call("no/such", nil); rpcCode(err) != -32601 {
			t.Errorf("the next request was answered with %v", err)
		}
	})
}
